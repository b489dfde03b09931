//! `POST /nodes/{node}/qemu`: a new machine, or one restored from a backup.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{drives, machine, permission, restore, update};
use crate::behaviour::guest::autostart::Afterwards;
use crate::behaviour::guest::network::numbered;
use crate::behaviour::guest::stage::{Stage, late};
use crate::behaviour::guest::{access, check_pool, check_quorum, check_unused, tags};
use crate::behaviour::status::QEMU;
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::disk::{Disk, is_drive};
use crate::world::{Guest, GuestKind, option};

/// Parameters that are no options.
const ASIDE: [&str; 14] = [
    "node",
    "vmid",
    "archive",
    "bwlimit",
    "force",
    "ha-managed",
    "import-working-storage",
    "live-restore",
    "pool",
    "skiplock",
    "start",
    "storage",
    "unique",
    "background_delay",
];

/// `POST /nodes/{node}/qemu`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let vmid = call.vmid();
    let pool = call.params.get("pool");
    let storage = call.params.get("storage");
    let mut param = Map::new();
    for (name, _) in call.params.iter().filter(|(name, _)| !ASIDE.contains(name)) {
        param.insert(name.into(), call.params.text(name).into());
    }
    update::check_cpu(call, &param)?;
    normalise(&mut param)?;
    check_quorum(call)?;
    check_pool(call, pool.as_deref())?;
    if let Some(storage) = &storage {
        call.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    }
    let archive = call.params.get("archive").filter(|archive| !archive.is_empty());
    may_create(call, vmid, pool.as_deref(), archive.is_some() && call.params.is_on("force"))?;
    let archive = match archive {
        Some(archive) => Some(restore::check_archive(call, vmid, &param, &archive)?),
        None => None,
    };
    check_param(call, vmid, pool.as_deref(), storage.as_deref(), &mut param)?;
    let afterwards = Afterwards { pool, start: call.params.is_on("start"), ha: call.params.is_on("ha-managed") };
    if let Some(archive) = archive {
        return restore::restore(call, vmid, archive, param, storage, afterwards);
    }
    check_unused(call, vmid).map_err(|failure| failure.prefixed(&format!("unable to create VM {vmid} - ")))?;
    let node = call.node();
    call.world.guests.insert(vmid, Guest::new(GuestKind::Vm, vmid, &node, json!({"lock": "create"})));
    let task = call
        .task("qmcreate", &vmid.to_string())
        .lasts(Duration::from_millis(600))
        .finish(move |run| {
            make(run, vmid, param, storage.as_deref())
                .map_err(|failure| format!("unable to create VM {vmid} - {}", late(failure)))?;
            afterwards.follow(run, GuestKind::Vm, vmid);
            Ok(())
        })
        .undo(move |run| {
            run.world.guests.remove(&vmid);
            Ok(())
        });
    call.start(task)
}

fn normalise(param: &mut Map<String, Value>) -> Result<(), Failure> {
    if let Some(keys) = param.get("sshkeys") {
        let text = option::text(keys);
        access::check_ssh_keys(&percent_encoding::percent_decode_str(&text).decode_utf8_lossy())?;
    }
    if let Some(units) = param.get("cpuunits").map(option::text).and_then(|text| text.parse::<u64>().ok()) {
        param.insert("cpuunits".into(), units.clamp(1, 10_000).to_string().into());
    }
    Ok(())
}

/// The right to make a guest comes from its own path, from the pool, or, over one's own backup, from `VM.Backup`.
fn may_create(call: &Call<'_>, vmid: u32, pool: Option<&str>, over_existing: bool) -> Result<(), Failure> {
    let on_guest = format!("/vms/{vmid}");
    let by_pool = pool.is_some_and(|pool| call.holds(&format!("/pool/{pool}"), &["VM.Allocate"]));
    let by_backup = over_existing && call.world.guests.contains_key(&vmid) && call.holds(&on_guest, &["VM.Backup"]);
    if call.holds(&on_guest, &["VM.Allocate"]) || by_pool || by_backup {
        return Ok(());
    }
    Err(Failure::new(403, "Permission check failed"))
}

