//! Accounts of a container: they stand in `/etc/passwd`, `/etc/group` and `/etc/shadow`, as anywhere.

mod adduser;
mod passwords;
mod table;

use super::state::{err, id};
use adduser::{addgroup, adduser, deluser};
use passwords::{chpasswd, secret};
use table::{Account, forget, group, join, make, passwd, shadow};

/// Does what an account tool is asked for; its exit status, or nothing when the name is none of them.
pub(super) fn run(name: &str, args: &[String]) -> Option<u8> {
    Some(match name {
        "useradd" => useradd(args),
        "userdel" => userdel(args),
        "usermod" => usermod(args),
        "groupadd" => groupadd(args, "groupadd"),
        "groupdel" => groupdel(args, "groupdel"),
        "chpasswd" => chpasswd(args),
        "passwd" => secret(args),
        "adduser" => adduser(args),
        "deluser" => deluser(args),
        "addgroup" => addgroup(args),
        "delgroup" => groupdel(args, "delgroup"),
        _ => return None,
    })
}

/// Options with their values, and the words.
fn parse(args: &[String], with_value: &[&str]) -> (Vec<(String, String)>, Vec<String>) {
    let (mut options, mut words) = (Vec::new(), Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.strip_prefix('-') {
            None | Some("") => words.push(arg.clone()),
            Some("-") => words.extend(args.by_ref().cloned()),
            Some(_) if with_value.contains(&arg.as_str()) => {
                options.push((arg.clone(), args.next().cloned().unwrap_or_default()));
            }
            Some(_) => match arg.split_once('=') {
                Some((name, value)) => options.push((name.into(), value.into())),
                // `-mU`
                None if !arg.starts_with("--") => {
                    options.extend(arg[1..].chars().map(|c| (format!("-{c}"), String::new())))
                }
                None => options.push((arg.clone(), String::new())),
            },
        }
    }
    (options, words)
}

fn value<'o>(options: &'o [(String, String)], names: &[&str]) -> Option<&'o str> {
    options.iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value.as_str())
}

const USER_OPTIONS: &[&str] = &[
    "-u",
    "--uid",
    "-g",
    "--gid",
    "-G",
    "--groups",
    "-d",
    "--home",
    "--home-dir",
    "-s",
    "--shell",
    "-c",
    "--comment",
    "-p",
    "--password",
    "-k",
    "-l",
    "-e",
    "-f",
];

fn useradd(args: &[String]) -> u8 {
    let (options, words) = parse(args, USER_OPTIONS);
    let [name] = words.as_slice() else {
        err("Usage: useradd [options] LOGIN\n");
        return 2;
    };
    if passwd().has(name) {
        err(&format!("useradd: user '{name}' already exists\n"));
        return 9;
    }
    let uid = value(&options, &["-u", "--uid"]);
    if let Some(uid) = uid
        && passwd().rows.iter().any(|row| row.get(2).is_some_and(|other| other == uid))
    {
        err(&format!("useradd: UID {uid} is not unique\n"));
        return 4;
    }
    for wanted in value(&options, &["-G", "--groups"]).unwrap_or("").split(',').filter(|wanted| !wanted.is_empty()) {
        if !group().has(wanted) {
            err(&format!("useradd: group '{wanted}' does not exist\n"));
            return 6;
        }
    }
    let rocky = id() == "rocky";
    let plain = if ["debian", "ubuntu"].contains(&id().as_str()) { "/bin/sh" } else { "/bin/bash" };
    let has = |names: &[&str]| value(&options, names).is_some();
    make(&Account {
        name,
        uid,
        home: value(&options, &["-d", "--home", "--home-dir"]),
        shell: value(&options, &["-s", "--shell"]).unwrap_or(plain),
        comment: value(&options, &["-c", "--comment"]).unwrap_or(""),
        make_home: (has(&["-m", "--create-home"]) || rocky) && !has(&["-M", "--no-create-home"]),
        password: value(&options, &["-p", "--password"]).unwrap_or("!"),
    });
    let _groups_are_there = join(name, value(&options, &["-G", "--groups"]).unwrap_or(""));
    0
}

fn userdel(args: &[String]) -> u8 {
    let (options, words) = parse(args, &[]);
    let Some(name) = words.first() else { return 2 };
    if !passwd().has(name) {
        err(&format!("userdel: user '{name}' does not exist\n"));
        return 6;
    }
    forget(name, value(&options, &["-r", "--remove"]).is_some());
    0
}

fn usermod(args: &[String]) -> u8 {
    let (options, words) = parse(args, USER_OPTIONS);
    let Some(name) = words.first() else { return 2 };
    let mut users = passwd();
    let Some(row) = users.find(name) else {
        err(&format!("usermod: user '{name}' does not exist\n"));
        return 6;
    };
    row.resize(7, String::new());
    for (names, at) in [(["-c", "--comment"], 4), (["-d", "--home"], 5), (["-s", "--shell"], 6), (["-u", "--uid"], 2)] {
        if let Some(new) = value(&options, &names) {
            row[at] = new.into();
        }
    }
    users.save();
    if let Some(groups) = value(&options, &["-aG", "-G", "--groups"])
        && let Err(missing) =
            join(name, if groups.is_empty() { words.get(1).map_or("", String::as_str) } else { groups })
    {
        err(&format!("usermod: group '{missing}' does not exist\n"));
        return 6;
    }
    let mut secrets = shadow();
    if let Some(row) = secrets.find(name) {
        let locked = row[1].starts_with('!');
        if value(&options, &["-L", "--lock"]).is_some() && !locked {
            row[1] = format!("!{}", row[1]);
        }
        if value(&options, &["-U", "--unlock"]).is_some() && locked {
            row[1] = row[1][1..].to_string();
        }
        if let Some(password) = value(&options, &["-p", "--password"]) {
            row[1] = password.into();
        }
        secrets.save();
    }
    0
}

fn groupadd(args: &[String], tool: &str) -> u8 {
    let (options, words) = parse(args, &["-g", "--gid"]);
    let Some(name) = words.first() else { return 2 };
    let mut groups = group();
    if groups.has(name) {
        err(&format!("{tool}: group '{name}' already exists\n"));
        return if tool == "groupadd" { 9 } else { 1 };
    }
    let gid = value(&options, &["-g", "--gid"]).map_or_else(|| groups.free().to_string(), String::from);
    groups.add(&[name, "x", &gid, ""]);
    u8::from(!groups.save())
}

fn groupdel(args: &[String], tool: &str) -> u8 {
    let (_, words) = parse(args, &[]);
    let Some(name) = words.first() else { return 2 };
    let mut groups = group();
    if !groups.has(name) {
        err(&format!("{tool}: group '{name}' does not exist\n"));
        return if tool == "groupdel" { 6 } else { 1 };
    }
    groups.rows.retain(|row| row[0] != *name);
    u8::from(!groups.save())
}
