//! Registered formats by name: what the text of a value must look like, with Proxmox's message when it does not.
//!
//! A format is a function in one of the family files below, or an object of keys (`data/formats.jsonl`, a property
//! string by name). `-list` and `-opt` may follow the name of a function: a list of values, or an empty value allowed.

mod access;
mod cluster;
mod firewall;
mod guest;
mod network;
mod object;
mod perl_ip;
mod sdn;
mod storage;
mod text;
mod time;

use std::collections::HashMap;
use std::sync::LazyLock;

pub(crate) use object::keys;

/// One format: the message when the value does not fit, with Proxmox's newlines.
type Check = fn(&str) -> Result<(), String>;

static FUNCTIONS: LazyLock<HashMap<&'static str, Check>> = LazyLock::new(|| {
    let families = [
        access::FORMATS,
        cluster::FORMATS,
        firewall::FORMATS,
        guest::FORMATS,
        network::FORMATS,
        sdn::FORMATS,
        storage::FORMATS,
        text::FORMATS,
        time::FORMATS,
    ];
    families.into_iter().flatten().copied().collect()
});

/// Checks one value against a registered format (`pve-vmid`, `pve-vmid-list`, `email-opt`, `pve-qm-ide` …).
///
/// # Errors
/// The message after `invalid format - `, with its newlines.
pub fn check(format: &str, value: &str) -> Result<(), String> {
    check_at(format, value, "")
}

/// As [`check`], for a value found at `path`, which the messages of property strings name (`net0.model: …`).
///
/// # Errors
/// The message after `invalid format - `, with its newlines.
pub fn check_at(format: &str, value: &str, path: &str) -> Result<(), String> {
    if format == "regex" {
        return Ok(());
    }
    let (base, ending) = split_name(format);
    if let Some(keys) = object::keys(base) {
        if let Some(ending) = ending {
            return Err(format!("'-{ending}' format must have code ref, not hash\n"));
        }
        let values = crate::property::parse_at(keys, value, path).map_err(|error| error.0)?;
        return object::validate(base, &values);
    }
    let function = FUNCTIONS.get(base).ok_or_else(|| format!("undefined format '{format}'\n"))?;
    match ending {
        None => function(value),
        Some("opt") if value.is_empty() || value == "0" => Ok(()),
        Some("opt") => function(value),
        Some(_) => split_list(value).into_iter().try_for_each(function),
    }
}

/// Whether the format is registered, with or without `-list` and `-opt`.
pub fn known(format: &str) -> bool {
    let (base, ending) = split_name(format);
    format == "regex" || FUNCTIONS.contains_key(base) || (ending.is_none() && object::keys(base).is_some())
}

/// Every registered name without endings, sorted: functions and objects.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = FUNCTIONS.keys().copied().chain(object::names()).collect();
    names.sort_unstable();
    names
}

/// `pve-vmid-list` -> (`pve-vmid`, `list`).
fn split_name(format: &str) -> (&str, Option<&str>) {
    match format.rsplit_once('-') {
        Some((base, ending @ ("list" | "opt"))) => (base, Some(ending)),
        _ => (format, None),
    }
}

/// The elements of a list in one text: split on NUL when there is one, else on any run of comma, semicolon and
/// white space.
pub fn split_list(text: &str) -> Vec<&str> {
    if text.contains('\0') {
        let mut parts: Vec<&str> = text.split('\0').collect();
        while parts.last().is_some_and(|part| part.is_empty()) {
            parts.pop();
        }
        return parts;
    }
    text.split(|c: char| c == ',' || c == ';' || c.is_whitespace()).filter(|part| !part.is_empty()).collect()
}

/// The parts between commas as Perl's `split` gives them (empty ones at the end fall away), refused when joining them
/// again gives another text.
fn comma_parts(text: &str) -> Result<Vec<&str>, String> {
    match text {
        "" => Ok(Vec::new()),
        text if text.ends_with(',') => Err("extraneous commas in list\n".into()),
        text => Ok(text.split(',').collect()),
    }
}

/// `Ok` when `fits`, else the message.
fn expect(fits: bool, message: impl Into<String>) -> Result<(), String> {
    if fits { Ok(()) } else { Err(message.into()) }
}

/// Without the one line feed that Perl's `$` lets pass.
pub(crate) fn chomp(value: &str) -> &str {
    value.strip_suffix('\n').unwrap_or(value)
}
