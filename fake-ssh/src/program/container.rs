//! What `pct` does inside containers: commands run for real, in the container's own root directory.

use rustix::fs::OFlags;
use serde_json::{Map, Value};

use super::attached::run_here;
use super::{Call, guest};
use crate::beneath::Root;
use crate::cli::{Failure, text};
use crate::rootfs::container;
use crate::shell::{Confinement, Run};

type Given = Map<String, Value>;

/// What `lxc-attach` sets where nothing of the caller's is kept.
const CLEAR_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The path that the tool itself runs with, and hands on.
const KEPT_PATH: &str = "/sbin:/bin:/usr/sbin:/usr/bin";

/// A running container's root directory, brought up to its state.
fn running(call: &Call, given: &Given) -> Result<(Root, String), Failure> {
    let number = guest::vmid(given);
    let place = format!("/nodes/{}/lxc/{number}", call.node.name);
    call.get(&format!("{place}/config"))?;
    let runs = call.get(&format!("{place}/status/current"))?["status"] == "running";
    if !runs {
        return Err(Failure::die(format!("container '{number}' not running!")));
    }
    root(call, &number)
}

/// A container's root directory and host name.
fn root(call: &Call, number: &str) -> Result<(Root, String), Failure> {
    let number: u32 = number.parse().map_err(|_| Failure::die("not a number"))?;
    container::ensure(&call.site, number).map_err(|error| Failure::die(format!("mounting container failed: {error}")))
}

pub(crate) fn exec(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let (root, hostname) = running(call, given)?;
    let words: Vec<String> =
        given.get("extra-args").and_then(Value::as_array).into_iter().flatten().map(text).collect();
    if words.is_empty() {
        return Err(Failure::die("missing command at /usr/share/perl5/PVE/CLI/pct.pm line 867."));
    }
    attach(call, given, &root, hostname, words)
}

pub(crate) fn enter(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let (root, hostname) = running(call, given)?;
    let shell = root_shell(&root);
    attach(call, given, &root, hostname, vec![shell])
}

/// root's shell, by the container's own `/etc/passwd`.
fn root_shell(root: &Root) -> String {
    let passwd = root.text("/etc/passwd").unwrap_or_default();
    let line = passwd.lines().find(|line| line.starts_with("root:"));
    line.and_then(|line| line.rsplit(':').next()).filter(|shell| shell.starts_with('/')).unwrap_or("/bin/sh").into()
}

pub(crate) fn console(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let (root, hostname) = running(call, given)?;
    call.out("Connected to tty 1\nType <Ctrl+a q> to exit the console, <Ctrl+a Ctrl+a> to enter Ctrl+a itself\n");
    let shell = root_shell(&root);
    attach(call, given, &root, hostname, vec![shell])
}

fn attach(call: &mut Call, given: &Given, root: &Root, hostname: String, argv: Vec<String>) -> Result<i32, Failure> {
    if matches!(call.site.confinement, Confinement::Nothing) {
        return Err(Failure::die("nothing runs in containers without confinement"));
    }
    let keep = given.get("keep-env").is_none_or(|on| on != "0");
    let mut env: Vec<(String, String)> = match keep {
        true => {
            let leave_out = ["PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "PWD", "OLDPWD", "_"];
            call.env
                .iter()
                .filter(|(name, _)| !leave_out.contains(&name.as_str()))
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect()
        }
        false => Vec::new(),
    };
    env.push(("PATH".into(), if keep { KEPT_PATH } else { CLEAR_PATH }.into()));
    env.push(("container".into(), "lxc".into()));
    let run = Run {
        root: root.folder().into(),
        hostname,
        uid: 0,
        env,
        cwd: call.cwd.clone(),
        argv,
        tty: rustix::termios::isatty(&call.stdin),
        socket: None,
        config: None,
    };
    Ok(run_here(call, &run))
}

/// A number of a user or group, by name or as it is.
fn id(root: &Root, file: &str, name: &str) -> Option<u32> {
    let table = root.text(file).unwrap_or_default();
    let line = table.lines().find(|line| line.split(':').next() == Some(name));
    line.and_then(|line| line.split(':').nth(2)).unwrap_or(name).parse().ok()
}

/// The mode that was asked for.
fn mode(given: &Given) -> Result<Option<u32>, Failure> {
    let Some(perms) = given.get("perms").map(text) else { return Ok(None) };
    let number = match perms.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => u32::from_str_radix(&perms, 8),
    };
    number.ok().filter(|mode| *mode <= 0o7777).map(Some).ok_or_else(|| Failure::die(format!("invalid mode: '{perms}'")))
}

/// Who is asked for must be there; everything inside belongs to root all the same, as no other number exists outside.
fn check_owner(root: &Root, given: &Given) -> Result<(), Failure> {
    for (option, file, kind) in [("user", "/etc/passwd", "uid"), ("group", "/etc/group", "gid")] {
        if let Some(name) = given.get(option).map(text)
            && id(root, file, &name).is_none()
        {
            return Err(Failure::die(format!("failed to get {kind} for: {name}")));
        }
    }
    Ok(())
}

