//! `chown` and `chgrp`: a sandbox knows one owner, so that what is given away is written down instead.

use super::state::{self, err};

/// Does it; the exit status, or nothing when the name is another.
pub(super) fn run(name: &str, args: &[String]) -> Option<u8> {
    if name != "chown" && name != "chgrp" {
        return None;
    }
    let plain: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.starts_with('-') || *arg == "-").collect();
    let Some((wanted, files)) = plain.split_first().filter(|(_, files)| !files.is_empty()) else {
        err(&format!("{name}: missing operand\n"));
        return Some(1);
    };
    let (owner, group) = match (name, wanted.split_once([':', '.'])) {
        ("chgrp", _) => ("", *wanted),
        (_, Some((owner, group))) => (owner, group),
        (_, None) => (*wanted, ""),
    };
    for (wanted, file, kind) in [(owner, "/etc/passwd", "user"), (group, "/etc/group", "group")] {
        if !wanted.is_empty() && !known(file, wanted) {
            err(&format!("{name}: invalid {kind}: '{wanted}'\n"));
            return Some(1);
        }
    }
    let cwd = std::env::current_dir().unwrap_or_default();
    let mut status = 0;
    for file in files {
        let path = cwd.join(file);
        if path.symlink_metadata().is_err() {
            err(&format!("{name}: cannot access '{file}': No such file or directory\n"));
            status = 1;
            continue;
        }
        let _made = std::fs::create_dir_all("/var/lib/fake");
        state::set("owners", &path.display().to_string(), &format!("{owner}:{group}"));
    }
    Some(status)
}

/// Whether a table has a name, or what is asked for is a number.
fn known(file: &str, wanted: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    wanted.parse::<u32>().is_ok() || text.lines().any(|line| line.split(':').next() == Some(wanted))
}
