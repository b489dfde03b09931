//! `dnf`, `yum`, `rpm`.

use super::{Package, find_installed, fits, install, installed, offered, remove, split, upgrades};
use crate::inside::state::{err, out};

pub(super) fn dnf(args: &[String]) -> u8 {
    let (options, words) = split(args);
    let check = "Last metadata expiration check: 0:01:00 ago.\n";
    match words.split_first() {
        Some((&"install", names)) => {
            out(check);
            add(names)
        }
        Some((&("remove" | "erase" | "autoremove"), names)) => {
            let there: Vec<&&str> = names.iter().filter(|name| find_installed(name).is_some()).collect();
            for name in names.iter().filter(|name| find_installed(name).is_none()) {
                out(&format!("No match for argument: {name}\n"));
            }
            if there.is_empty() {
                out("No packages marked for removal.\nDependencies resolved.\nNothing to do.\nComplete!\n");
                return 0;
            }
            for name in there {
                out(&format!("Removed:\n  {name}.x86_64\n"));
                remove(name);
            }
            out("\nComplete!\n");
            0
        }
        Some((&("upgrade" | "update"), _)) => {
            out(check);
            let newer = upgrades();
            if newer.is_empty() {
                out("Dependencies resolved.\nNothing to do.\nComplete!\n");
                return 0;
            }
            for (_, new) in newer {
                out(&format!("Upgraded:\n  {}-{}.x86_64\n", new.name, new.version));
                install(&new);
            }
            out("\nComplete!\n");
            0
        }
        Some((&"check-update", _)) => {
            let newer = upgrades();
            for (_, new) in &newer {
                out(&format!("{:<40} {:<30} baseos\n", format!("{}.x86_64", new.name), new.version));
            }
            if newer.is_empty() { 0 } else { 100 }
        }
        Some((&"list", rest)) => list(&options, rest),
        Some((&"info", names)) => {
            for name in names {
                let Some(package) = offered(name) else {
                    err("Error: No matching Packages to list\n");
                    return 1;
                };
                out(&format!(
                    "Name         : {}\nVersion      : {}\nArchitecture : x86_64\n\n",
                    package.name, package.version
                ));
            }
            0
        }
        Some((&"search", words)) => {
            for (name, _, _) in
                super::AVAILABLE.iter().filter(|(name, _, _)| words.iter().all(|word| name.contains(word)))
            {
                out(&format!("{name}.x86_64 : package {name}\n"));
            }
            0
        }
        Some((&("makecache" | "clean"), _)) => {
            out("Metadata cache created.\n");
            0
        }
        Some((word, _)) => {
            err(&format!("No such command: {word}. Please use /usr/bin/dnf --help\n"));
            1
        }
        None => {
            out("usage: dnf [options] COMMAND\n");
            0
        }
    }
}

fn add(names: &[&str]) -> u8 {
    let missing: Vec<&&str> = names.iter().filter(|name| offered(name).is_none()).collect();
    if !missing.is_empty() {
        missing.iter().for_each(|name| out(&format!("No match for argument: {name}\n")));
        let all: Vec<String> = missing.iter().map(|name| name.to_string()).collect();
        err(&format!("Error: Unable to find a match: {}\n", all.join(" ")));
        return 1;
    }
    let mut new: Vec<Package> = Vec::new();
    for name in names {
        match find_installed(name) {
            Some(there) => out(&format!("Package {name}-{}.x86_64 is already installed.\n", there.version)),
            None => new.extend(offered(name)),
        }
    }
    if new.is_empty() {
        out("Dependencies resolved.\nNothing to do.\nComplete!\n");
        return 0;
    }
    out("Dependencies resolved.\nInstalled:\n");
    for package in new {
        out(&format!("  {}-{}.x86_64\n", package.name, package.version));
        install(&package);
    }
    out("\nComplete!\n");
    0
}

fn list(options: &[&str], rest: &[&str]) -> u8 {
    let patterns: Vec<&str> =
        rest.iter().copied().filter(|word| !["installed", "available", "updates"].contains(word)).collect();
    let wanted = |name: &str| patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern, name));
    let only = rest.contains(&"installed") || options.contains(&"--installed");
    let line = |package: &Package, from: &str| {
        out(&format!("{:<40} {:<30} {from}\n", format!("{}.x86_64", package.name), package.version));
    };
    let there: Vec<Package> = installed().into_iter().filter(|package| wanted(&package.name)).collect();
    if !there.is_empty() {
        out("Installed Packages\n");
        there.iter().for_each(|package| line(package, "@baseos"));
    }
    let free: Vec<Package> = super::AVAILABLE
        .iter()
        .filter(|(name, _, _)| !only && wanted(name) && find_installed(name).is_none())
        .filter_map(|(name, _, _)| offered(name))
        .collect();
    if !free.is_empty() {
        out("Available Packages\n");
        free.iter().for_each(|package| line(package, "appstream"));
    }
    if there.is_empty() && free.is_empty() {
        err("Error: No matching Packages to list\n");
        return 1;
    }
    0
}

pub(super) fn rpm(args: &[String]) -> u8 {
    let (options, words) = split(args);
    let asks = options.iter().any(|option| option.starts_with("-q") || *option == "--query");
    let format =
        options.iter().find_map(|option| option.strip_prefix("--qf=").or(option.strip_prefix("--queryformat=")));
    // The format may stand behind its option, as a word.
    let loose = options.iter().any(|option| *option == "--qf" || *option == "--queryformat");
    let (format, words) = match (format, loose, words.split_first()) {
        (None, true, Some((first, rest))) => (Some(*first), rest.to_vec()),
        (format, _, _) => (format, words),
    };
    let show = |package: &Package| match format {
        Some(format) => {
            let (version, release) = package.version.rsplit_once('-').unwrap_or((&package.version, ""));
            let text =
                format.replace("%{NAME}", &package.name).replace("%{VERSION}", version).replace("%{RELEASE}", release);
            out(&text.replace("%{ARCH}", "x86_64").replace("\\n", "\n").replace("\\t", "\t"));
        }
        None => out(&format!("{}-{}.x86_64\n", package.name, package.version)),
    };
    if options.iter().any(|option| *option == "-e" || *option == "--erase") {
        for name in words {
            if !remove(name) {
                err(&format!("error: package {name} is not installed\n"));
                return 1;
            }
        }
        return 0;
    }
    if !asks {
        out("RPM version 4.16.1.3\n");
        return 0;
    }
    if options.iter().any(|option| option.contains('a') && !option.starts_with("--")) {
        let wanted = |name: &str| words.is_empty() || words.iter().any(|pattern| fits(pattern, name));
        installed().iter().filter(|package| wanted(&package.name)).for_each(show);
        return 0;
    }
    let mut status = 0;
    for name in words {
        match find_installed(name) {
            Some(package) => show(&package),
            None => {
                out(&format!("package {name} is not installed\n"));
                status = 1;
            }
        }
    }
    status
}
