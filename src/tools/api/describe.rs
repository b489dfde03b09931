//! `pve_api_describe`: what a method or tool takes and gives, in lines; with very many parameters by groups first.

use std::borrow::Cow;

use pve_catalog::json_schema::{self, Detail};
use pve_catalog::permission::{Permission, describe as privileges};
use pve_catalog::{Advice, Gate, Method, Verb, property, verify};
use serde_json::{Map, Value, json};

use super::line::{key_line, line, lines, returns_line};
use super::{DOMAINS, group, path, subject};
use crate::error::{Code, Fault};
use crate::tools::advice::is_about;
use crate::tools::nearest::{nearest, question};
use crate::tools::{Ctx, Given, Hand, Parameter, Reply, Run, Tool, result};

/// With more optional parameters than this, groups come first.
const FEW: usize = 30;

const PARAMETERS: &[Parameter] = &[
    Parameter::text("tool", "its name"),
    Parameter::text("path", "or a path, with or without its values"),
    Parameter::choice("method", &["GET", "POST", "PUT", "DELETE"], "needed where the path has several"),
    Parameter::text("group", "only the parameters of this group"),
    Parameter::text("parameter", "everything about this one"),
];

/// The tool.
pub fn tool() -> Tool {
    Tool {
        name: "pve_api_describe",
        title: None,
        summary: Cow::Borrowed("Explain a tool or API method: parameters, privileges, gate, result"),
        gate: Gate::Read,
        domains: Cow::Borrowed(DOMAINS),
        reads: true,
        destructive: false,
        idempotent: true,
        run: Run::Hand(Hand { parameters: PARAMETERS, output, run: |ctx, given| Box::pin(run(ctx, given)) }),
    }
}

fn output() -> Value {
    let properties = json!({
        "tool": {"type": "string"},
        "method": {"type": "string"},
        "path": {"type": "string"},
        "summary": {"type": "string"},
        "gate": {"type": "string"},
        "open": {"type": "boolean"},
        "privileges": {"type": "string"},
        "required": {"type": "object"},
        "optional": {"type": "object"},
        "groups": {"type": "object"},
        "parameter": {"type": "object"},
        "returns": {"type": "string"},
        "official": {"type": "string"},
        "untrusted": {"type": "boolean"},
        "advice": {"type": "array", "items": {"type": "string"}},
        "hint": {"type": "string"},
    });
    result::schema(properties).into()
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let method = match (given.text("tool"), given.text("path")) {
        (Some(name), _) => match ctx.server().registry().find_renamed(name) {
            Some((tool, standing)) => match tool.method() {
                Some(method) => method,
                None => return Ok(by_hand(ctx, tool, subject::of_tool(ctx.server(), tool, standing))),
            },
            None => return Err(unknown_tool(ctx, name)),
        },
        (None, Some(path)) => at(ctx, path, given.text("method"))?,
        (None, None) => return Err(Fault::argument("tool", "give a tool, or a path")),
    };
    let mut told = subject::of_method(ctx.server(), method);
    if let Some(name) = given.text("parameter") {
        let parameter = parameter(ctx, method, name)?;
        // Texts of an import are somebody else's.
        told.extend(parameter.contains_key("official").then(|| ("untrusted".to_string(), true.into())));
        told.insert("parameter".into(), parameter.into());
        return Ok(Reply::new(told));
    }
    facts(ctx, method, &mut told);
    parameters(method, given.text("group"), &mut told)?;
    Ok(Reply::new(told))
}

fn unknown_tool(ctx: &Ctx, name: &str) -> Fault {
    let near = ctx.server().registry().nearest(name);
    let hint = question(&near).unwrap_or_else(|| "pve_api_search finds tools by what they do".into());
    Fault::argument("tool", "there is no such tool").hint(hint)
}

/// The method of a path: a template, or a path with its values.
fn at(ctx: &Ctx, given: &str, verb: Option<&str>) -> Result<&'static Method, Fault> {
    let catalog = ctx.server().catalog();
    let plain = given.trim().strip_prefix("/api2/json").unwrap_or(given.trim()).trim_end_matches('/');
    let template = catalog.templates().find(|template| *template == plain);
    let routed = || catalog.route(plain).map(|(template, _)| template);
    let Some(template) = template.or_else(routed) else {
        let near = ctx.server().index().search(&plain.replace('/', " "), None, 3);
        let near: Vec<String> = near.into_iter().map(|(found, _)| path::key(found)).collect();
        return Err(Fault::new(Code::NotFound, format!("the catalogue does not know the path {plain}"))
            .hint(format!("like it are {}", near.join(", "))));
    };
    let there: Vec<&Method> = Verb::ALL.into_iter().filter_map(|verb| catalog.get(verb, template)).collect();
    let wanted = verb.and_then(|word| word.parse::<Verb>().ok());
    match (there.as_slice(), wanted) {
        ([only], None) => Ok(only),
        (several, wanted) => several.iter().find(|method| Some(method.verb) == wanted).copied().ok_or_else(|| {
            let verbs = several.iter().map(|method| method.verb.word()).collect::<Vec<_>>().join(", ");
            Fault::argument("method", format!("on {template} there is {verbs}: say which"))
        }),
    }
}

/// A tool written by hand is explained by its schema.
fn by_hand(ctx: &Ctx, tool: &Tool, mut told: Map<String, Value>) -> Reply {
    let schema = tool.input_schema(true, &ctx.server().instance_names());
    let (required, optional) = lines(&schema, |_| true);
    told.insert("required".into(), required.into());
    told.insert("optional".into(), optional.into());
    Reply::new(told)
}

