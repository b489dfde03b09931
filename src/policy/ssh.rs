//! An action over SSH before anybody allowed it, and what the policy says to it.

use std::time::Duration;

use pve_catalog::{Gate, Verb};
use secrecy::{ExposeSecret, SecretSlice, SecretString};

use super::{Admission, Permit, Policy, Tagged};
use crate::config::{KeyFingerprint, SshAddress, is_node_name};
use crate::error::{Code, Fault};
use crate::ssh::quote;

/// One action over SSH, described but not allowed. It can be shown; only a [`Permit`] for one can be done.
///
/// What runs is a list of arguments, never a line: the program of that name, without a shell in between. Where a shell is
/// wanted, it is the program: `["sh", "-c", script, "sh", argument, …]`. Nothing secret belongs into arguments (everybody
/// on the node can read them while the command runs): secrets go to [`SshCommand::stdin`].
///
/// As with a call to the API, the only way to do one is through the policy:
///
/// ```compile_fail
/// use pvemcp::policy::{Permit, SshCommand};
/// fn smuggle(command: SshCommand) -> Permit<SshCommand> {
///     Permit { action: command }
/// }
/// ```
///
/// ```compile_fail
/// async fn bare(ssh: &pvemcp::ssh::Ssh, cluster: &dyn pvemcp::ssh::Resolver, command: pvemcp::policy::SshCommand) {
///     ssh.run(command, cluster).await;
/// }
/// ```
///
/// This is the same with a permit, and compiles:
///
/// ```
/// # use pvemcp::policy::{Permit, SshCommand};
/// async fn allowed(ssh: &pvemcp::ssh::Ssh, cluster: &dyn pvemcp::ssh::Resolver, permit: Permit<SshCommand>) {
///     let _ = ssh.run(permit, cluster).await;
/// }
/// ```
#[derive(Debug)]
pub struct SshCommand {
    name: &'static str,
    place: Place,
    act: Act,
    effect: Effect,
    prepares_a_write: bool,
    touches: Vec<u32>,
    stdin: Option<SecretSlice<u8>>,
    secrets: Vec<SecretString>,
    limits: Limits,
    tagged: Option<Tagged>,
}

/// Where something is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On a node.
    Node(String),
    /// In a container, by `pct` on its node.
    Container {
        /// The node that it runs on.
        node: String,
        /// The container.
        vmid: u32,
    },
    /// In a guest that has an SSH server of its own.
    Guest(Guest),
}

/// A guest's own SSH server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// Which guest it is, where that is known.
    pub vmid: Option<u32>,
    /// Where it listens; port 22 unless it says another.
    pub address: SshAddress,
    /// The node to go through, for a guest that cannot be reached from here.
    pub via_node: Option<String>,
    /// Why its host key is believed.
    pub trust: GuestTrust,
}

/// Why a guest's host key is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuestTrust {
    /// By the known hosts and the policy for unknown ones, as a node's without a pin.
    KnownHosts,
    /// It has this fingerprint.
    Fingerprint(KeyFingerprint),
    /// It is one of these public keys, in OpenSSH form (`ssh-ed25519 AAAA…`), which were read over a trusted way.
    Keys(Vec<String>),
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A program runs; its name comes first.
    Run(Vec<String>),
    /// A terminal is opened: the user's shell, or a shell in the container.
    Terminal {
        /// Characters per line.
        columns: u32,
        /// Lines.
        rows: u32,
    },
    /// A file is written by SFTP, with the user's own rights (no `sudo`).
    Upload {
        /// Its whole path on the other side.
        to: String,
        /// Permission bits of a new file, such as 0o644; `None` leaves them to the other side.
        mode: Option<u32>,
        /// Whether a file that is there already is replaced.
        overwrite: bool,
    },
    /// A file is read by SFTP, with the user's own rights (no `sudo`).
    Download {
        /// Its whole path on the other side.
        from: String,
    },
}

