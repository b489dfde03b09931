//! What happens when a program is called: the command is found, its arguments are read, and it is done.

use pve_catalog::schema::Kind;
use pve_catalog::{Method, path};
use serde_json::{Map, Value};

use super::command::{Act, Command, Does, Program, Shows};
use super::output::{look, print};
use super::table::Look;
use super::{Failure, options, usage};
use crate::program::Call;

/// Options of everything that prints tables.
const FORMATS: [(&str, bool); 5] =
    [("output-format", false), ("noborder", true), ("noheader", true), ("human-readable", true), ("quiet", true)];

/// Runs a program.
pub(crate) fn run(program: &Program, call: &mut Call) -> i32 {
    if call.user.uid != 0 {
        call.err("please run as root\n");
        return 255;
    }
    let args: Vec<String> = call.argv[1..].to_vec();
    if args.is_empty() && !program.commands.iter().any(|command| command.words.is_empty()) {
        call.err(&format!("ERROR: no command specified\n{}", usage::all(program)));
        return 255;
    }
    if matches!(args.first().map(String::as_str), Some("help" | "--help" | "-h")) {
        return help(program, call, &args[1..]);
    }
    match find(program, &args) {
        Ok((command, used)) => perform(program, command, call, &args[used..]),
        Err(text) => {
            call.err(&format!("{text}\n{}", usage::all(program)));
            255
        }
    }
}

fn help(program: &Program, call: &mut Call, words: &[String]) -> i32 {
    let wanted = words.join(" ");
    let mut text = String::new();
    for command in program.commands.iter().filter(|command| command.group > 0) {
        if wanted.is_empty() || command.words == wanted || command.words.starts_with(&format!("{wanted} ")) {
            text.push_str(&usage::long(program, command));
        }
    }
    call.out(&format!("{text}\n"));
    0
}

/// The command that arguments begin with, and how many words it has. Words may be cut where they stay clear.
fn find<'p>(program: &'p Program, args: &[String]) -> Result<(&'p Command, usize), String> {
    let mut left: Vec<&Command> = program.commands.iter().collect();
    if let [only] = left.as_slice()
        && only.words.is_empty()
    {
        return Ok((only, 0));
    }
    let word_of = |command: &Command, at: usize| command.words.split(' ').nth(at).map(str::to_string);
    let mut said = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        said.push(arg.as_str());
        let exact: Vec<&Command> = left.iter().copied().filter(|c| word_of(c, at).as_deref() == Some(arg)).collect();
        let begins = |c: &&&Command| c.group > 0 && word_of(c, at).is_some_and(|word| word.starts_with(arg.as_str()));
        let close: Vec<&Command> = left.iter().filter(begins).copied().collect();
        let mut words: Vec<Option<String>> = close.iter().map(|command| word_of(command, at)).collect();
        words.dedup();
        left = match (exact.is_empty(), words.len()) {
            (false, _) => exact,
            (true, 1) => close,
            _ => return Err(format!("ERROR: unknown command '{} {}'", program.name, said.join(" "))),
        };
        if let Some(found) = left.iter().find(|command| command.words.split(' ').count() == at + 1) {
            return Ok((found, at + 1));
        }
    }
    Err(format!("ERROR: incomplete command '{} {}'", program.name, said.join(" ")))
}

/// Reads a command's arguments and does it.
pub(crate) fn perform(program: &Program, command: &Command, call: &mut Call, args: &[String]) -> i32 {
    let short = usage::line(program, command);
    let known: Vec<options::Known> = command
        .params()
        .iter()
        .filter(|(name, _)| !command.args.contains(&name.as_str()) && !command.fixes(name) && name != "output-format")
        .map(|(name, schema)| options::Known {
            name: name.clone(),
            boolean: schema.kind == Kind::Boolean,
            list: schema.is_list() || schema.kind == Kind::Array,
        })
        .chain(FORMATS.iter().filter(|_| command.formats()).map(|(name, boolean)| options::Known {
            name: name.to_string(),
            boolean: *boolean,
            list: false,
        }))
        .collect();
    let mut read = options::read(&known, args);
    if !read.errors.is_empty() {
        call.err(&format!("{}\n400 unable to parse option\n{short}\n", read.errors.join("\n")));
        return 255;
    }
    if let Err(text) = places(command, &mut read) {
        call.err(&format!("{text}\n{short}\n"));
        return 255;
    }
    if let Err(failure) = from_files(call, &mut read.given) {
        call.err(&failure.text(&short));
        return failure.exit();
    }
    let look = match command.does {
        // These read the options of output themselves.
        Does::Own(..) => look(call, &mut Map::new()),
        Does::Api(_) => look(call, &mut read.given),
    };
    match act(command, call, &read.given, look) {
        Ok(status) => status,
        Err(failure) => {
            call.err(&failure.text(&short));
            failure.exit()
        }
    }
}

