//! `chpasswd` and `passwd`.

use std::io::Read as _;

use super::table::{passwd, shadow};
use super::{parse, value};
use crate::inside::state::{err, id, out};

pub(super) fn chpasswd(args: &[String]) -> u8 {
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
pub(super) fn secret(args: &[String]) -> u8 {
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

pub(super) fn hash(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}
