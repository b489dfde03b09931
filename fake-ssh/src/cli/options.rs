//! Options as Perl's Getopt::Long reads them: one dash or two, any case, any beginning that is clear.

use serde_json::{Map, Value};

/// An option that is known.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// `net[n]` for a family.
    pub name: String,
    /// Whether it needs no value.
    pub boolean: bool,
    /// Whether several make a list.
    pub list: bool,
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub given: Map<String, Value>,
    pub rest: Vec<String>,
    /// What is said before the usage.
    pub errors: Vec<String>,
}

/// Which option a name means: its name as it is sent.
fn find(known: &[Known], name: &str) -> Result<(String, usize), bool> {
    let lower = name.to_lowercase();
    let family = |pattern: &str| {
        let stem = pattern.strip_suffix("[n]")?;
        let number = lower.strip_prefix(stem)?;
        (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then(|| lower.clone())
    };
    for (at, option) in known.iter().enumerate() {
        if option.name.to_lowercase() == lower {
            return Ok((option.name.clone(), at));
        }
        if let Some(full) = family(&option.name) {
            return Ok((full, at));
        }
    }
    let begins = |option: &Known| !option.name.ends_with("[n]") && option.name.to_lowercase().starts_with(&lower);
    let mut found = known.iter().enumerate().filter(|(_, option)| begins(option));
    match (found.next(), found.next()) {
        (Some((at, option)), None) => Ok((option.name.clone(), at)),
        (Some(_), Some(_)) => Err(true),
        _ => Err(false),
    }
}

/// Reads arguments.
pub(crate) fn read(known: &[Known], args: &[String]) -> Read {
    let mut read = Read::default();
    let mut args = args.iter().peekable();
    while let Some(arg) = args.next() {
        if arg == "--" {
            read.rest.extend(args.cloned());
            break;
        }
        let Some(name) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')).filter(|name| !name.is_empty())
        else {
            read.rest.push(arg.clone());
            continue;
        };
        let (name, mut value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (name, None),
        };
        let (full, at) = match find(known, name) {
            Ok(found) => found,
            Err(true) => {
                read.errors.push(format!("Option {name} is ambiguous"));
                continue;
            }
            Err(false) => {
                read.errors.push(format!("Unknown option: {name}"));
                continue;
            }
        };
        if value.is_none() {
            let free = args.peek().is_some_and(|next| !known[at].boolean || !next.starts_with('-'));
            value = if free { args.next().cloned() } else { None };
        }
        match value {
            None if !known[at].boolean => read.errors.push(format!("Option {full} requires an argument")),
            value => put(&mut read.given, &known[at], full, value.unwrap_or_default()),
        }
    }
    read
}

fn put(given: &mut Map<String, Value>, option: &Known, name: String, value: String) {
    if option.boolean {
        let value = match value.to_lowercase().as_str() {
            "" | "1" | "on" | "yes" | "true" => "1".to_string(),
            "0" | "off" | "no" | "false" => "0".to_string(),
            _ => value,
        };
        given.insert(name, value.into());
        return;
    }
    let value = match given.get(&name).and_then(Value::as_str) {
        Some(before) if option.list => format!("{before},{value}"),
        _ => value,
    };
    given.insert(name, value.into());
}
