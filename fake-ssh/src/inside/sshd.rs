//! `sshd -t` and `sshd -T` of a container: its configuration is read and judged as the real one does.

use super::state::{err, out};

/// Keywords that are known, in lower case.
const KEYWORDS: &[&str] = &[
    "acceptenv",
    "addressfamily",
    "allowagentforwarding",
    "allowgroups",
    "allowstreamlocalforwarding",
    "allowtcpforwarding",
    "allowusers",
    "authenticationmethods",
    "authorizedkeyscommand",
    "authorizedkeyscommanduser",
    "authorizedkeysfile",
    "authorizedprincipalsfile",
    "banner",
    "casignaturealgorithms",
    "challengeresponseauthentication",
    "channeltimeout",
    "chrootdirectory",
    "ciphers",
    "clientalivecountmax",
    "clientaliveinterval",
    "compression",
    "denygroups",
    "denyusers",
    "disableforwarding",
    "exposeauthinfo",
    "fingerprinthash",
    "forcecommand",
    "gatewayports",
    "gssapiauthentication",
    "gssapicleanupcredentials",
    "hostbasedauthentication",
    "hostcertificate",
    "hostkey",
    "hostkeyagent",
    "hostkeyalgorithms",
    "ignorerhosts",
    "ignoreuserknownhosts",
    "include",
    "ipqos",
    "kbdinteractiveauthentication",
    "kerberosauthentication",
    "kexalgorithms",
    "listenaddress",
    "logingracetime",
    "loglevel",
    "logverbose",
    "macs",
    "match",
    "maxauthtries",
    "maxsessions",
    "maxstartups",
    "moduli",
    "modulifile",
    "passwordauthentication",
    "permitemptypasswords",
    "permitlisten",
    "permitopen",
    "permitrootlogin",
    "permittty",
    "permittunnel",
    "permituserenvironment",
    "permituserrc",
    "persourcemaxstartups",
    "persourcepenalties",
    "pidfile",
    "port",
    "printlastlog",
    "printmotd",
    "protocol",
    "pubkeyacceptedalgorithms",
    "pubkeyauthentication",
    "pubkeyauthoptions",
    "rekeylimit",
    "requiredrsasize",
    "revokedkeys",
    "setenv",
    "streamlocalbindmask",
    "streamlocalbindunlink",
    "strictmodes",
    "subsystem",
    "syslogfacility",
    "tcpkeepalive",
    "trustedusercakeys",
    "unusedconnectiontimeout",
    "usedns",
    "usepam",
    "useprivilegeseparation",
    "versionaddendum",
    "x11displayoffset",
    "x11forwarding",
    "x11uselocalhost",
    "xauthlocation",
];
/// Those that are yes or no.
const SWITCHES: &[&str] = &[
    "allowagentforwarding",
    "challengeresponseauthentication",
    "hostbasedauthentication",
    "ignorerhosts",
    "kbdinteractiveauthentication",
    "passwordauthentication",
    "permitemptypasswords",
    "permittty",
    "printlastlog",
    "printmotd",
    "pubkeyauthentication",
    "strictmodes",
    "tcpkeepalive",
    "usedns",
    "usepam",
    "x11forwarding",
];
/// What holds where nothing is said, as far as it is asked for.
const DEFAULTS: &[(&str, &str)] = &[
    ("port", "22"),
    ("permitrootlogin", "without-password"),
    ("passwordauthentication", "yes"),
    ("pubkeyauthentication", "yes"),
    ("kbdinteractiveauthentication", "yes"),
    ("permitemptypasswords", "no"),
    ("x11forwarding", "no"),
    ("usepam", "no"),
    ("maxauthtries", "6"),
    ("allowtcpforwarding", "yes"),
    ("clientaliveinterval", "0"),
    ("loglevel", "INFO"),
];

/// Does it; the exit status, or nothing when the name is another.
pub(super) fn run(name: &str, args: &[String]) -> Option<u8> {
    if name != "sshd" {
        return None;
    }
    let file = args.iter().position(|arg| arg == "-f").and_then(|at| args.get(at + 1));
    let file = file.map_or("/etc/ssh/sshd_config", String::as_str);
    let mut found: Vec<(String, String)> = Vec::new();
    let mut wrong = 0;
    if !read(file, &mut found, &mut wrong) {
        err(&format!("{file}: No such file or directory\n"));
        return Some(255);
    }
    if wrong > 0 {
        err(&format!("{file}: terminating, {wrong} bad configuration options\n"));
        return Some(255);
    }
    if args.iter().any(|arg| arg == "-T") {
        for (name, otherwise) in DEFAULTS {
            // The first one wins.
            let value = found.iter().find(|(known, _)| known == name).map_or(*otherwise, |(_, value)| value);
            out(&format!("{name} {value}\n"));
        }
        let others = found.iter().filter(|(name, _)| !DEFAULTS.iter().any(|(known, _)| known == name));
        others.for_each(|(name, value)| out(&format!("{name} {value}\n")));
    }
    Some(0)
}

fn read(file: &str, found: &mut Vec<(String, String)>, wrong: &mut u32) -> bool {
    let Ok(text) = std::fs::read_to_string(file) else { return false };
    let mut conditional = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = line.split_once(|c: char| c.is_whitespace() || c == '=').unwrap_or((line, ""));
        let (lower, value) = (name.to_lowercase(), value.trim());
        let bad = SWITCHES.contains(&lower.as_str()) && !["yes", "no"].contains(&value.to_lowercase().as_str());
        match lower.as_str() {
            known if !KEYWORDS.contains(&known) => {
                err(&format!("{file}: line {number}: Bad configuration option: {name}\n"));
                *wrong += 1;
            }
            _ if value.is_empty() => {
                err(&format!("{file} line {number}: no argument after keyword \"{name}\"\n"));
                *wrong += 1;
            }
            _ if bad => {
                err(&format!("{file} line {number}: unsupported option \"{value}\".\n"));
                *wrong += 1;
            }
            "port" if value.parse::<u16>().is_err() => {
                err(&format!("{file} line {number}: Badly formatted port number.\n"));
                *wrong += 1;
            }
            "match" => conditional = !value.eq_ignore_ascii_case("all"),
            "include" => include(value, found, wrong),
            _ if !conditional => found.push((lower, value.to_string())),
            _ => {}
        }
    }
    true
}

/// Files of a folder by a pattern such as `/etc/ssh/sshd_config.d/*.conf`, in order.
fn include(pattern: &str, found: &mut Vec<(String, String)>, wrong: &mut u32) {
    let Some((folder, name)) = pattern.rsplit_once('/') else { return };
    let end = name.trim_start_matches('*');
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str().map(String::from));
    let mut names: Vec<String> =
        names.filter(|file| if name.starts_with('*') { file.ends_with(end) } else { file == name }).collect();
    names.sort();
    for file in names {
        read(&format!("{folder}/{file}"), found, wrong);
    }
}