/// Keys are given as files, whose text is sent.
fn from_files(call: &Call, given: &mut Map<String, Value>) -> Result<(), Failure> {
    for name in ["sshkeys", "ssh-public-keys"] {
        let Some(file) = given.get(name).map(super::text) else { continue };
        let path = crate::program::guest::full(call, &file);
        let keys = call.node.root.text(&path);
        let keys = keys.map_err(|_| Failure::die(format!("can't open '{file}' - No such file or directory")))?;
        let escape = |byte: u8| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => (byte as char).to_string(),
            _ => format!("%{byte:02X}"),
        };
        let keys = if name == "sshkeys" { keys.trim_end().bytes().map(escape).collect() } else { keys };
        given.insert(name.into(), keys.into());
    }
    Ok(())
}

/// Gives what stands by its place its name.
fn places(command: &Command, read: &mut options::Read) -> Result<(), String> {
    let params = command.params();
    let mut rest = std::mem::take(&mut read.rest).into_iter();
    for arg in command.args {
        if *arg == "extra-args" {
            let all: Vec<Value> = rest.by_ref().map(Value::from).collect();
            read.given.insert("extra-args".into(), all.into());
            continue;
        }
        let optional = params.iter().find(|(name, _)| name == arg).is_none_or(|(_, schema)| schema.optional);
        match rest.next() {
            Some(value) => drop(read.given.insert(arg.to_string(), value.into())),
            None if optional => {}
            None => return Err("400 not enough arguments".into()),
        }
    }
    if rest.next().is_some() { Err("400 too many arguments".into()) } else { Ok(()) }
}

fn act(
    command: &Command,
    call: &mut Call,
    given: &Map<String, Value>,
    (look, format): (Look, String),
) -> Result<i32, Failure> {
    let key = match &command.does {
        Does::Own(_, act) => return own(command, call, given, *act),
        Does::Api(key) => key,
    };
    let (verb, template) = key.split_once(' ').unwrap_or(("GET", key));
    let mut params = given.clone();
    let node = call.node.name.clone();
    let mut values: Vec<(String, String)> = Vec::new();
    for name in path::placeholders(template) {
        let value = params.remove(name).map(|value| super::text(&value));
        let value = if command.fixes(name) { node.clone() } else { value.unwrap_or_default() };
        values.push((name.to_string(), value));
    }
    let mut place = template.to_string();
    for (name, value) in &values {
        place = place.replace(&format!("{{{name}}}"), value);
    }
    let result = call.api(verb, &place, params)?;
    Ok(match command.shows {
        Shows::Nothing => 0,
        Shows::Task | Shows::TaskAnyway => match result.as_str().filter(|text| text.starts_with("UPID:")) {
            Some(upid) => {
                let status = call.show_task(upid);
                if matches!(command.shows, Shows::TaskAnyway) { 0 } else { status }
            }
            None => 0,
        },
        Shows::TaskThen(then) => {
            let status = call.show_task(result.as_str().unwrap_or_default());
            if status == 0 {
                then(call, given);
            }
            status
        }
        Shows::With(show) => {
            show(call, given, &result);
            0
        }
        Shows::Table(columns) => {
            let returns = command.method().map(Method::returns);
            let text = print(&result, returns, columns, look, &format);
            call.out(&text);
            0
        }
    })
}

fn own(command: &Command, call: &mut Call, given: &Map<String, Value>, act: Act) -> Result<i32, Failure> {
    let mut errors = std::collections::BTreeMap::new();
    for (name, schema) in command.params() {
        let value = given.get(&name).and_then(Value::as_str);
        match value {
            None if !schema.optional && !given.contains_key(&name) => {
                errors.insert(name, "property is missing and it is not optional".to_string());
            }
            Some(value)
                if name == "vmid" && !value.parse::<u32>().is_ok_and(|id| (100..1_000_000_000).contains(&id)) =>
            {
                let text = match value.parse::<i64>() {
                    Ok(_) => "invalid format - value does not look like a valid VM ID\n".to_string(),
                    Err(_) => format!("type check ('integer') failed - got '{value}'"),
                };
                errors.insert(name, text);
            }
            Some(value) if schema.kind == Kind::Integer && value.parse::<i64>().is_err() => {
                errors.insert(name, format!("type check ('integer') failed - got '{value}'"));
            }
            _ => {}
        }
    }
    if errors.is_empty() {
        return act(call, given);
    }
    Err(Failure { status: 400, message: "Parameter verification failed.".into(), errors })
}
