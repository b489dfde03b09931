//! Parameter verification against the recorded answers.

use std::collections::BTreeMap;

use proptest::prelude::*;
use pve_catalog::{Catalog, Schema, Verb, path, verify};
use serde_json::{Map, Value, json};

use crate::{oracle, recorded};

fn text<'v>(vector: &'v Value, key: &str) -> &'v str {
    vector[key].as_str().expect("a recorded text")
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

fn parameters(verb: Verb, template: &str) -> &'static Schema {
    Catalog::embedded().get(verb, template).expect("a method of the catalogue").parameters()
}

/// The parameters of a recorded request: its own, and those in its path.
fn request(vector: &Value) -> Map<String, Value> {
    let mut values = object(&vector["params"]).clone();
    let (template, path) = (text(vector, "tmpl"), text(vector, "path"));
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
            (_, Some(400)) if !found_no_node(outcome) => Some(object(&outcome["errors"])),
            _ => continue,
        };
        judged += 1;
        let verb: Verb = text(vector, "method").parse().expect("a verb");
        let parameters = parameters(verb, text(vector, "tmpl"));
        let answer = verify::verify(parameters, &request(vector));
        let key = format!("{verb} {} {}", text(vector, "path"), vector["params"]);
        let expected = expected
            .map(|errors| errors.iter().map(|(k, v)| (k.clone(), comparable(v.as_str().expect("a text")))).collect());
        let answer = answer.err().map(|errors| errors.0.iter().map(|(k, v)| (k.clone(), comparable(v))).collect());
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

fn comparable(recorded: &str) -> String {
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
    let texts = recorded::sample(include_str!("../data/param-vectors.jsonl"));
    compare("param-vectors", &texts, false);
    let typed = recorded::sample(include_str!("../data/json-typed-param-vectors.jsonl"));
    compare("json-typed-param-vectors", &typed, false);
}

#[test]
fn all_recorded_parameters() {
    for name in ["param-vectors", "json-typed-param-vectors"] {
        if let Some(vectors) = recorded::lines(&format!("oracle/{name}.jsonl.gz")) {
            compare(name, &vectors, true);
        }
    }
}

/// Requests that were really executed: what Proxmox did not refuse, we do not refuse either, and where both refuse
/// parameters, it is for the same reasons (what handlers refuse by themselves is not ours).
#[test]
fn executed_requests_are_not_refused() {
    let files = ["exec-vectors-A", "exec-vectors-B", "exec-vectors-D"].map(|name| format!("oracle/{name}.jsonl.gz"));
    let Some(vectors) = files.iter().map(|file| recorded::lines(file)).collect::<Option<Vec<_>>>() else { return };
    let (mut wrong, mut judged) = (BTreeMap::new(), 0);
    for vector in vectors.iter().flatten() {
        let verb: Verb = text(vector, "method").parse().unwrap();
        let Some(found) = Catalog::embedded().find(verb, text(vector, "path")) else { continue };
        let mut values = object(&vector["params"]).clone();
        values.extend(found.values.iter().map(|(name, value)| (name.to_string(), Value::from(*value))));
        judged += 1;
        let Err(errors) = verify::verify(found.method.parameters(), &values) else { continue };
        let answer: BTreeMap<String, String> = errors.0.iter().map(|(k, v)| (k.clone(), comparable(v))).collect();
        let outcome = &vector["outcome"];
        let errors = outcome["errors"].as_object();
        let expected: BTreeMap<String, String> = match errors {
            Some(errors) => errors.iter().map(|(k, v)| (k.clone(), comparable(v.as_str().unwrap()))).collect(),
            // Refused earlier: no right, or no such node.
            None if outcome["status"] != 200 => continue,
            None => BTreeMap::new(),
        };
        if answer != expected {
            let key = format!("{verb} {} {}", text(vector, "path"), vector["params"]);
            wrong.insert(key, difference(Some(answer), Some(expected)));
        }
    }
    oracle::judge("exec-vectors", judged, &wrong, true);
}

/// Errors of one call, as a JSON object; empty when it passes.
fn errors(verb: Verb, template: &str, values: Value) -> Value {
    match verify::verify(parameters(verb, template), object(&values)) {
        Ok(_) => json!({}),
        Err(errors) => json!(errors.0),
    }
}

