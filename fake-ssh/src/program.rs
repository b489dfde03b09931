//! What a node's programs do: one file for each, on the cluster by its API in process.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use crate::User;
use crate::site::{Node, Site};

mod attached;
mod container;
pub(crate) mod guest;
mod ha_manager;
mod pct;
mod pvecm;
mod pvenode;
mod pvesh;
mod pvesm;
mod pveum;
mod pveversion;
mod qm;
mod sudo;
mod units;

/// The programs on a node's path that are stubs.
pub(crate) const NAMES: &[&str] = &[
    "ha-manager",
    "journalctl",
    "pct",
    "pveam",
    "pvecm",
    "pvenode",
    "pvesh",
    "pvesm",
    "pvesr",
    "pvesubscription",
    "pveum",
    "pveversion",
    "qm",
    "qmrestore",
    "sudo",
    "systemctl",
    "vzdump",
];

/// Those of them that everybody has on the path.
pub(crate) const EVERYBODYS: &[&str] = &[
    "journalctl",
    "pveam",
    "pvecm",
    "pvenode",
    "pvesh",
    "pvesr",
    "pvesubscription",
    "pveversion",
    "sudo",
    "systemctl",
    "vzdump",
];

/// One call of a program.
pub(crate) struct Call {
    pub site: Arc<Site>,
    pub node: Arc<Node>,
    pub user: User,
    /// Its name and its arguments.
    pub argv: Vec<String>,
    /// Working folder on the node.
    pub cwd: String,
    pub env: BTreeMap<String, String>,
    pub stdin: File,
    pub stdout: File,
    pub stderr: File,
    /// The stub at the other end: when it goes, what was started for it goes too.
    pub socket: UnixStream,
}

impl Call {
    /// Writes to standard output. Nobody reading is nobody's fault.
    pub fn out(&mut self, text: &str) {
        let _gone = self.stdout.write_all(text.as_bytes());
    }

    /// Writes to standard error.
    pub fn err(&mut self, text: &str) {
        let _gone = self.stderr.write_all(text.as_bytes());
    }
}

/// Does it; the exit status.
pub(crate) fn run(call: &mut Call) -> i32 {
    let program = match call.argv.first().map(String::as_str) {
        Some("pveversion") => return pveversion::run(call),
        Some("pvesh") => return pvesh::run(call),
        Some("sudo") => return sudo::run(call),
        Some("systemctl") => return units::systemctl(call),
        Some("journalctl") => return units::journalctl(call),
        Some("vzdump") => return pvenode::vzdump(call),
        Some("ha-manager") => &ha_manager::HA,
        Some("pct") => &pct::PCT,
        Some("pveam") => &pvenode::PVEAM,
        Some("pvecm") => &pvecm::PVECM,
        Some("pvenode") => &pvenode::PVENODE,
        Some("pvesm") => &pvesm::PVESM,
        Some("pvesr") => &pvenode::PVESR,
        Some("pvesubscription") => &pvenode::PVESUBSCRIPTION,
        Some("pveum") => &pveum::PVEUM,
        Some("qm") => &qm::QM,
        Some("qmrestore") => &qm::QMRESTORE,
        _ => return 127,
    };
    crate::cli::perform::run(program, call)
}
