//! Files that no reading tool shows. The list is data; it is one of refusals and so never complete.

use crate::error::{Code, Fault};

/// Exit status of a script that came to such a file.
pub const STATUS: u32 = 77;

/// The part of a script that refuses the path in `$real`: by `case`, so that it holds for the very file that was opened.
/// Its patterns are the script's arguments from the second on.
pub const CHECK: &str = r#"
for pattern in "$@"; do
  case $pattern in
    '!'*) case $real in ${pattern#!}) break;; esac;;
    *) case $real in $pattern) exit 77;; esac;;
  esac
done
"#;

/// The patterns, those that allow first.
pub fn patterns() -> impl Iterator<Item = &'static str> {
    include_str!("refused-paths.txt").lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Looks at a path as it was given.
///
/// # Errors
/// `forbidden`.
pub fn check(path: &str) -> Result<(), Fault> {
    let path = squeezed(path);
    for pattern in patterns() {
        match pattern.strip_prefix('!') {
            Some(allowed) if matches(allowed, &path) => return Ok(()),
            None if matches(pattern, &path) => return Err(fault(&path)),
            _ => {}
        }
    }
    Ok(())
}

/// What is said about such a file.
pub fn fault(path: &str) -> Fault {
    Fault::new(Code::Forbidden, format!("{path} holds secrets, or leads to a file that does: no tool reads it"))
        .hint("a person can look at it on the node itself")
}

/// The path without `//`, `.` and `..`, as far as that can be told without links.
fn squeezed(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a path fits a pattern in which `*` stands for any text.
fn matches(pattern: &str, path: &str) -> bool {
    crate::tools::offer::matches(pattern, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_refused_and_their_neighbours_are_not() {
        let refused = [
            "/etc/shadow",
            "/etc//shadow-",
            "/etc/x/../shadow",
            "/etc/pve/priv/authorized_keys",
            "/etc/pve/priv",
            "/etc/pve/nodes/pve1/pve-ssl.key",
            "/root/.ssh/id_ed25519",
            "/home/a/.ssh/id_rsa",
            "/etc/ssh/ssh_host_rsa_key",
            "/proc/1/environ",
            "/proc/self/root/etc/hostname",
            "/var/lib/lxc/101/rootfs/etc/shadow",
            "/var/lib/pve-cluster/config.db",
            "/dev/sda",
        ];
        let shown = [
            "/etc/hostname",
            "/root/.ssh/id_ed25519.pub",
            "/etc/ssh/ssh_host_rsa_key.pub",
            "/etc/pve/storage.cfg",
            "/proc/meminfo",
        ];
        for path in refused {
            assert_eq!(check(path).map_err(|fault| fault.code), Err(Code::Forbidden), "{path}");
        }
        for path in shown {
            assert_eq!(check(path), Ok(()), "{path}");
        }
    }
}
