//! Parameter verification against the recorded answers.

use std::collections::BTreeMap;

use pve_catalog::{Catalog, Verb, path, verify};
use serde_json::{Map, Value};

use crate::oracle;

/// The parameters of a recorded request: its own, and those in its path.
fn request(vector: &Value) -> Map<String, Value> {
    let mut values = vector["params"].as_object().unwrap().clone();
    let (template, path) = (vector["tmpl"].as_str().unwrap(), vector["path"].as_str().unwrap());
    let mut rest = path.trim_start_matches('/');
    for segment in template.split('/').skip(1) {
        let name = path::placeholder(segment);
        let takes_rest = name.is_some_and(|name| path::takes_rest(template, name));
        let (value, after) = if takes_rest { (rest, "") } else { rest.split_once('/').unwrap_or((rest, "")) };
        if let Some(name) = name {
            values.insert(name.to_string(), value.into());
        }
        rest = after;
    }
    values
}

fn compare(name: &str, vectors: &[Value], whole: bool) {
    let mut wrong = BTreeMap::new();
    let mut judged = 0;
    for vector in vectors {
        let outcome = &vector["outcome"];
        let expected = match (outcome["passed"].as_bool(), outcome["status"].as_u64()) {
            (Some(true), _) => None,
            (_, Some(400)) if !found_no_node(outcome) => Some(outcome["errors"].as_object().unwrap()),
            _ => continue,
        };
        judged += 1;
        let verb: Verb = vector["method"].as_str().unwrap().parse().unwrap();
        let method = Catalog::embedded().get(verb, vector["tmpl"].as_str().unwrap()).unwrap();
        let answer = verify::verify(method.parameters(), &request(vector));
        let key = format!("{verb} {} {}", vector["path"].as_str().unwrap(), vector["params"]);
        let expected =
            expected.map(|errors| errors.iter().map(|(k, v)| (k.clone(), text(v.as_str().unwrap()))).collect());
        let answer = answer.err().map(|errors| errors.0.iter().map(|(k, v)| (k.clone(), text(v))).collect());
        let (answer, expected): (Option<BTreeMap<String, String>>, Option<BTreeMap<_, _>>) = (answer, expected);
        if answer != expected {
            wrong.insert(key, difference(answer, expected));
        }
    }
    oracle::judge(name, judged, &wrong, whole);
}

/// The step that finds the node answers before parameters are verified: mostly 500, and 400 in this one form.
fn found_no_node(outcome: &Value) -> bool {
    outcome["errors"]["node"] == "proxyto parameter does not exist"
}

fn text(recorded: &str) -> String {
    let batch = "invalid format - commands ";
    if recorded.starts_with(batch) { batch.into() } else { oracle::comparable(recorded) }
}

fn difference(answer: Option<BTreeMap<String, String>>, expected: Option<BTreeMap<String, String>>) -> String {
    let (mut answer, mut expected) = (answer.unwrap_or_default(), expected.unwrap_or_default());
    let same: Vec<String> = answer.keys().filter(|key| expected.get(*key) == answer.get(*key)).cloned().collect();
    for key in same {
        answer.remove(&key);
        expected.remove(&key);
    }
    format!("{answer:?}, recorded {expected:?}")
}

#[test]
fn sample_of_recorded_parameters() {
    compare("param-vectors", &oracle::sample("param-vectors"), false);
    compare("json-typed-param-vectors", &oracle::sample("json-typed-param-vectors"), false);
}

#[test]
fn all_recorded_parameters() {
    for name in ["param-vectors", "json-typed-param-vectors"] {
        if let Some(vectors) = oracle::whole(name) {
            compare(name, &vectors, true);
        }
    }
}
