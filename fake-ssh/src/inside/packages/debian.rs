//! `apt`, `apt-get`, `dpkg` and their kin.

use super::{Package, find_installed, fits, install, installed, offered, remove, split, upgrades};
use crate::inside::state::{err, out};

fn suite() -> &'static str {
    if crate::inside::state::id() == "ubuntu" { "noble" } else { "stable" }
}

pub(super) fn apt(name: &str, args: &[String]) -> u8 {
    let (options, words) = split(args);
    if name == "apt" {
        err("\nWARNING: apt does not have a stable CLI interface. Use with caution in scripts.\n\n");
    }
    let simulate = options.iter().any(|option| ["-s", "--simulate", "--dry-run"].contains(option));
    match words.split_first() {
        Some((&"update", _)) => {
            let newer = upgrades().len();
            out(&format!("Hit:1 http://deb.example.com {} InRelease\nReading package lists...\n", suite()));
            if name == "apt" {
                out(&match newer {
                    0 => "All packages are up to date.\n".to_string(),
                    _ => format!("{newer} packages can be upgraded. Run 'apt list --upgradable' to see them.\n"),
                });
            }
            0
        }
        Some((&"install", names)) => add(names, simulate),
        Some((&("remove" | "purge" | "autoremove"), names)) => drop_all(names, simulate),
        Some((&("upgrade" | "dist-upgrade" | "full-upgrade"), _)) => upgrade(simulate),
        Some((&"list", patterns)) => list(&options, patterns),
        Some((&("show" | "policy"), names)) => show(names),
        Some((&"search", words)) => {
            for package in all(|name| words.iter().all(|word| name.contains(word))) {
                out(&format!("{} - package {}\n", package.name, package.name));
            }
            0
        }
        Some((&("clean" | "autoclean" | "check"), _)) => 0,
        Some((word, _)) => {
            err(&format!("E: Invalid operation {word}\n"));
            100
        }
        None => {
            out("apt 2.6.1 (amd64)\nUsage: apt [options] command\n");
            1
        }
    }
}

fn all(wanted: impl Fn(&str) -> bool) -> Vec<Package> {
    super::AVAILABLE.iter().filter(|(name, _, _)| wanted(name)).filter_map(|(name, _, _)| offered(name)).collect()
}

fn add(names: &[&str], simulate: bool) -> u8 {
    out("Reading package lists...\nBuilding dependency tree...\nReading state information...\n");
    let mut new = Vec::new();
    for name in names {
        let plain = name.split(['=', '/']).next().unwrap_or(name);
        match (offered(plain), find_installed(plain)) {
            (Some(offer), Some(there)) if offer.version == there.version => {
                out(&format!("{plain} is already the newest version ({}).\n", there.version));
            }
            (Some(offer), _) => new.push(offer),
            (None, _) => {
                err(&format!("E: Unable to locate package {plain}\n"));
                return 100;
            }
        }
    }
    let known = new.iter().filter(|package| find_installed(&package.name).is_some()).count();
    if !new.is_empty() {
        let names: Vec<&str> = new.iter().map(|package| package.name.as_str()).collect();
        out(&format!("The following NEW packages will be installed:\n  {}\n", names.join(" ")));
    }
    out(&format!("{known} upgraded, {} newly installed, 0 to remove and 0 not upgraded.\n", new.len() - known));
    for package in &new {
        change(package, None, simulate);
    }
    0
}

fn change(package: &Package, old: Option<&Package>, simulate: bool) {
    let (name, version) = (&package.name, &package.version);
    if simulate {
        let before = old.map(|old| format!("[{}] ", old.version)).unwrap_or_default();
        out(&format!("Inst {name} {before}({version} Debian:12/{} [amd64])\n", suite()));
        return out(&format!("Conf {name} ({version} Debian:12/{} [amd64])\n", suite()));
    }
    out(&format!("Unpacking {name} ({version}) ...\nSetting up {name} ({version}) ...\n"));
    install(package);
}

fn drop_all(names: &[&str], simulate: bool) -> u8 {
    out("Reading package lists...\nBuilding dependency tree...\nReading state information...\n");
    let mut gone = Vec::new();
    for name in names {
        match find_installed(name) {
            Some(package) => gone.push(package),
            None if offered(name).is_some() => out(&format!("Package '{name}' is not installed, so not removed\n")),
            None => {
                err(&format!("E: Unable to locate package {name}\n"));
                return 100;
            }
        }
    }
    out(&format!("0 upgraded, 0 newly installed, {} to remove and 0 not upgraded.\n", gone.len()));
    for package in gone {
        if simulate {
            out(&format!("Remv {} [{}]\n", package.name, package.version));
            continue;
        }
        out(&format!("Removing {} ({}) ...\n", package.name, package.version));
        remove(&package.name);
    }
    0
}

fn upgrade(simulate: bool) -> u8 {
    out(
        "Reading package lists...\nBuilding dependency tree...\nReading state information...\nCalculating upgrade...\n",
    );
    let newer = upgrades();
    out(&format!("{} upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n", newer.len()));
    for (old, new) in newer {
        change(&new, Some(&old), simulate);
    }
    0
}

