//! Makes a big answer small: which rows, which of their fields, and how many.

use serde_json::{Map, Value};

use crate::error::Fault;
use crate::tools::arguments::value::{flag, plain_text};

/// What is to be kept of an answer.
#[derive(Debug, Default)]
pub struct Filter<'a> {
    /// These fields only; empty for all.
    pub fields: Vec<&'a str>,
    /// Rows whose fields fit.
    pub conditions: Vec<(String, Condition)>,
    /// At most so many rows.
    pub limit: Option<usize>,
}

/// What a field must be.
#[derive(Debug, PartialEq)]
pub enum Condition {
    /// The same, as a text, a number or a truth.
    Is(Value),
    /// Not the same.
    Not(String),
    /// Holds this text, whatever the case.
    Holds(String),
    /// A number compared with this one.
    Compares(Comparison, f64),
}

/// How numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `<`
    Less,
    /// `<=`
    AtMost,
}

/// What came of it.
#[derive(Debug, PartialEq)]
pub struct Filtered {
    /// The answer that is left.
    pub data: Value,
    /// Rows that fit the conditions, when that is more than are shown.
    pub matched: Option<usize>,
}

/// Reads `where`: `{"status": "running", "mem": ">1073741824", "name": "~web", "node": "!=pve2"}`.
///
/// # Errors
/// `bad_argument` when a comparison names no number.
pub fn conditions(given: Map<String, Value>) -> Result<Vec<(String, Condition)>, Fault> {
    let each = |(field, value): (String, Value)| {
        condition(&value)
            .map(|condition| (field.clone(), condition))
            .map_err(|message| Fault::argument("where", format!("{field}: {message}")))
    };
    given.into_iter().map(each).collect()
}

fn condition(value: &Value) -> Result<Condition, String> {
    let Value::String(text) = value else { return Ok(Condition::Is(value.clone())) };
    if let Some(rest) = text.strip_prefix("!=") {
        return Ok(Condition::Not(rest.trim().to_string()));
    }
    if let Some(rest) = text.strip_prefix('~') {
        return Ok(Condition::Holds(rest.trim().to_lowercase()));
    }
    let signs =
        [(">=", Comparison::AtLeast), ("<=", Comparison::AtMost), (">", Comparison::More), ("<", Comparison::Less)];
    for (sign, comparison) in signs {
        if let Some(rest) = text.strip_prefix(sign) {
            let number = rest.trim().parse().map_err(|_| format!("'{sign}' takes a number"))?;
            return Ok(Condition::Compares(comparison, number));
        }
    }
    Ok(Condition::Is(value.clone()))
}

impl Filter<'_> {
    /// Applies it. Rows are the items of a list; an object is treated as one row whose fields are chosen.
    ///
    /// # Errors
    /// `bad_argument` when conditions or a limit are given and the answer is no list.
    pub fn apply(&self, data: Value) -> Result<Filtered, Fault> {
        match data {
            Value::Array(rows) => Ok(self.rows(rows)),
            data if self.conditions.is_empty() => Ok(Filtered { data: self.chosen(data), matched: None }),
            _ => Err(Fault::argument("where", "this answer is no list whose rows could be chosen")),
        }
    }

    fn rows(&self, rows: Vec<Value>) -> Filtered {
        let fits = |row: &Value| self.conditions.iter().all(|(field, condition)| condition.holds(row.get(field)));
        let mut kept: Vec<Value> = rows.into_iter().filter(fits).collect();
        let matched = kept.len();
        kept.truncate(self.limit.unwrap_or(usize::MAX));
        let more = (kept.len() < matched || !self.conditions.is_empty()).then_some(matched);
        Filtered { data: kept.into_iter().map(|row| self.chosen(row)).collect(), matched: more }
    }

    fn chosen(&self, row: Value) -> Value {
        match row {
            Value::Object(map) if !self.fields.is_empty() => {
                let kept = self.fields.iter().filter_map(|field| map.get_key_value(*field));
                kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<String, Value>>().into()
            }
            row => row,
        }
    }
}

impl Condition {
    fn holds(&self, field: Option<&Value>) -> bool {
        match (self, field) {
            (Condition::Is(Value::Null), field) => field.is_none_or(Value::is_null),
            (Condition::Not(wanted), field) => field.is_none_or(|field| plain_text(field) != *wanted),
            (_, None) => false,
            (Condition::Is(Value::Bool(wanted)), Some(field)) => flag(field) == Some(*wanted),
            (Condition::Is(Value::Array(any)), Some(field)) => {
                any.iter().any(|wanted| plain_text(wanted) == plain_text(field))
            }
            (Condition::Is(wanted), Some(field)) => plain_text(wanted) == plain_text(field),
            (Condition::Holds(part), Some(field)) => plain_text(field).to_lowercase().contains(part),
            (Condition::Compares(comparison, wanted), Some(field)) => {
                plain_text(field).parse::<f64>().is_ok_and(|number| match comparison {
                    Comparison::More => number > *wanted,
                    Comparison::AtLeast => number >= *wanted,
                    Comparison::Less => number < *wanted,
                    Comparison::AtMost => number <= *wanted,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filtered(conditions_given: Value, fields: Vec<&str>, limit: Option<usize>) -> Filtered {
        let rows = json!([
            {"vmid": 100, "name": "web-1", "status": "running", "mem": 2048, "template": 0},
            {"vmid": "101", "name": "db", "status": "stopped", "mem": "512", "template": 1},
            {"vmid": 102, "name": "WEB-2", "status": "running", "mem": 4096},
        ]);
        let conditions = conditions(conditions_given.as_object().unwrap().clone()).unwrap();
        Filter { fields, conditions, limit }.apply(rows).unwrap()
    }

    fn names(filtered: &Filtered) -> Vec<&str> {
        filtered.data.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect()
    }

    #[test]
    fn rows_are_chosen_by_value_number_and_part() {
        assert_eq!(names(&filtered(json!({"status": "running"}), vec![], None)), ["web-1", "WEB-2"]);
        assert_eq!(names(&filtered(json!({"vmid": 101}), vec![], None)), ["db"]);
        assert_eq!(names(&filtered(json!({"name": "~web"}), vec![], None)), ["web-1", "WEB-2"]);
        assert_eq!(names(&filtered(json!({"mem": ">=2048"}), vec![], None)), ["web-1", "WEB-2"]);
        assert_eq!(names(&filtered(json!({"mem": "<1000"}), vec![], None)), ["db"]);
        assert_eq!(names(&filtered(json!({"template": true}), vec![], None)), ["db"]);
        assert_eq!(names(&filtered(json!({"template": null}), vec![], None)), ["WEB-2"]);
        assert_eq!(names(&filtered(json!({"name": "!=db"}), vec![], None)), ["web-1", "WEB-2"]);
        assert_eq!(names(&filtered(json!({"vmid": [100, 101]}), vec![], None)), ["web-1", "db"]);
    }

    #[test]
    fn a_limit_tells_how_many_there_are() {
        let filtered = filtered(json!({}), vec!["name", "vmid"], Some(2));
        assert_eq!(filtered.matched, Some(3));
        assert_eq!(filtered.data[0], json!({"name": "web-1", "vmid": 100}));
    }

    #[test]
    fn a_comparison_needs_a_number() {
        assert!(conditions(json!({"mem": ">lots"}).as_object().unwrap().clone()).is_err());
    }
}