pub(crate) fn push(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let Ok((root, _)) = running(call, given) else {
        call.get(&format!("/nodes/{}/lxc/{}/config", call.node.name, guest::vmid(given)))?;
        return Err(Failure::die("can only push files to a running CT"));
    };
    let (file, target) = (given.get("file").map(text).unwrap_or_default(), text(&given["destination"]));
    // The real tool ends well even where the copy does not.
    if let Err(failure) = copy(&call.node.root, &guest::full(call, &file), &file, &root, &target, &target, given) {
        call.err(&format!("{}\n", failure.message));
    }
    Ok(0)
}

pub(crate) fn pull(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let Ok((root, _)) = running(call, given) else {
        call.get(&format!("/nodes/{}/lxc/{}/config", call.node.name, guest::vmid(given)))?;
        return Err(Failure::die("can only pull files from a running VM at /usr/share/perl5/PVE/CLI/pct.pm line 700."));
    };
    let (path, target) = (given.get("path").map(text).unwrap_or_default(), text(&given["destination"]));
    let full = guest::full(call, &target);
    if let Err(failure) = copy(&root, &path, &path, &call.node.root, &full, &target, given) {
        call.err(&format!("{}\n", failure.message));
    }
    Ok(0)
}

fn copy(
    from: &Root,
    path: &str,
    path_as_given: &str,
    to: &Root,
    target: &str,
    target_as_given: &str,
    given: &Given,
) -> Result<(), Failure> {
    let mode = mode(given)?;
    check_owner(to, given)?;
    let source = from.read(path).and_then(|file| match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(std::io::ErrorKind::IsADirectory.into()),
    });
    let mut source = source.map_err(|_| Failure::die(format!("failed to open {path_as_given} for reading")))?;
    let words = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "No such file or directory",
        std::io::ErrorKind::IsADirectory => "Is a directory",
        _ => "Permission denied",
    };
    let failed = |error| Failure::die(format!("failed to create file: {target_as_given}: {}", words(error)));
    let opened = to.open(target, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, 0o644).map_err(failed)?;
    if let Some(mode) = mode {
        let _set = rustix::fs::fchmod(&opened, rustix::fs::Mode::from_raw_mode(mode));
    }
    std::io::copy(&mut source, &mut std::fs::File::from(opened)).map_err(failed)?;
    Ok(())
}

pub(crate) fn df(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let number = guest::vmid(given);
    let place = format!("/nodes/{}/lxc/{number}", call.node.name);
    let config = call.get(&format!("{place}/config"))?;
    let now = call.get(&format!("{place}/status/current"))?;
    let short = |bytes: f64| {
        let units = ["", "K", "M", "G", "T"];
        let (mut bytes, mut unit) = (bytes, 0);
        while bytes >= 1024.0 && unit + 1 < units.len() {
            (bytes, unit) = (bytes / 1024.0, unit + 1);
        }
        format!("{bytes:.1}{}", units[unit])
    };
    let mut rows = vec![["MP", "Volume", "Size", "Used", "Avail", "Use%", "Path"].map(str::to_string)];
    for (name, value) in config.as_object().into_iter().flatten() {
        if name != "rootfs" && name.strip_prefix("mp").is_none_or(|n| n.parse::<u32>().is_err()) {
            continue;
        }
        let value = text(value);
        let part = |key: &str| value.split(',').find_map(|part| part.strip_prefix(key)).map(str::to_string);
        let size = match name.as_str() {
            "rootfs" => now["maxdisk"].as_f64().unwrap_or(0.0),
            _ => part("size=").map_or(0.0, |size| gibibytes(&size)),
        };
        let used = if name == "rootfs" { now["disk"].as_f64().unwrap_or(0.0).max(size * 0.1) } else { 0.0 };
        let volume = value.split(',').next().unwrap_or_default().to_string();
        let share = if size > 0.0 { used / size * 100.0 } else { 0.0 };
        let path = if name == "rootfs" { "/".into() } else { part("mp=").unwrap_or_default() };
        rows.push([name.clone(), volume, short(size), short(used), short(size - used), format!("{share:.1}"), path]);
    }
    rows[1..].sort_by_key(|row| row[0] != "rootfs");
    let width = |at: usize| rows.iter().map(|row| row[at].len()).max().unwrap_or(0);
    let lines: String = rows
        .iter()
        .map(|[mp, volume, size, used, free, share, path]| {
            format!(
                "{mp:<0$} {volume:<1$} {size:>2$} {used:>3$} {free:>4$} {share:>5$} {path}\n",
                width(0),
                width(1),
                width(2),
                width(3),
                width(4),
                width(5)
            )
        })
        .collect();
    call.out(&lines);
    Ok(0)
}

/// `8G` in bytes.
fn gibibytes(size: &str) -> f64 {
    let (number, unit) = size.split_at(size.find(|c: char| c.is_alphabetic()).unwrap_or(size.len()));
    let factor = match unit {
        "K" => 1024.0,
        "M" => 1_048_576.0,
        "G" => 1_073_741_824.0,
        "T" => 1_099_511_627_776.0,
        _ => 1.0,
    };
    number.parse::<f64>().unwrap_or(0.0) * factor
}