fn verified(verb: Verb, template: &str, values: Value) -> Value {
    Value::from(verify::verify(parameters(verb, template), object(&values)).expect("valid parameters"))
}

const CONFIG: &str = "/nodes/{node}/qemu/{vmid}/config";

#[test]
fn values_are_normalised() {
    let given = json!({"node": "pve1", "vmid": "100", "command": "ls -la"});
    assert_eq!(verified(Verb::Post, "/nodes/{node}/qemu/{vmid}/agent/exec", given)["command"], json!(["ls -la"]));
    let given = json!({"node": "pve1", "vmid": 100, "delete": ["net0", "net1"], "name": null});
    let expected = json!({"node": "pve1", "vmid": 100, "delete": "net0,net1"});
    assert_eq!(verified(Verb::Put, CONFIG, given), expected);
}

#[test]
fn field_cases() {
    let common = |more: Value| {
        let mut values = json!({"node": "pve1", "vmid": "100"});
        values.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        values
    };
    // F1: words are no booleans, JSON's own are.
    let said = errors(Verb::Put, CONFIG, common(json!({"onboot": "true"})));
    assert_eq!(said, json!({"onboot": "type check ('boolean') failed - got 'true'"}));
    assert_eq!(errors(Verb::Put, CONFIG, common(json!({"onboot": true, "agent": "true"}))), json!({}));
    // F4: raw keys are not URL-encoded.
    let said = errors(Verb::Put, CONFIG, common(json!({"sshkeys": "ssh-rsa AAAA+x"})));
    assert_eq!(said, json!({"sshkeys": "invalid format - invalid urlencoded string: ssh-rsa AAAA+x\n"}));
    // F9, F10, F11.
    let snapshot = |kind, more| errors(Verb::Post, &format!("/nodes/{{node}}/{kind}/{{vmid}}/snapshot"), common(more));
    let unknown = "property is not defined in schema and the schema does not allow additional properties";
    assert_eq!(snapshot("lxc", json!({"snapname": "s1", "vmstate": 1})), json!({"vmstate": unknown}));
    assert_eq!(snapshot("qemu", json!({"snapname": "s1", "vmstate": 1})), json!({}));
    let long = "a".repeat(41);
    assert_eq!(
        snapshot("qemu", json!({"snapname": long})),
        json!({"snapname": "value may only be 40 characters long"})
    );
    for name in ["a.b", "a b", "1a"] {
        let said = format!("invalid format - invalid configuration ID '{name}'\n");
        assert_eq!(snapshot("qemu", json!({"snapname": name})), json!({"snapname": said}));
    }
    let said = errors(Verb::Put, CONFIG, common(json!({"ssh-public-key": "x"})));
    assert_eq!(said, json!({"ssh-public-key": unknown}));
}

#[test]
fn numbered_families_have_their_range() {
    let vm = Catalog::embedded().get(Verb::Put, CONFIG).unwrap().parameters();
    assert!(verify::parameter(vm, "net0").is_some() && verify::parameter(vm, "net31").is_some());
    for name in ["net32", "net", "net[n]", "net00", "net-1", "ide4", "mp0"] {
        assert!(verify::parameter(vm, name).is_none(), "{name}");
    }
    assert_eq!(verify::range(vm, "net[n]"), Some((0, 31)));
    assert_eq!(verify::range(vm, "scsi"), Some((0, 30)));
    assert_eq!(verify::range(vm, "mp"), None);
    assert!(verify::parameter_names(vm).contains(&"net[n]"));
}

#[test]
fn every_numbered_family_has_a_range_and_every_range_a_family() {
    let ranges: BTreeMap<String, (u32, u32)> = toml::from_str(include_str!("../../data/ranges.toml")).unwrap();
    let mut families = BTreeMap::new();
    for method in Catalog::embedded().methods() {
        for name in verify::parameter_names(method.parameters()) {
            if let Some(stem) = name.strip_suffix("[n]") {
                families.insert(stem.to_string(), verify::range(method.parameters(), name));
            }
        }
    }
    let expected: BTreeMap<String, Option<(u32, u32)>> = ranges.into_iter().map(|(k, v)| (k, Some(v))).collect();
    assert_eq!(families, expected);
}

