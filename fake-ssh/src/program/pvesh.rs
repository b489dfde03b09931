//! `pvesh`: the whole API from the shell.

use pve_catalog::{Catalog, Method, Verb, path, verify};
use serde_json::{Map, Value};

use super::Call;
use crate::cli::output;
use crate::cli::{Failure, text, usage};

/// Its verbs and the API's.
const VERBS: [(&str, Verb); 4] =
    [("get", Verb::Get), ("set", Verb::Put), ("create", Verb::Post), ("delete", Verb::Delete)];

/// Does it; the exit status.
pub(super) fn run(call: &mut Call) -> i32 {
    if call.user.uid != 0 {
        call.err("please run as root\n");
        return 255;
    }
    let args = call.argv[1..].to_vec();
    let Some(word) = args.first().map(String::as_str) else { return misuse(call, "ERROR: no command specified") };
    let place = |call: &mut Call| match args.get(1).filter(|place| !place.starts_with('-')) {
        Some(place) => Ok(format!("/{}", place.trim_matches('/'))),
        None => {
            call.err(&format!("400 not enough arguments\npvesh {word} <api_path> [OPTIONS] [FORMAT_OPTIONS]\n"));
            Err(255)
        }
    };
    let known = VERBS.iter().find(|(name, _)| name.starts_with(word) && !word.is_empty());
    match (word, known) {
        ("ls", _) => match place(call) {
            Ok(place) => list(call, &place),
            Err(status) => status,
        },
        ("usage", _) => match place(call) {
            Ok(place) => describe(call, &place),
            Err(status) => status,
        },
        ("help", _) => {
            call.out("USAGE: pvesh <COMMAND> [ARGS] [OPTIONS]\n");
            0
        }
        (_, Some((name, verb))) => match place(call) {
            Ok(place) => perform(call, name, *verb, &place, &args[2..]),
            Err(status) => status,
        },
        _ => misuse(call, &format!("ERROR: unknown command 'pvesh {word}'")),
    }
}

fn misuse(call: &mut Call, text: &str) -> i32 {
    let lines: String = ["create", "delete", "get", "ls", "set", "usage"]
        .map(|word| format!("       pvesh {word} <api_path> [OPTIONS] [FORMAT_OPTIONS]\n"))
        .concat();
    call.err(&format!("{text}\nUSAGE: pvesh <COMMAND> [ARGS] [OPTIONS]\n\n{lines}"));
    255
}

fn perform(call: &mut Call, word: &str, verb: Verb, place: &str, args: &[String]) -> i32 {
    if place == "/" && verb == Verb::Get {
        return show(call, &Value::Array(Vec::new()), None, &mut Map::new());
    }
    let Some(found) = Catalog::embedded().find(verb, place) else {
        call.err(&format!("No '{word}' handler defined for '{place}'\n"));
        return 1;
    };
    let short = short(word, "<api_path>", found.method);
    let taken: Vec<&str> = path::placeholders(found.method.path).collect();
    let options: Vec<crate::cli::options::Known> = verify::parameter_names(found.method.parameters())
        .into_iter()
        .filter(|name| !taken.contains(name))
        .map(|name| {
            let schema = verify::parameter(found.method.parameters(), &name.replace("[n]", "0"));
            let is = |kind| schema.is_some_and(|schema| schema.kind == kind);
            crate::cli::options::Known {
                name: name.into(),
                boolean: is(pve_catalog::schema::Kind::Boolean),
                list: is(pve_catalog::schema::Kind::Array) || schema.is_some_and(|schema| schema.is_list()),
            }
        })
        .chain(["output-format", "noborder", "noheader", "human-readable", "quiet", "noproxy", "nooutput"].map(
            |name| crate::cli::options::Known { name: name.into(), boolean: name != "output-format", list: false },
        ))
        .collect();
    let read = crate::cli::options::read(&options, args);
    if !read.errors.is_empty() {
        call.err(&format!("{}\n400 unable to parse option\n{short}\n", read.errors.join("\n")));
        return 255;
    }
    if !read.rest.is_empty() {
        call.err(&format!("400 too many arguments\n{short}\n"));
        return 255;
    }
    let mut given = read.given;
    let mut output = Map::new();
    for name in ["output-format", "noborder", "noheader", "human-readable", "quiet"] {
        if let Some(value) = given.remove(name) {
            output.insert(name.into(), value);
        }
    }
    given.remove("noproxy");
    let silent = given.remove("nooutput").is_some_and(|on| on == "1");
    match call.api(verb.word(), place, given) {
        Ok(value) => {
            if let Some(upid) = value.as_str().filter(|text| text.starts_with("UPID:")) {
                let upid = upid.to_string();
                // The task runs in front; that it failed shows in its log alone.
                let _ended = call.show_task(&upid);
            }
            if silent { 0 } else { show(call, &value, Some(found.method), &mut output) }
        }
        Err(failure) => {
            call.err(&failure.text(&short));
            failure.exit()
        }
    }
}

fn show(call: &mut Call, value: &Value, method: Option<&Method>, output: &mut Map<String, Value>) -> i32 {
    let (look, format) = output::look(call, output);
    let text = output::print(value, method.map(Method::returns), &[], look, &format);
    call.out(&text);
    0
}