fn check_param(
    call: &mut Call<'_>,
    vmid: u32,
    pool: Option<&str>,
    storage: Option<&str>,
    param: &mut Map<String, Value>,
) -> Result<(), Failure> {
    if param.is_empty() {
        return Ok(());
    }
    drives::resolve_cdrom(param);
    drives::check_access(call, vmid, param, storage)?;
    permission::check_options(call, vmid, pool, param.keys().map(String::as_str))?;
    for (key, value) in param.iter() {
        let text = option::text(value);
        if numbered(key, "serial") {
            permission::check_serial(call, vmid, pool, key, [Some(&text), None], "set")?;
        } else if !is_drive(key) {
            permission::check_device(call, vmid, pool, key, &text)?;
        }
    }
    permission::check_references(call, param)?;
    if let Some(tags) = param.get("tags").map(option::text).filter(|tags| !tags.is_empty()) {
        tags::check(call, vmid, "", &tags)?;
        param.insert("tags".into(), tags::stored(call, &tags).into());
    }
    let generation = param.get("vmgenid").cloned();
    update::prepare(call, param)?;
    // A generation id is made by the worker.
    if let Some(generation) = generation {
        param.insert("vmgenid".into(), generation);
    }
    Ok(())
}

/// The worker: disks, then what Proxmox adds by itself.
fn make(run: &mut Run<'_>, vmid: u32, param: Map<String, Value>, storage: Option<&str>) -> Result<(), Failure> {
    let template = param.get("template").map(option::text).as_deref() == Some("1");
    let owner = drives::Owner { vmid, present: &Map::new(), default_storage: storage, template };
    let made = drives::create(run, &owner, &param)?;
    let config = match complete(run, param, &made) {
        Ok(config) => config,
        Err(failure) => {
            discard(run, vmid, &made);
            return Err(failure);
        }
    };
    let guest = run.guest_mut(vmid)?;
    guest.config = config;
    guest.written_first();
    let now = run.now;
    run.guest_mut(vmid)?.created = now;
    Ok(())
}

/// Frees the volumes of drives that were made in vain.
fn discard(run: &mut Run<'_>, vmid: u32, made: &Map<String, Value>) {
    let node = run.node.to_string();
    for (key, value) in made {
        let volid = Disk::parse(GuestKind::Vm, key, &option::text(value)).map(|disk| disk.volume()).unwrap_or_default();
        if run.world.owns_volume(vmid, &volid) {
            let _freed = run.world.free_volume(&node, &volid);
        }
    }
}

fn complete(
    run: &mut Run<'_>,
    mut param: Map<String, Value>,
    made: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    param.extend(made.iter().map(|(key, value)| (key.clone(), value.clone())));
    let text = |param: &Map<String, Value>, key: &str| param.get(key).map(option::text);
    param.insert("meta".into(), format!("creation-qemu={QEMU},ctime={}", run.now).into());
    if !param.contains_key("boot") {
        param.insert("boot".into(), update::print_order(&default_boot(&param)).into());
    }
    if text(&param, "smbios1").is_none_or(|smbios| smbios.is_empty()) {
        let uuid = run.world.random.uuid();
        param.insert("smbios1".into(), format!("uuid={uuid}").into());
    }
    let arm = text(&param, "arch").as_deref() == Some("aarch64");
    if text(&param, "vmgenid").is_none_or(|id| id == "1") && !arm {
        param.insert("vmgenid".into(), run.world.random.uuid().into());
    }
    if let Some(kind) = text(&param, "machine").filter(|kind| !kind.is_empty()) {
        machine::check(&kind)?;
        param.insert("machine".into(), machine::printed(&kind).into());
    }
    if machine::is_windows(text(&param, "ostype").as_deref())
        && let Some(pinned) = machine::pinned(text(&param, "machine").as_deref())
    {
        run.log(format!("pinning machine type to '{pinned}' for Windows guest OS"));
        param.insert("machine".into(), pinned.into());
    }
    if let Some(sockets) = param.shift_remove("smp") {
        param.entry("sockets").or_insert(sockets);
    }
    let mut config = Map::new();
    for (key, value) in &param {
        let value = option::typed(GuestKind::Vm, key, &option::text(value))?;
        config.insert(key.clone(), value);
    }
    Ok(config)
}

/// What is booted when nobody says: the first disk, the first CD drive, the first network card.
fn default_boot(param: &Map<String, Value>) -> Vec<String> {
    let buses = [("ide", 4), ("scsi", 31), ("virtio", 16), ("sata", 6)];
    let keys = buses.iter().flat_map(|(bus, count)| (0..*count).map(move |number| format!("{bus}{number}")));
    let drives: Vec<Disk> =
        keys.filter_map(|key| Disk::parse(GuestKind::Vm, &key, &option::text(param.get(&key)?))).collect();
    let disk = drives.iter().find(|disk| !disk.is_cdrom(false));
    let cdrom = drives.iter().find(|disk| disk.is_cdrom(true));
    let net = (0..32).map(|number| format!("net{number}")).find(|key| param.contains_key(key));
    disk.into_iter().chain(cdrom).map(|disk| disk.key.clone()).chain(net).collect()
}
