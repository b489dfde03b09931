//! The text of a configuration file as a guest.

use serde_json::{Map, Value, json};

use super::check::check;
use super::decode_text;
use crate::world::{Guest, GuestKind, Snapshot};

/// Raw options of containers that Proxmox knows by name, and those that it knows by their beginning.
const LXC_KEYS: [&str; 43] = [
    "lxc.apparmor.profile",
    "lxc.apparmor.allow_incomplete",
    "lxc.apparmor.allow_nesting",
    "lxc.apparmor.raw",
    "lxc.selinux.context",
    "lxc.include",
    "lxc.arch",
    "lxc.uts.name",
    "lxc.signal.halt",
    "lxc.signal.reboot",
    "lxc.signal.stop",
    "lxc.init.cmd",
    "lxc.init.uid",
    "lxc.init.gid",
    "lxc.pty.max",
    "lxc.console.logfile",
    "lxc.console.path",
    "lxc.tty.max",
    "lxc.devtty.dir",
    "lxc.hook.autodev",
    "lxc.autodev",
    "lxc.kmsg",
    "lxc.mount.fstab",
    "lxc.mount.entry",
    "lxc.mount.auto",
    "lxc.rootfs.mount",
    "lxc.cap.drop",
    "lxc.cap.keep",
    "lxc.seccomp.profile",
    "lxc.seccomp.notify.proxy",
    "lxc.seccomp.notify.cookie",
    "lxc.idmap",
    "lxc.hook.pre-start",
    "lxc.hook.pre-mount",
    "lxc.hook.mount",
    "lxc.hook.start",
    "lxc.hook.stop",
    "lxc.hook.post-stop",
    "lxc.hook.clone",
    "lxc.hook.destroy",
    "lxc.log.level",
    "lxc.log.file",
    "lxc.environment",
];
const LXC_BEGINNINGS: [&str; 6] =
    ["lxc.cgroup.", "lxc.cgroup2.", "lxc.prlimit.", "lxc.sysctl.", "lxc.proc.", "lxc.start."];

/// Where the lines go that are being read.
#[derive(Clone, PartialEq, Eq)]
enum Section {
    Main,
    Pending,
    /// `[special:cloudinit]`: what the drive was last made from.
    CloudInit,
    Snapshot(String),
}

struct Reader {
    kind: GuestKind,
    guest: Guest,
    section: Section,
    options: Map<String, Value>,
    description: Option<String>,
    warnings: Vec<String>,
}

/// Reads a file: the guest, stopped, and a warning for each line that cannot be used, in Proxmox's words.
pub fn read(kind: GuestKind, vmid: u32, node: &str, text: &str) -> (Guest, Vec<String>) {
    let guest = Guest::new(kind, vmid, node, json!({}));
    let mut reader =
        Reader { kind, guest, section: Section::Main, options: Map::new(), description: None, warnings: Vec::new() };
    for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
        match reader.header(line) {
            Some(section) => reader.turn_to(section),
            None => reader.line(line),
        }
    }
    reader.turn_to(Section::Main);
    (reader.guest, reader.warnings)
}

impl Reader {
    fn header(&self, line: &str) -> Option<Section> {
        let name = line.trim_end().strip_prefix('[')?.strip_suffix(']')?;
        let lower = name.to_ascii_lowercase();
        match (self.kind, lower.as_str()) {
            (GuestKind::Vm, "pending") | (GuestKind::Lxc, "pve:pending") => return Some(Section::Pending),
            (GuestKind::Vm, "special:cloudinit") => return Some(Section::CloudInit),
            _ => {}
        }
        let word = lower.len() > 1 && lower.starts_with(|c: char| c.is_ascii_lowercase());
        let plain = lower.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        (word && plain).then(|| Section::Snapshot(name.to_string()))
    }

    /// Puts the section away that has been read, and begins another.
    fn turn_to(&mut self, next: Section) {
        if let Some(text) = self.description.take() {
            let text = if self.kind == GuestKind::Vm { text.trim_end().to_string() } else { text };
            self.options.insert("description".into(), text.into());
        }
        let options = std::mem::take(&mut self.options);
        match std::mem::replace(&mut self.section, next) {
            Section::Main => self.guest.config.extend(options),
            Section::Pending => self.keep_pending(options),
            Section::CloudInit => self.guest.cloudinit = options,
            Section::Snapshot(name) => {
                self.guest.snapshots.insert(name, snapshot(options));
            }
        }
    }

