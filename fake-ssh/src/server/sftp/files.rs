//! The files that a transfer has open, and what is done with them.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use russh_sftp::protocol::{File as Named, FileAttributes, Status, StatusCode};
use russh_sftp::server::StatusReply;
use rustix::fs::{self, AtFlags, Mode, OFlags, RawDir};

use crate::beneath::Root;

/// What a handle stands for.
pub(super) enum Open {
    File(File),
    Folder { path: String, entries: Vec<Named> },
}

pub(super) struct Files {
    pub root: Root,
    pub home: String,
    pub open: HashMap<String, Open>,
    pub next: u64,
}

/// Why something did not work, in SFTP's words.
pub(super) struct Refused(pub StatusCode, pub String);

pub(super) fn done(id: u32) -> Status {
    Status { id, status_code: StatusCode::Ok, error_message: "Success".into(), language_tag: "en".into() }
}

pub(super) fn attributes(status: &fs::Stat) -> FileAttributes {
    FileAttributes {
        size: Some(u64::try_from(status.st_size).unwrap_or(0)),
        uid: Some(0),
        gid: Some(0),
        permissions: Some(status.st_mode),
        atime: Some(u32::try_from(status.st_atime).unwrap_or(0)),
        mtime: Some(u32::try_from(status.st_mtime).unwrap_or(0)),
        ..FileAttributes::default()
    }
}

impl Files {
    /// A path as the client means it: from its home unless it begins with `/`.
    pub fn full(&self, path: &str) -> String {
        if path.starts_with('/') { path.into() } else { format!("{}/{path}", self.home) }
    }

    pub fn keep(&mut self, open: Open) -> String {
        self.next += 1;
        let handle = self.next.to_string();
        self.open.insert(handle.clone(), open);
        handle
    }

    pub fn file(&self, handle: &str) -> Result<&File, Refused> {
        match self.open.get(handle) {
            Some(Open::File(file)) => Ok(file),
            _ => Err(Refused(StatusCode::Failure, "Failure".into())),
        }
    }

    /// Sets what can be set of something opened. Owners are root's inside, whatever is asked for.
    pub fn set(&self, opened: &OwnedFd, wanted: &FileAttributes) -> Result<(), Refused> {
        if let Some(size) = wanted.size {
            fs::ftruncate(opened, size)?;
        }
        if let Some(mode) = wanted.permissions {
            fs::fchmod(opened, Mode::from_raw_mode(mode & 0o7777))?;
        }
        if let (Some(atime), Some(mtime)) = (wanted.atime, wanted.mtime) {
            let at = |seconds: u32| fs::Timespec { tv_sec: seconds.into(), tv_nsec: 0 };
            fs::futimens(opened, &fs::Timestamps { last_access: at(atime), last_modification: at(mtime) })?;
        }
        Ok(())
    }

    pub fn list(&self, path: &str) -> Result<Vec<Named>, Refused> {
        let folder = self.root.open(path, OFlags::RDONLY | OFlags::DIRECTORY, 0)?;
        let mut buffer = Vec::with_capacity(16 * 1024);
        let mut entries = Vec::new();
        let mut raw = RawDir::new(&folder, buffer.spare_capacity_mut());
        while let Some(entry) = raw.next() {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if let Ok(status) = fs::statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
                entries.push(Named::new(name, attributes(&status)));
            }
        }
        Ok(entries)
    }
}

impl Files {
    pub fn move_to(&self, old: &str, new: &str, replace: bool) -> Result<(), Refused> {
        let (from, old) = self.root.parent(&self.full(old))?;
        let (to, new) = self.root.parent(&self.full(new))?;
        let flags = if replace { fs::RenameFlags::empty() } else { fs::RenameFlags::NOREPLACE };
        Ok(fs::renameat_with(from, old, to, new, flags)?)
    }
}

/// The length-prefixed texts of an extended request.
pub(super) fn strings(mut data: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    while let Some((length, rest)) = data.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let Some((text, after)) = rest.split_at_checked(length) else { break };
        found.push(String::from_utf8_lossy(text).into_owned());
        data = after;
    }
    found
}

impl From<Refused> for StatusReply {
    fn from(refused: Refused) -> StatusReply {
        StatusReply { status_code: refused.0, error_message: Some(refused.1), language_tag: None }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        match error.kind() {
            io::ErrorKind::NotFound => Refused(StatusCode::NoSuchFile, "No such file".into()),
            io::ErrorKind::PermissionDenied => Refused(StatusCode::PermissionDenied, "Permission denied".into()),
            _ => Refused(StatusCode::Failure, "Failure".into()),
        }
    }
}

impl From<rustix::io::Errno> for Refused {
    fn from(error: rustix::io::Errno) -> Refused {
        io::Error::from(error).into()
    }
}
