//! The same as `Ctx::api`, over SSH: the policy decides, then it is done or shown.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::{Code, Fault};
use crate::policy::{Admission, Permit, SshCommand};
use crate::redact;
use crate::ssh::{Greeting, Output, Resolver, Transfer};
use crate::tools::Ctx;
use crate::tools::context::Performed;

impl Ctx {
    /// Runs a command, if the policy allows it.
    ///
    /// # Errors
    /// The policy's refusal, or what `Ssh::run` says; `cancelled` when the caller went away meanwhile, or the server ends:
    /// the command is told to end then.
    pub async fn ssh(&self, command: SshCommand, dry_run: bool) -> Result<Performed<Output>, Fault> {
        self.admitted(command, dry_run, |permit| self.cluster().ssh.run(permit, self)).await
    }

    /// Connects and logs in, if the policy allows the command; it is not run.
    ///
    /// # Errors
    /// As [`Ctx::ssh`].
    pub async fn greet(&self, command: SshCommand, dry_run: bool) -> Result<Performed<Greeting>, Fault> {
        self.admitted(command, dry_run, |permit| self.cluster().ssh.greet(permit, self)).await
    }

    /// Writes a file by SFTP, if the policy allows it; progress is told.
    ///
    /// # Errors
    /// As [`Ctx::ssh`], and what `Ssh::upload` says.
    pub async fn upload(
        &self,
        command: SshCommand,
        from: &mut (dyn AsyncRead + Send + Unpin),
        size: Option<u64>,
        dry_run: bool,
    ) -> Result<Performed<Transfer>, Fault> {
        let progress = |done, total| self.bytes(done, total);
        let ssh = &self.cluster().ssh;
        self.admitted(command, dry_run, |permit| ssh.upload(permit, self, from, size, &progress)).await
    }

    /// Reads a file of at most `most` bytes by SFTP, if the policy allows it; progress is told.
    ///
    /// # Errors
    /// As [`Ctx::ssh`], and what `Ssh::download` says.
    pub async fn download(
        &self,
        command: SshCommand,
        to: &mut (dyn AsyncWrite + Send + Unpin),
        most: u64,
        dry_run: bool,
    ) -> Result<Performed<Transfer>, Fault> {
        let progress = |done, total| self.bytes(done, total);
        let ssh = &self.cluster().ssh;
        self.admitted(command, dry_run, |permit| ssh.download(permit, self, to, most, &progress)).await
    }

    /// Opens a terminal and gives its id, if the policy allows it.
    ///
    /// # Errors
    /// As [`Ctx::ssh`], and what `Ssh::open_terminal` says.
    pub async fn open_terminal(&self, command: SshCommand, dry_run: bool) -> Result<Performed<String>, Fault> {
        self.admitted(command, dry_run, |permit| self.cluster().ssh.open_terminal(permit, self)).await
    }

    async fn admitted<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        command: SshCommand,
        dry_run: bool,
        act: impl FnOnce(Permit<SshCommand>) -> F,
    ) -> Result<Performed<T>, Fault> {
        redact::refuse_masked_command(&command)?;
        let cluster = self.cluster();
        let permit = match self.admit_ssh(command, dry_run).await? {
            Admission::Dry(command) => return Ok(Performed::Dry(cluster.ssh.shown(&command))),
            Admission::Go(permit) => permit,
        };
        let caller = self.cancelled_by_caller();
        tokio::select! {
            biased;
            done = act(permit) => done.map(Performed::Done),
            () = caller.cancelled() => Err(cancelled("the caller cancelled")),
            () = self.server().shutdown().cancelled() => Err(cancelled("the server is being stopped")),
        }
    }

    pub(super) fn bytes(&self, done: u64, total: Option<u64>) {
        // Sizes of files are far below 2^52.
        self.tell(done as f64, total.map(|total| total as f64), format!("{done} bytes"));
    }
}

impl Resolver for Ctx {
    fn cluster_status(&self) -> Pin<Box<dyn Future<Output = Result<Value, Fault>> + Send + '_>> {
        Box::pin(async { Ok(self.get("/cluster/status", &[]).await?.data) })
    }

    fn api_host(&self) -> String {
        let address = self.cluster().url.split("://").nth(1).unwrap_or_default();
        match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, _)) => host.into(),
            None => address.split(':').next().unwrap_or_default().into(),
        }
    }
}

fn cancelled(why: &str) -> Fault {
    Fault::new(Code::Cancelled, format!("{why} while something was under way over SSH"))
        .hint("a command was told to end but may go on on the other side, and a file may be incomplete: look first")
}