/// `pvesh create <api_path> --poolid <string> [OPTIONS] [FORMAT_OPTIONS]`
fn short(word: &str, place: &str, method: &Method) -> String {
    let taken: Vec<&str> = path::placeholders(method.path).collect();
    let mut text = format!("pvesh {word} {place}");
    let mut optional = false;
    for name in verify::parameter_names(method.parameters()) {
        let schema = verify::parameter(method.parameters(), &name.replace("[n]", "0"));
        match schema {
            _ if taken.contains(&name) => {}
            Some(schema) if !schema.optional => text.push_str(&format!(" --{name} {}", usage::word(schema))),
            _ => optional = true,
        }
    }
    if optional {
        text.push_str(" [OPTIONS]");
    }
    text + " [FORMAT_OPTIONS]"
}

/// What lies below a path, and what may be done with it.
fn list(call: &mut Call, place: &str) -> i32 {
    let all = Catalog::embedded();
    let here: Vec<&str> = place.split('/').filter(|part| !part.is_empty()).collect();
    let exists = place == "/" || all.route(place).is_some();
    let below: Vec<&str> = all.templates().filter(|template| child(template, &here).is_some()).collect();
    if below.is_empty() {
        let text = match exists {
            true => format!("resource '{place}' does not define child links\n"),
            false => format!("no such resource '{place}'\n"),
        };
        call.err(&text);
        return 255;
    }
    let mut names: Vec<String> = below.iter().filter_map(|template| child(template, &here)).map(String::from).collect();
    names.sort();
    names.dedup();
    if let Some(shown) = index(call, place) {
        names.retain(|name| shown.contains(name));
    }
    let mut rows: Vec<(String, String)> = Vec::new();
    for name in names {
        let full = format!("{}/{name}", place.trim_end_matches('/'));
        if path::placeholder(&name).is_none() {
            rows.push((caps(&full), name));
            continue;
        }
        match links(call, place) {
            Ok(found) => rows.extend(found.into_iter().map(|link| (caps(&full), link))),
            Err(failure) => {
                call.err(&failure.text(""));
                return failure.exit();
            }
        }
    }
    rows.sort_by(|a, b| a.1.cmp(&b.1));
    let lines: String = rows.iter().map(|(caps, name)| format!("{caps:<12} {name}\n")).collect();
    call.out(&lines);
    0
}

/// The next part of a template below a path.
fn child<'t>(template: &'t str, here: &[&str]) -> Option<&'t str> {
    let mut parts = template.split('/').filter(|part| !part.is_empty());
    for want in here {
        let part = parts.next()?;
        if path::placeholder(part).is_none() && part != *want {
            return None;
        }
    }
    parts.next()
}

fn caps(place: &str) -> String {
    let here: Vec<&str> = place.split('/').filter(|part| !part.is_empty()).collect();
    let all = Catalog::embedded();
    let folder = all.templates().any(|template| child(template, &here).is_some());
    let can = |verb| all.get(verb, place).is_some() || all.find(verb, place).is_some();
    let letter = |on: bool, letter: char| if on { letter } else { '-' };
    [
        letter(folder && can(Verb::Get), 'D'),
        letter(can(Verb::Get), 'r'),
        letter(can(Verb::Put), 'w'),
        letter(can(Verb::Post), 'c'),
        letter(can(Verb::Delete), 'd'),
    ]
    .iter()
    .collect()
}

/// The names of an index, which leaves some paths out.
fn index(call: &Call, place: &str) -> Option<Vec<String>> {
    let rows = call.get(place).ok()?;
    let name = |row: &Value| match row.as_object()?.iter().next() {
        Some((key, value)) if ["name", "subdir"].contains(&key.as_str()) && row.as_object()?.len() == 1 => {
            Some(text(value))
        }
        _ => None,
    };
    rows.as_array()?.iter().map(name).collect::<Option<Vec<String>>>().filter(|names| !names.is_empty())
}

/// The names that a list itself gives.
fn links(call: &Call, place: &str) -> Result<Vec<String>, Failure> {
    let rows = call.get(place)?;
    let keys =
        ["vmid", "node", "storage", "userid", "poolid", "groupid", "roleid", "realm", "upid", "name", "id", "sid"];
    let name = |row: &Value| keys.iter().find_map(|key| row.get(*key)).map(text);
    Ok(rows.as_array().into_iter().flatten().filter_map(name).collect())
}

/// How a path is used, verb by verb. The official texts are not there.
fn describe(call: &mut Call, place: &str) -> i32 {
    let mut out = String::new();
    for (word, verb) in [VERBS[0], VERBS[1], VERBS[2], VERBS[3]] {
        let Some(found) = Catalog::embedded().find(verb, place) else { continue };
        out.push_str(&format!("USAGE: {}\n\n  {}\n\n", short(word, place, found.method), found.method.summary));
    }
    if out.is_empty() {
        call.err(&format!("no such resource '{place}'\n"));
        return 255;
    }
    call.out(&out);
    0
}