/// What an action may do: this decides its gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// A fixed command that only reads: `ssh_read`.
    Reads,
    /// It changes something: `ssh_write`.
    Changes,
    /// It cannot be taken back, or may do anything: `ssh_write`, and a person is asked where that is possible.
    Destroys,
}

/// Bounds of a command; what is `None` comes from the settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Longest time.
    pub time: Option<Duration>,
    /// Bytes kept of each output stream.
    pub output: Option<usize>,
    /// More output is an error (`ssh_output_too_large`) instead of being cut.
    pub whole: bool,
}

impl SshCommand {
    /// A command; `name` is what it is called in refusals, usually the tool's name.
    ///
    /// # Errors
    /// `bad_argument` when the arguments cannot be sent, or the place is none.
    pub fn run<A: Into<String>>(
        name: &'static str,
        place: Place,
        argv: impl IntoIterator<Item = A>,
        effect: Effect,
    ) -> Result<SshCommand, Fault> {
        SshCommand::of(name, place, Act::Run(argv.into_iter().map(Into::into).collect()), effect)
    }

    /// A terminal. What is typed into one is not looked at.
    ///
    /// # Errors
    /// `bad_argument` when the place is none.
    pub fn terminal(name: &'static str, place: Place, columns: u32, rows: u32) -> Result<SshCommand, Fault> {
        SshCommand::of(name, place, Act::Terminal { columns, rows }, Effect::Destroys)
    }

    /// A file to be written by SFTP.
    ///
    /// # Errors
    /// `bad_argument` when the path is not whole or the place is a container (which has no SFTP).
    pub fn upload(
        name: &'static str,
        place: Place,
        to: impl Into<String>,
        mode: Option<u32>,
        overwrite: bool,
    ) -> Result<SshCommand, Fault> {
        let effect = if overwrite { Effect::Destroys } else { Effect::Changes };
        SshCommand::of(name, place, Act::Upload { to: to.into(), mode, overwrite }, effect)
    }

    /// A file to be read by SFTP. Any file: so the caller says which gate that needs.
    ///
    /// # Errors
    /// As [`SshCommand::upload`].
    pub fn download(
        name: &'static str,
        place: Place,
        from: impl Into<String>,
        effect: Effect,
    ) -> Result<SshCommand, Fault> {
        SshCommand::of(name, place, Act::Download { from: from.into() }, effect)
    }

    fn of(name: &'static str, place: Place, act: Act, effect: Effect) -> Result<SshCommand, Fault> {
        place.check()?;
        let command = SshCommand {
            name,
            touches: place.vmid().into_iter().collect(),
            place,
            act,
            effect,
            prepares_a_write: false,
            stdin: None,
            secrets: Vec::new(),
            limits: Limits::default(),
            tagged: None,
        };
        match &command.act {
            Act::Run(argv) => drop(quote::line(argv).map_err(|error| Fault::argument("command", error.to_string()))?),
            Act::Terminal { .. } => {}
            Act::Upload { to: path, .. } | Act::Download { from: path } => check_path(path, &command.place)?,
        }
        Ok(command)
    }

    /// The same action, with what the tags of guests say just now.
    pub fn with_tags(self, tagged: Tagged) -> SshCommand {
        SshCommand { tagged: Some(tagged), ..self }
    }

    /// What the tags of guests say, where that was read.
    pub fn tagged(&self) -> Option<&Tagged> {
        self.tagged.as_ref()
    }

    /// Whether it changes nothing.
    pub fn only_reads(&self) -> bool {
        self.effect == Effect::Reads
    }

