//! Watches what runs, and ends what takes too much time, memory or room on the disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::Limits;

/// How often it looks.
const ROUND: Duration = Duration::from_millis(150);

/// The one that looks; it stops when the last copy goes.
#[derive(Clone)]
pub(crate) struct Warden {
    shared: Arc<Shared>,
}

struct Shared {
    watched: Mutex<Option<HashMap<u32, Watched>>>,
    changed: Condvar,
}

struct Watched {
    until: Instant,
    memory: u64,
    disk: u64,
    root: PathBuf,
    before: Option<u64>,
}

/// Something that is watched until this goes.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    pid: u32,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(watched) = lock(&self.shared).as_mut() {
            watched.remove(&self.pid);
        }
    }
}

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, Option<HashMap<u32, Watched>>> {
    shared.watched.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Warden {
    /// Starts one.
    pub fn start() -> Warden {
        let shared = Arc::new(Shared { watched: Mutex::new(Some(HashMap::new())), changed: Condvar::new() });
        let looking = Arc::clone(&shared);
        std::thread::spawn(move || look(&looking));
        Warden { shared }
    }

    /// Watches a process and what it started.
    pub fn watch(&self, pid: u32, root: &Path, limits: &Limits) -> Watch {
        let watched = Watched {
            until: Instant::now() + limits.time,
            memory: limits.memory,
            disk: limits.disk,
            root: root.into(),
            before: None,
        };
        if let Some(all) = lock(&self.shared).as_mut() {
            all.insert(pid, watched);
        }
        self.shared.changed.notify_all();
        Watch { shared: Arc::clone(&self.shared), pid }
    }

    /// Ends it, and everything it watches.
    pub fn stop(&self) {
        for pid in lock(&self.shared).take().unwrap_or_default().into_keys() {
            kill(pid);
        }
        self.shared.changed.notify_all();
    }
}

fn kill(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        // The kernel ends the rest with it: they were started to die with their parent.
        let _gone = rustix::process::kill_process(pid, Signal::KILL);
    }
}

fn look(shared: &Shared) {
    let mut guard = lock(shared);
    loop {
        let Some(watched) = guard.as_mut() else { return };
        if watched.is_empty() {
            guard = shared.changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
            // What is over at once is never looked at.
            guard = wait(shared, guard);
            continue;
        }
        let tree = Tree::read();
        let now = Instant::now();
        for (pid, watched) in watched.iter_mut() {
            let used = usage(&watched.root);
            let before = *watched.before.get_or_insert(used);
            let full = used > watched.disk && (used > before || before <= watched.disk);
            if now > watched.until || full || tree.memory(*pid) > watched.memory {
                kill(*pid);
            }
        }
        guard = wait(shared, guard);
    }
}

type Guard<'a> = std::sync::MutexGuard<'a, Option<HashMap<u32, Watched>>>;

fn wait<'a>(shared: &'a Shared, guard: Guard<'a>) -> Guard<'a> {
    let until = Instant::now() + ROUND;
    let mut guard = guard;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || guard.is_none() {
            return guard;
        }
        guard = shared.changed.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Bytes on the disk beneath a folder.
pub(crate) fn usage(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let mut sum = 0;
    for entry in entries.flatten() {
        let Ok(status) = entry.metadata() else { continue };
        sum += status.blocks() * 512;
        if status.is_dir() {
            sum += usage(&entry.path());
        }
    }
    sum
}

/// The processes of this machine: whose children they are, and what they hold in memory.
struct Tree(HashMap<u32, Vec<(u32, u64)>>);

impl Tree {
    fn read() -> Tree {
        let mut tree: HashMap<u32, Vec<(u32, u64)>> = HashMap::new();
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
            let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
            let Some((_, rest)) = text.rsplit_once(')') else { continue };
            let fields: Vec<&str> = rest.split_whitespace().collect();
            let parent = fields.get(1).and_then(|parent| parent.parse().ok()).unwrap_or(0);
            let pages: u64 = fields.get(21).and_then(|pages| pages.parse().ok()).unwrap_or(0);
            tree.entry(parent).or_default().push((pid, pages * 4096));
        }
        Tree(tree)
    }

    fn memory(&self, pid: u32) -> u64 {
        let children = self.0.get(&pid).map_or(&[][..], Vec::as_slice);
        children.iter().map(|(child, held)| held + self.memory(*child)).sum()
    }
}
