//! JSON and YAML as Perl's modules write them: keys sorted, three spaces.

use serde_json::Value;

fn sorted(map: &serde_json::Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(name, _)| *name);
    entries
}

/// On one line.
pub(crate) fn compact(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(compact).collect::<Vec<_>>().join(",")),
        Value::Object(map) => {
            let entry = |(name, value): (&String, &Value)| format!("{}:{}", Value::from(name.as_str()), compact(value));
            format!("{{{}}}", sorted(map).into_iter().map(entry).collect::<Vec<_>>().join(","))
        }
        Value::Bool(on) => u8::from(*on).to_string(),
        other => other.to_string(),
    }
}

/// Over several lines, with a line end.
pub(crate) fn pretty(value: &Value) -> String {
    format!("{}\n", indented(value, 0))
}

fn indented(value: &Value, depth: usize) -> String {
    let (inner, outer) = ("   ".repeat(depth + 1), "   ".repeat(depth));
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items: Vec<String> = items.iter().map(|item| format!("{inner}{}", indented(item, depth + 1))).collect();
            format!("[\n{}\n{outer}]", items.join(",\n"))
        }
        Value::Object(map) if !map.is_empty() => {
            let entry = |(name, value): (&String, &Value)| {
                format!("{inner}{} : {}", Value::from(name.as_str()), indented(value, depth + 1))
            };
            format!("{{\n{}\n{outer}}}", sorted(map).into_iter().map(entry).collect::<Vec<_>>().join(",\n"))
        }
        other => compact(other),
    }
}

/// YAML, with its first line.
pub(crate) fn yaml(value: &Value) -> String {
    match value {
        Value::Array(items) if items.is_empty() => "--- []\n".into(),
        Value::Object(map) if map.is_empty() => "--- {}\n".into(),
        Value::Array(_) | Value::Object(_) => format!("---\n{}", block(value, 0)),
        scalar => format!("--- {}\n", plain(scalar)),
    }
}

fn block(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let mut out = String::new();
    match value {
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::Object(map) if !map.is_empty() => {
                        let inner = block(item, depth + 1);
                        out.push_str(&format!("{indent}- {}", inner.trim_start()));
                    }
                    other => out.push_str(&format!("{indent}- {}\n", plain(other))),
                }
            }
        }
        Value::Object(map) => {
            for (name, value) in sorted(map) {
                match value {
                    Value::Object(inner) if !inner.is_empty() => {
                        out.push_str(&format!("{indent}{name}:\n{}", block(value, depth + 1)));
                    }
                    Value::Array(inner) if !inner.is_empty() => {
                        out.push_str(&format!("{indent}{name}:\n{}", block(value, depth)));
                    }
                    other => out.push_str(&format!("{indent}{name}: {}\n", plain(other))),
                }
            }
        }
        other => out.push_str(&plain(other)),
    }
    out
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "~".into(),
        Value::Array(_) => "[]".into(),
        Value::Object(_) => "{}".into(),
        Value::Bool(on) => u8::from(*on).to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let special = |c: char| "{}[],&*#?|<>=!%@`\"':-".contains(c);
            let word = ["", "~", "true", "false", "null", "yes", "no", "y", "n", "on", "off"];
            let quoted = text.parse::<f64>().is_ok()
                || word.contains(&text.to_lowercase().as_str())
                || text.starts_with(special)
                || text.contains(": ")
                || text.contains(" #")
                || text.ends_with(':')
                || text.trim() != text;
            match text {
                _ if text.contains('\n') => Value::from(text.as_str()).to_string(),
                _ if quoted => format!("'{}'", text.replace('\'', "''")),
                _ => text.clone(),
            }
        }
    }
}