fn list(options: &[&str], patterns: &[&str]) -> u8 {
    out("Listing...\n");
    let wanted = |name: &str| patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern, name));
    let suite = suite();
    if options.contains(&"--upgradable") {
        for (old, new) in upgrades().into_iter().filter(|(old, _)| wanted(&old.name)) {
            out(&format!("{}/{suite} {} amd64 [upgradable from: {}]\n", new.name, new.version, old.version));
        }
        return 0;
    }
    let there = installed();
    for package in there.iter().filter(|package| wanted(&package.name)) {
        out(&format!("{}/{suite},now {} amd64 [installed]\n", package.name, package.version));
    }
    if !options.contains(&"--installed") {
        for package in all(wanted).into_iter().filter(|package| !there.iter().any(|other| other.name == package.name)) {
            out(&format!("{}/{suite} {} amd64\n", package.name, package.version));
        }
    }
    0
}

fn show(names: &[&str]) -> u8 {
    for name in names {
        let Some(package) = offered(name) else {
            err(&format!("E: No packages found\nN: Unable to locate package {name}\n"));
            return 100;
        };
        out(&format!("Package: {}\nVersion: {}\nArchitecture: amd64\n\n", package.name, package.version));
    }
    0
}

pub(super) fn dpkg(args: &[String]) -> u8 {
    let (options, words) = split(args);
    let has = |names: [&str; 2]| options.iter().any(|option| names.contains(option));
    if has(["-l", "--list"]) {
        return table(&words);
    }
    if has(["-s", "--status"]) {
        let mut status = 0;
        for name in words {
            match find_installed(name) {
                Some(package) => out(&format!(
                    "Package: {name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: {}\n\n",
                    package.version
                )),
                None => {
                    err(&format!("dpkg-query: package '{name}' is not installed and no information is available\n"));
                    err("Use dpkg --info (= dpkg-deb --info) to examine archive files.\n");
                    status = 1;
                }
            }
        }
        return status;
    }
    if has(["-r", "--remove"]) || has(["-P", "--purge"]) {
        let _there = words.iter().filter(|name| remove(name)).count();
        return 0;
    }
    if has(["--print-architecture", ""]) {
        out("amd64\n");
        return 0;
    }
    if has(["--configure", "--audit"]) {
        return 0;
    }
    err("dpkg: error: need an action option\n");
    2
}

fn table(patterns: &[&str]) -> u8 {
    let wanted = |name: &str| patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern, name));
    let found: Vec<Package> = installed().into_iter().filter(|package| wanted(&package.name)).collect();
    if found.is_empty() {
        patterns.iter().for_each(|pattern| err(&format!("dpkg-query: no packages found matching {pattern}\n")));
        return 1;
    }
    let width = |of: fn(&Package) -> usize, least: usize| found.iter().map(of).max().unwrap_or(0).max(least);
    let (name, version) = (width(|package| package.name.len(), 4), width(|package| package.version.len(), 7));
    out("Desired=Unknown/Install/Remove/Purge/Hold\n\
| Status=Not/Inst/Conf-files/Unpacked/halF-conf/Half-inst/trig-aWait/Trig-pend\n|/ Err?=(none)/Reinst-required (Status,Err: uppercase=bad)\n");
    out(&format!("||/ {:<name$} {:<version$} Architecture Description\n", "Name", "Version"));
    out(&format!("+++-{}-{}-============-===========\n", "=".repeat(name), "=".repeat(version)));
    for package in found {
        out(&format!(
            "ii  {:<name$} {:<version$} amd64        package {}\n",
            package.name, package.version, package.name
        ));
    }
    0
}

pub(super) fn query(args: &[String]) -> u8 {
    let (options, words) = split(args);
    if options.iter().any(|option| ["-l", "--list"].contains(option)) {
        return table(&words);
    }
    if options.iter().any(|option| ["-s", "--status"].contains(option)) {
        return dpkg(args);
    }
    let format = options.iter().find_map(|option| {
        option.strip_prefix("-f=").or(option.strip_prefix("--showformat=")).or(option.strip_prefix("-f"))
    });
    let format = format.unwrap_or("${Package}\\t${Version}\\n");
    let mut status = 0;
    let wanted = |name: &str| words.is_empty() || words.iter().any(|pattern| fits(pattern, name));
    let found: Vec<Package> = installed().into_iter().filter(|package| wanted(&package.name)).collect();
    for word in words.iter().filter(|word| !found.iter().any(|package| fits(word, &package.name))) {
        err(&format!("dpkg-query: no packages found matching {word}\n"));
        status = 1;
    }
    for package in found {
        let text = format
            .replace("${Package}", &package.name)
            .replace("${binary:Package}", &package.name)
            .replace("${Version}", &package.version)
            .replace("${Architecture}", "amd64")
            .replace("${Status}", "install ok installed")
            .replace("${db:Status-Abbrev}", "ii ")
            .replace("${db:Status-Status}", "installed")
            .replace("\\t", "\t")
            .replace("\\n", "\n");
        out(&text);
    }
    status
}
