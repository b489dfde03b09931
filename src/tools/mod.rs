//! Tools as values: what a client is told about one, and what runs when it is called.
//!
//! [`Registry`] holds them all. Most are [generated] from the catalogue, one per method; the others are written by hand, one
//! file each, and are entered by one line in [`by_hand`].

pub mod advice;
pub mod aliases;
pub mod api;
pub mod arguments;
pub mod confirm;
pub mod context;
pub mod generated;
mod guest_config;
pub(crate) mod local;
pub mod nearest;
pub mod offer;
mod over_ssh;
pub mod parameter;
pub mod perform;
pub mod registry;
pub mod result;
mod ssh;
mod tags;
pub mod text;
mod transfer;
pub mod unsupported;
pub mod upload_to_storage;
pub mod workflows;

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use pve_catalog::{Gate, Method, Verb, json_schema};
use serde_json::{Map, Value};

pub use context::Ctx;
pub use parameter::{Given, Parameter};
pub use registry::{Registry, Standing};
pub use result::Reply;

use crate::error::Fault;

/// One tool.
#[derive(Debug)]
pub struct Tool {
    /// `pve_list_vms`.
    pub name: &'static str,
    /// What a person reads instead of the name; `None` where it would only repeat it.
    pub title: Option<&'static str>,
    /// One line: what it does.
    pub summary: Cow<'static, str>,
    /// What must be open before it is offered.
    pub gate: Gate,
    /// Toolsets that load it; the main one first.
    pub domains: Cow<'static, [&'static str]>,
    /// Only reads.
    pub reads: bool,
    /// Cannot be taken back, or stops something that runs.
    pub destructive: bool,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
    /// What runs.
    pub run: Run,
}

/// What runs when a tool is called.
#[derive(Debug)]
pub enum Run {
    /// A method of the catalogue, by the one rule that holds for all of them.
    Generated(&'static Method),
    /// A function.
    Hand(Hand),
}

/// A tool written by hand.
#[derive(Debug)]
pub struct Hand {
    /// What it takes.
    pub parameters: &'static [Parameter],
    /// The JSON Schema of its result.
    pub output: fn() -> Value,
    /// The function. Its arguments have been checked against `parameters`.
    pub run: HandFn,
}

/// `|ctx, given| Box::pin(run(ctx, given))`.
pub type HandFn = for<'a> fn(&'a Ctx, Given) -> Running<'a>;

/// A tool at work.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<Reply, Fault>> + Send + 'a>>;

/// Every tool that is written by hand: one line each, those of the workflows in [`workflows::all`].
pub fn by_hand() -> Vec<Tool> {
    let mut tools = vec![
        api::search::tool(),
        api::describe::tool(),
        api::read::tool(),
        api::write::tool(),
        api::info::tool(),
        upload_to_storage::tool(),
        // essentials: to come, one file and one line per tool
    ];
    tools.extend(workflows::all());
    tools.extend(ssh::all());
    tools
}

impl Tool {
    /// The domain it is counted in.
    pub fn domain(&self) -> &'static str {
        self.domains.first().copied().unwrap_or_default()
    }

    /// The verb that stands for it when its gate is looked at.
    pub fn verb(&self) -> Verb {
        match self.run {
            Run::Generated(method) => method.verb,
            Run::Hand(_) if self.reads => Verb::Get,
            Run::Hand(_) => Verb::Post,
        }
    }

    /// The method behind a generated tool.
    pub fn method(&self) -> Option<&'static Method> {
        match self.run {
            Run::Generated(method) => Some(method),
            Run::Hand(_) => None,
        }
    }

    /// What it does, in full detail with the official text of its method where the catalogue was imported with texts.
    pub fn description(&self, full: bool) -> Cow<'static, str> {
        match self.method().and_then(|method| method.text("")).filter(|_| full) {
            Some(text) => format!("{}. {}", self.summary, json_schema::official_text(text)).into(),
            None => self.summary.clone(),
        }
    }

    /// The JSON Schema of its arguments. `instances` are the clusters' names: with several, every tool takes `instance`.
    pub fn input_schema(&self, full: bool, instances: &[String]) -> Map<String, Value> {
        let mut schema = match &self.run {
            Run::Generated(method) => generated::input_schema(method, full),
            Run::Hand(hand) => parameter::input_schema(hand.parameters),
        };
        if instances.len() > 1 {
            parameter::add_instance(&mut schema, instances);
        }
        schema
    }

    /// The JSON Schema of its result: always for a tool written by hand, for generated ones in full detail only.
    pub fn output_schema(&self, full: bool) -> Option<Map<String, Value>> {
        match &self.run {
            Run::Generated(method) => full.then(|| generated::output_schema(method)),
            Run::Hand(hand) => match (hand.output)() {
                Value::Object(schema) => Some(schema),
                _ => None,
            },
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// Every fault that the tool's arguments, the policy or Proxmox can cause.
    pub async fn call(&self, ctx: &Ctx, arguments: Map<String, Value>) -> Result<Reply, Fault> {
        match &self.run {
            Run::Generated(method) => generated::run(method, ctx, arguments).await,
            Run::Hand(hand) => {
                let given = parameter::read(self.name, hand.parameters, arguments)?;
                (hand.run)(ctx, given).await
            }
        }
    }
}
