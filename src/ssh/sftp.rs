//! Files to and from a node or a guest, by SFTP.

use russh::ChannelMsg;
use russh_sftp::client::error::Error as SftpError;
use russh_sftp::client::{Config, SftpSession};
use russh_sftp::protocol::{FileAttributes, OpenFlags, StatusCode};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::address::Resolver;
use super::clean::clean;
use super::client::{Line, Ssh};
use super::connect::within;
use crate::error::{Code, Fault};
use crate::policy::{Act, Permit, SshCommand};
use crate::redact;

/// Bytes that are handed on at once.
const PIECE: usize = 256 * 1024;

/// A file that was carried over whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of what was carried, in lower-case hexadecimal.
    pub sha256: String,
}

/// How far a transfer is: bytes done, and of how many where that is known.
pub type Progress<'p> = &'p (dyn Fn(u64, Option<u64>) + Send + Sync);

impl Ssh {
    /// Writes a file from a reader. A file that this call created is removed again when it could not be written whole;
    /// one that was there before is left incomplete then, and the fault says so. `size` is for the progress only.
    ///
    /// # Errors
    /// As [`Ssh::run`]; `conflict` when the file is there and may not be replaced, `not_found` without its directory,
    /// `forbidden`, `timeout` when nothing moves for as long as a command may take.
    pub async fn upload(
        &self,
        permit: Permit<SshCommand>,
        cluster: &dyn Resolver,
        from: &mut (dyn AsyncRead + Send + Unpin),
        size: Option<u64>,
        progress: Progress<'_>,
    ) -> Result<Transfer, Fault> {
        let command = permit.into_action();
        let Act::Upload { to, mode, overwrite } = command.act().clone() else { return Err(not_a_transfer()) };
        let sent = async {
            let (line, sftp) = self.sftp(&command, cluster).await?;
            let who = command.place().to_string();
            let fault = |error| refusal(&who, &to, error);
            // First as a new file: only then is it ours to remove.
            let flags = OpenFlags::CREATE | OpenFlags::WRITE | OpenFlags::EXCLUDE;
            let attributes = FileAttributes { permissions: mode, ..FileAttributes::empty() };
            let (mut file, created) = match sftp.open_with_flags_and_attributes(&to, flags, attributes).await {
                Ok(file) => (file, true),
                Err(error) if !is_there(&sftp, &to).await => return Err(fault(error)),
                Err(_) if !overwrite => {
                    let message = format!("{to} is there already on {who}");
                    return Err(
                        Fault::new(Code::Conflict, message).hint("give another path, or allow it to be replaced")
                    );
                }
                Err(_) => (sftp.create(&to).await.map_err(fault)?, false),
            };
            let carriage = Carriage { who: &who, path: &to, most: None, size, progress };
            let sent = async {
                let sent = self.carry(from, &mut file, &carriage).await?;
                // The other side says only now whether everything arrived.
                self.patiently(file.shutdown(), &carriage).await?;
                Ok(sent)
            };
            let sent = sent.await;
            if sent.is_err() && created {
                // The error that matters is the first one.
                let _ = sftp.remove_file(&to).await;
            }
            let _ = sftp.close().await;
            drop(line);
            sent.map_err(|fault: Fault| if created { fault } else { fault.detail("incomplete", to.clone()) })
        };
        sent.await.map_err(|fault| redact::fault(self.scrubber().fault(fault)))
    }

    /// Reads a file into a writer, at most `most` bytes of it.
    ///
    /// # Errors
    /// As [`Ssh::run`]; `not_found`, `forbidden`, `too_large`, `timeout` when nothing moves for as long as a command may
    /// take. The writer may hold a part of the file then.
    pub async fn download(
        &self,
        permit: Permit<SshCommand>,
        cluster: &dyn Resolver,
        to: &mut (dyn AsyncWrite + Send + Unpin),
        most: u64,
        progress: Progress<'_>,
    ) -> Result<Transfer, Fault> {
        let command = permit.into_action();
        let Act::Download { from } = command.act().clone() else { return Err(not_a_transfer()) };
        let got = async {
            let (line, sftp) = self.sftp(&command, cluster).await?;
            let who = command.place().to_string();
            let fault = |error| refusal(&who, &from, error);
            let size = sftp.metadata(&from).await.map_err(fault)?.size;
            if size.is_some_and(|size| size > most) {
                return Err(too_large(&from, most));
            }
            let mut file = sftp.open(&from).await.map_err(fault)?;
            let carriage = Carriage { who: &who, path: &from, most: Some(most), size, progress };
            let got = async {
                let got = self.carry(&mut file, to, &carriage).await?;
                self.patiently(to.flush(), &carriage).await?;
                Ok(got)
            };
            let got = got.await;
            drop(file);
            let _ = sftp.close().await;
            drop(line);
            got
        };
        got.await.map_err(|fault| redact::fault(self.scrubber().fault(fault)))
    }

