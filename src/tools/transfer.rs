//! Files between `PROXMOX_LOCAL_DIR` and a cluster, through the same door as every request.

use std::future::Future;

use pve_catalog::{Method, Verb};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;

use crate::error::{Code, Fault};
use crate::policy::{Admission, ApiCall, Permit};
use crate::pve::{Answer, Source};
use crate::tools::context::Outcome;
use crate::tools::local::LocalDir;
use crate::tools::{Ctx, Reply, arguments};

/// The argument that names the file to save an answer to.
pub const SAVE_AS: &str = "save_as";

/// Whether the answer of a method is a file that can be saved.
pub fn is_file(method: &Method) -> bool {
    let file = method.path.ends_with("/file-restore/download") || method.path == "/nodes/{node}/tasks/{upid}/log";
    method.verb == Verb::Get && method.download && file
}

/// Its place in a schema of arguments.
pub fn add_save_as(schema: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let says = "save to this new file under PROXMOX_LOCAL_DIR instead of answering it";
        properties.insert(SAVE_AS.into(), json!({"type": "string", "description": says}));
    }
}

/// Calls a method whose answer is a file, and saves it.
///
/// # Errors
/// `local_dir` for a name that is not acceptable or taken; what the arguments, the policy or Proxmox object to.
pub async fn save(method: &'static Method, ctx: &Ctx, args: Map<String, Value>, name: &str) -> Result<Reply, Fault> {
    let request = arguments::normalise(method, args, ctx).await?;
    let mut params = request.params;
    if method.path.ends_with("/log") {
        params.retain(|(name, _)| name != "download");
        params.push(("download".into(), "1".into()));
    }
    let call = ApiCall::of(method, request.values, params).map_err(arguments::unacceptable)?;
    let folder = LocalDir::of(ctx.cluster().policy.access())?;
    let Admission::Go(permit) = ctx.admit(call, false).await? else {
        return Err(Fault::new(Code::Internal, "a read was taken for a dry run"));
    };
    let (file, made) = folder.create(name)?;
    let mut file = tokio::fs::File::from_std(file);
    let told = |done, total| ctx.bytes(done, total);
    let size = ctx.unless_cancelled(ctx.cluster().client.download(permit, &mut file, &told)).await?;
    let unwritten = |error: std::io::Error| Fault::new(Code::LocalDir, format!("'{name}' cannot be written: {error}"));
    file.shutdown().await.map_err(unwritten)?;
    file.sync_all().await.map_err(unwritten)?;
    made.keep();
    Ok(Reply::of(json!({"saved": {"file": name, "bytes": size}})))
}

impl Ctx {
    /// Sends a request with a file, if the policy allows it; progress is told.
    ///
    /// # Errors
    /// As [`Ctx::api`].
    pub async fn send_file(&self, call: ApiCall, dry_run: bool, source: Source) -> Result<Outcome, Fault> {
        let permit: Permit<ApiCall> = match self.admit(call, dry_run).await? {
            Admission::Dry(call) => return Ok(Outcome::Dry(call)),
            Admission::Go(permit) => permit,
        };
        let told = |done, total| self.bytes(done, total);
        let sending = self.cluster().client.upload(permit, source, &told);
        let answer: Answer = self.unless_cancelled(sending).await?;
        Ok(Outcome::Data(answer))
    }

    async fn unless_cancelled<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let caller = self.cancelled_by_caller();
        let cancelled = || {
            Fault::new(Code::Cancelled, "the transfer was cancelled while it was under way")
                .hint("look what arrived before doing it again")
        };
        tokio::select! {
            biased;
            done = work => done,
            () = caller.cancelled() => Err(cancelled()),
            () = self.server().shutdown().cancelled() => Err(cancelled()),
        }
    }
}
