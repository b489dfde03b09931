//! The short text beside a structured result: what a person sees first, at most a screen.

use serde_json::{Map, Value};

use crate::tools::arguments::value::plain_text;

/// Most lines of a text.
const LINES: usize = 40;
/// Most characters of a line.
const WIDTH: usize = 160;
/// Fields that say most about a row, in this order; the others follow in their own.
const FIRST: [&str; 12] =
    ["vmid", "id", "upid", "name", "node", "storage", "volid", "tool", "type", "status", "exitstatus", "size"];

/// The text of a result.
pub fn of(structured: &Map<String, Value>) -> String {
    let mut lines = Vec::new();
    for (key, value) in structured {
        match value {
            Value::Null => {}
            Value::Array(list) if list.is_empty() => lines.push(format!("{key}: none")),
            Value::Array(list) => {
                lines.push(format!("{key}: {} items", list.len()));
                lines.extend(list.iter().map(|item| format!("  {}", line(item))));
            }
            Value::Object(map) if map.is_empty() => lines.push(format!("{key}: nothing")),
            Value::Object(map) if key == "data" => lines.extend(map.iter().map(|(key, value)| pair(key, value))),
            Value::Object(map) => lines.push(format!("{key}: {}", row(map))),
            Value::String(text) if text.contains('\n') => {
                lines.push(format!("{key}:"));
                lines.extend(text.lines().map(|line| format!("  {line}")));
            }
            value => lines.push(pair(key, value)),
        }
    }
    screen(lines)
}

fn screen(lines: Vec<String>) -> String {
    let all = lines.len();
    let mut shown: Vec<String> = lines.into_iter().take(LINES).map(|line| cut(&line)).collect();
    if all > LINES {
        shown.push(format!("… {} more lines: see the structured content", all - LINES));
    }
    if shown.is_empty() { "done".into() } else { shown.join("\n") }
}

fn pair(key: &str, value: &Value) -> String {
    format!("{key}: {}", line(value))
}

fn line(value: &Value) -> String {
    match value {
        Value::Object(map) => row(map),
        Value::Null => "-".into(),
        value => plain_text(value).replace('\n', " "),
    }
}

/// `vmid=100 name=web status=running …`.
fn row(map: &Map<String, Value>) -> String {
    let first = FIRST.iter().filter_map(|key| map.get_key_value(*key));
    let rest = map.iter().filter(|(key, _)| !FIRST.contains(&key.as_str()));
    let told = first.chain(rest).filter(|(_, value)| !value.is_null());
    told.map(|(key, value)| format!("{key}={}", plain_text(value).replace('\n', " "))).collect::<Vec<_>>().join(" ")
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}
