//! What `pct` does by itself, outside of containers.

use fake_pve::world::GuestKind;
use serde_json::{Map, Value};

use crate::cli::{Failure, text};
use crate::program::{Call, guest};

type Given = Map<String, Value>;

pub(super) const RESTORE: &[(&str, &str)] = &[
    ("vmid", "i"),
    ("ostemplate", "s"),
    ("force", "b?"),
    ("rootfs", "s?"),
    ("start", "b?"),
    ("storage", "s?"),
    ("unique", "b?"),
    ("unprivileged", "b?"),
];

fn place(call: &Call, given: &Given, rest: &str) -> String {
    format!("/nodes/{}/lxc/{}{rest}", call.node.name, guest::vmid(given))
}

/// Whether it runs; an error when it is not there.
fn runs(call: &Call, given: &Given) -> Result<bool, Failure> {
    Ok(call.get(&place(call, given, "/status/current"))?["status"] == "running")
}

pub(super) fn list(call: &mut Call, _: &Given) -> Result<i32, Failure> {
    let found = call.get(&format!("/nodes/{}/lxc", call.node.name))?;
    let mut rows: Vec<&Value> = found.as_array().into_iter().flatten().collect();
    rows.sort_by_key(|row| text(&row["vmid"]).parse::<u64>().ok());
    if rows.is_empty() {
        return Ok(0);
    }
    let line = |cells: [&str; 4]| {
        let [vmid, status, lock, name] = cells;
        format!("{vmid:<10} {status:<10} {lock:<12} {name:<20}\n")
    };
    let mut out = line(["VMID", "Status", "Lock", "Name"]);
    for row in rows {
        let lock = row.get("lock").map(text).unwrap_or_default();
        out.push_str(&line([&text(&row["vmid"]), &text(&row["status"]), &lock, &text(&row["name"])]));
    }
    call.out(&out);
    Ok(0)
}

/// The files of a clone are those of its source.
pub(super) fn cloned(call: &mut Call, given: &Given) {
    let number = |name: &str| given.get(name).and_then(|value| text(value).parse::<u32>().ok());
    if let (Some(vmid), Some(newid)) = (number("vmid"), number("newid"))
        && let Err(error) = crate::rootfs::snapshots::clone(&call.site, vmid, newid)
    {
        call.err(&format!("the files of the clone could not be copied: {error}\n"));
    }
}

pub(super) fn restore(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let mut params = given.clone();
    params.insert("restore".into(), "1".into());
    let upid = call.api("POST", &format!("/nodes/{}/lxc", call.node.name), params)?;
    Ok(call.show_task(&text(&upid)))
}

pub(super) fn status(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let now = call.get(&place(call, given, "/status/current"))?;
    guest::status(call, given, &now, &["cpu", "ha"]);
    Ok(0)
}

pub(super) fn cpusets(call: &mut Call, _: &Given) -> Result<i32, Failure> {
    let node = call.node.name.clone();
    let rows: Vec<(u32, usize)> = call.site.direct.world(|world| {
        let running = world.guests.values().filter(|g| g.kind == GuestKind::Lxc && g.node == node && g.runs());
        let cores = |guest: &fake_pve::world::Guest| guest.option("cores").and_then(|n| n.parse().ok()).unwrap_or(1);
        running.map(|guest| (guest.vmid, cores(guest))).collect()
    });
    if rows.is_empty() {
        call.out("no running containers\n");
        return Ok(0);
    }
    let most = rows.iter().map(|(_, cores)| *cores).max().unwrap_or(1);
    let dashes = "-".repeat(5 + most * 3);
    let mut out = format!("{dashes}\n");
    for (vmid, cores) in rows {
        let set: Vec<String> = (0..cores).map(|core| core.to_string()).collect();
        out.push_str(&format!("{vmid}:  {}\n", set.join("  ")));
    }
    call.out(&format!("{out}{dashes}\n"));
    Ok(0)
}

pub(super) fn fsck(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let config = call.get(&place(call, given, "/config"))?;
    if runs(call, given)? {
        return Err(Failure::die("cannot run fsck when container is running"));
    }
    let device = given.get("device").map_or_else(|| "rootfs".into(), text);
    let Some(volume) = config.get(&device).map(text) else {
        return Err(Failure::die(format!("cannot run command on non-existing mount point {device}")));
    };
    let volume = volume.split(',').next().unwrap_or_default();
    if volume.contains("subvol") {
        return Err(Failure::die(format!("unable to run fsck for '{volume}' (format == subvol)")));
    }
    call.out(&format!("fsck from util-linux 2.41\n{volume}: clean, 21030/262144 files, 202117/1048576 blocks\n"));
    Ok(0)
}

pub(super) fn fstrim(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let now = call.get(&place(call, given, "/status/current"))?;
    if let Some(lock) = now.get("lock").map(text) {
        return Err(Failure::die(format!("CT is locked ({lock})")));
    }
    let free = now["maxdisk"].as_f64().unwrap_or(0.0) - now["disk"].as_f64().unwrap_or(0.0);
    let rootfs = format!("/var/lib/lxc/{}/rootfs/", guest::vmid(given));
    call.out(&format!("{rootfs}: {:.1} GiB ({} bytes) trimmed\n", free / 1_073_741_824.0, free as u64));
    Ok(0)
}

/// Sets the lock that stands for a mounted container.
pub(super) fn mount(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    if runs(call, given)? {
        return Err(Failure::die("container is running"));
    }
    let number: u32 = guest::vmid(given).parse().unwrap_or(0);
    let node = call.node.name.clone();
    call.site.direct.world(|world| {
        let guest = world.guest_mut(GuestKind::Lxc, &node, number).map_err(Failure::die)?;
        if let Some(lock) = guest.option("lock") {
            return Err(Failure::die(format!("CT is locked ({lock})")));
        }
        guest.config.insert("lock".into(), "mounted".into());
        Ok(())
    })?;
    call.out(&format!("mounted CT {number} in '/var/lib/lxc/{number}/rootfs'\n"));
    Ok(0)
}

pub(super) fn unmount(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let now = call.get(&place(call, given, "/status/current"))?;
    match now.get("lock").map(text).as_deref() {
        Some("mounted") => drop(guest::unlock(call, given, GuestKind::Lxc)?),
        Some(lock) => return Err(Failure::die(format!("CT is locked ({lock})"))),
        None => return Err(Failure::die("container is not mounted")),
    }
    Ok(0)
}

pub(super) fn rescan(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    guest::rescan(call, given, GuestKind::Lxc)
}

pub(super) fn unlock(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    if guest::unlock(call, given, GuestKind::Lxc)? {
        return Ok(0);
    }
    Err(Failure::die("no lock found trying to remove any lock"))
}
