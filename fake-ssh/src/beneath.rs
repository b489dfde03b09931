//! Files beneath a root folder: every path is resolved by the kernel as if the folder were `/`, links and `..` included,
//! so that no path leads outside, however it is written and whatever changes meanwhile.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Mode, OFlags, ResolveFlags};
use rustix::process::{Gid, Uid};

/// Folders at the top of a root that the fake itself needs: nothing that comes from outside may change or replace them.
const KEPT: [&str; 4] = [".fake", "usr", "proc", "dev"];

/// A folder that plays `/`.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    folder: PathBuf,
    /// Who owns what is made, when that is not this process.
    owner: Option<u32>,
    /// Whether the owner is somebody who may not do everything: then modes count, as they do for a process of theirs.
    bound: bool,
}

impl Root {
    /// A folder that is there.
    pub fn new(folder: PathBuf, owner: Option<u32>) -> Root {
        Root { folder, owner, bound: false }
    }

    /// The same files for somebody with this number inside.
    pub fn of(&self, uid: u32) -> Root {
        Root {
            folder: self.folder.clone(),
            owner: self.owner.map(|owner| owner + uid),
            bound: uid != 0 && self.owner.is_some(),
        }
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Who owns what is made, when that is not this process.
    pub fn owner(&self) -> Option<u32> {
        self.owner
    }

    /// Opens a path; `nofollow` leaves a link at its end alone.
    pub fn open(&self, path: &str, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
        let top = fs::open(&self.folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let inside = path.trim_start_matches('/');
        let inside = if inside.is_empty() { "." } else { inside };
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let mode = if flags.intersects(OFlags::CREATE) { Mode::from_raw_mode(mode & 0o7777) } else { Mode::empty() };
        let writes = flags.intersects(OFlags::WRONLY | OFlags::RDWR);
        let fresh = flags.contains(OFlags::CREATE) && self.status(path).is_err();
        if fresh {
            // Refuses where nothing may be made.
            self.parent(path)?;
        }
        // Without waiting: a pipe that nobody writes to must not hold anybody up.
        let waits = if flags.contains(OFlags::PATH) { OFlags::empty() } else { OFlags::NONBLOCK };
        let cuts = writes && flags.contains(OFlags::TRUNC);
        let how = (flags | OFlags::CLOEXEC | waits).difference(OFlags::TRUNC);
        let opened = fs::openat2(top, inside, how, mode, resolve)?;
        if writes && self.is_kept(&opened) || self.bound && !fresh && !self.may(&opened, flags)? {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if cuts {
            fs::ftruncate(&opened, 0)?;
        }
        if fresh {
            self.give(&opened)?;
        }
        Ok(opened)
    }

    /// Gives what was just made to its owner.
    fn give(&self, made: &OwnedFd) -> io::Result<()> {
        let Some(owner) = self.owner else { return Ok(()) };
        Ok(fs::fchown(made, Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)))?)
    }

    /// Whether the modes of something opened, and of the folders above it, let the owner do this.
    fn may(&self, opened: &OwnedFd, flags: OFlags) -> io::Result<bool> {
        use std::os::fd::AsRawFd as _;
        use std::os::unix::fs::MetadataExt as _;
        let allows = |mode: u32, uid: u32, bits: u32| {
            let shift = if Some(uid) == self.owner { 6 } else { 0 };
            mode >> shift & bits == bits
        };
        let place = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()))?;
        for above in place.ancestors().skip(1).take_while(|above| above.starts_with(&self.folder)) {
            let status = above.metadata()?;
            if !allows(status.mode(), status.uid(), 0o1) {
                return Ok(false);
            }
        }
        let status = fs::fstat(opened)?;
        let bits = match flags {
            _ if flags.contains(OFlags::PATH) => 0,
            _ if flags.contains(OFlags::RDWR) => 0o6,
            _ if flags.contains(OFlags::WRONLY) => 0o2,
            _ => 0o4,
        };
        Ok(allows(status.st_mode, status.st_uid, bits))
    }

    /// Whether something opened lies in a folder of the fake's own.
    fn is_kept(&self, opened: &OwnedFd) -> bool {
        use std::os::fd::AsRawFd as _;
        let Ok(place) = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())) else { return true };
        let Ok(inside) = place.strip_prefix(&self.folder) else { return true };
        // Programs of one's own belong into /usr/local, as anywhere.
        inside.starts_with(".fake") || (inside.starts_with("usr/bin") && inside.components().count() < 3)
    }

    /// A file for reading.
    pub fn read(&self, path: &str) -> io::Result<File> {
        self.open(path, OFlags::RDONLY, 0).map(File::from)
    }

    /// A whole file as text; what is no text is replaced.
    pub fn text(&self, path: &str) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.read(path)?.take(16 << 20).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Replaces or makes a file, with the folders above it.
    pub fn write(&self, path: &str, text: &str, mode: u32) -> io::Result<()> {
        if let Some((folder, _)) = path.trim_end_matches('/').rsplit_once('/') {
            self.folders(folder)?;
        }
        let mut file = File::from(self.open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, mode)?);
        file.write_all(text.as_bytes())
    }

    /// Makes a folder and those above it.
    pub fn folders(&self, path: &str) -> io::Result<()> {
        let mut so_far = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            so_far.push('/');
            so_far.push_str(part);
            if self.open(&so_far, OFlags::PATH | OFlags::DIRECTORY, 0).is_err() {
                self.make_folder(&so_far, 0o755)?;
            }
        }
        Ok(())
    }

    /// The folder that holds a path, opened, and the last name. What the fake needs is refused.
    pub fn parent(&self, path: &str) -> io::Result<(OwnedFd, String)> {
        let path = path.trim_end_matches('/');
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() || name == "." || name == ".." {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let folder = self.open(folder, OFlags::PATH | OFlags::DIRECTORY, 0)?;
        use std::os::fd::AsRawFd as _;
        let place = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
        let inside = place.strip_prefix(&self.folder).map_err(|_| io::ErrorKind::PermissionDenied)?;
        let kept = match inside.components().next() {
            None => KEPT.contains(&name),
            Some(first) => first.as_os_str() == ".fake" || (inside == Path::new("usr") && name != "local"),
        };
        // Writing into a folder takes its write bit, whoever's name is on what is in it.
        let writable = !self.bound || {
            let readable = self.open_plain(&inside.display().to_string())?;
            self.may(&readable, OFlags::WRONLY)?
        };
        if kept || !writable { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok((folder, name.into())) }
    }

    /// A folder as it is, without a look at modes.
    fn open_plain(&self, path: &str) -> io::Result<OwnedFd> {
        Root { bound: false, ..self.clone() }.open(path, OFlags::RDONLY | OFlags::DIRECTORY, 0)
    }

    /// Makes one folder.
    pub fn make_folder(&self, path: &str, mode: u32) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        fs::mkdirat(&folder, &name, Mode::from_raw_mode(mode & 0o7777))?;
        self.give_at(&folder, &name)
    }

    /// Makes a link; where it points to is only text.
    pub fn link(&self, path: &str, target: &str) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        fs::symlinkat(target, &folder, &name)?;
        self.give_at(&folder, &name)
    }

    fn give_at(&self, folder: &OwnedFd, name: &str) -> io::Result<()> {
        let Some(owner) = self.owner else { return Ok(()) };
        let (uid, gid) = (Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)));
        Ok(fs::chownat(folder, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// What a path is; a link at its end is followed.
    pub fn status(&self, path: &str) -> io::Result<fs::Stat> {
        Ok(fs::fstat(self.open(path, OFlags::PATH, 0)?.as_fd())?)
    }

    /// What a path is; a link at its end is shown as such.
    pub fn link_status(&self, path: &str) -> io::Result<fs::Stat> {
        Ok(fs::fstat(self.open(path, OFlags::PATH | OFlags::NOFOLLOW, 0)?.as_fd())?)
    }
}
