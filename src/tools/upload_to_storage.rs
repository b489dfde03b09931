//! `pve_upload_to_storage`: a file of `PROXMOX_LOCAL_DIR` to a storage, its checksum verified by Proxmox.

use std::borrow::Cow;

use pve_catalog::{Catalog, Gate, Verb};
use serde_json::{Map, Value, json};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use crate::error::{Code, Fault};
use crate::policy::ApiCall;
use crate::pve::Source;
use crate::redact;
use crate::tools::arguments::{self, LONGEST_WAIT};
use crate::tools::context::Outcome;
use crate::tools::local::LocalDir;
use crate::tools::{Ctx, Given, Hand, Parameter, Reply, Run, Tool, result};

const METHOD: &str = "/nodes/{node}/storage/{storage}/upload";

/// Of the algorithms that Proxmox takes, those that are computed here too (md5 is not).
const ALGORITHMS: &[&str] = &["sha1", "sha224", "sha256", "sha384", "sha512"];

const PARAMETERS: &[Parameter] = &[
    Parameter::text("file", "relative to PROXMOX_LOCAL_DIR").required(),
    Parameter::text("storage", "").required(),
    Parameter::choice("content", &["iso", "vztmpl", "import"], "").required(),
    Parameter::text("node", ""),
    Parameter::text("filename", "name on the storage, else the file's own"),
    Parameter::text("checksum", "what the file must have; computed and verified anyway"),
    Parameter::choice("checksum-algorithm", ALGORITHMS, "sha256 unless given"),
    Parameter::flag("wait", ""),
    Parameter::integer("wait_seconds", 0, LONGEST_WAIT as i64, ""),
    Parameter::flag("dry_run", ""),
];

/// The tool.
pub fn tool() -> Tool {
    Tool {
        name: "pve_upload_to_storage",
        title: None,
        summary: Cow::Borrowed(
            "Upload an ISO image, container template or disk image from PROXMOX_LOCAL_DIR; a file of that name is replaced",
        ),
        gate: Gate::Write,
        domains: Cow::Borrowed(&["storage"]),
        reads: false,
        destructive: false,
        idempotent: false,
        run: Run::Hand(Hand { parameters: PARAMETERS, output, run: |ctx, given| Box::pin(run(ctx, given)) }),
    }
}

fn output() -> Value {
    result::schema(json!({
        "upid": {"type": "string"}, "task": {"type": "object"}, "volid": {"type": "string"},
        "bytes": {"type": "integer"}, "checksum": {"type": "string"}, "sent": {"type": "object"},
        "dry_run": {"type": "boolean"}, "request": {"type": "object"},
    }))
    .into()
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let file = given.text("file").unwrap_or_default();
    let algorithm = given.text("checksum-algorithm").unwrap_or("sha256");
    let expected = given.text("checksum").map(str::to_ascii_lowercase);
    let method = Catalog::embedded().get(Verb::Post, METHOD);
    let method = method.ok_or_else(|| Fault::new(Code::Internal, format!("{METHOD} is not in the catalogue")))?;
    // What Proxmox would refuse is refused before the file is read.
    let request = arguments::normalise(method, wire(&given, file), ctx).await?;
    let call = ApiCall::of(method, request.values, request.params).map_err(arguments::unacceptable)?;
    ctx.cluster().policy.consider(&call, request.options.dry_run)?;
    let opened = LocalDir::of(ctx.cluster().policy.access())?.open(file)?;
    let mut opened = tokio::fs::File::from_std(opened);
    let unread = |error: std::io::Error| Fault::new(Code::LocalDir, format!("'{file}' cannot be read: {error}"));
    let (sum, size) = checksum(&mut opened, algorithm).await.map_err(unread)?;
    if let Some(expected) = expected.filter(|expected| *expected != sum) {
        return Err(Fault::argument("checksum", format!("'{file}' has {algorithm} {sum}, not {expected}"))
            .hint("nothing was sent: the file is not the one that was meant, or it is damaged"));
    }
    opened.rewind().await.map_err(unread)?;
    let call = call.with_param("checksum-algorithm", algorithm).with_param("checksum", &sum);
    let sent = redact::request(&call);
    let name = call.param("filename").unwrap_or_default().to_string();
    let source = Source { file: opened, size, name: name.clone() };
    let answer = match ctx.send_file(call, request.options.dry_run, source).await? {
        Outcome::Dry(call) => {
            let request = redact::request(&call);
            return Ok(Reply::of(json!({"dry_run": true, "request": request, "bytes": size, "checksum": sum})));
        }
        Outcome::Data(answer) => answer,
    };
    let Some(upid) = answer.data.as_str().filter(|text| text.starts_with("UPID:")) else {
        return Err(Fault::new(Code::Internal, "Proxmox answered the upload without a task"));
    };
    let task = ctx.task(upid, &request.options).await?;
    let storage = given.text("storage").unwrap_or_default();
    let volid = format!("{storage}:{}/{name}", given.text("content").unwrap_or_default());
    Ok(Reply::of(json!({
        "upid": upid, "task": task, "volid": volid, "bytes": size, "checksum": format!("{algorithm}:{sum}"), "sent": sent,
    })))
}

/// The arguments of the method: everything but what is about the local file.
fn wire(given: &Given, file: &str) -> Map<String, Value> {
    let mut args = Map::new();
    for name in ["storage", "content", "node", "filename"] {
        args.extend(given.text(name).map(|value| (name.to_string(), value.into())));
    }
    args.extend(given.flag("wait").map(|value| ("wait".to_string(), value.into())));
    args.extend(given.flag("dry_run").map(|value| ("dry_run".to_string(), value.into())));
    args.extend(given.integer("wait_seconds").map(|value| ("wait_seconds".to_string(), value.into())));
    let own = file.rsplit('/').next().unwrap_or_default();
    // Proxmox itself writes `_` for what no name of a volume may hold; so the answer says where the file is.
    let name = args.get("filename").and_then(Value::as_str).unwrap_or(own);
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    args.insert("filename".into(), name.into());
    args
}

/// The checksum as lower-case digits, and how many bytes it is of.
async fn checksum(file: &mut tokio::fs::File, algorithm: &str) -> std::io::Result<(String, u64)> {
    match algorithm {
        "sha1" => digest::<Sha1>(file).await,
        "sha224" => digest::<Sha224>(file).await,
        "sha384" => digest::<Sha384>(file).await,
        "sha512" => digest::<Sha512>(file).await,
        _ => digest::<Sha256>(file).await,
    }
}

async fn digest<D: Digest>(file: &mut tokio::fs::File) -> std::io::Result<(String, u64)> {
    let (mut digest, mut size) = (D::new(), 0);
    let mut piece = vec![0; 256 << 10];
    loop {
        match file.read(&mut piece).await? {
            0 => break,
            count => {
                digest.update(&piece[..count]);
                size += count as u64;
            }
        }
    }
    Ok((digest.finalize().as_slice().iter().map(|byte| format!("{byte:02x}")).collect(), size))
}
