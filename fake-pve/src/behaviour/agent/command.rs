//! Plain commands of the agent: what the guest is, its file systems, freezing them, shutting down.

use serde_json::{Value, json};

use crate::behaviour::Call;
use crate::world::address::interfaces;
use crate::world::disk::{boot_disk_size, drives};
use crate::world::{Guest, power};

/// Size of a block of memory, in bytes.
const MEMORY_BLOCK: u64 = 128 << 20;

/// Version of the agent.
const VERSION: &str = "10.0.2";

/// Runs a command that the agent knows.
pub(super) fn run(call: &mut Call<'_>, command: &str) -> Value {
    let (vmid, now, now_ms) = (call.vmid(), call.now(), call.now_ms());
    let cpus = call.world.guests.get(&vmid).map_or(1, Guest::cpus);
    let Some(guest) = call.world.guests.get(&vmid) else { return json!({}) };
    match command {
        "get-fsinfo" => file_systems(call, guest),
        "get-host-name" => json!({"host-name": guest.name()}),
        "get-memory-block-info" => json!({"size": MEMORY_BLOCK}),
        "get-memory-blocks" => {
            let blocks = guest.max_memory().div_ceil(MEMORY_BLOCK);
            let block = |index: u64| json!({"phys-index": index, "online": true, "can-offline": true});
            (0..blocks).map(block).collect()
        }
        "get-osinfo" => system(guest),
        "get-time" => json!(now_ms * 1_000_000),
        "get-timezone" => json!({"zone": "UTC", "offset": 0}),
        "get-users" => json!([{"user": "root", "login-time": (guest.started.unwrap_or(now) + 60) as f64 + 0.5}]),
        "get-vcpus" => (0..cpus).map(|id| json!({"logical-id": id, "online": true, "can-offline": id > 0})).collect(),
        "info" => json!({"version": VERSION, "supported_commands": supported()}),
        "network-get-interfaces" => network(guest, now),
        "ping" => json!({}),
        "fsfreeze-status" => json!(if guest.agent.frozen { "frozen" } else { "thawed" }),
        "fsfreeze-freeze" => freeze(call, vmid, true),
        "fsfreeze-thaw" => freeze(call, vmid, false),
        "fstrim" => json!({"paths": [{"path": "/", "trimmed": 1_342_177_280u64, "minimum": 0}]}),
        "shutdown" | "suspend-disk" => {
            power::switch_off(call.world, vmid, now);
            json!({})
        }
        "suspend-ram" | "suspend-hybrid" => {
            power::pause(call.world, vmid, true);
            if let Some(guest) = call.world.guests.get_mut(&vmid) {
                guest.state.insert("asleep".into(), json!(true));
            }
            json!({})
        }
        other => json!({"error": {
            "class": "CommandNotFound", "desc": format!("The command guest-{other} has not been found"),
        }}),
    }
}

/// Freezes or thaws; the number of file systems that changed.
fn freeze(call: &mut Call<'_>, vmid: u32, frozen: bool) -> Value {
    let Some(guest) = call.world.guests.get_mut(&vmid) else { return json!(0) };
    let changed = guest.agent.frozen != frozen;
    guest.agent.frozen = frozen;
    json!(if changed { 2 } else { 0 })
}

