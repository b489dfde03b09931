//! A path that a caller wrote: which method of the catalogue it leads to, and a call of it.

use pve_catalog::json_schema;
use pve_catalog::path::{check_plain, placeholder};
use pve_catalog::{Catalog, Method, Verb};
use serde_json::{Map, Value};

use super::index::Found;
use crate::error::Fault;
use crate::policy::ApiCall;
use crate::tools::Ctx;
use crate::tools::arguments::{self, Options, value};

/// Where a path leads.
#[derive(Debug)]
pub enum Target {
    /// To a method of the catalogue, with the values of its path.
    Known(&'static Method, Map<String, Value>),
    /// To a method that an imported catalogue does not have, and the embedded one has.
    Elsewhere(&'static Method, Map<String, Value>),
    /// Nowhere that the catalogue knows: Proxmox may know better, and the policy is strict about it.
    Unknown(String),
}

/// A call that is ready for the policy.
#[derive(Debug)]
pub struct Prepared {
    /// The request.
    pub call: ApiCall,
    /// What the caller asks of us.
    pub options: Options,
    /// Whether the catalogue knows the method.
    pub known: bool,
}

/// Finds the method behind a path.
///
/// # Errors
/// `bad_argument` when the path is not in plain form.
fn target(catalog: &'static Catalog, verb: Verb, path: &str) -> Result<Target, Fault> {
    let path = path.strip_prefix("/api2/json").unwrap_or(path);
    check_plain(path).map_err(|error| Fault::argument("path", error.to_string()))?;
    if let Some(part) = path.split('/').find(|part| part.starts_with('{')) {
        return Err(Fault::argument("path", format!("{part} stands for a value: write the value")));
    }
    let values = |values: &[(&str, &str)]| {
        values.iter().map(|(name, value)| (name.to_string(), Value::from(*value))).collect::<Map<String, Value>>()
    };
    Ok(match (catalog.find(verb, path), Catalog::embedded().find(verb, path)) {
        (Some(found), _) => Target::Known(found.method, values(&found.values)),
        (None, Some(found)) => Target::Elsewhere(found.method, values(&found.values)),
        (None, None) => Target::Unknown(path.to_string()),
    })
}

/// Makes the call: known methods get the same treatment of their arguments as their tools.
///
/// # Errors
/// `bad_argument` with all that is wrong.
pub async fn prepare(
    ctx: &Ctx,
    verb: Verb,
    path: &str,
    params: Map<String, Value>,
    options: Options,
) -> Result<Prepared, Fault> {
    match target(ctx.server().catalog(), verb, path)? {
        Target::Known(method, values) => known(ctx, method, params, values, options).await,
        Target::Elsewhere(method, values) => {
            Ok(Prepared { known: false, ..known(ctx, method, params, values, options).await? })
        }
        Target::Unknown(path) => {
            let call = ApiCall::at(verb, &path, loose(params)).map_err(arguments::unacceptable)?;
            Ok(Prepared { call, options, known: false })
        }
    }
}

async fn known(
    ctx: &Ctx,
    method: &'static Method,
    params: Map<String, Value>,
    values: Map<String, Value>,
    options: Options,
) -> Result<Prepared, Fault> {
    if let Some(name) = params.keys().find(|name| values.contains_key(*name)) {
        return Err(Fault::argument("params", format!("'{name}' is part of the path: it may not be given again")));
    }
    if let Some(name) = params.keys().find(|name| ["wait", "wait_seconds", "dry_run"].contains(&name.as_str())) {
        return Err(Fault::argument("params", format!("'{name}' stands beside params, not in it")));
    }
    let mut args = params;
    args.extend(values);
    let request = arguments::normalise(method, args, ctx).await?;
    let call = ApiCall::of(method, request.values, request.params).map_err(arguments::unacceptable)?;
    let ours = request.options;
    let options = Options { left_out: ours.left_out, warnings: ours.warnings, ..options };
    Ok(Prepared { call, options, known: true })
}

/// Parameters that nothing is known about: texts as they are, booleans as 1 and 0, lists repeat their name.
fn loose(params: Map<String, Value>) -> Vec<(String, String)> {
    let mut wire = Vec::new();
    for (name, given) in params {
        match given {
            Value::Null => {}
            Value::Array(list) => wire.extend(list.iter().map(|item| (name.clone(), value::plain_text(item)))),
            given => wire.push((name, value::plain_text(&given))),
        }
    }
    wire
}

/// What to say about a path that the catalogue does not know.
pub fn unknown(ctx: &Ctx, verb: Verb, path: &str) -> String {
    let (server, catalog) = (ctx.server(), ctx.server().catalog());
    let beginning = format!("the catalogue of {} does not know {verb} {path}", catalog.version_words());
    if Catalog::embedded().find(verb, path).is_some() {
        return format!("{beginning}: Proxmox VE {} has it", pve_catalog::PVE_VERSION);
    }
    if let Some(instead) = server.registry().instead_of(verb, path) {
        return format!("{beginning}: {instead}");
    }
    if let Some((template, _)) = catalog.route(path) {
        let verbs = Verb::ALL.into_iter().filter(|verb| catalog.get(*verb, template).is_some());
        let verbs = verbs.map(Verb::word).collect::<Vec<_>>().join(", ");
        return format!("{beginning}: on this path there is {verbs}");
    }
    let near = alike(catalog, verb, path);
    if !near.is_empty() {
        return format!("{beginning}, did you mean {}?", near.join(" or "));
    }
    let near = server.index().search(&path.replace('/', " "), None, 3);
    let near: Vec<String> = near.into_iter().map(|(found, _)| key(found)).collect();
    format!("{beginning}; like it are {}", near.join(", "))
}

/// Methods whose path differs by a slip in some of its words.
fn alike(catalog: &Catalog, verb: Verb, path: &str) -> Vec<String> {
    const LEAST: f64 = 0.6;
    const MOST: usize = 2;
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let likeness = |template: &str| -> Option<f64> {
        let wanted: Vec<&str> = template.trim_matches('/').split('/').collect();
        let each = wanted.iter().zip(&parts).map(|(wanted, part)| match placeholder(wanted) {
            Some(_) => 1.0,
            None => strsim::normalized_damerau_levenshtein(wanted, part),
        });
        let worst = each.reduce(f64::min)?;
        (wanted.len() == parts.len() && worst >= LEAST).then_some(worst)
    };
    let methods = catalog.methods().iter().filter(|method| method.verb == verb);
    let mut near: Vec<(f64, String)> =
        methods.filter_map(|method| likeness(method.path).map(|likeness| (likeness, method.key()))).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.into_iter().take(MOST).map(|(_, key)| key).collect()
}

/// How a found thing is named in a message.
pub fn key(found: Found) -> String {
    match found {
        Found::Method(method) => method.key(),
        Found::Hand(name) => name.to_string(),
    }
}

/// The longest wait that can be asked for.
pub const LONGEST_WAIT: i64 = json_schema::LONGEST_WAIT as i64;
