//! `apk`.

use super::{Package, find_installed, fits, install, installed, offered, remove, split, upgrades};
use crate::inside::state::{err, out};

pub(super) fn apk(args: &[String]) -> u8 {
    let (options, words) = split(args);
    let has = |names: &[&str]| options.iter().any(|option| names.contains(option));
    match words.split_first() {
        Some((&"update", _)) => {
            out("fetch https://dl.example.com/alpine/v3.22/main/x86_64/APKINDEX.tar.gz\n");
            out(&format!("OK: {} distinct packages available\n", super::AVAILABLE.len()));
            0
        }
        Some((&"add", names)) => add(names),
        Some((&"del", names)) => {
            for name in names {
                if let Some(package) = find_installed(name) {
                    out(&format!("(1/1) Purging {name} ({})\n", package.version));
                    remove(name);
                }
            }
            summary()
        }
        Some((&"upgrade", _)) => {
            let newer = upgrades();
            for (at, (old, new)) in newer.iter().enumerate() {
                out(&format!(
                    "({}/{}) Upgrading {} ({} -> {})\n",
                    at + 1,
                    newer.len(),
                    new.name,
                    old.version,
                    new.version
                ));
                install(new);
            }
            summary()
        }
        Some((&"info", names)) => info(names, has(&["-e", "--installed"]), has(&["-v", "-vv", "--verbose"])),
        Some((&"list", patterns)) => {
            list(patterns, has(&["-I", "--installed"]), has(&["-u", "--upgradable", "--upgradeable"]))
        }
        Some((&"version", _)) => {
            out("Installed:                                Available:\n");
            for (old, new) in upgrades() {
                out(&format!("{:<41} < {}\n", format!("{}-{}", old.name, old.version), new.version));
            }
            0
        }
        Some((&"search", words)) => {
            for (name, _, _) in
                super::AVAILABLE.iter().filter(|(name, _, _)| words.iter().all(|word| name.contains(word)))
            {
                offered(name).iter().for_each(|package| out(&format!("{}-{}\n", package.name, package.version)));
            }
            0
        }
        Some((word, _)) => {
            err(&format!("ERROR: unrecognised command '{word}'\n"));
            1
        }
        None => {
            out("apk-tools 2.14.9, compiled for x86_64.\n");
            1
        }
    }
}

fn summary() -> u8 {
    let count = installed().len();
    out(&format!("OK: {} MiB in {count} packages\n", count * 2));
    0
}

fn add(names: &[&str]) -> u8 {
    let missing: Vec<&&str> = names.iter().filter(|name| offered(name).is_none()).collect();
    if !missing.is_empty() {
        err("ERROR: unable to select packages:\n");
        for name in missing {
            err(&format!("  {name} (no such package):\n    required by: world[{name}]\n"));
        }
        return 1;
    }
    let new: Vec<Package> =
        names.iter().filter(|name| find_installed(name).is_none()).filter_map(|name| offered(name)).collect();
    for (at, package) in new.iter().enumerate() {
        out(&format!("({}/{}) Installing {} ({})\n", at + 1, new.len(), package.name, package.version));
        install(package);
    }
    if !new.is_empty() {
        out("Executing busybox-1.37.0-r18.trigger\n");
    }
    summary()
}

fn info(names: &[&str], exists: bool, verbose: bool) -> u8 {
    if exists {
        let there: Vec<&&str> = names.iter().filter(|name| find_installed(name).is_some()).collect();
        there.iter().for_each(|name| out(&format!("{name}\n")));
        return u8::from(there.len() < names.len());
    }
    for package in installed().into_iter().filter(|package| names.is_empty() || names.contains(&package.name.as_str()))
    {
        match verbose || !names.is_empty() {
            true => out(&format!("{}-{}\n", package.name, package.version)),
            false => out(&format!("{}\n", package.name)),
        }
    }
    0
}

fn list(patterns: &[&str], only_installed: bool, only_newer: bool) -> u8 {
    let wanted = |name: &str| patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern, name));
    let line = |package: &Package, mark: &str| {
        let (name, version) = (&package.name, &package.version);
        out(&format!("{name}-{version} x86_64 {{{name}}} (MIT){mark}\n"));
    };
    if only_newer {
        for (old, new) in upgrades() {
            line(&new, &format!(" [upgradable from: {}-{}]", old.name, old.version));
        }
        return 0;
    }
    installed().iter().filter(|package| wanted(&package.name)).for_each(|package| line(package, " [installed]"));
    if !only_installed {
        let free = super::AVAILABLE.iter().filter(|(name, _, _)| wanted(name) && find_installed(name).is_none());
        free.filter_map(|(name, _, _)| offered(name)).for_each(|package| line(&package, ""));
    }
    0
}
