//! The worker that makes a container from a template.

use serde_json::{Map, Value};

use crate::behaviour::Failure;
use crate::behaviour::guest::stage::Stage;
use crate::behaviour::lxc::update::raw_lines;
use crate::work::Run;
use crate::world::disk::{Disk, is_mount};
use crate::world::volume::name;
use crate::world::{GuestKind, crypt, option};

/// What is wanted.
pub(super) struct Wish {
    pub vmid: u32,
    pub template: String,
    pub param: Map<String, Value>,
    pub storage: Option<String>,
    pub unprivileged: Option<bool>,
    pub unique: bool,
    pub password: Option<String>,
    pub keys: Option<String>,
}

/// Volumes, then the content of the template, then the options.
pub(super) fn make(run: &mut Run<'_>, wish: &Wish) -> Result<(), Failure> {
    let mut config = wish.param.clone();
    let mut made = Vec::new();
    let done = volumes(run, wish, &mut config, &mut made).and_then(|()| unpack(run, wish));
    if let Err(failure) = done {
        discard(run, made);
        return Err(failure);
    }
    let mut set = |key: &str, value: Value| {
        config.entry(key).or_insert(value);
    };
    set("arch", "amd64".into());
    set("ostype", ostype(&wish.template).into());
    set("hostname", format!("CT{}", wish.vmid).into());
    set("memory", "512".into());
    set("swap", "512".into());
    if wish.unprivileged == Some(true) {
        set("unprivileged", "1".into());
    }
    store(run, wish, &config)
}

/// Makes the volumes that mount points ask for.
pub(super) fn volumes(
    run: &mut Run<'_>,
    wish: &Wish,
    config: &mut Map<String, Value>,
    made: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut keys: Vec<String> = config.keys().filter(|key| is_mount(key)).cloned().collect();
    keys.sort();
    for key in keys {
        let Some(mount) = Disk::parse(GuestKind::Lxc, &key, &option::text(&config[&key])) else { continue };
        if mount.wants_new().is_none() {
            continue;
        }
        let now = run.now;
        let (mount, log) = run.world.new_mount(now, wish.vmid, &mount)?;
        run.tell_all(&log);
        made.push(mount.volume());
        config.insert(key, mount.print().into());
    }
    Ok(())
}

/// Frees volumes that were made in vain.
pub(super) fn discard(run: &mut Run<'_>, made: Vec<String>) {
    let node = run.node.to_string();
    for volid in made {
        let _freed = run.world.free_volume(&node, &volid);
    }
}

fn unpack(run: &mut Run<'_>, wish: &Wish) -> Result<(), Failure> {
    let template = &wish.template;
    if name::split(template).is_err() {
        return Err(Failure::die(format!("can't find file '{template}'")));
    }
    let size = run.world.volume(run.node, template).map(|volume| volume.size);
    let size = size.ok_or_else(|| format!("volume '{template}' does not exist"))?;
    let path = run.world.volume_path(template)?;
    run.log(format!("extracting archive '{path}'"));
    let read = size.saturating_mul(4);
    run.log(format!("Total bytes read: {read} ({}MiB, 204MiB/s)", read >> 20));
    run.log("Detected container architecture: amd64");
    let host = wish.param.get("hostname").map_or_else(|| format!("CT{}", wish.vmid), option::text);
    for kind in ["ed25519", "ecdsa", "rsa"].into_iter().filter(|_| ostype(template) != "alpine") {
        run.log(format!("Creating SSH host key 'ssh_host_{kind}_key' - this may take some time ..."));
        let print = run.world.random.hex(43);
        run.log(format!("done: SHA256:{print} root@{host}"));
    }
    Ok(())
}

/// Puts the options in, and what is inside the container into its state.
pub(super) fn store(run: &mut Run<'_>, wish: &Wish, config: &Map<String, Value>) -> Result<(), Failure> {
    let mut typed = Map::new();
    for (key, value) in config {
        typed.insert(key.clone(), option::typed(GuestKind::Lxc, key, option::text(value).trim_end_matches('\n'))?);
    }
    let node = run.node.to_string();
    let root = typed.get("rootfs").map(option::text).unwrap_or_default();
    let volid = root.split(',').next().unwrap_or_default().to_string();
    let content = run.world.volume(&node, &wish.template).map_or(600 << 20, |volume| volume.size.saturating_mul(4));
    if let Some(volume) = run.world.volume_mut(&node, &volid) {
        volume.used = volume.used.max(content.min(volume.size.max(content)));
    }
    let password = wish.password.as_ref().map(|password| crypt::make(&mut run.world.random, password));
    let now = run.now;
    let guest = run.guest_mut(wish.vmid)?;
    guest.config = typed;
    guest.pending.clear();
    guest.pending_delete.clear();
    guest.snapshots.clear();
    (guest.created, guest.disk_used) = (now, content);
    if let Some(password) = password {
        guest.state.insert("password".into(), password.into());
    }
    if let Some(keys) = &wish.keys {
        guest.state.insert("ssh-public-keys".into(), keys.clone().into());
    }
    raw_lines(guest);
    guest.written();
    Ok(())
}

/// The distribution that a template's file name tells.
fn ostype(template: &str) -> &'static str {
    const KNOWN: [(&str, &str); 13] = [
        ("alpine", "alpine"),
        ("almalinux", "centos"),
        ("archlinux", "archlinux"),
        ("centos", "centos"),
        ("debian", "debian"),
        ("devuan", "devuan"),
        ("fedora", "fedora"),
        ("gentoo", "gentoo"),
        ("nixos", "nixos"),
        ("opensuse", "opensuse"),
        ("rockylinux", "centos"),
        ("turnkey", "debian"),
        ("ubuntu", "ubuntu"),
    ];
    let file = template.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    KNOWN.iter().find(|(name, _)| file.contains(name)).map_or("unmanaged", |(_, ostype)| ostype)
}
