//! One method's arguments on their way: each is understood or refused, then all are verified together.

use std::collections::BTreeMap;

use pve_catalog::path::placeholders;
use pve_catalog::schema::{Kind, Schema};
use pve_catalog::verify::{self, verify};
use pve_catalog::{Method, Verb};
use serde_json::{Map, Value};

use super::{LONGEST_WAIT, Options, hint, refused, value};
use crate::error::Fault;
use crate::tools::nearest::{nearest, question};

/// Arguments on their way: what was understood, and what is wrong.
pub struct Reading {
    method: &'static Method,
    /// What was understood, by name; texts and lists of texts.
    pub values: Map<String, Value>,
    /// What is asked of this server.
    pub options: Options,
    errors: BTreeMap<String, String>,
}

impl Reading {
    /// Nothing read yet.
    pub fn of(method: &'static Method) -> Reading {
        Reading { method, values: Map::new(), options: Options::default(), errors: BTreeMap::new() }
    }

    /// Reads one argument.
    pub fn argument(&mut self, name: String, value: Value) {
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
    ///
    /// # Errors
    /// `bad_argument`.
    pub fn verified(&mut self, node_may_be_missing: bool) -> Result<Map<String, Value>, Fault> {
        let mut given = self.values.clone();
        // A few methods do not state every part of their path; verification must not stumble over those.
        let unstated: Map<String, Value> = placeholders(self.method.path)
            .filter(|name| schema_of(self.method, name).is_none())
            .filter_map(|name| given.shift_remove_entry(name))
            .collect();
        let verified = verify(self.method.parameters(), &given);
        let mut errors = self.errors.clone();
        for (name, message) in verified.as_ref().err().into_iter().flat_map(|errors| &errors.0) {
            errors.entry(name.clone()).or_insert_with(|| hint::beside(self.method, name, message));
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
}

/// Reads `wait`, `wait_seconds` or `dry_run`.
///
/// # Errors
/// What the option takes.
fn read_option(options: &mut Options, name: &str, value: &Value) -> Result<(), String> {
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
