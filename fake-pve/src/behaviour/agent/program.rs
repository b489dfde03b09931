//! The few programs that a guest of the fake has: enough to see output, errors, exit codes, input and files.
//!
//! Nothing of this touches the machine that the fake runs on. A shell command line is split at `;`, `&&` and `||`, with
//! quotes and a redirection to a file; it is no shell.

use std::collections::BTreeMap;
use std::time::Duration;

use super::command::windows;
use super::line::{Joint, redirection, split};
use crate::world::Guest;

/// What a program left behind.
#[derive(Default)]
pub(super) struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
    pub slept: Duration,
    /// Files that it wrote.
    pub written: BTreeMap<String, String>,
}

/// A file's content: one that was written, else one that every guest has.
///
/// # Errors
/// Why it cannot be opened, in the words of the C library.
pub(super) fn file(guest: &Guest, path: &str) -> Result<String, &'static str> {
    if let Some(content) = guest.agent.files.get(path) {
        return Ok(content.clone());
    }
    let name = guest.name();
    match path {
        "/etc/hostname" => Ok(format!("{name}\n")),
        "/etc/hosts" => Ok(format!("127.0.0.1\tlocalhost\n127.0.1.1\t{name}\n")),
        "/etc/debian_version" => Ok("13.1\n".into()),
        "/etc/os-release" => Ok(OS_RELEASE.into()),
        "/etc/passwd" => Ok(PASSWD.into()),
        "/" | "/etc" | "/root" | "/tmp" | "/var" | "/home" => Err("Is a directory"),
        _ => Err("No such file or directory"),
    }
}

/// Why a file cannot be written, when it cannot: its folder is not there.
pub(super) fn unwritable(guest: &Guest, path: &str) -> Option<&'static str> {
    if windows(guest) {
        return None;
    }
    let (folder, name) = path.rsplit_once('/')?;
    let known = ["", "/etc", "/root", "/tmp", "/var", "/home", "/opt", "/srv", "/usr/local/bin", "/etc/systemd/system"];
    let beneath = format!("{folder}/");
    let made = guest.agent.files.keys().any(|file| file.starts_with(&beneath));
    match (
        name.is_empty(),
        known.contains(&folder) || made || folder.starts_with("/etc/") || folder.starts_with("/tmp/"),
    ) {
        (true, _) => Some("Is a directory"),
        (false, true) => None,
        (false, false) => Some("No such file or directory"),
    }
}

/// Runs a program; `None` when the guest has none of that name.
pub(super) fn run(guest: &Guest, now: i64, command: &[String], input: &str) -> Option<Ended> {
    let (program, args) = command.split_first()?;
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match (name, words.as_slice()) {
        ("sh" | "bash" | "dash", ["-c" | "-lc", line, ..]) => Some(shell(guest, now, line, input)),
        ("sh" | "bash" | "dash", []) => Some(shell(guest, now, &input.replace('\n', ";"), "")),
        _ => simple(guest, now, name, &words, input),
    }
}

fn simple(guest: &Guest, now: i64, name: &str, args: &[&str], input: &str) -> Option<Ended> {
    let said = |out: String| Some(Ended { out, ..Ended::default() });
    match name {
        "true" => said(String::new()),
        "false" => Some(Ended { code: 1, ..Ended::default() }),
        "echo" if args.first() == Some(&"-n") => said(args[1..].join(" ")),
        "echo" => said(format!("{}\n", args.join(" "))),
        "printf" => said(args.first().map(|text| text.replace("\\n", "\n")).unwrap_or_default()),
        "whoami" => said("root\n".into()),
        "id" => said("uid=0(root) gid=0(root) groups=0(root)\n".into()),
        "pwd" => said("/\n".into()),
        "hostname" => said(format!("{}\n", guest.name())),
        "uname" if args.contains(&"-a") => {
            said(format!("Linux {} 6.12.48+deb13-amd64 #1 SMP x86_64 GNU/Linux\n", guest.name()))
        }
        "uname" if args.contains(&"-r") => said("6.12.48+deb13-amd64\n".into()),
        "uname" => said("Linux\n".into()),
        "uptime" => said(format!(" up {} min,  1 user,  load average: 0.10, 0.08, 0.01\n", guest.uptime(now) / 60)),
        "date" => {
            let time = jiff::Timestamp::from_second(now).unwrap_or_default();
            said(format!("{}\n", time.strftime("%a %b %e %H:%M:%S UTC %Y")))
        }
        "sleep" => {
            let seconds = args.first().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0).clamp(0.0, 86_400.0);
            Some(Ended { slept: Duration::from_secs_f64(seconds), ..Ended::default() })
        }
        "cat" if args.is_empty() => said(input.to_string()),
        "cat" => Some(cat(guest, args)),
        "ls" => Some(ls(guest, args)),
        _ => None,
    }
}

