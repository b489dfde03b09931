//! What all nodes share: the cluster, the users, the folders on the disk, and how commands are started.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fake_pve::Direct;
use rand::Rng as _;
use russh::keys::PrivateKey;
use russh::keys::ssh_key::private::Ed25519Keypair;

use crate::beneath::Root;
use crate::shell::warden::{Warden, Watch};
use crate::shell::{self, Confinement, Run};
use crate::{Error, Fault, Limits, User, rootfs};

/// How many calls are remembered.
const REMEMBERED: usize = 10_000;

/// How many sandboxes programs may have started at a time.
const MOST_STARTED: usize = 64;

/// One of them.
pub(crate) struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Everything that the servers of a cluster share.
pub(crate) struct Site {
    pub direct: Direct,
    pub users: Vec<User>,
    pub nodes: BTreeMap<String, std::sync::Arc<Node>>,
    pub limits: Limits,
    pub program: PathBuf,
    pub confinement: Confinement,
    /// Who runs what is confined, outside: nobody in particular when this process is root, else its own user.
    pub owner: Option<u32>,
    pub warden: Warden,
    folder: Folder,
    calls: Mutex<VecDeque<Vec<String>>>,
    commands: Mutex<VecDeque<(String, String)>>,
    started: AtomicUsize,
    making: Mutex<()>,
    /// The configuration files as last written, by node.
    written: Mutex<BTreeMap<String, BTreeMap<String, String>>>,
}

/// One node.
pub(crate) struct Node {
    pub name: String,
    pub root: Root,
    pub key: PrivateKey,
    /// What is shown instead under [`Fault::WrongKey`].
    pub other_key: PrivateKey,
    faults: Mutex<Vec<Fault>>,
}

impl Node {
    pub fn faults(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has(&self, fault: &Fault) -> bool {
        self.faults().contains(fault)
    }
}

/// A folder that goes when this goes.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_dir_all(&self.0);
    }
}

/// Letters and digits.
pub(crate) fn random_word(length: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijkmnopqrstuvwxyz23456789";
    let mut random = rand::rng();
    (0..length).map(|_| LETTERS[random.next_u32() as usize % LETTERS.len()] as char).collect()
}

fn random_key() -> PrivateKey {
    let mut seed = [0; 32];
    rand::rng().fill_bytes(&mut seed);
    PrivateKey::from(Ed25519Keypair::from_seed(&seed))
}

impl Site {
    /// Makes the folders of every node.
    pub fn make(
        direct: Direct,
        users: Vec<User>,
        program: Option<PathBuf>,
        limits: Limits,
        confined: bool,
    ) -> Result<Site, Error> {
        use std::os::unix::fs::PermissionsExt as _;
        let program = match program {
            Some(program) => program,
            None => std::env::current_exe().map_err(Error::io("cannot find the running program"))?,
        };
        let program = program.canonicalize().map_err(Error::io(format!("cannot use {}", program.display())))?;
        let owner = (confined && rustix::process::geteuid().is_root())
            .then(|| 1_900_000_000 + rand::rng().next_u32() % 90_000_000);
        let folder = std::env::temp_dir().join(format!("fake-ssh-{}", random_word(12)));
        std::fs::create_dir(&folder).map_err(Error::io(format!("cannot make {}", folder.display())))?;
        let folder = Folder(folder.canonicalize().map_err(Error::io("cannot find the new folder"))?);
        let open = std::fs::Permissions::from_mode(0o711);
        std::fs::set_permissions(&folder.0, open).map_err(Error::io("cannot open the new folder"))?;
        let program = reachable(program, &folder.0, owner)?;
        let confinement = if confined { shell::confine(&program, owner)? } else { Confinement::Nothing };

        let mut nodes = BTreeMap::new();
        let facts: Vec<(String, bool)> =
            direct.world(|world| world.nodes.iter().map(|(name, node)| (name.clone(), node.online)).collect());
        for (name, _online) in facts.into_iter().filter(|(_, online)| *online) {
            let root = Root::new(folder.0.join(&name), owner);
            let node =
                Node { name: name.clone(), root, key: random_key(), other_key: random_key(), faults: Mutex::default() };
            rootfs::node::make(&node, &users, &direct, &program)
                .map_err(Error::io(format!("cannot make the files of {name}")))?;
            nodes.insert(name, std::sync::Arc::new(node));
        }
        let warden = Warden::start();
        let (calls, commands, started, making, written) = Default::default();
        Ok(Site {
            direct,
            users,
            nodes,
            limits,
            program,
            confinement,
            owner,
            warden,
            folder,
            calls,
            commands,
            started,
            making,
            written,
        })
    }

    /// Ends everything that still runs.
    pub fn stop(&self) {
        self.warden.stop();
    }

    /// Where containers and sockets lie.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// The command line of a sandbox.
    pub fn command(&self, run: &Run) -> std::process::Command {
        run.command(&self.confinement, &self.program, self.owner, &self.limits)
    }

    /// Watches what was started for it.
    pub fn watch(&self, pid: u32, run: &Run) -> Watch {
        self.warden.watch(pid, &run.root, &self.limits)
    }

    /// Remembers what a program was called with.
    pub fn remember(&self, argv: Vec<String>) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() == REMEMBERED {
            calls.pop_front();
        }
        calls.push_back(argv);
    }

    /// Remembers a command line that a client sent to a node.
    pub fn remember_command(&self, node: &str, command: &str) {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        if commands.len() == REMEMBERED {
            commands.pop_front();
        }
        commands.push_back((node.into(), command.into()));
    }

    pub fn commands(&self) -> Vec<(String, String)> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub fn calls(&self) -> Vec<Vec<String>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Room for one more sandbox that a program starts, until this goes: limits inside one do not bind those it asks for.
    pub fn place(&self) -> Option<Place<'_>> {
        let before = self.started.fetch_add(1, Ordering::AcqRel);
        let place = Place(&self.started);
        (before < MOST_STARTED).then_some(place)
    }

    /// One root directory is made at a time.
    pub fn making(&self) -> MutexGuard<'_, ()> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the files under a node's `/etc/pve` up to the world.
    pub fn refresh(&self, node: &Node) {
        // What cannot be removed now is tried again after the next command.
        let _kept = rootfs::container::prune(self);
        let now = rootfs::node::config_files(&self.direct, &node.name);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let before = written.entry(node.name.clone()).or_default();
        if *before != now {
            rootfs::node::write_config(node, before, &now);
            *before = now;
        }
    }
}

/// The program at a place that the sandboxes' user can reach: where it lies, or a copy.
fn reachable(program: PathBuf, folder: &Path, owner: Option<u32>) -> Result<PathBuf, Error> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    if owner.is_none() {
        return Ok(program);
    }
    let open = program.ancestors().all(|path| path.metadata().is_ok_and(|status| status.mode() & 0o005 == 0o005));
    if open {
        return Ok(program);
    }
    let copy = folder.join("program");
    if std::fs::hard_link(&program, &copy).is_err() {
        std::fs::copy(&program, &copy).map_err(Error::io("cannot copy the program for the sandboxes"))?;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&copy, mode).map_err(Error::io("cannot open the program for the sandboxes"))?;
    }
    Ok(copy)
}
