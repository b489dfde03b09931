//! What a tool answers: structured content, a short text for people and for clients that know nothing else, and the rules for
//! answers that are too long or come from guests.

use serde_json::{Map, Value, json};

use crate::error::Fault;
use crate::tools::text;

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The result as data.
    pub structured: Map<String, Value>,
    /// The result as a short text, at most a screen.
    pub text: String,
    /// Whether it is an error: then the data is `{code, message, hint, …}`.
    pub is_error: bool,
}

impl Reply {
    /// A success; its text is made from the data.
    pub fn new(structured: Map<String, Value>) -> Reply {
        let text = text::of(&structured);
        Reply { structured, text, is_error: false }
    }

    /// A success with a text of its own.
    pub fn with_text(structured: Map<String, Value>, text: impl Into<String>) -> Reply {
        Reply { structured, text: text.into(), is_error: false }
    }

    /// A success from a JSON object; anything else is put under `data`.
    pub fn of(value: Value) -> Reply {
        match value {
            Value::Object(structured) => Reply::new(structured),
            other => Reply::new([("data".to_string(), other)].into_iter().collect()),
        }
    }

    /// An error.
    pub fn of_fault(fault: &Fault) -> Reply {
        let hint = fault.hint.as_ref().map(|hint| format!("\n{hint}")).unwrap_or_default();
        let text = format!("{}: {}{hint}", fault.code.word(), fault.message);
        Reply { structured: fault.to_json(), text, is_error: true }
    }

    /// Cuts the data at a whole item so that it has at most `most` characters, and says so.
    pub fn fit(mut self, most: usize) -> Reply {
        let whole = length(&Value::Object(self.structured.clone()));
        if whole <= most {
            return self;
        }
        let room = most.saturating_sub(400);
        let mut cut = Value::Object(std::mem::take(&mut self.structured));
        let mut kept = Vec::new();
        shorten(&mut cut, room, "", &mut kept);
        let Value::Object(mut structured) = cut else { return self };
        structured.insert(
            "truncated".into(),
            json!({
                "kept": kept,
                "characters": whole,
                "limit": most,
                "hint": "ask for less: pve_api_read takes fields, where and limit; many methods take limit and start",
            }),
        );
        if !self.is_error {
            self.text = text::of(&structured);
        }
        self.structured = structured;
        self
    }
}

/// Characters of a value as JSON.
fn length(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// Cuts the largest part of a value until it fits; `kept` collects what was cut: `data: 40 of 1200 items`.
fn shorten(value: &mut Value, room: usize, at: &str, kept: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            let all = list.len();
            let mut used = 2;
            let fits = list.iter().take_while(|item| {
                used += length(item) + 1;
                used <= room
            });
            let count = fits.count();
            list.truncate(count);
            kept.push(format!("{}{count} of {all} items", named(at)));
        }
        Value::String(text) => {
            let all = text.chars().count();
            // A character may take six in JSON (\u001b).
            let end = text.char_indices().nth(room / 2).map_or(text.len(), |(end, _)| end);
            let end = text[..end].rfind('\n').map_or(end, |line| line + 1);
            text.truncate(end);
            kept.push(format!("{}{} of {all} characters", named(at), text.chars().count()));
        }
        Value::Object(map) => {
            let mut sizes: Vec<(usize, String)> = map.iter().map(|(key, value)| (length(value), key.clone())).collect();
            sizes.sort();
            let keys: usize = map.keys().map(|key| key.len() + 6).sum();
            let mut left: usize = sizes.iter().map(|(size, _)| size).sum::<usize>() + keys;
            // The largest first; what is small stays whole.
            while left > room
                && let Some((size, key)) = sizes.pop()
            {
                let others = left - size;
                if let Some(part) = map.get_mut(&key) {
                    shorten(part, room.saturating_sub(others).max(16), &format!("{at}{key}."), kept);
                    left = others + length(part);
                }
            }
        }
        _ => {}
    }
}

