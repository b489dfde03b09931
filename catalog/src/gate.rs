//! The nine gates: what a person must allow before a method may be called.

use serde::{Deserialize, Serialize};

/// Why a call is dangerous, from nothing to everything. What opens a gate is the server's business, not the catalogue's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Ordinary reads.
    Read,
    /// Reads that show secrets or make a node contact somewhere else.
    Sensitive,
    /// Changes to guests and what belongs to them.
    Write,
    /// Changes to the cluster itself.
    Elevated,
    /// Running something inside a guest.
    GuestExec,
    /// Console tickets: as good as a login.
    Console,
    /// Fixed commands that read over SSH.
    SshRead,
    /// Everything else over SSH.
    SshWrite,
    /// Never offered as a tool.
    Blocked,
}

impl Gate {
    /// All gates, from the mildest.
    pub const ALL: [Gate; 9] = [
        Gate::Read,
        Gate::Sensitive,
        Gate::Write,
        Gate::Elevated,
        Gate::GuestExec,
        Gate::Console,
        Gate::SshRead,
        Gate::SshWrite,
        Gate::Blocked,
    ];

    /// The name users see.
    pub fn word(self) -> &'static str {
        match self {
            Gate::Read => "read",
            Gate::Sensitive => "sensitive",
            Gate::Write => "write",
            Gate::Elevated => "elevated",
            Gate::GuestExec => "guest_exec",
            Gate::Console => "console",
            Gate::SshRead => "ssh_read",
            Gate::SshWrite => "ssh_write",
            Gate::Blocked => "blocked",
        }
    }
}

impl Gate {
    /// What lies behind it, for people.
    pub fn holds(self) -> &'static str {
        match self {
            Gate::Read => "Ordinary reads",
            Gate::Sensitive => "Reads that show secrets or files, or make a node contact another host",
            Gate::Write => "Changes to guests, snapshots, backups, pools, high availability",
            Gate::Elevated => {
                "Changes to the cluster itself: nodes, storages, accounts and rights, network, firewall, Ceph"
            }
            Gate::GuestExec => "Running something inside a guest, or typing into it",
            Gate::Console => "Console tickets, each as good as a login",
            Gate::SshRead => "Fixed commands over SSH that only read",
            Gate::SshWrite => "Everything else over SSH",
            Gate::Blocked => "Logins, websockets, calls inside calls: never a tool",
        }
    }
}

impl std::fmt::Display for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
