//! Nodes and their addresses: `corosync.conf`, the folders of `nodes/`, `hosts`.

use std::collections::BTreeSet;

use super::Import;
use crate::world::Node;

impl Import<'_> {
    /// Every node that some file names; the first one is the entry.
    pub(super) fn nodes(&mut self) {
        let corosync = self.text("corosync.conf").to_string();
        let mut current: Option<(String, Node)> = None;
        for line in corosync.lines().map(str::trim) {
            if line == "node {" {
                current = Some((String::new(), Node::default()));
            } else if line == "}" {
                let ended = current.take().filter(|(name, _)| !name.is_empty());
                self.world.nodes.extend(ended);
            } else if let Some((key, value)) = line.split_once(':') {
                let value = value.trim();
                match (key.trim(), &mut current) {
                    ("name", Some((name, _))) => *name = value.into(),
                    ("nodeid", Some((_, node))) => node.nodeid = value.parse().unwrap_or(node.nodeid),
                    ("ring0_addr", Some((_, node))) => node.ip = value.into(),
                    ("cluster_name", None) => self.world.cluster = Some(value.into()),
                    _ => {}
                }
            }
        }
        self.nodes_of_folders();
        let first = self.world.nodes.iter().min_by_key(|(name, node)| (node.nodeid, (*name).clone()));
        self.world.entry = first.map(|(name, _)| name.clone()).unwrap_or_default();
    }

    fn nodes_of_folders(&mut self) {
        let folders = self.files.keys().filter_map(|name| name.strip_prefix("nodes/")?.split('/').next());
        let mut names: BTreeSet<String> = folders.map(str::to_string).collect();
        if names.is_empty() && self.world.nodes.is_empty() {
            names.insert("pve1".into());
        }
        let hosts = self.text("/etc/hosts").to_string();
        for name in names {
            let number = u32::try_from(self.world.nodes.len() + 1).unwrap_or(1);
            let address = hosts.lines().find_map(|line| {
                let mut words = line.split('#').next()?.split_whitespace();
                let address = words.next()?;
                words.any(|word| word == name).then(|| address.to_string())
            });
            let ip = address.unwrap_or_else(|| format!("192.0.2.{}", 10 + number));
            self.world.nodes.entry(name).or_insert_with(|| Node { nodeid: number, ip, ..Node::default() });
        }
    }
}
