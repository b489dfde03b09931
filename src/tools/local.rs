//! `PROXMOX_LOCAL_DIR`: the only folder of this machine that files come from and go to.
//!
//! Links are resolved first, and what leads outside is refused. The file is then opened from the folder downwards, one part at a
//! time without following links (Linux), so that nobody can swap a folder for a link in between.

use std::fs::{File, OpenOptions};
use std::path::{Component, Path, PathBuf};

use crate::config::Access;
use crate::error::{Code, Fault};

/// The folder, with its links resolved.
#[derive(Debug, Clone)]
pub struct LocalDir {
    root: PathBuf,
}

/// A file that was made in the folder. Dropped before [`Made::keep`], it is removed again.
#[derive(Debug)]
pub struct Made {
    path: PathBuf,
    kept: bool,
}

impl LocalDir {
    /// The folder of the settings.
    ///
    /// # Errors
    /// `local_dir` when none is set, or it is not there.
    pub fn of(access: &Access) -> Result<LocalDir, Fault> {
        let Some(dir) = &access.local_dir else {
            return Err(Fault::new(Code::LocalDir, "files are neither sent nor saved: no local folder is set")
                .hint("a person can start the server with PROXMOX_LOCAL_DIR=/some/folder"));
        };
        let missing = |why: String| {
            Fault::new(Code::LocalDir, format!("the local folder cannot be used: {why}"))
                .hint("PROXMOX_LOCAL_DIR must name a folder that is there")
        };
        let root = dir.canonicalize().map_err(|error| missing(error.to_string()))?;
        if !root.is_dir() {
            return Err(missing("it is no folder".into()));
        }
        Ok(LocalDir { root })
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// `local_dir` for a name that leads outside, or to nothing that can be read.
    pub fn open(&self, name: &str) -> Result<File, Fault> {
        let inside = self.inside(&relative(name)?, name)?;
        let file =
            opened(&self.root, &inside, OpenOptions::new().read(true)).map_err(|error| unusable(name, &error))?;
        let is_file = file.metadata().is_ok_and(|facts| facts.is_file());
        if is_file { Ok(file) } else { Err(Fault::new(Code::LocalDir, format!("'{name}' is no regular file"))) }
    }

    /// Makes a new file; one that is there stays as it is. Its folder must be there.
    ///
    /// # Errors
    /// `local_dir` for a name that leads outside, or that is taken.
    pub fn create(&self, name: &str) -> Result<(File, Made), Fault> {
        let wanted = relative(name)?;
        let file_name = wanted.file_name().map(PathBuf::from).unwrap_or_default();
        let folder = self.inside(wanted.parent().unwrap_or(Path::new("")), name)?;
        let inside = folder.join(file_name);
        let path = self.root.join(&inside);
        // A link that leads nowhere is taken too.
        if path.symlink_metadata().is_ok() {
            return Err(Fault::new(Code::LocalDir, format!("'{name}' is there already")).hint("take another name"));
        }
        let file = opened(&self.root, &inside, OpenOptions::new().write(true).create_new(true));
        Ok((file.map_err(|error| unusable(name, &error))?, Made { path, kept: false }))
    }

    /// A relative path with all links resolved, if it stays inside.
    fn inside(&self, wanted: &Path, name: &str) -> Result<PathBuf, Fault> {
        let real = self.root.join(wanted).canonicalize().map_err(|error| unusable(name, &error))?;
        let inside = real.strip_prefix(&self.root).map(Path::to_path_buf);
        inside.map_err(|_| Fault::new(Code::LocalDir, format!("'{name}' leads out of the local folder")).hint(RULE))
    }
}

impl Made {
    /// The file is whole: it stays.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.kept {
            // Half a file is worth nothing; when it cannot be removed, the caller has heard why it is not whole.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

const RULE: &str = "names are relative to PROXMOX_LOCAL_DIR, such as iso/debian.iso, and lead nowhere else";

/// A name that is a plain relative path, on every system.
fn relative(name: &str) -> Result<PathBuf, Fault> {
    let bad = |why: &str| Err(Fault::new(Code::LocalDir, format!("'{}' {why}", name.escape_debug())).hint(RULE));
    if name.is_empty() || name.len() > 1024 {
        return bad("is no name of a file");
    }
    if name.contains(['\\', ':']) || name.chars().any(char::is_control) {
        return bad("holds a character that no name here may hold");
    }
    let path = Path::new(name);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || name.ends_with('/') || name.split('/').any(|part| part == ".") {
        return bad("is no plain relative path");
    }
    Ok(path.to_path_buf())
}

fn unusable(name: &str, error: &std::io::Error) -> Fault {
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "is not there".to_string(),
        std::io::ErrorKind::AlreadyExists => "is there already".to_string(),
        _ => format!("cannot be used: {error}"),
    };
    Fault::new(Code::LocalDir, format!("'{name}' {why}")).hint(RULE)
}

/// Opens a path without links beneath the folder, each part from the one before.
#[cfg(target_os = "linux")]
fn opened(root: &Path, inside: &Path, how: &OpenOptions) -> std::io::Result<File> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    let at = |folder: &File, name: &Path| Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    let mut folder = File::open(root)?;
    let parts: Vec<&Path> = inside.iter().map(Path::new).collect();
    let Some((last, folders)) = parts.split_last() else { return Err(std::io::ErrorKind::IsADirectory.into()) };
    for part in folders {
        let flags = libc::O_NOFOLLOW | libc::O_DIRECTORY;
        folder = OpenOptions::new().read(true).custom_flags(flags).open(at(&folder, part))?;
    }
    // A pipe that nobody writes to must not hold the call.
    how.clone().mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(at(&folder, last))
}

/// Opens a path without links beneath the folder.
#[cfg(not(target_os = "linux"))]
fn opened(root: &Path, inside: &Path, how: &OpenOptions) -> std::io::Result<File> {
    how.open(root.join(inside))
}