    /// An SFTP session, and the line that it lives on.
    async fn sftp(&self, command: &SshCommand, cluster: &dyn Resolver) -> Result<(Room, SftpSession), Fault> {
        let target = self.target(command.place(), cluster).await?;
        let Line { mut channel, connection, room } = self.open(&target).await?;
        let no_sftp = || {
            Fault::new(Code::NotSupported, format!("{} offers no SFTP", target.check.who))
                .hint("its sshd_config needs a line such as 'Subsystem sftp internal-sftp'")
        };
        let session = async {
            channel.request_subsystem(true, "sftp").await.ok()?;
            loop {
                match channel.wait().await? {
                    ChannelMsg::Success => break,
                    ChannelMsg::WindowAdjusted { .. } => {}
                    _ => return None,
                }
            }
            let config = Config { request_timeout_secs: self.settings.timeout.as_secs(), ..Config::default() };
            SftpSession::new_with_config(channel.into_stream(), config).await.ok()
        };
        let session =
            within(self.clock.as_ref(), self.settings.timeout, session).await.flatten().ok_or_else(no_sftp)?;
        Ok((Room { _connection: connection, _room: room }, session))
    }

    /// Hands everything on, piece by piece.
    async fn carry(
        &self,
        from: &mut (dyn AsyncRead + Send + Unpin),
        to: &mut (dyn AsyncWrite + Send + Unpin),
        carriage: &Carriage<'_>,
    ) -> Result<Transfer, Fault> {
        let mut piece = vec![0; PIECE];
        let (mut bytes, mut digest) = (0u64, Sha256::new());
        loop {
            let step = async {
                let read = from.read(&mut piece).await?;
                to.write_all(&piece[..read]).await?;
                Ok(read)
            };
            let read = self.patiently(step, carriage).await?;
            if read == 0 {
                break;
            }
            digest.update(&piece[..read]);
            bytes += read as u64;
            if let Some(most) = carriage.most.filter(|most| bytes > *most) {
                return Err(too_large(carriage.path, most));
            }
            (carriage.progress)(bytes, carriage.size);
        }
        let sha256 = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Transfer { bytes, sha256 })
    }

    /// One step of a transfer, as long as a command may take.
    async fn patiently<T>(
        &self,
        step: impl Future<Output = std::io::Result<T>>,
        Carriage { who, path, .. }: &Carriage<'_>,
    ) -> Result<T, Fault> {
        let patience = self.settings.timeout;
        match within(self.clock.as_ref(), patience, step).await {
            Some(done) => done.map_err(|error| {
                let why = clean(error.to_string().as_bytes());
                Fault::new(Code::SshUnreachable, format!("the transfer of {path} ({who}) broke: {why}"))
            }),
            None => {
                let seconds = patience.as_secs();
                Err(Fault::new(Code::Timeout, format!("the transfer of {path} ({who}) did not move for {seconds} s"))
                    .hint("raise PROXMOX_SSH_TIMEOUT_SECONDS if the way is that slow"))
            }
        }
    }
}

/// What is carried, for bounds and messages.
struct Carriage<'c> {
    who: &'c str,
    path: &'c str,
    most: Option<u64>,
    size: Option<u64>,
    progress: Progress<'c>,
}

/// What has to live as long as a session.
struct Room {
    _connection: std::sync::Arc<super::connect::Connection>,
    _room: tokio::sync::OwnedSemaphorePermit,
}

async fn is_there(sftp: &SftpSession, path: &str) -> bool {
    sftp.symlink_metadata(path).await.is_ok()
}

fn refusal(who: &str, path: &str, error: SftpError) -> Fault {
    let SftpError::Status(status) = &error else {
        let why = clean(error.to_string().as_bytes());
        let code = if matches!(error, SftpError::Timeout) { Code::Timeout } else { Code::SshUnreachable };
        return Fault::new(code, format!("SFTP with {who} broke at {path}: {why}"));
    };
    match status.status_code {
        StatusCode::NoSuchFile => {
            Fault::new(Code::NotFound, format!("{path} is not there on {who}")).hint("a file needs its directory first")
        }
        StatusCode::PermissionDenied => Fault::new(Code::Forbidden, format!("{who} does not allow access to {path}"))
            .hint("SFTP has the rights of the SSH user and does not go through sudo"),
        _ => {
            let why = clean(status.error_message.as_bytes());
            Fault::new(Code::Internal, format!("{who} refused {path}: {why}"))
                .hint("is it a directory, is the disk full, is it mounted read-only?")
        }
    }
}

fn too_large(path: &str, most: u64) -> Fault {
    Fault::new(Code::TooLarge, format!("{path} is larger than {most} bytes")).detail("limit", most)
}

fn not_a_transfer() -> Fault {
    Fault::new(Code::Internal, "this permit is for something else")
}