fn facts(ctx: &Ctx, method: &Method, told: &mut Map<String, Value>) {
    let who = match privileges(method) {
        Some(who) => who,
        None if Permission::of(method).anybody => "any user; the method itself may check more, by what is asked".into(),
        None => "root@pam only".into(),
    };
    told.insert("privileges".into(), who.into());
    if !method.allow_token {
        told.insert("token".into(), "refused: this method needs a login with a password".into());
    }
    if method.task {
        told.insert("task".into(), "starts a task, which is awaited unless wait is false".into());
    }
    let returns = json_schema::output_schema(method, Detail::Full).unwrap_or_default();
    told.insert("returns".into(), returns_line(&returns).into());
    if let Some(why) = method.stricter {
        told.insert("gate_because".into(), why.into());
    }
    if let Some(text) = method.text("") {
        told.insert("official".into(), text.into());
        told.insert("untrusted".into(), true.into());
    }
    let advice: Vec<String> = ctx.server().registry().advice(method).map(advice_line).collect();
    if !advice.is_empty() {
        told.insert("advice".into(), advice.into());
    }
}

fn advice_line(advice: &Advice) -> String {
    match advice.params.is_empty() {
        true => advice.text.clone(),
        false => format!("{}: {}", advice.params.join(", "), advice.text),
    }
}

fn parameters(method: &Method, group: Option<&str>, told: &mut Map<String, Value>) -> Result<(), Fault> {
    let schema = json_schema::input_schema(method, Detail::Full);
    if let Some(wanted) = group {
        let groups = group::of(&schema);
        let Some((_, names)) = groups.iter().find(|(name, _)| name == wanted) else {
            let known = groups.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
            return Err(Fault::argument("group", format!("there are {known}")));
        };
        let (required, optional) = lines(&schema, |name| names.iter().any(|other| other == name));
        told.insert("required".into(), required.into());
        told.insert("optional".into(), optional.into());
        return Ok(());
    }
    let (required, optional) = lines(&schema, |_| true);
    told.insert("required".into(), required.into());
    if optional.len() <= FEW {
        told.insert("optional".into(), optional.into());
        return Ok(());
    }
    let groups: Map<String, Value> =
        group::of(&schema).into_iter().map(|(name, names)| (name, names.join(" ").into())).collect();
    told.insert("hint".into(), "give group for the lines of one, or parameter for everything about one".into());
    told.insert("groups".into(), groups.into());
    Ok(())
}

/// Everything about one parameter: its schema, and each key of a property string.
fn parameter(ctx: &Ctx, method: &Method, name: &str) -> Result<Map<String, Value>, Fault> {
    let bare = name.trim_end_matches("[n]");
    let parameters = method.parameters();
    let first = format!("{bare}0");
    let schema = verify::parameter(parameters, bare).or_else(|| verify::parameter(parameters, &first));
    let Some(schema) = schema else {
        let names = verify::parameter_names(parameters);
        let near = nearest(bare, names.iter().copied(), 3);
        let advice = question(&near).unwrap_or_else(|| "the description without parameter lists them".into());
        return Err(Fault::argument("parameter", format!("the method has no '{bare}', {advice}")));
    };
    let full = json_schema::input_schema(method, Detail::Full);
    let properties = full.get("properties").and_then(Value::as_object);
    let stem = bare.trim_end_matches(|c: char| c.is_ascii_digit());
    let own = properties.and_then(|all| all.get(bare).or_else(|| all.get(stem)));
    let mut told = Map::new();
    told.insert("name".into(), bare.into());
    told.insert("says".into(), own.map(line).unwrap_or_default().into());
    if let Some((least, most)) = verify::range(parameters, &format!("{stem}[n]")) {
        told.insert("numbers".into(), format!("{stem}{least} to {stem}{most}").into());
    }
    told.extend(schema.pattern.as_ref().map(|pattern| ("pattern".to_string(), pattern.clone().into())));
    told.extend(schema.requires.as_ref().map(|other| ("needs_also".to_string(), other.clone().into())));
    let advice = ctx.server().registry().advice(method).filter(|advice| is_about(advice, bare));
    let advice: Vec<&str> = advice.map(|advice| advice.text.as_str()).collect();
    if !advice.is_empty() {
        told.insert("advice".into(), advice.into());
    }
    if let Some(keys) = property::keys(schema) {
        told.insert("grammar".into(), property::grammar(keys, 4000).into());
        let keys = keys.iter().map(|(key, schema)| (key.to_string(), Value::from(key_line(schema))));
        told.insert("keys".into(), keys.collect::<Map<String, Value>>().into());
    }
    let official = official(method, &[bare.to_string(), format!("{stem}[n]")]);
    if !official.is_empty() {
        told.insert("official".into(), official.into());
    }
    Ok(told)
}

/// The official texts on a parameter, under its name, and on the keys of its property string, under theirs.
fn official(method: &Method, names: &[String]) -> Map<String, Value> {
    let about = |name: &str| {
        let (parameter, key) = name.split_once('.').unwrap_or((name, ""));
        let told = if key.is_empty() { parameter } else { key };
        names.iter().any(|name| name == parameter).then(|| told.to_string())
    };
    method.texts().filter_map(|(name, text)| Some((about(name)?, Value::from(text)))).collect()
}
