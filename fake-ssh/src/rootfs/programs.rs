//! Programs of this machine that are shown inside: ordinary ones, that a Debian system has.

use std::path::Path;

/// What a plain system has.
pub(crate) const BASE: &[&str] = &[
    "[", "arch", "awk", "base32", "base64", "basename", "bash", "bunzip2", "bzip2", "cat", "chgrp", "chmod", "chown",
    "cksum", "clear", "cmp", "comm", "cp", "csplit", "cut", "dash", "date", "dd", "df", "diff", "dir", "dirname", "du",
    "echo", "egrep", "env", "expand", "expr", "factor", "false", "fgrep", "find", "flock", "fmt", "fold", "free",
    "getconf", "getent", "getopt", "grep", "groups", "gunzip", "gzip", "head", "hexdump", "hostid", "hostname", "id",
    "install", "ip", "join", "kill", "killall", "less", "link", "ln", "locale", "logger", "logname", "ls", "lsblk",
    "mawk", "md5sum", "mkdir", "mkfifo", "mknod", "mktemp", "more", "mv", "nice", "nl", "nohup", "nproc", "numfmt",
    "od", "openssl", "paste", "pathchk", "perl", "pgrep", "pidof", "pkill", "printenv", "printf", "ps", "pwd",
    "readlink", "realpath", "renice", "rev", "rm", "rmdir", "run-parts", "sdiff", "sed", "seq", "setsid", "sh",
    "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shred", "shuf", "sleep", "sort", "split", "ss",
    "stat", "stdbuf", "stty", "sum", "sync", "tac", "tail", "tar", "tee", "test", "time", "timeout", "top", "touch",
    "tput", "tr", "true", "truncate", "tsort", "tty", "uname", "unexpand", "uniq", "unlink", "unxz", "uptime", "users",
    "vdir", "vi", "vmstat", "watch", "wc", "which", "who", "whoami", "xargs", "xz", "xzcat", "yes", "zcat", "zgrep",
    "zstd", "scp", "rsync", "ssh-keygen",
];

/// What BusyBox is, where it is everything.
pub(super) const APPLETS: &[&str] = &[
    "[", "ash", "awk", "base64", "basename", "cat", "chgrp", "chmod", "chown", "cksum", "clear", "cmp", "comm", "cp",
    "cut", "date", "dd", "df", "diff", "dirname", "du", "echo", "egrep", "env", "expr", "false", "fgrep", "find",
    "free", "getopt", "grep", "gunzip", "gzip", "head", "hexdump", "hostname", "id", "ip", "kill", "killall", "less",
    "ln", "logger", "ls", "md5sum", "mkdir", "mkfifo", "mktemp", "more", "mv", "netstat", "nice", "nohup", "nproc",
    "od", "pgrep", "pidof", "pkill", "printenv", "printf", "ps", "pwd", "readlink", "realpath", "rm", "rmdir", "sed",
    "seq", "setsid", "sh", "sha1sum", "sha256sum", "sha512sum", "shuf", "sleep", "sort", "split", "stat", "stty",
    "sync", "tail", "tar", "tee", "test", "time", "timeout", "top", "touch", "tr", "true", "truncate", "tty", "uname",
    "uniq", "unlink", "unxz", "uptime", "vi", "watch", "wc", "wget", "which", "who", "whoami", "xargs", "xzcat", "yes",
    "zcat",
];

/// Where a program lies inside (`bin`, `sbin`), and what the link to it says. Links of this machine, such as those to
/// `/etc/alternatives`, are followed here: their targets are not shown.
pub(super) fn find(name: &str) -> Option<(&'static str, String)> {
    for place in ["bin", "sbin"] {
        let Ok(real) = Path::new("/usr").join(place).join(name).canonicalize() else { continue };
        for shown in ["bin", "sbin"] {
            if let Ok(rest) = real.strip_prefix(format!("/usr/{shown}")) {
                return Some((place, format!("/.fake/{shown}/{}", rest.display())));
            }
        }
        if real.starts_with("/usr/lib") || real.starts_with("/usr/share") {
            return Some((place, real.display().to_string()));
        }
    }
    None
}
