//! Whether a rule makes sense where it stands, in Proxmox's order and words.

use serde_json::{Map, Value, json};

use super::aliases::alias;
use super::{Env, macros, text, version_of};
use crate::world::Firewall;

/// What came out.
#[derive(Default)]
pub(super) struct Findings {
    /// Property and text, in the order in which they were found; one text per property.
    pub errors: Vec<(String, Value)>,
    /// The version that the addresses and protocols of the rule imply.
    pub ipversion: Option<u8>,
}

impl Findings {
    fn add(&mut self, name: &str, message: impl Into<String>) {
        if self.errors.iter().all(|(known, _)| known != name) {
            self.errors.push((name.into(), json!(message.into())));
        }
    }

    fn version(&mut self, name: &str, version: Option<u8>) {
        match (self.ipversion, version) {
            (Some(known), Some(found)) if known != found => {
                self.add(name, "detected mixed ipv4/ipv6 addresses in rule");
            }
            (None, found) => self.ipversion = found,
            _ => {}
        }
    }
}

/// Judges a rule; the name of a macro gets its right case. `own` is the configuration of the guest.
pub(super) fn verify(rule: &mut Map<String, Value>, env: Env, cluster: &Firewall, own: Option<&Firewall>) -> Findings {
    let mut found = Findings::default();
    kind(rule, env, &mut found);
    interface(rule, env, &mut found);
    if is_true(rule, "macro") {
        match macros::find(&text(rule, "macro")) {
            Some(known) => drop(rule.insert("macro".into(), json!(known.name))),
            None => found.add("macro", format!("unknown macro '{}'", text(rule, "macro"))),
        }
    }
    protocol(rule, &mut found);
    for name in ["source", "dest"] {
        address(rule, name, cluster, own, &mut found);
    }
    if found.errors.is_empty()
        && let Some(known) = macros::find(&text(rule, "macro"))
        && let Some((name, message)) = known.conflict(rule, found.ipversion)
    {
        found.add(&name, message);
    }
    found
}

fn kind(rule: &Map<String, Value>, env: Env, found: &mut Findings) {
    let (kind, action) = (text(rule, "type"), text(rule, "action"));
    let allowed: &[&str] = match env {
        Env::Cluster | Env::Host => &["in", "out", "forward", "group"],
        Env::Vm | Env::Ct => &["in", "out", "group"],
        Env::Group => &["in", "out", "forward"],
        Env::Vnet => &["forward", "group"],
    };
    if !allowed.contains(&kind.as_str()) {
        found.add("type", format!("invalid rule type '{kind}' for rule_env '{}'", env.word()));
    } else if kind == "group" {
        if !is_group_name(&action) {
            found.add("action", "invalid characters in security group name");
        }
    } else if !matches!(action.as_str(), "ACCEPT" | "DROP" | "REJECT") {
        found.add("action", format!("unknown action '{action}'"));
    } else if kind == "forward" && action == "REJECT" {
        found.add("action", "cannot define REJECT rules on forward chain");
    }
}

fn interface(rule: &Map<String, Value>, env: Env, found: &mut Findings) {
    if !is_true(rule, "iface") {
        return;
    }
    if matches!(env, Env::Group | Env::Vnet) {
        found.add("type", "parameter -i not allowed for this rule type");
    }
    let number = text(rule, "iface").strip_prefix("net").map(str::to_string);
    let of_guest = number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    if matches!(env, Env::Vm | Env::Ct) && !of_guest {
        found.add("iface", "value does not match the regex pattern 'net\\d+'");
    }
}

fn protocol(rule: &Map<String, Value>, found: &mut Findings) {
    let proto = text(rule, "proto");
    let icmp = matches!(proto.as_str(), "icmp" | "icmpv6" | "ipv6-icmp");
    if is_true(rule, "proto") && icmp {
        found.version("proto", Some(if proto == "icmp" { 4 } else { 6 }));
    }
    let ported = ["tcp", "udp", "udplite", "sctp", "dccp", "6", "17", "136", "132", "33"].contains(&proto.as_str());
    if is_true(rule, "dport") {
        if !is_true(rule, "proto") {
            found.add("proto", "missing property - 'dport' requires this property");
        } else if !ported && !icmp {
            found.add("dport", format!("protocol '{proto}' does not support ports"));
        }
    }
    if is_true(rule, "icmp-type") {
        if !icmp {
            found.add("proto", "missing property - 'icmp-type' requires this property");
        } else if is_true(rule, "dport") {
            found.add("icmp-type", "'icmp-type' cannot be specified together with 'dport'");
        }
    }
    if is_true(rule, "sport") {
        if !is_true(rule, "proto") {
            found.add("proto", "missing property - 'sport' requires this property");
        } else if !ported {
            found.add("sport", format!("protocol '{proto}' does not support ports"));
        }
    }
}

/// Addresses agree in their version; sets and aliases exist, in the cluster or in the guest's own configuration.
fn address(rule: &Map<String, Value>, name: &str, cluster: &Firewall, own: Option<&Firewall>, found: &mut Findings) {
    if !is_true(rule, name) {
        return;
    }
    let value = text(rule, name);
    if let Some(set) = value.strip_prefix('+') {
        let plain = ["guest/", "dc/", "sdn/"].iter().find_map(|scope| set.strip_prefix(scope)).unwrap_or(set);
        let of_sdn = set.starts_with("sdn/");
        if !is_set_name(plain) {
            found.add(name, format!("invalid ipset name '{value}'"));
        } else if !of_sdn && !has_set(cluster, plain) && own.is_none_or(|own| !has_set(own, plain)) {
            found.add(name, format!("no such ipset '{plain}'"));
        }
        return;
    }
    let plain = ["guest/", "dc/"].iter().find_map(|scope| value.strip_prefix(scope)).unwrap_or(&value);
    if is_set_name(plain) {
        match own.and_then(|own| alias(own, plain)).or_else(|| alias(cluster, plain)) {
            Some(alias) => found.version(name, version_of(&alias.cidr)),
            None => found.add(name, format!("no such alias '{value}'")),
        }
        return;
    }
    found.version(name, version_of(&value));
}

/// As Perl sees it: `0` and nothing are false.
fn is_true(rule: &Map<String, Value>, name: &str) -> bool {
    let value = text(rule, name);
    !value.is_empty() && value != "0"
}

fn has_set(firewall: &Firewall, name: &str) -> bool {
    firewall.ipsets.iter().any(|set| set.name == name)
}

fn is_group_name(name: &str) -> bool {
    is_set_name(name) && name.chars().count() <= 18
}

/// Names of sets and aliases: a letter, then letters, digits, `-` and `_`.
fn is_set_name(name: &str) -> bool {
    let mut chars = name.chars();
    let rest = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    name.len() > 1 && chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.all(rest)
}
