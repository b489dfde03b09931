//! What a caller wrote -> what Proxmox is sent: path values and parameters in the form of the wire.
//!
//! Callers write JSON, and models write it loosely. What is clearly meant is understood (numbers and booleans as text, numbered
//! parameters in two spellings, objects as JSON text); what is not is refused before anything is sent, all of it at once,
//! with the nearest names. What the caller did not give is not sent: `null` counts as not given, and so does an empty text
//! for an optional parameter, except on a PUT that has no `delete` to take a value away with: there it clears the value.

pub mod hint;
pub mod node;
pub mod value;

use std::collections::BTreeMap;

use pve_catalog::path::placeholders;
use pve_catalog::schema::{Kind, Schema};
use pve_catalog::verify::{self, verify};
use pve_catalog::{Method, Verb};
use serde_json::{Map, Value};

use crate::error::{Code, Fault};
use crate::policy::CallError;
use crate::redact::{self, Scrubber};
use crate::tools::Ctx;
use crate::tools::nearest::{nearest, question};

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
pub const LONGEST_WAIT: u64 = 3600;

/// Normalises the arguments of a method, finds the node where it is left out, and verifies everything as Proxmox would.
///
/// # Errors
/// `bad_argument` with all that is wrong; what looking for the node can cause.
pub async fn normalise(method: &'static Method, args: Map<String, Value>, ctx: &Ctx) -> Result<Request, Fault> {
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
    Ok(on_the_wire(method, verified, read.options))
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

/// Arguments on their way: what was understood, and what is wrong.
struct Reading {
    method: &'static Method,
    values: Map<String, Value>,
    options: Options,
    errors: BTreeMap<String, String>,
}

impl Reading {
    fn of(method: &'static Method) -> Reading {
        Reading { method, values: Map::new(), options: Options::default(), errors: BTreeMap::new() }
    }

    fn argument(&mut self, name: String, value: Value) {
        let parameters = self.method.parameters();
        if value.is_null() {
            return;
        }
        if let Some(schema) = schema_of(self.method, &name) {
            self.parameter(name, value, schema);
        } else if placeholders(self.method.path).any(|placeholder| placeholder == name) {
            self.parameter(name, value, &Schema::default());
        } else if self.is_option(&name) {
            self.option(&name, &value);
        } else if is_family(parameters, &name) {
            self.family(&name, &value);
        } else if parameters.additional == Some(true) {
            self.parameter(name, value, &Schema::default());
        } else {
            let message = self.unknown(&name);
            self.errors.insert(name, message);
        }
    }

    fn parameter(&mut self, name: String, value: Value, schema: &Schema) {
        if self.is_left_out(&name, &value, schema) {
            self.options.left_out.push(name);
            return;
        }
        if self.values.contains_key(&name) {
            self.errors.insert(name, "given twice, in both spellings".into());
            return;
        }
        match value::on_the_wire(self.method, schema, &name, &value) {
            Ok(value) => {
                self.values.insert(name, value);
            }
            Err(message) => {
                self.errors.insert(name, message);
            }
        }
    }

    /// `net: {"0": "virtio,bridge=vmbr0"}` is `net0: "virtio,bridge=vmbr0"`.
    fn family(&mut self, name: &str, value: &Value) {
        let numbered = match value {
            Value::Object(numbered) => Some(numbered.clone()),
            Value::String(text) => serde_json::from_str::<Map<String, Value>>(text).ok(),
            _ => None,
        };
        let Some(numbered) = numbered else {
            self.errors.insert(
                name.into(),
                format!("is numbered: write {name}0 with its value, or {name} with an object such as {{\"0\": …}}"),
            );
            return;
        };
        for (number, value) in numbered.into_iter().filter(|(_, value)| !value.is_null()) {
            let full = format!("{name}{number}");
            match schema_of(self.method, &full) {
                Some(schema) => self.parameter(full, value, schema),
                None => {
                    let message = self.unknown(&full);
                    self.errors.insert(full, message);
                }
            }
        }
    }

    fn is_option(&self, name: &str) -> bool {
        match name {
            "dry_run" => self.method.verb != Verb::Get,
            "wait" | "wait_seconds" => self.method.task,
            _ => false,
        }
    }

    fn option(&mut self, name: &str, value: &Value) {
        match read_option(&mut self.options, name, value) {
            Ok(()) => {}
            Err(message) => drop(self.errors.insert(name.into(), message)),
        }
    }

    /// An optional parameter given empty: not sent, unless sending it is the way to clear it.
    fn is_left_out(&self, name: &str, value: &Value, schema: &Schema) -> bool {
        let empty = match value {
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => false,
        };
        let in_path = placeholders(self.method.path).any(|placeholder| placeholder == name);
        let deletes = self.method.parameters().properties.get("delete");
        let has_delete = deletes.is_some_and(|delete| delete.kind != Kind::Boolean);
        let clears = self.method.verb == Verb::Put && !has_delete && schema.kind == Kind::String;
        empty && schema.optional && !in_path && !clears
    }

    fn unknown(&self, name: &str) -> String {
        let parameters = self.method.parameters();
        match name {
            "dry_run" => return "a read has no dry run".into(),
            "wait" | "wait_seconds" => return "this method starts no task that could be awaited".into(),
            _ => {}
        }
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if let Some((first, last)) = verify::range(parameters, &format!("{stem}[n]"))
            && stem.len() < name.len()
        {
            return format!("the numbers of {stem} go from {first} to {last}");
        }
        if let Some(elsewhere) = hint::elsewhere(self.method, name) {
            return elsewhere;
        }
        let names = known_names(self.method);
        let near = nearest(name, names.iter().map(String::as_str), 3);
        let advice = question(&near).unwrap_or_else(|| match names.len() {
            0 => "the method takes no parameters".into(),
            1..=12 => format!("the method takes {}", names.join(", ")),
            count => format!("none of the {count} parameters is like it"),
        });
        format!("unknown argument, {advice}")
    }

    /// What was understood, as Proxmox's verification leaves it, or everything that is wrong.
    fn verified(&mut self, node_may_be_missing: bool) -> Result<Map<String, Value>, Fault> {
        let mut given = self.values.clone();
        // A few methods do not state every part of their path; verification must not stumble over those.
        let unstated: Map<String, Value> = placeholders(self.method.path)
            .filter(|name| schema_of(self.method, name).is_none())
            .filter_map(|name| given.shift_remove_entry(name))
            .collect();
        let verified = verify(self.method.parameters(), &given);
        let mut errors = self.errors.clone();
        for (name, message) in verified.as_ref().err().into_iter().flat_map(|errors| &errors.0) {
            errors.entry(name.clone()).or_insert_with(|| self.objection(name, message));
        }
        for name in placeholders(self.method.path) {
            if !given.contains_key(name) && !unstated.contains_key(name) {
                errors.insert(name.into(), "is part of the path and must be given".into());
            }
        }
        if node_may_be_missing && !given.contains_key("node") {
            errors.remove("node");
        }
        if !errors.is_empty() {
            return Err(refused(self.method.tool.unwrap_or(self.method.path), errors));
        }
        let mut normal = verified.unwrap_or(given);
        normal.extend(unstated);
        Ok(normal)
    }

    /// Proxmox's words and ours.
    fn objection(&self, name: &str, message: &str) -> String {
        let advice = hint::rule(self.method, name).map(|rule| format!(" ({rule})")).unwrap_or_default();
        format!("{}{advice}", message.trim())
    }
}

/// Reads `wait`, `wait_seconds` or `dry_run`.
///
/// # Errors
/// What the option takes.
pub fn read_option(options: &mut Options, name: &str, value: &Value) -> Result<(), String> {
    match name {
        "wait_seconds" => {
            let seconds = value::text(value).and_then(|text| text.trim().parse::<u64>().ok());
            let fits = seconds.filter(|seconds| *seconds <= LONGEST_WAIT);
            options.wait_seconds = Some(fits.ok_or_else(|| format!("takes whole seconds from 0 to {LONGEST_WAIT}"))?);
        }
        _ => {
            let flag = value::flag(value).ok_or("takes true or false")?;
            if name == "wait" { options.wait = Some(flag) } else { options.dry_run = flag }
        }
    }
    Ok(())
}

/// The schema of one concrete name; a family's own spelling (`net[n]`) is no name.
fn schema_of(method: &'static Method, name: &str) -> Option<&'static Schema> {
    verify::parameter(method.parameters(), name).filter(|_| !name.contains('['))
}

fn is_family(parameters: &Schema, name: &str) -> bool {
    let wanted = format!("{name}[n]");
    verify::parameter_names(parameters).contains(&wanted.as_str())
}

/// Every name that a caller may write, families as their first member.
fn known_names(method: &Method) -> Vec<String> {
    let named = verify::parameter_names(method.parameters()).into_iter().map(|name| name.replace("[n]", "0"));
    let mut names: Vec<String> = named.collect();
    let options: &[&str] = match (method.verb, method.task) {
        (Verb::Get, _) => &[],
        (_, true) => &["dry_run", "wait", "wait_seconds"],
        (_, false) => &["dry_run"],
    };
    names.extend(options.iter().map(|name| name.to_string()));
    names
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