    fn keep_pending(&mut self, mut options: Map<String, Value>) {
        let delete = options.shift_remove("delete").map(|value| value.as_str().unwrap_or_default().to_string());
        for key in pve_catalog::format::split_list(&delete.unwrap_or_default()) {
            let forced = key.starts_with('!');
            self.guest.pending_delete.insert(key.trim_start_matches('!').to_string(), forced);
        }
        self.guest.pending = options;
    }

    fn line(&mut self, line: &str) {
        if let Some(comment) = line.strip_prefix('#') {
            let comment = comment.strip_suffix('\r').unwrap_or(comment);
            let text = self.description.get_or_insert_default();
            text.push_str(&decode_text(comment));
            text.push('\n');
            return;
        }
        if self.kind == GuestKind::Lxc && line.starts_with("lxc.") {
            return self.raw_option(line);
        }
        let Some((key, value)) = key_and_value(self.kind, line) else { return self.unreadable(line) };
        match key {
            "description" => self.description.get_or_insert_default().push_str(&decode_text(value)),
            "delete" if self.section == Section::Pending => drop(self.options.insert(key.into(), value.into())),
            "snapstate" if matches!(value, "prepare" | "delete") => drop(self.options.insert(key.into(), value.into())),
            "args" => drop(self.options.insert(key.into(), value.into())),
            _ => self.option(key, value),
        }
    }

    fn option(&mut self, key: &str, value: &str) {
        let checked = if self.section == Section::CloudInit { Ok(json!(value)) } else { check(self.kind, key, value) };
        match checked {
            Ok(typed) => drop(self.options.insert(if key == "cdrom" { "ide2" } else { key }.into(), typed)),
            Err(text) => {
                self.warn(format!("unable to parse value of '{key}' - {text}"));
                // A container keeps what it does not understand.
                if self.kind == GuestKind::Lxc {
                    self.options.insert(key.into(), value.into());
                }
            }
        }
    }

    /// `lxc.idmap: u 0 100000 65536`, also with `=`.
    fn raw_option(&mut self, line: &str) {
        let Some(at) = line.find([':', '=', ' ']) else { return self.unreadable(line) };
        let (key, rest) = line.split_at(at);
        let Some(value) = rest.trim_start().strip_prefix([':', '=']) else { return self.unreadable(line) };
        let known = LXC_KEYS.contains(&key) || LXC_BEGINNINGS.iter().any(|beginning| key.starts_with(beginning));
        if !known {
            return self.unreadable(line);
        }
        let raw = self.options.entry("lxc").or_insert_with(|| json!([]));
        if let Some(list) = raw.as_array_mut() {
            list.push(json!([key, value.trim()]));
        }
    }

    fn unreadable(&mut self, line: &str) {
        self.warn(format!("unable to parse config: {line}\n"));
    }

    fn warn(&mut self, text: String) {
        self.warnings.push(format!("vm {} - {text}", self.guest.vmid));
    }
}

/// `net0: virtio` -> `net0`, `virtio`. Keys are lower-case words with a number at the end; a value is never empty.
fn key_and_value(kind: GuestKind, line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let stem = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte == b'_' || (byte == b'-' && kind == GuestKind::Vm);
    let starts = stem.starts_with(|c: char| c.is_ascii_lowercase());
    let value = value.trim();
    (starts && stem.bytes().all(inner) && !value.is_empty()).then_some((key, value))
}

fn snapshot(mut options: Map<String, Value>) -> Snapshot {
    let mut text = |key: &str| options.shift_remove(key).and_then(|value| value.as_str().map(str::to_string));
    let (parent, vmstate) = (text("parent"), text("vmstate"));
    let (description, snapstate) = (text("description"), text("snapstate"));
    let snaptime = options.shift_remove("snaptime").and_then(|value| value.as_i64()).unwrap_or(0);
    Snapshot { config: options, parent, snaptime, vmstate, description, snapstate }
}