fn named(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!("{}: ", at.trim_end_matches('.')) }
}

/// The JSON Schema of a result: an object that may have these members. None is required: clients check errors against it
/// too, and those have others.
pub fn schema(properties: Value) -> Map<String, Value> {
    let mut properties = match properties {
        Value::Object(properties) => properties,
        _ => Map::new(),
    };
    properties.insert("truncated".into(), json!({"type": "object"}));
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    schema
}

/// Whether an answer holds text that somebody inside a guest, or a user of one, can write.
pub fn is_untrusted(path: &str, data: &Value) -> bool {
    let of_guest = path.contains("/qemu") || path.contains("/lxc");
    match data {
        Value::String(text) => of_guest || text.contains('\n'),
        data => holds_foreign_text(data, of_guest),
    }
}

/// Fields whose text is written by users, guests or programs: notes, names of guests, lines of logs, output.
fn holds_foreign_text(data: &Value, of_guest: bool) -> bool {
    const FOREIGN: [&str; 14] = [
        "comment",
        "description",
        "err-data",
        "hostname",
        "msg",
        "notes",
        "out-data",
        "pool",
        "result",
        "t",
        "tags",
        "text",
        "title",
        "content",
    ];
    match data {
        Value::Array(list) => list.iter().any(|item| holds_foreign_text(item, of_guest)),
        Value::Object(map) => {
            let guest = of_guest || map.contains_key("vmid");
            let said =
                |key: &str| map.get(key).is_some_and(|value| value.as_str().is_some_and(|text| !text.is_empty()));
            FOREIGN.iter().any(|key| said(key))
                || (guest && said("name"))
                || map.values().any(|value| (value.is_object() || value.is_array()) && holds_foreign_text(value, guest))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(value: Value) -> Reply {
        Reply::of(value)
    }

    #[test]
    fn a_short_answer_stays_whole() {
        let whole = reply(json!({"data": [1, 2, 3]}));
        assert_eq!(whole.clone().fit(2000), whole);
    }

    #[test]
    fn a_long_list_is_cut_at_a_whole_item() {
        let rows: Vec<Value> = (0..1000).map(|n| json!({"vmid": n, "name": "x".repeat(50)})).collect();
        let cut = reply(json!({"data": rows, "total": 1000})).fit(2000);
        assert!(length(&Value::Object(cut.structured.clone())) <= 2000);
        let kept = cut.structured["data"].as_array().unwrap();
        assert!(!kept.is_empty());
        assert!(kept.iter().all(|row| row["name"].as_str().unwrap().len() == 50));
        assert_eq!(cut.structured["total"], 1000);
        assert!(cut.structured["truncated"]["kept"][0].as_str().unwrap().starts_with("data: "));
    }

    #[test]
    fn a_long_text_is_cut_at_a_line() {
        let cut = reply(json!({"data": "a line of a log\n".repeat(1000)})).fit(2000);
        assert!(cut.structured["data"].as_str().unwrap().ends_with("log\n"));
        assert!(length(&Value::Object(cut.structured)) <= 2000);
    }

    #[test]
    fn the_largest_member_is_cut_and_the_others_stay() {
        let cut = reply(json!({"data": {"a": "short", "b": vec!["x".repeat(90); 100]}})).fit(2000);
        assert_eq!(cut.structured["data"]["a"], "short");
        assert!(length(&Value::Object(cut.structured)) <= 2000);
    }

    #[test]
    fn guest_text_is_known_by_its_fields() {
        assert!(is_untrusted("/cluster/resources", &json!([{"vmid": 100, "name": "web"}])));
        assert!(is_untrusted("/nodes/a/tasks/u/log", &json!([{"n": 1, "t": "line"}])));
        assert!(is_untrusted("/nodes/a/report", &json!("many\nlines")));
        assert!(!is_untrusted("/nodes", &json!([{"node": "pve1", "status": "online"}])));
        assert!(!is_untrusted("/version", &json!({"version": "9.2.1"})));
    }
}
