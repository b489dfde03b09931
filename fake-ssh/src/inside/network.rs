//! `ss`, `netstat` and `ip` of a container: a sandbox has no network, so that what a container would show is told
//! from its configuration and from the services that run.

use super::state::{self, err, out};

/// What services listen on.
const PORTS: &[(&str, u16)] = &[
    ("apache2", 80),
    ("caddy", 80),
    ("dnsmasq", 53),
    ("haproxy", 80),
    ("httpd", 80),
    ("mariadb", 3306),
    ("memcached", 11211),
    ("named", 53),
    ("nginx", 80),
    ("postfix", 25),
    ("postgresql", 5432),
    ("prometheus", 9090),
    ("redis", 6379),
    ("redis-server", 6379),
    ("smbd", 445),
    ("ssh", 22),
    ("sshd", 22),
];

/// Does it; the exit status, or nothing when the name is another.
pub(super) fn run(name: &str, args: &[String]) -> Option<u8> {
    let has =
        |letter: char| args.iter().any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter));
    Some(match name {
        "ss" => {
            sockets(has('H'), has('p'));
            0
        }
        "netstat" => {
            netstat(has('p'));
            0
        }
        "ip" => ip(args),
        _ => return None,
    })
}

/// Service, its port, and a process number, of what listens.
fn listening() -> Vec<(String, u16, usize)> {
    let port = |name: &str| PORTS.iter().find(|(known, _)| *known == name).map(|(_, port)| *port);
    let active = state::read("active").into_iter().enumerate();
    active.filter_map(|(at, (name, _))| Some((name.clone(), port(&name)?, 100 + at * 7))).collect()
}

/// The program behind a service.
fn program(service: &str) -> &str {
    if service == "ssh" { "sshd" } else { service }
}

fn sockets(bare: bool, processes: bool) {
    if !bare {
        let last = if processes { "Process" } else { "" };
        out(&format!("State  Recv-Q Send-Q Local Address:Port  Peer Address:Port{last}\n"));
    }
    for (service, port, pid) in listening() {
        let who = match processes {
            true => format!("users:((\"{}\",pid={pid},fd=3))", program(&service)),
            false => String::new(),
        };
        out(&format!("LISTEN 0      128    {:>13}:{port:<5}      0.0.0.0:*    {who}\n", "0.0.0.0"));
    }
}

fn netstat(processes: bool) {
    let last = if processes { "PID/Program name" } else { "" };
    out("Active Internet connections (only servers)\n");
    out(&format!("Proto Recv-Q Send-Q Local Address           Foreign Address         State       {last}\n"));
    for (service, port, pid) in listening() {
        let who = if processes { format!("{pid}/{}", program(&service)) } else { String::new() };
        let local = format!("0.0.0.0:{port}");
        out(&format!("tcp        0      0 {local:<23} {:<23} LISTEN      {who}\n", "0.0.0.0:*"));
    }
}

/// An interface: name, hardware address, addresses with their lengths, gateway.
struct Interface {
    name: String,
    mac: String,
    addresses: Vec<String>,
    gateway: Option<String>,
}

/// Those of the configuration, as the node wrote them down.
fn interfaces() -> Vec<Interface> {
    let read = |(name, rest): (String, String)| {
        let mut parts = rest.split(' ');
        let mac = parts.next().unwrap_or_default().to_string();
        let (mut addresses, mut gateway) = (Vec::new(), None);
        for part in parts {
            match part.strip_prefix("gw=") {
                Some(way) => gateway = Some(way.to_string()),
                None => addresses.push(part.to_string()),
            }
        }
        Interface { name, mac: mac.to_lowercase(), addresses, gateway }
    };
    let loopback = Interface {
        name: "lo".into(),
        mac: "00:00:00:00:00:00".into(),
        addresses: vec!["127.0.0.1/8".into(), "::1/128".into()],
        gateway: None,
    };
    std::iter::once(loopback).chain(state::read("net").into_iter().map(read)).collect()
}

fn family(address: &str) -> &'static str {
    if address.contains(':') { "inet6" } else { "inet" }
}

fn ip(args: &[String]) -> u8 {
    let words: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.starts_with('-')).collect();
    let has = |names: &[&str]| args.iter().any(|arg| names.contains(&arg.as_str()));
    let (json, brief, four, six) = (has(&["-j", "-json"]), has(&["-br", "-brief"]), has(&["-4"]), has(&["-6"]));
    let wanted = |address: &String| (!four || family(address) == "inet") && (!six || family(address) == "inet6");
    let all = interfaces();
    match words.first() {
        Some(word) if "address".starts_with(word) || "link".starts_with(word) => {
            let links = "link".starts_with(word);
            let only = words.iter().skip_while(|word| **word != "dev").nth(1).or(words.get(2));
            let shown = all.iter().enumerate().filter(|(_, one)| only.is_none_or(|only| one.name == **only));
            let mut objects = Vec::new();
            for (at, one) in shown {
                let addresses: Vec<&String> =
                    one.addresses.iter().filter(|address| wanted(address) && !links).collect();
                if json {
                    objects.push(object(at, one, &addresses));
                } else if brief {
                    let list: Vec<&str> = addresses.iter().map(|address| address.as_str()).collect();
                    out(&format!("{:<16} UP             {}\n", one.name, list.join(" ")));
                } else {
                    long(at, one, &addresses);
                }
            }
            if json {
                out(&format!("{}\n", serde_json::Value::from(objects)));
            }
            0
        }
        Some(word) if "route".starts_with(word) => {
            for one in all.iter().filter(|one| one.name != "lo") {
                if let Some(way) = &one.gateway {
                    out(&format!("default via {way} dev {} \n", one.name));
                }
            }
            0
        }
        _ => {
            err("Object is not part of this rehearsal; there are address, link and route\n");
            1
        }
    }
}

fn object(at: usize, one: &Interface, addresses: &[&String]) -> serde_json::Value {
    let info: Vec<serde_json::Value> = addresses
        .iter()
        .map(|address| {
            let (local, length) = address.split_once('/').unwrap_or((address, "24"));
            serde_json::json!({
                "family": family(address), "local": local, "prefixlen": length.parse().unwrap_or(24),
                "scope": if one.name == "lo" { "host" } else { "global" },
            })
        })
        .collect();
    serde_json::json!({
        "ifindex": at + 1, "ifname": one.name, "mtu": if at == 0 { 65536 } else { 1500 }, "operstate": "UP",
        "address": one.mac, "addr_info": info,
    })
}

fn long(at: usize, one: &Interface, addresses: &[&String]) {
    let loopback = one.name == "lo";
    let (flags, kind) =
        if loopback { ("LOOPBACK,UP,LOWER_UP", "loopback") } else { ("BROADCAST,MULTICAST,UP,LOWER_UP", "ether") };
    let shown = if loopback { "lo".into() } else { format!("{}@if{}", one.name, at + 10) };
    let mtu = if loopback { 65536 } else { 1500 };
    out(&format!("{}: {shown}: <{flags}> mtu {mtu} state UP\n    link/{kind} {}\n", at + 1, one.mac));
    for address in addresses {
        let scope = if loopback { "host" } else { "global" };
        out(&format!("    {} {address} scope {scope} {}\n", family(address), one.name));
    }
}
