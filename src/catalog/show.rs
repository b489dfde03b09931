//! `pvemcp catalog show METHOD|TOOL`: everything about one method, for people.

use std::fmt::Write;

use pve_catalog::json_schema::{self, Detail};
use pve_catalog::permission::{Permission, describe as privileges};
use pve_catalog::{Advice, Catalog, Gate, Method, Verb};
use serde_json::Value;

use super::CatalogError;
use crate::config::Access;
use crate::policy::Policy;
use crate::tools::advice::holds;
use crate::tools::api::line::{lines, returns_line};
use crate::tools::by_hand;
use crate::tools::nearest::{nearest, question};

/// Everything about the method that is named: a tool (`pve_start_vm`), a method (`GET /pools`), or a path.
///
/// # Errors
/// When there is no such method, with the nearest.
pub fn show(catalog: &'static Catalog, wanted: &str) -> Result<String, CatalogError> {
    let methods = find(catalog, wanted.trim())?;
    Ok(methods.into_iter().map(|method| told(catalog, method)).collect::<Vec<_>>().join("\n"))
}

fn find(catalog: &'static Catalog, wanted: &str) -> Result<Vec<&'static Method>, CatalogError> {
    if let Some(method) = catalog.by_tool(wanted) {
        return Ok(vec![method]);
    }
    let (verb, path) = match wanted.split_once(char::is_whitespace) {
        Some((verb, path)) => (verb.parse::<Verb>().ok(), path.trim()),
        None => (None, wanted),
    };
    let template = catalog.templates().find(|template| *template == path);
    let template = template.or_else(|| catalog.route(path).map(|(template, _)| template));
    let there = template
        .into_iter()
        .flat_map(|template| Verb::ALL.into_iter().filter_map(move |verb| catalog.get(verb, template)));
    let there: Vec<&Method> = there.filter(|method| verb.is_none_or(|verb| method.verb == verb)).collect();
    if !there.is_empty() && wanted.contains('/') {
        return Ok(there);
    }
    let names = catalog.methods().iter().filter_map(|method| method.tool).chain(catalog.templates());
    let near = question(&nearest(path, names, 3)).unwrap_or_else(|| "pve_api_search finds methods by words".into());
    Err(CatalogError::Usage(format!("there is no method or tool '{wanted}': {near}")))
}

fn told(catalog: &Catalog, method: &Method) -> String {
    let mut told = format!("{}\n{}\n\n", method.key(), method.summary);
    facts(method, &mut told);
    parameters(method, &mut told);
    list(&mut told, "Arguments that raise the gate to elevated, or destroy", rules(method));
    let hand = by_hand();
    let is_tool = |name: &str| catalog.by_tool(name).is_some() || hand.iter().any(|tool| tool.name == name);
    list(&mut told, "Advice", method.advice().filter(|advice| holds(&advice.text, is_tool)).map(advice_line));
    let texts = method.texts().map(|(about, text)| match about {
        "" => text.to_string(),
        about => format!("{about}: {text}"),
    });
    list(&mut told, "Proxmox's own texts, as they were imported", texts);
    told
}

fn facts(method: &Method, told: &mut String) {
    let mut say = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(told, "{name:<12}{value}");
    };
    say("tool", method.tool.unwrap_or("none: pve_api_read or pve_api_write reaches it").into());
    say("name", method.name.into());
    say("gate", gate(method));
    say("domains", method.domains.join(", "));
    let danger = [
        (method.destructive, "destructive"),
        (method.idempotent, "can be repeated"),
        (method.task, "starts a task"),
        (method.protected, "runs as root on the node"),
    ];
    say("is", danger.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect::<Vec<_>>().join(", "));
    say(
        "privileges",
        match privileges(method) {
            Some(who) => who,
            None if Permission::of(method).anybody => "any user; the method itself may check more".into(),
            None => "root@pam only".into(),
        },
    );
    say("API tokens", if method.allow_token { "accepted" } else { "refused" }.into());
    if let Some(parameter) = method.proxyto {
        say("answered by", format!("the node that '{parameter}' leads to"));
    }
    say("answers", returns_line(&json_schema::output_schema(method, Detail::Full).unwrap_or_default()));
}

fn gate(method: &Method) -> String {
    let opens = match (method.gate, method.verb) {
        (Gate::Read, _) => "always open".into(),
        (Gate::Blocked, Verb::Get) => "never opens".into(),
        (Gate::Blocked, _) => format!("opens with '{}' in PROXMOX_UNBLOCK and the gate elevated", method.key()),
        (gate, verb) => {
            let needed = Policy::new(Access::default()).what_opens(gate, verb);
            format!("opens with {}", needed.join(" and "))
        }
    };
    let why = method.stricter.map(|why| format!("; {why}")).unwrap_or_default();
    format!("{} ({opens}{why})", method.gate)
}

fn parameters(method: &Method, told: &mut String) {
    let schema = json_schema::input_schema(method, Detail::Full);
    let (required, optional) = lines(&schema, |_| true);
    for (title, lines) in [("Must be given", required), ("May be given", optional)] {
        let lines = lines.iter().map(|(name, line)| match line {
            Value::String(line) => format!("{name}  {line}"),
            _ => name.clone(),
        });
        list(told, title, lines);
    }
}

fn rules(method: &Method) -> impl Iterator<Item = String> {
    let rules = &Catalog::rules().arguments;
    let named = json_schema::input_schema(method, Detail::Compact);
    let names: Vec<String> = named
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default();
    let raise = (method.gate == Gate::Write).then_some(&rules.raise).into_iter().flatten();
    raise.chain(&rules.destroys).filter_map(move |rule| {
        let mine: Vec<&str> = names.iter().map(String::as_str).filter(|name| rule.names(method.path, name)).collect();
        (!mine.is_empty()).then(|| format!("{}: {}", mine.join(", "), rule.reason))
    })
}

fn advice_line(advice: &Advice) -> String {
    match advice.params.is_empty() {
        true => advice.text.clone(),
        false => format!("{}: {}", advice.params.join(", "), advice.text),
    }
}

fn list(told: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: String = lines.map(|line| format!("  {line}\n")).collect();
    if !lines.is_empty() {
        told.push_str(&format!("\n{title}\n{lines}"));
    }
}