fn file_systems(call: &Call<'_>, guest: &Guest) -> Value {
    let disk = drives(guest.kind, &guest.config).into_iter().find(|drive| !drive.is_cdrom(false));
    let volume = disk.as_ref().and_then(|drive| call.world.volume(&guest.node, &drive.volume()));
    let size = volume.map_or_else(|| boot_disk_size(guest), |volume| volume.size).max(1 << 30);
    let used = volume.map_or(size / 4, |volume| volume.used.min(size));
    let device = json!({
        "bus-type": "scsi", "bus": 0, "target": 0, "unit": 0, "dev": "/dev/sda1",
        "serial": "0QEMU_QEMU_HARDDISK_drive-scsi0", "pci-controller": {"domain": 0, "bus": 9, "slot": 1, "function": 0},
    });
    if windows(guest) {
        return json!([{
            "name": "\\\\?\\Volume{7d1c5c3e-0f3c-4d43-8a3d-9b6f2f6c0100}\\", "mountpoint": "C:\\", "type": "NTFS",
            "total-bytes": size, "used-bytes": used, "disk": [device],
        }]);
    }
    json!([
        {
            "name": "sda1", "mountpoint": "/", "type": "ext4", "total-bytes": size, "total-bytes-privileged": size,
            "used-bytes": used, "disk": [device.clone()],
        },
        {
            "name": "sda15", "mountpoint": "/boot/efi", "type": "vfat", "total-bytes": 129_718_272,
            "total-bytes-privileged": 129_718_272, "used-bytes": 9_150_464, "disk": [device],
        },
    ])
}

fn network(guest: &Guest, now: i64) -> Value {
    let counters = crate::world::curve::GuestLoad::of(guest).counters(guest, now);
    let all = interfaces(guest).into_iter().map(|interface| {
        let own = interface.name.starts_with("eth");
        let (received, sent) = if own { (counters.netin, counters.netout) } else { (0, 0) };
        let families = [("ipv4", &interface.inet), ("ipv6", &interface.inet6)];
        let addresses: Vec<Value> = families
            .into_iter()
            .filter_map(|(family, address)| {
                let (address, prefix) = address.as_ref()?;
                Some(json!({"ip-address": address, "ip-address-type": family, "prefix": prefix}))
            })
            .collect();
        let mut item = json!({
            "name": interface.name, "hardware-address": interface.mac,
            "statistics": {
                "rx-bytes": received, "rx-packets": received / 700, "rx-errs": 0, "rx-dropped": 0,
                "tx-bytes": sent, "tx-packets": sent / 700, "tx-errs": 0, "tx-dropped": 0,
            },
        });
        if !addresses.is_empty() {
            item["ip-addresses"] = Value::Array(addresses);
        }
        item
    });
    all.collect()
}

/// Whether it says that it is a Windows guest.
pub(super) fn windows(guest: &Guest) -> bool {
    guest.option("ostype").is_some_and(|ostype| ostype.starts_with('w'))
}

fn system(guest: &Guest) -> Value {
    if windows(guest) {
        return json!({
            "id": "mswindows", "name": "Microsoft Windows", "pretty-name": "Windows Server 2022 Standard",
            "version": "Microsoft Windows Server 2022", "version-id": "2022", "variant": "server",
            "variant-id": "server", "kernel-release": "20348", "kernel-version": "10.0", "machine": "x86_64",
        });
    }
    json!({
        "id": "debian", "name": "Debian GNU/Linux", "pretty-name": "Debian GNU/Linux 13 (trixie)",
        "version": "13 (trixie)", "version-id": "13", "kernel-release": "6.12.48+deb13-amd64",
        "kernel-version": "#1 SMP PREEMPT_DYNAMIC Debian 6.12.48-1 (2025-09-20)", "machine": "x86_64",
    })
}

fn supported() -> Vec<Value> {
    const NAMES: [&str; 26] = [
        "sync-delimited",
        "sync",
        "ping",
        "get-time",
        "set-time",
        "info",
        "shutdown",
        "file-open",
        "file-close",
        "file-read",
        "file-write",
        "fsfreeze-status",
        "fsfreeze-freeze",
        "fsfreeze-thaw",
        "fstrim",
        "suspend-disk",
        "suspend-ram",
        "network-get-interfaces",
        "get-vcpus",
        "get-fsinfo",
        "set-user-password",
        "get-memory-blocks",
        "exec-status",
        "exec",
        "get-host-name",
        "get-osinfo",
    ];
    let silent = |name: &str| matches!(name, "shutdown" | "suspend-disk" | "suspend-ram");
    let item =
        |name: &str| json!({"name": format!("guest-{name}"), "enabled": true, "success-response": !silent(name)});
    NAMES.iter().map(|name| item(name)).collect()
}
