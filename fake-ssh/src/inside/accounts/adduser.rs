//! `adduser` and `deluser`: Debian's, and BusyBox's.

use super::table::{Account, forget, join, make, passwd};
use super::{groupadd, parse, value};
use crate::inside::state::{err, id, out};

pub(super) fn adduser(args: &[String]) -> u8 {
    let busybox = id() == "alpine";
    let with_value: &[&str] = match busybox {
        true => &["-h", "-g", "-s", "-G", "-u", "-k"],
        false => &["--gecos", "--home", "--shell", "--uid", "--ingroup"],
    };
    let (options, words) = parse(args, with_value);
    let Some(name) = words.first() else { return 1 };
    if let Some(wanted) = words.get(1) {
        return match join(name, wanted) {
            Ok(()) => 0,
            Err(missing) => {
                err(&format!("adduser: unknown group {missing}\n"));
                1
            }
        };
    }
    if passwd().has(name) {
        err(&match busybox {
            true => format!("adduser: user '{name}' in use\n"),
            false => format!("adduser: The user `{name}' already exists.\n"),
        });
        return 1;
    }
    if !busybox {
        out(&format!(
            "Adding user `{name}' ...\nAdding new group `{name}' ...\nCreating home directory `/home/{name}' ...\n"
        ));
    }
    make(&Account {
        name,
        uid: value(&options, &["-u", "--uid"]),
        home: value(&options, &["-h", "--home"]),
        shell: value(&options, &["-s", "--shell"]).unwrap_or(if busybox { "/bin/ash" } else { "/bin/bash" }),
        comment: value(&options, &["-g", "--gecos"]).unwrap_or(""),
        make_home: value(&options, &["-H", "--no-create-home"]).is_none(),
        password: "!",
    });
    let _group_is_there = join(name, value(&options, &["-G"]).unwrap_or(""));
    0
}

pub(super) fn deluser(args: &[String]) -> u8 {
    let busybox = id() == "alpine";
    let (options, words) = parse(args, &[]);
    let Some(name) = words.first() else { return 1 };
    if !passwd().has(name) {
        err(&match busybox {
            true => format!("deluser: unknown user {name}\n"),
            false => format!("deluser: The user `{name}' does not exist.\n"),
        });
        return if busybox { 1 } else { 2 };
    }
    forget(name, value(&options, &["--remove-home", "--remove-all-files"]).is_some());
    0
}

pub(super) fn addgroup(args: &[String]) -> u8 {
    let (_, words) = parse(args, &["-g", "--gid"]);
    match words.as_slice() {
        [user, wanted] => match join(user, wanted) {
            Ok(()) => 0,
            Err(missing) => {
                err(&format!("addgroup: unknown group {missing}\n"));
                1
            }
        },
        _ => groupadd(args, "addgroup"),
    }
}
