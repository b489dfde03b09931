//! What a caller wrote -> what Proxmox is sent: path values and parameters in the form of the wire.
//!
//! Callers write JSON, and models write it loosely. What is clearly meant is understood (numbers and booleans as text, numbered
//! parameters in two spellings, objects as JSON text); what is not is refused before anything is sent, all of it at once,
//! with the nearest names. What the caller did not give is not sent: `null` counts as not given, and so does an empty text
//! for an optional parameter, except on a PUT that has no `delete` to take a value away with: there it clears the value.

pub mod hint;
pub mod node;
mod reading;
mod sense;
pub mod value;

use std::collections::BTreeMap;

use pve_catalog::path::placeholders;
use pve_catalog::{Method, json_schema};
use serde_json::{Map, Value};

use crate::error::{Code, Fault};
use crate::policy::CallError;
use crate::redact::{self, Scrubber};
use crate::tools::Ctx;

use reading::Reading;

/// What a call asks of this server, not of Proxmox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether a task is awaited; yes unless told otherwise.
    pub wait: Option<bool>,
    /// How long, in seconds (0 to 3600).
    pub wait_seconds: Option<u64>,
    /// Show the request, send nothing.
    pub dry_run: bool,
    /// Optional parameters that were given empty and are therefore not sent.
    pub left_out: Vec<String>,
    /// What is odd about the request although it is sent.
    pub warnings: Vec<String>,
}

/// A request in the form of the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Values of the path, by placeholder.
    pub values: Vec<(String, String)>,
    /// Everything else; a repeated name is an array.
    pub params: Vec<(String, String)>,
    /// What is ours.
    pub options: Options,
}

/// The longest wait for a task, in seconds.
pub const LONGEST_WAIT: u64 = json_schema::LONGEST_WAIT as u64;

/// Normalises the arguments of a method, finds the node where it is left out, and verifies everything as Proxmox would.
///
/// # Errors
/// `bad_argument` with all that is wrong; what looking for the node can cause.
pub async fn normalise(method: &'static Method, args: Map<String, Value>, ctx: &Ctx) -> Result<Request, Fault> {
    let request = request(method, args, ctx).await;
    request.map_err(|fault| ctx.server().registry().advised(method, &[], fault))
}

async fn request(method: &'static Method, args: Map<String, Value>, ctx: &Ctx) -> Result<Request, Fault> {
    // What is said about an argument may repeat it.
    let secrets = redact::secret_arguments(Some(method), &args);
    let scrubber = Scrubber::of(secrets.iter().map(String::as_str));
    let mut read = Reading::of(method);
    args.into_iter().for_each(|(name, value)| read.argument(name, value));
    let mut verified = read.verified(node::can_be_found(method)).map_err(|fault| scrubber.fault(fault))?;
    if let Some(node) = node::find(method, &verified, ctx).await? {
        read.values.insert("node".into(), node.into());
        verified = read.verified(false).map_err(|fault| scrubber.fault(fault))?;
    }
    let sense = sense::of(method, &verified);
    if !sense.errors.is_empty() {
        return Err(refused(method.tool.unwrap_or(method.path), sense.errors));
    }
    let options = Options { warnings: sense.warnings, ..read.options };
    Ok(on_the_wire(method, verified, options))
}

/// `bad_argument`: every message at once.
pub fn refused(tool: &str, errors: BTreeMap<String, String>) -> Fault {
    let told: Vec<String> = errors.iter().map(|(name, message)| format!("{name}: {message}")).collect();
    let details: Map<String, Value> = errors.into_iter().map(|(name, message)| (name, message.into())).collect();
    let message = match told.len() {
        1 => told.concat(),
        count => format!("{count} arguments are not acceptable: {}", told.join("; ")),
    };
    Fault::new(Code::BadArgument, message)
        .hint(format!("nothing was sent; pve_api_describe explains the parameters of {tool}"))
        .detail("errors", details)
}

/// A request that cannot be described, told to the caller.
pub fn unacceptable(error: CallError) -> Fault {
    Fault::new(Code::BadArgument, error.to_string()).hint("nothing was sent")
}

/// Splits path values from parameters; an array repeats its name.
fn on_the_wire(method: &Method, verified: Map<String, Value>, options: Options) -> Request {
    let mut request = Request { options, ..Request::default() };
    for (name, value) in verified {
        let in_path = placeholders(method.path).any(|placeholder| placeholder == name);
        let target = if in_path { &mut request.values } else { &mut request.params };
        match value {
            Value::Array(list) => target.extend(list.iter().map(|item| (name.clone(), value::plain_text(item)))),
            value => target.push((name, value::plain_text(&value))),
        }
    }
    request
}