    /// Gives the command these bytes to read. They are never shown and never logged.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> SshCommand {
        self.stdin = Some(bytes.into().into());
        self
    }

    /// Another guest that the command acts on (`pct set 101 …` on a node): a write that touches a protected one is refused.
    pub fn touching(mut self, vmid: u32) -> SshCommand {
        self.touches.push(vmid);
        self
    }

    /// A value that may show nowhere: taken out of the output and of what is shown of the command.
    pub fn hiding(mut self, secret: impl Into<SecretString>) -> SshCommand {
        self.secrets.push(secret.into());
        self
    }

    /// Says that this read is part of a write (which distribution is it?). A dry run sends no SSH command at all, so
    /// that it is then shown instead of being done, as the write itself.
    pub fn for_a_write(mut self) -> SshCommand {
        self.prepares_a_write = true;
        self
    }

    /// Gives it other bounds than the settings'.
    pub fn limits(mut self, limits: Limits) -> SshCommand {
        self.limits = limits;
        self
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where it is done.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What is done.
    pub fn act(&self) -> &Act {
        &self.act
    }

    /// What it may do.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// The gate that it needs.
    pub fn gate(&self) -> Gate {
        if self.effect == Effect::Reads { Gate::SshRead } else { Gate::SshWrite }
    }

    /// The guests that it acts on, as far as that can be seen.
    pub fn touches(&self) -> &[u32] {
        &self.touches
    }

    /// What it reads.
    pub fn input(&self) -> &[u8] {
        self.stdin.as_ref().map(ExposeSecret::expose_secret).unwrap_or_default()
    }

    /// The values that may show nowhere.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(ExposeSecret::expose_secret)
    }

    /// Its bounds.
    pub fn bounds(&self) -> Limits {
        self.limits
    }

    /// The program and its arguments as they arrive on the machine that is logged in on: for a container with `pct` in
    /// front, with `sudo` where that is wanted. Empty for the user's own shell and for SFTP.
    pub fn argv(&self, sudo: bool) -> Vec<String> {
        let mut argv: Vec<String> = match (&self.place, &self.act) {
            (_, Act::Upload { .. } | Act::Download { .. }) => return Vec::new(),
            (Place::Container { vmid, .. }, Act::Run(inner)) => {
                let pct = ["pct", "exec", &vmid.to_string(), "--"].map(str::to_string);
                pct.into_iter().chain(inner.iter().cloned()).collect()
            }
            (Place::Container { vmid, .. }, Act::Terminal { .. }) => {
                vec!["pct".into(), "enter".into(), vmid.to_string()]
            }
            (_, Act::Run(argv)) => argv.clone(),
            (Place::Node(_), Act::Terminal { .. }) if sudo => return ["sudo", "-n", "-i"].map(str::to_string).into(),
            (_, Act::Terminal { .. }) => return Vec::new(),
        };
        if sudo && !matches!(self.place, Place::Guest(_)) {
            argv.splice(0..0, ["sudo", "-n", "--"].map(str::to_string));
        }
        argv
    }
}

impl Place {
    /// The guest it is in.
    pub fn vmid(&self) -> Option<u32> {
        match self {
            Place::Node(_) => None,
            Place::Container { vmid, .. } => Some(*vmid),
            Place::Guest(guest) => guest.vmid,
        }
    }

    /// The node that is logged in on, or gone through.
    pub fn node(&self) -> Option<&str> {
        match self {
            Place::Node(node) | Place::Container { node, .. } => Some(node),
            Place::Guest(guest) => guest.via_node.as_deref(),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        match self.node() {
            Some(node) if !is_node_name(node) => Err(Fault::argument("node", format!("'{node}' is no name of a node"))),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Node(node) => write!(f, "node {node}"),
            Place::Container { node, vmid } => write!(f, "container {vmid} on node {node}"),
            Place::Guest(Guest { vmid: Some(vmid), address, .. }) => write!(f, "guest {vmid} ({})", address.host),
            Place::Guest(Guest { address, .. }) => write!(f, "host {}", address.host),
        }
    }
}

fn check_path(path: &str, place: &Place) -> Result<(), Fault> {
    if matches!(place, Place::Container { .. }) {
        return Err(Fault::new(Code::Internal, "a container has no SFTP: its files go through pct exec"));
    }
    if !path.starts_with('/') || path.ends_with('/') || path.contains('\0') {
        return Err(Fault::argument("path", "expected the whole path of a file, from / on"));
    }
    Ok(())
}

impl SshCommand {
    /// The guests that it surely acts on: later numbers of a command line may be sizes.
    pub fn certain_guests(&self) -> Vec<u32> {
        let first = match &self.act {
            Act::Run(argv) => named_by(argv).into_iter().next(),
            _ => None,
        };
        self.touches.iter().copied().chain(first).collect()
    }

