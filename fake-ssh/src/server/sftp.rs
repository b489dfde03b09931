//! File transfer: SFTP version 3 over a node's own files, every path resolved beneath its root.

mod files;

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;

use russh::server::Msg;
use russh::{Channel, ChannelMsg};
use russh_sftp::protocol::{
    Attrs, Data, File as Named, FileAttributes, Handle, Name, OpenFlags, Status, StatusCode, Version,
};
use russh_sftp::server::Handler;
use rustix::fs::{self, AtFlags, OFlags};
use tokio::io::AsyncWriteExt as _;

use crate::beneath::Root;
use files::{Files, Open, Refused, attributes, done, strings};

/// Serves a channel until it ends.
pub(super) async fn serve(channel: Channel<Msg>, root: Root, home: &str) {
    let files = Files { root, home: home.into(), open: HashMap::new(), next: 0 };
    let (near, far) = tokio::io::duplex(1 << 20);
    let (mut answers, mut questions) = tokio::io::split(far);
    let (mut read, write) = channel.split();
    let out = tokio::spawn(async move {
        // A client that is gone needs no answer.
        let mut writer = write.make_writer();
        let _gone = tokio::io::copy(&mut answers, &mut writer).await;
    });
    russh_sftp::server::run(near, files).await;
    loop {
        match read.wait().await {
            Some(ChannelMsg::Data { data }) if questions.write_all(&data).await.is_err() => break,
            Some(ChannelMsg::Eof | ChannelMsg::Close) | None => break,
            Some(_) => {}
        }
    }
    let _gone = questions.shutdown().await;
    let _ended = out.await;
}

impl Handler for Files {
    type Error = Refused;

    fn unimplemented(&self) -> Refused {
        Refused(StatusCode::OpUnsupported, "Operation unsupported".into())
    }

    async fn init(&mut self, _: u32, _: HashMap<String, String>) -> Result<Version, Refused> {
        Ok(Version { version: 3, extensions: [("posix-rename@openssh.com".to_string(), "1".to_string())].into() })
    }