#[test]
fn variants_are_chosen_by_their_type() {
    let rule = |values| errors(Verb::Post, "/cluster/ha/rules", values);
    let unknown = "property is not defined in schema and the schema does not allow additional properties";
    let missing = "property is missing and it is not optional";
    assert_eq!(
        rule(json!({"resources": "vm:101", "rule": "r9", "type": "node-affinity"})),
        json!({"oneOf[node-affinity].nodes": missing})
    );
    let bogus = "value 'bogus' does not have a value in the enumeration 'node-affinity, resource-affinity'";
    assert_eq!(
        rule(json!({"resources": "vm:100", "rule": "r8", "type": "bogus"})),
        json!({"resources": unknown, "type": bogus})
    );
    assert_eq!(rule(json!({"bogus": "1"})), json!({"bogus": unknown, "rule": missing, "type": missing}));
    let right = json!({"rule": "r1", "type": "resource-affinity", "resources": "vm:1,vm:2", "affinity": "negative"});
    assert_eq!(rule(right), json!({}));
    let names = verify::parameter_names(Catalog::embedded().get(Verb::Post, "/cluster/ha/rules").unwrap().parameters());
    assert_eq!(names, ["affinity", "comment", "disable", "nodes", "resources", "rule", "strict", "type"]);
}

#[test]
fn properties_of_instance_types() {
    let fabric = |values| errors(Verb::Put, "/cluster/sdn/fabrics/fabric/{id}", values);
    let base = |protocol: &str, more: Value| {
        let mut values = json!({"id": "f1", "protocol": protocol});
        values.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        values
    };
    assert_eq!(fabric(base("ospf", json!({"delete": ["area"]}))), json!({}));
    let said = fabric(base("wireguard", json!({"delete": ["area"]})));
    let expected = "value 'area' does not have a value in the enumeration 'persistent_keepalive'";
    assert_eq!(said, json!({"delete[0]": expected}));
    let unknown = "property is not defined in schema and the schema does not allow additional properties";
    assert_eq!(fabric(base("openfabric", json!({"redistribute": ["source=bgp"]}))), json!({"redistribute": unknown}));
}

#[test]
fn errors_are_readable() {
    let method = Catalog::embedded().get(Verb::Get, "/nodes/{node}/qemu/{vmid}/config").unwrap();
    let given = json!({"node": "-", "vmid": "1"});
    let said = verify::verify(method.parameters(), given.as_object().unwrap()).unwrap_err().to_string();
    let expected = "parameter verification failed: node: invalid format - value does not look like a valid node name; \
        vmid: invalid format - value does not look like a valid VM ID";
    assert_eq!(said, expected);
}

fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "(\\PC|[\n,=;:./]){0,40}".prop_map(Value::from),
        proptest::sample::select(vec!["local:8", "10.0.0.1/33", "1-", "mon..fri */5", "%", "::1", "0", "-1", "1e400"])
            .prop_map(Value::from),
    ];
    let leaf = prop_oneof![
        text,
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map("[a-z]{1,3}", inner, 0..3).prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn verifying_anything_never_panics(
        at in any::<proptest::sample::Index>(),
        values in proptest::collection::vec(any_value(), 1..12),
    ) {
        let method = at.get(Catalog::embedded().methods());
        let names = verify::parameter_names(method.parameters());
        let names = names.iter().map(|name| name.replace("[n]", "0")).chain(["zzz".to_string()]);
        let given: Map<String, Value> = names.zip(values.iter().cycle().cloned()).collect();
        if let Ok(once) = verify::verify(method.parameters(), &given) {
            // What passed once passes again, unchanged.
            prop_assert_eq!(verify::verify(method.parameters(), &once), Ok(once.clone()));
        }
    }

    #[test]
    fn no_format_panics(at in any::<proptest::sample::Index>(), text in "(\\PC|[\n,=;:./0-9a-f-]){0,50}") {
        let names = pve_catalog::format::names();
        let name = at.get(&names);
        let _ = pve_catalog::format::check(name, &text);
        let _ = pve_catalog::format::check(&format!("{name}-list"), &text);
    }
}
