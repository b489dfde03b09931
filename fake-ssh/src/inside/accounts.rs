//! Accounts of a container: they stand in `/etc/passwd`, `/etc/group` and `/etc/shadow`, as anywhere.

use std::io::Read as _;

use super::state::{err, id, out};

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

/// A table such as `/etc/passwd`.
struct Table {
    path: &'static str,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn read(path: &'static str) -> Table {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let rows = text.lines().map(|line| line.split(':').map(String::from).collect()).collect();
        Table { path, rows }
    }

    fn find(&mut self, name: &str) -> Option<&mut Vec<String>> {
        self.rows.iter_mut().find(|row| row.first().is_some_and(|first| first == name))
    }

    fn has(&mut self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn add(&mut self, row: &[&str]) {
        self.rows.push(row.iter().map(|cell| cell.to_string()).collect());
    }

    /// The first free number of ordinary accounts.
    fn free(&self) -> u32 {
        let used = |row: &Vec<String>| row.get(2).and_then(|id| id.parse::<u32>().ok());
        self.rows.iter().filter_map(used).filter(|id| (1000..60000).contains(id)).max().map_or(1000, |id| id + 1)
    }

    fn save(&self) -> bool {
        let text: String = self.rows.iter().map(|row| row.join(":") + "\n").collect();
        std::fs::write(self.path, text).is_ok()
    }
}

fn passwd() -> Table {
    Table::read("/etc/passwd")
}

fn group() -> Table {
    Table::read("/etc/group")
}

fn shadow() -> Table {
    Table::read("/etc/shadow")
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

/// Who is to be made.
struct Account<'a> {
    name: &'a str,
    uid: Option<&'a str>,
    home: Option<&'a str>,
    shell: &'a str,
    comment: &'a str,
    make_home: bool,
    password: &'a str,
}

fn make(account: &Account<'_>) -> bool {
    let (mut users, mut groups, mut secrets) = (passwd(), group(), shadow());
    let uid = account.uid.map_or_else(|| users.free().to_string(), String::from);
    let name = account.name;
    let home = account.home.map_or_else(|| format!("/home/{name}"), String::from);
    users.add(&[name, "x", &uid, &uid, account.comment, &home, account.shell]);
    if !groups.has(name) {
        groups.add(&[name, "x", &uid, ""]);
    }
    secrets.add(&[name, account.password, "20000", "0", "99999", "7", "", "", ""]);
    if account.make_home {
        let _there_already = std::fs::create_dir_all(&home);
    }
    users.save() && groups.save() && secrets.save()
}

fn join(name: &str, wanted: &str) -> Result<(), String> {
    let mut groups = group();
    for wanted in wanted.split(',').filter(|wanted| !wanted.is_empty()) {
        let Some(row) = groups.find(wanted) else { return Err(wanted.into()) };
        let members = row.get(3).cloned().unwrap_or_default();
        if !members.split(',').any(|member| member == name) {
            row.resize(4, String::new());
            row[3] = if members.is_empty() { name.into() } else { format!("{members},{name}") };
        }
    }
    groups.save();
    Ok(())
}

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

fn forget(name: &str, with_home: bool) {
    let (mut users, mut groups, mut secrets) = (passwd(), group(), shadow());
    let home = users.find(name).and_then(|row| row.get(5).cloned());
    users.rows.retain(|row| row[0] != name);
    secrets.rows.retain(|row| row[0] != name);
    groups.rows.retain(|row| row[0] != name);
    for row in groups.rows.iter_mut().filter(|row| row.len() > 3) {
        row[3] = row[3].split(',').filter(|member| *member != name).collect::<Vec<_>>().join(",");
    }
    let _saved = (users.save(), groups.save(), secrets.save());
    if let Some(home) = home.filter(|home| with_home && home.starts_with("/home/")) {
        let _gone_already = std::fs::remove_dir_all(home);
    }
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

fn chpasswd(args: &[String]) -> u8 {
    let encrypted = args.iter().any(|arg| arg == "-e" || arg == "--encrypted");
    let mut text = String::new();
    let _as_far_as_it_is_text = std::io::stdin().read_to_string(&mut text);
    let mut secrets = shadow();
    let mut status = 0;
    for (number, line) in text.lines().enumerate() {
        let Some((name, password)) = line.split_once(':') else {
            err(&format!("chpasswd: line {}: missing new password\n", number + 1));
            return 1;
        };
        if !passwd().has(name) {
            err(&format!(
                "chpasswd: (user {name}) pam_chauthtok() failed, error:\nAuthentication token manipulation error\n"
            ));
            status = 1;
            continue;
        }
        // A password is never kept: what stands there only looks like one.
        let kept = if encrypted { password.to_string() } else { format!("$6$fake${:016x}", hash(password)) };
        match secrets.find(name) {
            Some(row) => row[1] = kept,
            None => secrets.add(&[name, &kept, "20000", "0", "99999", "7", "", "", ""]),
        }
        if id() == "alpine" {
            out(&format!("chpasswd: password for '{name}' changed\n"));
        }
    }
    secrets.save();
    status
}

/// `passwd`: tells how an account can be entered, locks it, or sets what was typed twice.
fn secret(args: &[String]) -> u8 {
    let (options, words) = parse(args, &[]);
    let name = words.first().map_or("root", String::as_str);
    let mut secrets = shadow();
    let Some(row) = secrets.find(name).filter(|row| row.len() > 1) else {
        err(&format!("passwd: user '{name}' does not exist\n"));
        return 1;
    };
    let has = |names: &[&str]| value(&options, names).is_some();
    if has(&["-S", "--status"]) {
        let word = match row[1].as_str() {
            "" => "NP",
            locked if locked.starts_with(['!', '*']) => "L",
            _ => "P",
        };
        out(&format!("{name} {word} 2024-10-04 0 99999 7 -1\n"));
        return 0;
    }
    let locked = row[1].starts_with('!');
    if has(&["-l", "--lock"]) {
        row[1] = if locked { row[1].clone() } else { format!("!{}", row[1]) };
    } else if has(&["-u", "--unlock"]) {
        row[1] = row[1].trim_start_matches('!').to_string();
    } else if has(&["-d", "--delete"]) {
        row[1] = String::new();
    } else {
        let mut lines = std::io::stdin().lines().map_while(Result::ok);
        match (lines.next(), lines.next()) {
            (Some(first), Some(second)) if first == second => row[1] = format!("$6$fake${:016x}", hash(&first)),
            _ => {
                err("passwd: Authentication token manipulation error\npasswd: password unchanged\n");
                return 10;
            }
        }
    }
    u8::from(!secrets.save())
}

fn hash(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

fn adduser(args: &[String]) -> u8 {
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

fn deluser(args: &[String]) -> u8 {
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

fn addgroup(args: &[String]) -> u8 {
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
