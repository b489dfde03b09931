//! Results in the output formats that all programs share.

use pve_catalog::schema::Schema;
use serde_json::{Map, Value};

use super::json;
use super::table::{self, Look};
use crate::program::Call;

/// Output options are taken out of what is sent.
pub(crate) fn look(call: &Call, given: &mut Map<String, Value>) -> (Look, String) {
    let mut take = |name: &str| given.remove(name).and_then(|value| value.as_str().map(str::to_string));
    let on = |value: Option<String>| value.as_deref() == Some("1");
    let format = take("output-format").unwrap_or_else(|| "text".into());
    let human = take("human-readable").as_deref() != Some("0");
    let (border, header) = (!on(take("noborder")), !on(take("noheader")));
    let quiet = on(take("quiet"));
    (Look { border, header, human, boxes: call.boxes() }, if quiet { "none".into() } else { format })
}

/// A result in an output format.
pub(crate) fn print(value: &Value, returns: Option<&Schema>, columns: &[&str], look: Look, format: &str) -> String {
    match format {
        "none" => String::new(),
        "json" if value.is_null() => String::new(),
        "json" => format!("{}\n", json::compact(value)),
        "json-pretty" if value.is_null() => String::new(),
        "json-pretty" => json::pretty(value),
        "yaml" if value.is_null() => String::new(),
        "yaml" => json::yaml(value),
        _ => plain(value, returns, columns, look),
    }
}

fn plain(value: &Value, returns: Option<&Schema>, only: &[&str], look: Look) -> String {
    match value {
        Value::Null => String::new(),
        Value::Array(rows) if rows.is_empty() => String::new(),
        Value::Array(rows) => {
            let items = returns.and_then(|schema| schema.items.as_deref());
            let mut columns = items.map(table::columns).unwrap_or_default();
            if columns.is_empty() && rows.iter().all(Value::is_object) {
                let mut names: Vec<String> =
                    rows.iter().filter_map(Value::as_object).flat_map(|row| row.keys().cloned()).collect();
                names.sort();
                names.dedup();
                let column = |name: String| table::Column { title: name.clone(), key: name, right: false };
                columns = names.into_iter().map(column).collect();
            }
            if columns.is_empty() {
                return rows.iter().map(|row| format!("{}\n", super::text(row))).collect();
            }
            if !only.is_empty() {
                let pick = |name: &&str| {
                    let known = columns.iter().find(|column| column.key == *name);
                    known.cloned().unwrap_or(table::Column {
                        key: name.to_string(),
                        title: name.to_string(),
                        right: false,
                    })
                };
                columns = only.iter().map(pick).collect();
            }
            table::list(&columns, rows, look)
        }
        Value::Object(map) if map.is_empty() => String::new(),
        Value::Object(_) => table::object(value, look),
        scalar => format!("{}\n", super::text(scalar)),
    }
}
