//! Values that no two runs share (times, process ids, generated ids) put into one form.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

static PATTERNS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    vec![
        (pattern(r"UPID:([^:\s]+):[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:"), "UPID:$1:"),
        (pattern(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
        (pattern(r"\$5\$[./0-9A-Za-z]+\$[./0-9A-Za-z]{43}"), "<crypt>"),
        (pattern(r"\bBC:24:11(:[0-9A-Fa-f]{2}){3}\b"), "<mac>"),
        (pattern(r"\bPVE:([^:\s]+):[0-9A-F]{8}::[A-Za-z0-9+/=]+"), "PVE:$1:<ticket>"),
        (pattern(r"\b[0-9A-F]{8}:[A-Za-z0-9+/]{43}"), "<csrf>"),
        (pattern(r"\b([0-9a-f]{4}-){3}[0-9a-f]{4}\b"), "<code>"),
        (pattern(r"\b[0-9a-f]{64}\b"), "<hash>"),
        (pattern(r"\b[0-9a-f]{40}\b"), "<digest>"),
        (pattern(r"\b1[6-8][0-9]{8}\b"), "<time>"),
        (
            pattern(
                r"\b20[0-9]{2}[-_/][0-9]{2}[-_/][0-9]{2}[-_ T][0-9]{2}[:_][0-9]{2}[:_][0-9]{2}(\.[0-9]+)?( [+-][0-9]{4}|Z)?",
            ),
            "<moment>",
        ),
        (pattern(r"/proc/[0-9]+/fd/"), "/proc/<pid>/fd/"),
        (pattern(r"/var/tmp/pveupload-[0-9a-f]{32}"), "/var/tmp/pveupload-<hex>"),
    ]
});

static HASH: LazyLock<Regex> = LazyLock::new(|| pattern(r"\$5\$[^:]*"));
static SIZE: LazyLock<Regex> = LazyLock::new(|| pattern(r"<size [0-9]+>"));

/// A text without values of one run.
pub fn text(text: &str) -> String {
    let replace = |text: String, (pattern, by): &(Regex, &str)| pattern.replace_all(&text, *by).into_owned();
    PATTERNS.iter().fold(text.to_string(), replace)
}

/// Without hashes of passwords.
pub fn hashes(text: &str) -> String {
    HASH.replace_all(text, "<hash>").into_owned()
}

/// Without sizes of images on disk: qcow2 has tables of its own.
pub fn sizes(text: &str) -> String {
    SIZE.replace_all(text, "<size>").into_owned()
}

/// A message up to the place in Perl's files, without its line end; lines of a property string in one order.
pub fn message(message: &str) -> String {
    let cut = message.split(" at /usr/share/perl5/").next().unwrap_or_default().trim_end();
    match cut.split_once("format error\n") {
        Some((before, errors)) => {
            let mut errors: Vec<&str> = errors.lines().filter(|line| !line.is_empty()).collect();
            errors.sort_unstable();
            text(&format!("{before}format error\n{}", errors.join("\n")))
        }
        None => text(cut),
    }
}

/// `b,a` -> `a,b`.
pub fn sorted_list(text: &str) -> String {
    let mut parts: Vec<&str> = text.split(',').collect();
    parts.sort_unstable();
    parts.join(",")
}

/// Numbers that belong to one run, by key.
const RUNNING: [&str; 3] = ["pid", "pstart", "uptime"];

/// Lists in one text that Proxmox writes out of a hash in Perl, by key: the recording shows the same list in another order
/// in each of its answers and files (`content images,iso`, then `content iso,images`), so there is none to hold us to.
pub const UNORDERED: [&str; 2] = ["content", "nodes"];

/// A result without values of one run, keys and lists sorted, some keys left out.
pub fn data(value: &Value, without: &[String]) -> Value {
    match value {
        Value::Object(object) => {
            let mut kept: Vec<(&String, &Value)> = object.iter().filter(|(key, _)| !without.contains(key)).collect();
            kept.sort_unstable_by_key(|(key, _)| *key);
            let one = |(key, value): (&String, &Value)| {
                let shown = if RUNNING.contains(&key.as_str()) && value.is_number() {
                    json!("<n>")
                } else if let Some(list) = value.as_str().filter(|_| UNORDERED.contains(&key.as_str())) {
                    json!(sorted_list(list))
                } else {
                    data(value, without)
                };
                (text(key), shown)
            };
            Value::Object(kept.into_iter().map(one).collect::<Map<_, _>>())
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| data(item, without)).collect();
            items.sort_by_cached_key(Value::to_string);
            Value::Array(items)
        }
        Value::String(string) => json!(text(string)),
        Value::Number(number) if number.as_i64().is_some_and(|n| (1_600_000_000..1_900_000_000).contains(&n)) => {
            json!("<time>")
        }
        other => other.clone(),
    }
}
