//! `pacman`.

use super::{Package, find_installed, install, installed, offered, remove, split, upgrades};
use crate::inside::state::{err, out};

pub(super) fn pacman(args: &[String]) -> u8 {
    let (options, words) = split(args);
    let short: String = options.iter().filter(|option| !option.starts_with("--")).map(|option| &option[1..]).collect();
    let has = |letter: char| short.contains(letter);
    if has('S') && has('s') {
        for (name, _, _) in super::AVAILABLE.iter().filter(|(name, _, _)| words.iter().all(|word| name.contains(word)))
        {
            offered(name)
                .iter()
                .for_each(|package| out(&format!("extra/{} {}\n    package {name}\n", package.name, package.version)));
        }
        return 0;
    }
    if has('S') {
        return sync(&words, has('y'), has('u'), options.contains(&"--needed"));
    }
    if has('R') {
        let missing: Vec<&&str> = words.iter().filter(|name| find_installed(name).is_none()).collect();
        if !missing.is_empty() {
            missing.iter().for_each(|name| err(&format!("error: target not found: {name}\n")));
            return 1;
        }
        for name in &words {
            out(&format!("(1/1) removing {name}\n"));
            remove(name);
        }
        return 0;
    }
    if has('Q') {
        return query(&words, has('u'), has('i'), has('q'));
    }
    err("error: no operation specified (use -h for help)\n");
    1
}

fn sync(words: &[&str], refresh: bool, upgrade: bool, needed: bool) -> u8 {
    if refresh {
        out(":: Synchronizing package databases...\n core is up to date\n extra is up to date\n");
    }
    let missing: Vec<&&str> = words.iter().filter(|name| offered(name).is_none()).collect();
    if !missing.is_empty() {
        missing.iter().for_each(|name| err(&format!("error: target not found: {name}\n")));
        return 1;
    }
    let mut new: Vec<Package> = words.iter().filter_map(|name| offered(name)).collect();
    new.retain(|package| {
        let same = find_installed(&package.name).is_some_and(|there| there.version == package.version);
        if same && needed {
            err(&format!("warning: {}-{} is up to date -- skipping\n", package.name, package.version));
        }
        !(same && needed)
    });
    if upgrade {
        out(":: Starting full system upgrade...\n");
        new.extend(upgrades().into_iter().map(|(_, new)| new));
    }
    if new.is_empty() && (upgrade || needed) {
        out(" there is nothing to do\n");
        return 0;
    }
    for (at, package) in new.iter().enumerate() {
        out(&format!("({}/{}) installing {}\n", at + 1, new.len(), package.name));
        install(package);
    }
    0
}

fn query(words: &[&str], newer: bool, long: bool, quiet: bool) -> u8 {
    if newer {
        let all = upgrades();
        all.iter().for_each(|(old, new)| out(&format!("{} {} -> {}\n", old.name, old.version, new.version)));
        return u8::from(all.is_empty());
    }
    let show = |package: &Package| match (long, quiet) {
        (true, _) => out(&format!("Name            : {}\nVersion         : {}\n\n", package.name, package.version)),
        (_, true) => out(&format!("{}\n", package.name)),
        _ => out(&format!("{} {}\n", package.name, package.version)),
    };
    if words.is_empty() {
        installed().iter().for_each(show);
        return 0;
    }
    let mut status = 0;
    for name in words {
        match find_installed(name) {
            Some(package) => show(&package),
            None => {
                err(&format!("error: package '{name}' was not found\n"));
                status = 1;
            }
        }
    }
    status
}
