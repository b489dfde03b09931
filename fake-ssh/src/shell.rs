//! Starts what is asked for in a sandbox of its own: namespaces by bubblewrap, limits by [`crate::inside`], a warden that
//! ends what takes too much. Where it cannot be confined, nothing starts unless that was asked for.

pub(crate) mod terminal;
pub(crate) mod warden;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::Error;

/// What one command may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Processes at a time, in one sandbox.
    pub processes: u64,
    /// Address space of one process, in bytes; also what all of a sandbox may hold in memory.
    pub memory: u64,
    /// Open files of one process.
    pub files: u64,
    /// Longest file, in bytes.
    pub file_size: u64,
    /// What a node's or container's own files may take, in bytes; a command that goes past it is ended.
    pub disk: u64,
    /// Longest time of one command.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            processes: 256,
            memory: 2 << 30,
            files: 1024,
            file_size: 1 << 30,
            disk: 4 << 30,
            time: Duration::from_secs(3600),
        }
    }
}

/// What holds a command in.
#[derive(Clone, Debug)]
pub(crate) enum Confinement {
    /// bubblewrap, at this path.
    Bubblewrap(PathBuf),
    /// Nothing: commands run on this machine. Only on request.
    Nothing,
}

/// Where bubblewrap is looked for.
const BWRAP: [&str; 3] = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];
/// Folders of this machine that are shown, read-only: the programs and what they load.
const SHOWN: [&str; 4] = ["/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/share"];

/// Finds bubblewrap and tries it with what every command will need.
///
/// # Errors
/// [`Error::Confinement`] says what is missing.
pub(crate) fn confine(program: &Path, owner: Option<u32>) -> Result<Confinement, Error> {
    let bwrap = BWRAP.iter().map(Path::new).find(|path| path.exists());
    let Some(bwrap) = bwrap else { return Err(Error::Confinement("bubblewrap (bwrap) is not installed".into())) };
    let mut trial = Command::new(bwrap);
    trial.args(["--unshare-all", "--unshare-user", "--disable-userns", "--uid", "0", "--gid", "0"]);
    trial.args(["--die-with-parent", "--clearenv"]);
    for folder in SHOWN.iter().filter(|folder| Path::new(folder).is_dir()) {
        trial.args(["--ro-bind", folder, folder]);
    }
    trial.args(["--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]);
    trial.args(["--proc", "/proc", "--dev", "/dev", "--ro-bind"]).arg(program).arg("/program");
    trial.args(["/program", crate::inside::LAUNCH, "--probe"]).stdin(Stdio::null());
    as_owner(&mut trial, owner);
    let output = trial.output().map_err(|error| Error::Confinement(format!("{}: {error}", bwrap.display())))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Confinement(format!("bubblewrap cannot confine here: {}", said.trim())));
    }
    Ok(Confinement::Bubblewrap(bwrap.into()))
}

/// Takes root's rights away before anything starts: limits bind nobody who is root outside.
fn as_owner(command: &mut Command, owner: Option<u32>) {
    use std::os::unix::process::CommandExt as _;
    if let Some(owner) = owner {
        command.uid(owner).gid(owner);
    }
}

/// One command to start.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The folder that plays `/`.
    pub root: PathBuf,
    /// Name of the machine inside.
    pub hostname: String,
    /// Who runs it inside.
    pub uid: u32,
    /// Environment: nothing else is there.
    pub env: Vec<(String, String)>,
    /// Working folder inside; `/` when it is not there.
    pub cwd: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Whether its standard input is a terminal that becomes its own.
    pub tty: bool,
    /// The socket of the stubs.
    pub socket: Option<PathBuf>,
    /// What is shown as `/etc/pve`.
    pub config: Option<PathBuf>,
}

impl Run {
    /// The command line that does it.
    pub fn command(&self, confinement: &Confinement, program: &Path, owner: Option<u32>, limits: &Limits) -> Command {
        match confinement {
            Confinement::Bubblewrap(bwrap) => self.confined(bwrap, program, owner, limits),
            Confinement::Nothing => self.bare(),
        }
    }

