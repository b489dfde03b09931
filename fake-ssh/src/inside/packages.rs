//! Packages of a container: what can be had, what is installed. One state, told in each manager's words by a file of its own.

mod alpine;
mod arch;
mod debian;
mod redhat;

use super::state;

/// What can be had: name, version without the distribution's part, service that it brings.
const AVAILABLE: &[(&str, &str, &str)] = &[
    ("apache2", "2.4.62", "apache2"),
    ("bind9", "9.18.33", "named"),
    ("build-essential", "12.9", ""),
    ("ca-certificates", "20230311", ""),
    ("caddy", "2.8.4", "caddy"),
    ("certbot", "2.11.0", ""),
    ("chrony", "4.5", "chronyd"),
    ("cron", "3.0", "cron"),
    ("curl", "8.9.1", ""),
    ("dnsmasq", "2.90", "dnsmasq"),
    ("docker.io", "26.1.5", "docker"),
    ("ethtool", "6.11", ""),
    ("fail2ban", "1.1.0", "fail2ban"),
    ("ffmpeg", "7.0.2", ""),
    ("git", "2.47.0", ""),
    ("gnupg", "2.4.5", ""),
    ("haproxy", "3.0.5", "haproxy"),
    ("htop", "3.3.0", ""),
    ("httpd", "2.4.62", "httpd"),
    ("iperf3", "3.17", ""),
    ("iproute2", "6.11.0", ""),
    ("jq", "1.7.1", ""),
    ("less", "661", ""),
    ("logrotate", "3.22.0", ""),
    ("lsof", "4.99.3", ""),
    ("make", "4.4.1", ""),
    ("mariadb-server", "11.4.3", "mariadb"),
    ("memcached", "1.6.31", "memcached"),
    ("nano", "8.2", ""),
    ("net-tools", "2.10", ""),
    ("nginx", "1.26.2", "nginx"),
    ("nodejs", "20.17.0", ""),
    ("openssl", "3.3.2", ""),
    ("openssh-server", "9.9", "ssh"),
    ("perl", "5.40.0", ""),
    ("php-fpm", "8.3", "php-fpm"),
    ("podman", "5.2.3", ""),
    ("postfix", "3.9.0", "postfix"),
    ("postgresql", "16.4", "postgresql"),
    ("prometheus", "2.54.1", "prometheus"),
    ("python3", "3.12.6", ""),
    ("redis", "7.2.5", "redis"),
    ("redis-server", "7.2.5", "redis-server"),
    ("rsync", "3.3.0", ""),
    ("rsyslog", "8.2408.0", "rsyslog"),
    ("samba", "4.21.0", "smbd"),
    ("screen", "4.9.1", ""),
    ("socat", "1.8.0", ""),
    ("sqlite3", "3.46.1", ""),
    ("strace", "6.11", ""),
    ("sudo", "1.9.16", ""),
    ("sysstat", "12.7.6", "sysstat"),
    ("tcpdump", "4.99.5", ""),
    ("tmux", "3.5", ""),
    ("traceroute", "2.1.6", ""),
    ("tree", "2.1.3", ""),
    ("ufw", "0.36.2", "ufw"),
    ("unzip", "6.0", ""),
    ("vim", "9.1.0", ""),
    ("wget", "1.24.5", ""),
    ("wireguard", "1.0.20210914", ""),
    ("zip", "3.0", ""),
    ("zsh", "5.9", ""),
];

/// A package as it stands.
#[derive(Clone, Debug)]
pub(super) struct Package {
    pub name: String,
    pub version: String,
}

/// What is installed, sorted.
fn installed() -> Vec<Package> {
    let mut all: Vec<Package> =
        state::read("packages").into_iter().map(|(name, version)| Package { name, version }).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn find_installed(name: &str) -> Option<Package> {
    installed().into_iter().find(|package| package.name == name)
}

/// What could be installed under a name.
fn offered(name: &str) -> Option<Package> {
    if let Some(there) = find_installed(name)
        && !AVAILABLE.iter().any(|(known, _, _)| *known == name)
    {
        return Some(there);
    }
    let (name, version, _) = AVAILABLE.iter().find(|(known, _, _)| *known == name)?;
    let version = match state::id().as_str() {
        "ubuntu" => format!("{version}-1ubuntu1"),
        "alpine" => format!("{version}-r0"),
        "rocky" => format!("{version}-1.el9"),
        _ => format!("{version}-1"),
    };
    Some(Package { name: name.to_string(), version })
}

/// Installs: the package is listed, its service is there and, as Debian does it, runs.
fn install(package: &Package) {
    state::set("packages", &package.name, &package.version);
    let id = state::id();
    let service = AVAILABLE.iter().find(|(name, _, _)| *name == package.name).map_or("", |(_, _, service)| service);
    if !service.is_empty() {
        state::set("services", service, "");
        if id == "debian" || id == "ubuntu" {
            state::set("enabled", service, "");
            state::set("active", service, "");
        }
    }
    let (program, shown) = (format!("/usr/bin/{}", package.name), format!("/.fake/bin/{}", package.name));
    if std::path::Path::new(&shown).exists() && std::fs::symlink_metadata(&program).is_err() {
        let _best_effort = std::os::unix::fs::symlink(shown, program);
    }
    state::log("packages", &format!("installed {} {}", package.name, package.version));
}

/// Removes; whether it was there.
fn remove(name: &str) -> bool {
    let was = state::unset("packages", name);
    let service = AVAILABLE.iter().find(|(known, _, _)| *known == name).map_or("", |(_, _, service)| service);
    if was && !service.is_empty() {
        for file in ["services", "enabled", "active"] {
            state::unset(file, service);
        }
    }
    let program = format!("/usr/bin/{name}");
    if was && std::fs::read_link(&program).is_ok_and(|target| target.starts_with("/.fake/bin")) {
        let _best_effort = std::fs::remove_file(program);
    }
    was
}

/// What is newer than installed.
fn upgrades() -> Vec<(Package, Package)> {
    let newer = |old: Package| {
        let new = offered(&old.name)?;
        (new.version != old.version).then_some((old, new))
    };
    installed().into_iter().filter_map(newer).collect()
}

/// Arguments apart: options, and what is no option.
fn split(args: &[String]) -> (Vec<&str>, Vec<&str>) {
    args.iter().map(String::as_str).partition(|arg| arg.starts_with('-') && arg.len() > 1)
}

/// Whether a name fits a pattern with `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            name.starts_with(before)
                && name.len() >= before.len()
                && name[before.len()..].ends_with(after.trim_matches('*'))
        }
    }
}

/// Does what a package manager is asked for; its exit status, or nothing when the name is none of them.
pub(super) fn run(name: &str, args: &[String]) -> Option<u8> {
    Some(match name {
        "apt" | "apt-get" | "apt-cache" => debian::apt(name, args),
        "dpkg" => debian::dpkg(args),
        "dpkg-query" => debian::query(args),
        "apk" => alpine::apk(args),
        "dnf" | "yum" => redhat::dnf(args),
        "rpm" => redhat::rpm(args),
        "pacman" => arch::pacman(args),
        _ => return None,
    })
}