    /// The guests that it names. What a shell or a script does is not seen.
    pub fn guests(&self) -> Vec<u32> {
        let named = match &self.act {
            Act::Run(argv) => named_by(argv),
            _ => Vec::new(),
        };
        let mut vmids: Vec<u32> = self.touches.iter().copied().chain(named).collect();
        vmids.sort_unstable();
        vmids.dedup();
        vmids
    }
}

/// Programs of a node that name the guest they act on.
const ACT_ON_GUESTS: [&str; 5] = ["pct", "qm", "vzdump", "qmrestore", "lxc-attach"];

impl Policy {
    /// Decides about one action over SSH. `dry_run` is the caller's wish to see it only; it opens nothing.
    ///
    /// # Errors
    /// A fault that says which variable to set, or why nothing helps.
    pub fn admit_ssh(&self, command: SshCommand, dry_run: bool) -> Result<Admission<SshCommand>, Fault> {
        if !self.consider_ssh(&command, dry_run)? {
            return Ok(Admission::Dry(command));
        }
        self.tags_were_read_ssh(&command)?;
        if command.effect == Effect::Destroys {
            self.alone(&format!("{} on {}", command.name, command.place))?;
        }
        Ok(Admission::Go(Permit::grant(command)))
    }

    /// Whether the action would be done (true) or only shown. Whether somebody has to agree is not looked at.
    pub(crate) fn consider_ssh(&self, command: &SshCommand, dry_run: bool) -> Result<bool, Fault> {
        let gate = command.gate();
        let reads = command.effect == Effect::Reads;
        let verb = if reads { Verb::Get } else { Verb::Post };
        let what = format!("{} on {}", command.name, command.place);
        if !self.opens(gate, verb) {
            let needed = self.what_opens(gate, verb).join(" and ");
            return Err(Fault::new(Code::GateClosed, format!("{what} needs the gate {gate}, which is closed"))
                .hint(format!("a person can open it by starting the server with {needed}"))
                .detail("gate", gate.word()));
        }
        if let Some(vmid) = self.protected_among(command).filter(|_| !reads) {
            return Err(Fault::new(Code::ProtectedGuest, format!("{what} is refused: guest {vmid} is protected"))
                .hint("PROXMOX_PROTECTED_VMIDS lists the guests that are not to be changed; a person can change it"));
        }
        self.refuse_tagged_ssh(command)?;
        let would_write = !reads || command.prepares_a_write;
        Ok(!(dry_run || (self.access.dry_run && would_write)))
    }

    /// A protected guest that the command names. What a shell or a script does is not seen.
    fn protected_among(&self, command: &SshCommand) -> Option<u32> {
        let protected = |vmid: &u32| self.access.protected_vmids.contains(vmid);
        command.guests().into_iter().find(protected)
    }
}

/// Numbers that stand where a program of the node takes the number of a guest.
fn named_by(argv: &[String]) -> Vec<u32> {
    let program = argv.first().map(|program| program.rsplit('/').next().unwrap_or_default());
    if !program.is_some_and(|program| ACT_ON_GUESTS.contains(&program)) {
        return Vec::new();
    }
    argv.iter().skip(1).take_while(|argument| *argument != "--").filter_map(|argument| argument.parse().ok()).collect()
}
