//! Schemas of generated tools: plain, small, and true to the catalogue.

use pve_catalog::example::smallest_call;
use pve_catalog::json_schema::{Detail, input_schema, output_schema};
use pve_catalog::{Catalog, Method, Verb};
use serde_json::{Map, Value, json};

/// Bytes of all compact input schemas: what is left of the ceiling for the whole list of tools once names, summaries,
/// annotations and hand-written tools are paid for.
const CEILING: usize = 250 * 1024;

fn tools() -> impl Iterator<Item = &'static Method> {
    Catalog::embedded().methods().iter().filter(|method| method.tool.is_some())
}

fn compact(tool: &str) -> Value {
    let method = Catalog::embedded().by_tool(tool).unwrap_or_else(|| panic!("no tool {tool}"));
    input_schema(method, Detail::Compact).into()
}

fn bytes(method: &Method, detail: Detail) -> usize {
    Value::from(input_schema(method, detail)).to_string().len()
}

#[test]
fn schemas_stay_small() {
    let total: usize = tools().map(|method| bytes(method, Detail::Compact)).sum();
    assert!(total <= CEILING, "compact input schemas take {total} bytes");
    assert!(compact("pve_create_vm").to_string().len() <= 8 * 1024, "{}", compact("pve_create_vm").to_string().len());
    let full: usize = tools().map(|method| bytes(method, Detail::Full)).sum();
    assert!(full > total && full < 2 * CEILING, "full input schemas take {full} bytes");
}

#[test]
fn every_root_is_a_plain_object() {
    for method in tools() {
        for detail in [Detail::Compact, Detail::Full] {
            let schema = input_schema(method, detail);
            assert_eq!(schema["type"], "object", "{}", method.key());
            assert_eq!(schema["additionalProperties"], false, "{}", method.key());
            assert!(schema["properties"].is_object(), "{}", method.key());
            let text = Value::from(schema.clone()).to_string();
            for word in ["\"$ref\"", "\"anyOf\"", "\"oneOf\"", "\"allOf\"", "\"not\""] {
                assert!(!text.contains(word), "{} has {word}", method.key());
            }
            let properties = schema["properties"].as_object().expect("properties");
            let plain =
                |name: &str| name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
            assert!(properties.keys().all(|name| plain(name)), "{}: a client refuses such a name", method.key());
            let required = schema.get("required").and_then(Value::as_array);
            let known = |name: &Value| name.as_str().is_some_and(|name| properties.contains_key(name));
            assert!(required.into_iter().flatten().all(known), "{}: {required:?}", method.key());
        }
    }
}

#[test]
fn the_node_is_offered_but_not_asked_for() {
    assert_eq!(compact("pve_create_vm")["required"], json!(["vmid"]));
    assert_eq!(compact("pve_create_vm")["properties"]["node"], json!({"type": "string"}));
    let asks = |method: &Method| {
        let schema = input_schema(method, Detail::Compact);
        schema.get("required").and_then(Value::as_array).is_some_and(|names| names.contains(&"node".into()))
    };
    let asking: Vec<String> = tools().filter(|method| asks(method)).map(Method::key).collect();
    assert!(asking.iter().all(|key| !key.contains(" /nodes/{node}")), "{asking:?}");
}

#[test]
fn a_numbered_family_is_one_entry_and_both_spellings_pass() {
    let schema = compact("pve_create_vm");
    assert_eq!(schema["properties"]["net"]["type"], "object");
    assert!(schema["properties"]["net"]["description"].as_str().is_some_and(|text| text.starts_with("net0…net31")));
    assert!(schema["properties"].get("net[n]").is_none());
    let (pattern, value) =
        schema["patternProperties"].as_object().and_then(|all| all.iter().next()).expect("a pattern");
    assert_eq!(value, &json!({"type": "string"}));
    let pattern = regex::Regex::new(pattern).expect("a pattern");
    for flat in ["net0", "net31", "scsi7", "numa0"] {
        assert!(pattern.is_match(flat), "{flat}");
    }
    for other in ["net", "network0", "net0x", "xnet0", "memory"] {
        assert!(!pattern.is_match(other), "{other}");
    }
    // The name of this family is taken by a switch, so its first member stands for it.
    assert_eq!(schema["properties"]["numa"]["type"], "boolean");
    assert_eq!(schema["properties"]["numa0"]["type"], "string");
}