fn cat(guest: &Guest, paths: &[&str]) -> Ended {
    let mut ended = Ended::default();
    for path in paths {
        match file(guest, path) {
            Ok(content) => ended.out.push_str(&content),
            Err(why) => {
                ended.err.push_str(&format!("cat: {path}: {why}\n"));
                ended.code = 1;
            }
        }
    }
    ended
}

fn ls(guest: &Guest, args: &[&str]) -> Ended {
    let folder = args.iter().find(|arg| !arg.starts_with('-')).copied().unwrap_or("/").trim_end_matches('/');
    let beneath = format!("{folder}/");
    let base: &[&str] = match folder {
        "" => &["bin", "boot", "dev", "etc", "home", "root", "tmp", "usr", "var"],
        "/etc" => &["debian_version", "hostname", "hosts", "os-release", "passwd"],
        _ => &[],
    };
    let mut names: Vec<String> = base.iter().map(|name| (*name).to_string()).collect();
    let written = guest.agent.files.keys().filter_map(|path| path.strip_prefix(&beneath)?.split('/').next());
    names.extend(written.map(str::to_string));
    names.sort_unstable();
    names.dedup();
    if names.is_empty() && !["/root", "/tmp", "/home", "/var"].contains(&folder) {
        let err = format!("ls: cannot access '{folder}': No such file or directory\n");
        return Ended { code: 2, err, ..Ended::default() };
    }
    Ended { out: names.iter().map(|name| format!("{name}\n")).collect(), ..Ended::default() }
}

/// A command line: its commands one after the other, as far as their exit codes allow.
fn shell(guest: &Guest, now: i64, line: &str, input: &str) -> Ended {
    let mut all = Ended::default();
    let mut guest = guest.clone();
    for (joint, words) in split(line) {
        let goes_on = match joint {
            Joint::Always => true,
            Joint::AfterSuccess => all.code == 0,
            Joint::AfterFailure => all.code != 0,
        };
        if words.is_empty() || !goes_on {
            continue;
        }
        let (words, into) = redirection(words);
        if words.first().is_some_and(|word| word == "exit") {
            all.code = words.get(1).and_then(|code| code.parse().ok()).unwrap_or(all.code);
            break;
        }
        let mut ended = run(&guest, now, &words, input).unwrap_or_else(|| {
            let name = words.first().map(String::as_str).unwrap_or_default();
            Ended { code: 127, err: format!("sh: 1: {name}: not found\n"), ..Ended::default() }
        });
        if let Some((path, more)) = into {
            let mut content = if more { file(&guest, &path).unwrap_or_default() } else { String::new() };
            content.push_str(&std::mem::take(&mut ended.out));
            ended.written.insert(path, content);
        }
        guest.agent.files.extend(ended.written.clone());
        all.code = ended.code;
        all.out.push_str(&ended.out);
        all.err.push_str(&ended.err);
        all.slept += ended.slept;
        all.written.extend(ended.written);
    }
    all
}

const OS_RELEASE: &str = "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"13\"\n\
                          VERSION=\"13 (trixie)\"\nVERSION_CODENAME=trixie\nID=debian\n";

const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n\
                      debian:x:1000:1000:Debian:/home/debian:/bin/bash\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    fn sh(line: &str) -> Ended {
        let guest = Scenario::one_vm().world.guests[&100].clone();
        run(&guest, 0, &["sh".into(), "-c".into(), line.into()], "in").expect("a shell")
    }

    #[test]
    fn a_line_is_more_than_one_command() {
        assert_eq!(sh("echo 'a;  b' && echo c || echo d").out, "a;  b\nc\n");
        assert_eq!(sh("false && echo no; exit 3").code, 3);
        assert_eq!((sh("nope").code, sh("nope").err.as_str()), (127, "sh: 1: nope: not found\n"));
        let ended = sh("echo one > /tmp/x; echo two >> /tmp/x; cat /tmp/x; sleep 2; cat");
        assert_eq!((ended.out.as_str(), ended.slept), ("one\ntwo\nin", Duration::from_secs(2)));
        assert_eq!(ended.written["/tmp/x"], "one\ntwo\n");
    }

    #[test]
    fn files_that_are_not_there_say_so() {
        let guest = Scenario::one_vm().world.guests[&100].clone();
        assert_eq!(file(&guest, "/nowhere"), Err("No such file or directory"));
        assert_eq!(unwritable(&guest, "/nowhere/x"), Some("No such file or directory"));
        assert_eq!(unwritable(&guest, "/tmp/x"), None);
        assert_eq!(cat(&guest, &["/nowhere"]).code, 1);
    }
}
