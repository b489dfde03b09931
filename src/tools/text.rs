//! The short text beside a structured result: what a person sees first, at most a screen.

use serde_json::{Map, Value};

/// Most lines of a text.
const LINES: usize = 48;
/// Most characters of a line.
const WIDTH: usize = 240;
/// Fields that say most about a row, in this order; the others follow in their own.
const FIRST: [&str; 13] = [
    "vmid",
    "id",
    "upid",
    "name",
    "node",
    "storage",
    "volid",
    "tool",
    "required",
    "type",
    "status",
    "exitstatus",
    "size",
];

/// The text of a result.
pub fn of(structured: &Map<String, Value>) -> String {
    let mut lines = Vec::new();
    for (key, value) in structured {
        match value {
            Value::Null => {}
            Value::Object(map) if key == "data" && !map.is_empty() => {
                lines.extend(map.iter().map(|(key, value)| format!("{key}: {}", line(value))));
            }
            value => member(&mut lines, key, value),
        }
    }
    screen(lines)
}

/// One member: on one line where it fits, else its parts below it.
fn member(lines: &mut Vec<String>, key: &str, value: &Value) {
    match value {
        Value::Array(list) if list.iter().any(|item| item.is_object() || item.is_array()) => {
            lines.push(format!("{key}: {} items", list.len()));
            lines.extend(list.iter().map(|item| format!("  {}", line(item))));
        }
        Value::Array(list) if line(value).chars().count() > WIDTH => {
            lines.push(format!("{key}:"));
            lines.extend(list.iter().map(|item| format!("  {}", line(item))));
        }
        Value::Object(map) if row(map).chars().count() > WIDTH => {
            lines.push(format!("{key}:"));
            lines.extend(map.iter().map(|(key, value)| format!("  {key}: {}", line(value))));
        }
        Value::String(text) if text.contains('\n') => {
            lines.push(format!("{key}:"));
            lines.extend(text.lines().map(|line| format!("  {line}")));
        }
        value => lines.push(format!("{key}: {}", line(value))),
    }
}

/// Lines as one text: at most a screen, and it says when there are more.
pub fn screen(lines: Vec<String>) -> String {
    let all = lines.len();
    let mut shown: Vec<String> = lines.into_iter().take(LINES).map(|line| cut(&line)).collect();
    if all > LINES {
        shown.push(format!("… {} more lines: see the structured content", all - LINES));
    }
    if shown.is_empty() { "done".into() } else { shown.join("\n") }
}

fn line(value: &Value) -> String {
    match value {
        Value::Object(map) => row(map),
        Value::Array(list) if list.is_empty() => "none".into(),
        Value::Array(list) => list.iter().map(line).collect::<Vec<_>>().join(", "),
        Value::Null => "-".into(),
        Value::String(text) => text.replace('\n', " "),
        value => value.to_string(),
    }
}

/// `vmid=100 name=web status=running …`.
fn row(map: &Map<String, Value>) -> String {
    let first = FIRST.iter().filter_map(|key| map.get_key_value(*key));
    let rest = map.iter().filter(|(key, _)| !FIRST.contains(&key.as_str()));
    let told = first.chain(rest).filter(|(_, value)| !value.is_null());
    let told: Vec<String> = told.map(|(key, value)| format!("{key}={}", line(value))).collect();
    if told.is_empty() { "nothing".into() } else { told.join(" ") }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(value: Value) -> String {
        of(value.as_object().expect("an object"))
    }

    #[test]
    fn rows_begin_with_what_matters() {
        let text = told(json!({"data": [{"status": "running", "mem": 5, "vmid": 100, "name": "web"}], "total": 1}));
        assert_eq!(text, "data: 1 items\n  vmid=100 name=web status=running mem=5\ntotal: 1");
    }

    #[test]
    fn short_lists_stay_on_their_line_and_empty_ones_say_so() {
        assert_eq!(told(json!({"toolsets": ["api", "vm"], "data": []})), "toolsets: api, vm\ndata: none");
        assert_eq!(told(json!({"data": null})), "done");
    }

    #[test]
    fn it_is_never_more_than_a_screen() {
        let rows: Vec<Value> = (0..500).map(|n| json!({"n": n, "t": "x".repeat(500)})).collect();
        let text = told(json!({"data": rows}));
        assert_eq!(text.lines().count(), LINES + 1);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH + 1));
    }
}