    async fn open(
        &mut self,
        id: u32,
        filename: String,
        wanted: OpenFlags,
        attrs: FileAttributes,
    ) -> Result<Handle, Refused> {
        let mut flags = match (wanted.contains(OpenFlags::READ), wanted.contains(OpenFlags::WRITE)) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            _ => OFlags::RDONLY,
        };
        let also = [
            (OpenFlags::CREATE, OFlags::CREATE),
            (OpenFlags::TRUNCATE, OFlags::TRUNC),
            (OpenFlags::EXCLUDE, OFlags::EXCL),
            (OpenFlags::APPEND, OFlags::APPEND),
        ];
        for (asked, flag) in also {
            if wanted.contains(asked) {
                flags |= flag;
            }
        }
        let mode = attrs.permissions.unwrap_or(0o644);
        let opened = self.root.open(&self.full(&filename), flags, mode)?;
        if fs::FileType::from_raw_mode(fs::fstat(&opened)?.st_mode) == fs::FileType::Directory {
            return Err(Refused(StatusCode::Failure, "Failure".into()));
        }
        Ok(Handle { id, handle: self.keep(Open::File(opened.into())) })
    }

    async fn close(&mut self, id: u32, handle: String) -> Result<Status, Refused> {
        self.open.remove(&handle);
        Ok(done(id))
    }

    async fn read(&mut self, id: u32, handle: String, offset: u64, len: u32) -> Result<Data, Refused> {
        let mut data = vec![0; len.min(256 * 1024) as usize];
        let length = self.file(&handle)?.read_at(&mut data, offset)?;
        if length == 0 {
            return Err(Refused(StatusCode::Eof, "End of file".into()));
        }
        data.truncate(length);
        Ok(Data { id, data })
    }

    async fn write(&mut self, id: u32, handle: String, offset: u64, data: Vec<u8>) -> Result<Status, Refused> {
        self.file(&handle)?.write_all_at(&data, offset)?;
        Ok(done(id))
    }

    async fn lstat(&mut self, id: u32, path: String) -> Result<Attrs, Refused> {
        Ok(Attrs { id, attrs: attributes(&self.root.link_status(&self.full(&path))?) })
    }

    async fn stat(&mut self, id: u32, path: String) -> Result<Attrs, Refused> {
        Ok(Attrs { id, attrs: attributes(&self.root.status(&self.full(&path))?) })
    }

    async fn fstat(&mut self, id: u32, handle: String) -> Result<Attrs, Refused> {
        Ok(Attrs { id, attrs: attributes(&fs::fstat(self.file(&handle)?)?) })
    }

    async fn setstat(&mut self, id: u32, path: String, attrs: FileAttributes) -> Result<Status, Refused> {
        let path = self.full(&path);
        self.root.parent(&path)?;
        let opened = match self.root.open(&path, OFlags::WRONLY, 0) {
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => self.root.open(&path, OFlags::RDONLY, 0)?,
            opened => opened?,
        };
        self.set(&opened, &attrs)?;
        Ok(done(id))
    }

    async fn fsetstat(&mut self, id: u32, handle: String, attrs: FileAttributes) -> Result<Status, Refused> {
        let opened = self.file(&handle)?.as_fd().try_clone_to_owned()?;
        self.set(&opened, &attrs)?;
        Ok(done(id))
    }

    async fn opendir(&mut self, id: u32, path: String) -> Result<Handle, Refused> {
        let path = self.full(&path);
        let entries = self.list(&path)?;
        Ok(Handle { id, handle: self.keep(Open::Folder { path, entries }) })
    }

    async fn readdir(&mut self, id: u32, handle: String) -> Result<Name, Refused> {
        match self.open.get_mut(&handle) {
            Some(Open::Folder { entries, .. }) if !entries.is_empty() => {
                let rest = entries.split_off(entries.len().min(100));
                Ok(Name { id, files: std::mem::replace(entries, rest) })
            }
            Some(Open::Folder { path, .. }) => Err(Refused(StatusCode::Eof, format!("End of {path}"))),
            _ => Err(Refused(StatusCode::Failure, "Failure".into())),
        }
    }

    async fn remove(&mut self, id: u32, filename: String) -> Result<Status, Refused> {
        let (folder, name) = self.root.parent(&self.full(&filename))?;
        fs::unlinkat(folder, name, AtFlags::empty())?;
        Ok(done(id))
    }

    async fn rmdir(&mut self, id: u32, path: String) -> Result<Status, Refused> {
        let (folder, name) = self.root.parent(&self.full(&path))?;
        fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?;
        Ok(done(id))
    }

    async fn mkdir(&mut self, id: u32, path: String, attrs: FileAttributes) -> Result<Status, Refused> {
        self.root.make_folder(&self.full(&path), attrs.permissions.unwrap_or(0o755))?;
        Ok(done(id))
    }

    async fn realpath(&mut self, id: u32, path: String) -> Result<Name, Refused> {
        let mut parts: Vec<&str> = Vec::new();
        let full = self.full(&path);
        for part in full.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                other => parts.push(other),
            }
        }
        Ok(Name { id, files: vec![Named::dummy(format!("/{}", parts.join("/")))] })
    }

    async fn rename(&mut self, id: u32, oldpath: String, newpath: String) -> Result<Status, Refused> {
        self.move_to(&oldpath, &newpath, false)?;
        Ok(done(id))
    }

    async fn readlink(&mut self, id: u32, path: String) -> Result<Name, Refused> {
        let link = self.root.open(&self.full(&path), OFlags::PATH | OFlags::NOFOLLOW, 0)?;
        let target = fs::readlinkat(link, "", Vec::new())?;
        Ok(Name { id, files: vec![Named::dummy(target.to_string_lossy())] })
    }

    async fn symlink(&mut self, id: u32, linkpath: String, targetpath: String) -> Result<Status, Refused> {
        // OpenSSH sends the two in the other order than the draft says, and every client does as OpenSSH does.
        self.root.link(&self.full(&targetpath), &linkpath)?;
        Ok(done(id))
    }

    async fn extended(
        &mut self,
        id: u32,
        request: String,
        data: Vec<u8>,
    ) -> Result<russh_sftp::protocol::Packet, Refused> {
        let names = strings(&data);
        match (request.as_str(), names.as_slice()) {
            ("posix-rename@openssh.com", [old, new]) => {
                self.move_to(old, new, true)?;
                Ok(russh_sftp::protocol::Packet::Status(done(id)))
            }
            _ => Err(self.unimplemented()),
        }
    }
}