    fn confined(&self, bwrap: &Path, program: &Path, owner: Option<u32>, limits: &Limits) -> Command {
        let mut command = Command::new(bwrap);
        let id = self.uid.to_string();
        command.args(["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]);
        // No namespaces of one's own inside: with them come mounts, and memory that nobody counts.
        command.args(["--disable-userns", "--unshare-cgroup-try", "--die-with-parent", "--as-pid-1", "--clearenv"]);
        command.args(["--uid", &id, "--gid", &id, "--hostname", &self.hostname]);
        for (name, value) in &self.env {
            command.args(["--setenv", name, value]);
        }
        // Every folder that something is mounted in is a mount itself: inside, none can be moved away or become a link.
        command.arg("--bind").arg(&self.root).arg("/");
        command.arg("--bind").arg(self.root.join("usr")).arg("/usr");
        for folder in SHOWN.iter().filter(|folder| Path::new(folder).is_dir()) {
            command.args(["--ro-bind", folder, folder]);
        }
        command.args(["--size", "1048576", "--tmpfs", "/.fake"]);
        command.args(["--ro-bind", "/usr/bin", "/.fake/bin", "--ro-bind", "/usr/sbin", "/.fake/sbin"]);
        command.arg("--ro-bind").arg(program).arg("/.fake/program");
        if let Some(socket) = &self.socket {
            command.arg("--ro-bind").arg(socket).arg("/.fake/socket");
        }
        if let Some(config) = &self.config {
            command.arg("--ro-bind").arg(config).arg("/.fake/pve");
        }
        command.args(["--remount-ro", "/.fake", "--proc", "/proc", "--dev", "/dev"]);
        command.args(["--size", "16777216", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]);
        command.args(["/.fake/program", crate::inside::LAUNCH]);
        command.arg(format!("{},{},{},{}", limits.processes, limits.memory, limits.files, limits.file_size));
        command.args([if self.tty { "tty" } else { "-" }, &self.cwd]);
        command.args(&self.argv);
        as_owner(&mut command, owner.map(|owner| owner + self.uid));
        command
    }

    /// Without a sandbox: on this machine, in the node's folder, with the stubs first on the path.
    fn bare(&self) -> Command {
        use std::os::unix::process::CommandExt as _;
        let stubs = self.root.join(".fake/stubs");
        let mut command = Command::new(self.argv.first().map_or("sh", String::as_str));
        command.args(self.argv.iter().skip(1)).env_clear().envs(self.env.iter().cloned());
        let path = self.env.iter().find(|(name, _)| name == "PATH").map_or("/usr/bin:/bin", |(_, path)| path);
        command.env("PATH", format!("{}:{path}", stubs.display()));
        // The node's home, not that of this machine, whose start files would run.
        if let Some((_, home)) = self.env.iter().find(|(name, _)| name == "HOME") {
            command.env("HOME", self.root.join(home.trim_start_matches('/')));
        }
        if let Some(socket) = &self.socket {
            command.env(crate::inside::SOCKET, socket);
        }
        let cwd = self.root.join(self.cwd.trim_start_matches('/'));
        command.current_dir(if cwd.is_dir() { cwd } else { self.root.clone() }).process_group(0);
        command
    }
}

/// Sends a signal to the process group of what runs in the sandbox of a `bwrap`; without one to the process itself.
pub(crate) fn signal(pid: u32, signal: Signal) {
    let Some(outer) = Pid::from_raw(pid.cast_signed()) else { return };
    let inner = children(pid).into_iter().flat_map(children).next();
    match inner.and_then(|inner| Pid::from_raw(inner.cast_signed())) {
        Some(inner) => {
            if rustix::process::kill_process_group(inner, signal).is_err() {
                let _gone = rustix::process::kill_process(inner, signal);
            }
        }
        None => {
            if rustix::process::kill_process_group(outer, signal).is_err() {
                let _gone = rustix::process::kill_process(outer, signal);
            }
        }
    }
}

fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}