#[test]
fn the_server_adds_its_own_switches_and_nothing_clashes() {
    for method in tools() {
        let names = pve_catalog::verify::parameter_names(method.parameters());
        for own in ["dry_run", "wait", "wait_seconds", "instance", "save_as"] {
            assert!(!names.contains(&own), "{}: {own}", method.key());
        }
        let schema = input_schema(method, Detail::Compact);
        assert_eq!(schema["properties"].get("dry_run").is_some(), method.verb != Verb::Get, "{}", method.key());
        assert_eq!(schema["properties"].get("wait").is_some(), method.task, "{}", method.key());
        assert_eq!(schema["properties"].get("wait_seconds").is_some(), method.task, "{}", method.key());
    }
}

/// A call that Proxmox takes is one that the schema takes: names known, required ones there, types right.
#[test]
fn the_smallest_calls_fit() {
    for method in tools() {
        for detail in [Detail::Compact, Detail::Full] {
            let schema = input_schema(method, detail);
            let call = smallest_call(method);
            let problem = misfit(&schema, &call);
            assert_eq!(problem, None, "{}", method.key());
        }
    }
}

fn misfit(schema: &Map<String, Value>, call: &Map<String, Value>) -> Option<String> {
    let missing = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = missing.filter_map(Value::as_str).find(|name| !call.contains_key(*name));
    if let Some(name) = missing {
        return Some(format!("{name} is missing"));
    }
    call.iter().find_map(|(name, value)| {
        let Some(entry) = schema["properties"].get(name) else { return Some(format!("{name} is unknown")) };
        let fits = match entry.get("type").and_then(Value::as_str) {
            Some("string") => value.is_string(),
            Some("integer") => value.is_i64(),
            Some("number") => value.is_number(),
            Some("boolean") => value.is_boolean(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            _ => true,
        };
        let allowed = entry.get("enum").and_then(Value::as_array).is_none_or(|choices| choices.contains(value));
        let pattern = entry.get("pattern").and_then(Value::as_str);
        let matches = pattern.is_none_or(|pattern| {
            regex::Regex::new(pattern).expect("a pattern").is_match(value.as_str().unwrap_or_default())
        });
        (!fits || !allowed || !matches).then(|| format!("{name}: {value} against {entry}"))
    })
}

#[test]
fn the_glossary_is_short_and_not_stale() {
    let mut known = std::collections::BTreeSet::new();
    for method in Catalog::embedded().methods() {
        for name in pve_catalog::verify::parameter_names(method.parameters()) {
            known.insert(name.to_string());
            known.insert(format!("{}#{name}", method.key()));
            for kind in ["string", "integer", "number", "boolean", "array"] {
                known.insert(format!("{name}:{kind}"));
            }
        }
    }
    for (name, words) in &Catalog::tables().glossary {
        assert!(known.contains(name), "glossary.toml: no parameter '{name}'");
        assert!(words.chars().count() <= 80, "glossary.toml: '{name}' says too much");
    }
}

#[test]
fn schemas_of_some_tools() {
    let tools = ["pve_create_vm", "pve_create_lxc", "pve_list_vms", "pve_update_acl", "pve_create_ha_rule"];
    let schemas: Map<String, Value> = tools.iter().map(|tool| ((*tool).to_string(), compact(tool))).collect();
    insta::assert_json_snapshot!(schemas);
}

#[test]
fn results_are_described_in_full_only() {
    let version = Catalog::embedded().get(Verb::Get, "/version").expect("a method");
    assert_eq!(output_schema(version, Detail::Compact), None);
    let schema = output_schema(version, Detail::Full).expect("a schema");
    assert_eq!(schema["type"], json!(["object", "null"]));
    assert_eq!(schema["properties"]["version"]["type"], json!(["string", "number", "null"]));
    let list = Catalog::embedded().get(Verb::Get, "/nodes/{node}/qemu").expect("a method");
    let schema = output_schema(list, Detail::Full).expect("a schema");
    assert_eq!(schema["type"], json!(["array", "null"]));
    assert_eq!(schema["items"]["type"], json!(["object", "null"]));
}
