//! Firewall configurations (`cluster.fw`, `host.fw`, `100.fw`, `vnet1.fw`): plain data, read and written as Proxmox does.

mod read;
mod write;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use read::{read, rule as read_rule};
pub use write::{rule as write_rule, write};

/// One configuration. Rules are kept with the keys of the API: `type`, `action`, `macro`, `enable`, `iface`, `source`,
/// `dest`, `proto`, `dport`, `sport`, `icmp-type`, `log`, `comment`; texts, but `enable` is a number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Firewall {
    /// Options that are set; numbers for integers and booleans.
    pub options: Map<String, Value>,
    /// Named addresses.
    pub aliases: Vec<Alias>,
    /// Sets of addresses.
    pub ipsets: Vec<IpSet>,
    /// Rules in order.
    pub rules: Vec<Map<String, Value>>,
    /// Security groups (cluster only).
    pub groups: Vec<Group>,
}

/// A named address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Alias {
    /// As it was written; names are compared without case.
    pub name: String,
    /// An address or a network.
    pub cidr: String,
    /// Free text.
    pub comment: Option<String>,
}

/// A set of addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IpSet {
    /// Its name.
    pub name: String,
    /// Free text.
    pub comment: Option<String>,
    /// Its members in order.
    pub entries: Vec<Entry>,
}

/// A member of a set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// An address, a network or an alias.
    pub cidr: String,
    /// Whether it is taken out of the set.
    pub nomatch: bool,
    /// Free text.
    pub comment: Option<String>,
}

/// A security group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Free text.
    pub comment: Option<String>,
    /// Its rules in order.
    pub rules: Vec<Map<String, Value>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_back() {
        let text = "[OPTIONS]\n\nenable: 1\npolicy_in: DROP\n\n[ALIASES]\n\ntest1 10.9.9.9 # an alias\n\n\
            [IPSET set2] # c\n\n!10.0.0.0/8 # x\n10.0.0.1\n\n[RULES]\n\nIN SSH(ACCEPT) -source 10.0.0.0/8 -log nolog # rule0\n\
            |OUT DROP -p tcp -dport 25\n|GROUP grp1 -i net0\n\n[group grp1] # grp\n\nIN ACCEPT -p tcp -dport 80 -log nolog\n\n";
        let (firewall, warnings) = read(text);
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(firewall.rules[0]["macro"], "SSH");
        assert_eq!(firewall.rules[1]["enable"], 0);
        assert_eq!(
            firewall.ipsets[0].entries[0],
            Entry { cidr: "10.0.0.0/8".into(), nomatch: true, comment: Some("x".into()) }
        );
        assert_eq!(write(&firewall), text);
    }

    #[test]
    fn what_fits_nowhere_is_told() {
        let (_, warnings) = read("lost\n[OPTIONS]\nenable 1\n[RULES]\nSIDEWAYS ACCEPT\n");
        assert_eq!(warnings.len(), 3, "{warnings:?}");
    }
}
