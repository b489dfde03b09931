//! A program's commands as a table.

use std::str::FromStr as _;

use pve_catalog::schema::{Kind, Schema};
use pve_catalog::{Catalog, Method, Verb, verify};
use serde_json::{Map, Value};

use super::Failure;
use crate::program::Call;

/// A program.
pub(crate) struct Program {
    pub name: &'static str,
    pub commands: &'static [Command],
}

/// One command.
pub(crate) struct Command {
    /// `disk resize`
    pub words: &'static str,
    /// Commands of one group stand together in the usage; 0 is a second name, which does not.
    pub group: u8,
    pub does: Does,
    /// Parameters that are given by their place.
    pub args: &'static [&'static str],
    pub shows: Shows,
}

/// What it does.
pub(crate) enum Does {
    /// `POST /nodes/{node}/qemu/{vmid}/status/start`
    Api(&'static str),
    /// Something of its own, with its parameters: name, type (`i`, `s`, `b`), `?` behind it when optional.
    Own(&'static [(&'static str, &'static str)], Act),
}

/// Something of its own: the exit status.
pub(crate) type Act = fn(&mut Call, &Map<String, Value>) -> Result<i32, Failure>;

/// What is printed.
#[derive(Clone, Copy)]
pub(crate) enum Shows {
    Nothing,
    /// The task's log; its end decides on the exit status.
    Task,
    /// The task's log; exit status 0 however it ends.
    TaskAnyway,
    /// As [`Shows::Task`]; when that ended well, something is done about files.
    TaskThen(fn(&mut Call, &Map<String, Value>)),
    /// The result, by a function.
    With(fn(&mut Call, &Map<String, Value>, &Value)),
    /// A table of these columns (none: as the result is declared), in any of the output formats.
    Table(&'static [&'static str]),
}

impl Command {
    /// The method behind it, when it is one call of the API.
    pub fn method(&self) -> Option<&'static Method> {
        let Does::Api(key) = self.does else { return None };
        let (verb, template) = key.split_once(' ')?;
        Catalog::embedded().get(Verb::from_str(verb).ok()?, template)
    }

    /// Our own line about it.
    pub fn summary(&self) -> Option<&'static str> {
        self.method().map(|method| method.summary)
    }

    /// Its parameters, sorted.
    pub fn params(&self) -> Vec<(String, Schema)> {
        match &self.does {
            Does::Own(own, _) => own
                .iter()
                .map(|(name, kind)| {
                    let schema = Schema {
                        kind: match kind.chars().next() {
                            Some('i') => Kind::Integer,
                            Some('b') => Kind::Boolean,
                            _ => Kind::String,
                        },
                        optional: kind.ends_with('?'),
                        ..Schema::default()
                    };
                    (name.to_string(), schema)
                })
                .collect(),
            Does::Api(_) => {
                let Some(method) = self.method() else { return Vec::new() };
                let names = verify::parameter_names(method.parameters());
                let mut found: Vec<(String, Schema)> = names
                    .into_iter()
                    .filter_map(|name| {
                        let plain = name.replace("[n]", "0");
                        Some((name.to_string(), verify::parameter(method.parameters(), &plain)?.clone()))
                    })
                    .collect();
                found.sort_by(|a, b| a.0.cmp(&b.0));
                found
            }
        }
    }

    /// Whether the program itself fills a parameter in.
    pub fn fixes(&self, name: &str) -> bool {
        name == "node" && matches!(self.does, Does::Api(_)) && !self.args.contains(&"node")
    }

    /// Whether it takes the options of output formats.
    pub fn formats(&self) -> bool {
        match self.does {
            Does::Own(params, _) => params.iter().any(|(name, _)| *name == "output-format"),
            Does::Api(_) => matches!(self.shows, Shows::Table(_)),
        }
    }
}
