//! The registry: which tools are offered under which settings, and what is said about the others.

use std::collections::BTreeMap;

use pvemcp::config::{Access, Offer, Settings, all_toolsets};
use pvemcp::list_tools;
use pvemcp::mcp::Handler;
use serde_json::json;

use crate::served::{alone, everything, fails, nowhere, server, settings};

fn offering(toolsets: &[&str], access: Access) -> Settings {
    let offer = Offer { toolsets: toolsets.iter().map(|name| name.to_string()).collect(), ..Offer::default() };
    Settings { offer, ..settings(nowhere(), access) }
}

fn default_toolsets() -> Vec<String> {
    let off = ["sdn", "ceph", "notifications", "acme", "mapping"];
    all_toolsets().into_iter().filter(|name| !off.contains(&name.as_str())).collect()
}

fn profile(toolsets: &[String], access: Access) -> String {
    let toolsets: Vec<&str> = toolsets.iter().map(String::as_str).collect();
    list_tools::totals(&list_tools::registry(&offering(&toolsets, access)))
}

/// The totals of the seed less what is not written yet: 13 workflows (9 of them read), 53 SSH tools, the upload. Five
/// writes are elevated on purpose.
#[test]
fn totals_per_profile() {
    let writes = Access { writes: true, ..Access::default() };
    let dry = Access { dry_run: true, elevated: true, sensitive: true, ..Access::default() };
    let api_and_ssh: Vec<String> = ["api", "ssh"].map(str::to_string).into();
    let profiles = BTreeMap::from([
        ("1 read-only, default toolsets", profile(&default_toolsets(), Access::default())),
        ("2 writes, default toolsets", profile(&default_toolsets(), writes)),
        ("3 everything open, default toolsets", profile(&default_toolsets(), everything())),
        ("4 everything open, all toolsets", profile(&all_toolsets(), everything())),
        ("5 api,ssh with SSH only", profile(&api_and_ssh, Access { ssh: true, ..Access::default() })),
        ("6 workflows,api, read-only", profile(&["workflows".into(), "api".into()], Access::default())),
        ("7 dry run with elevated and sensitive, all toolsets", profile(&all_toolsets(), dry)),
    ]);
    insta::assert_debug_snapshot!(profiles);
}

#[test]
fn the_order_is_by_name_and_names_are_unique() {
    let server = alone(everything());
    let names: Vec<&str> = server.registry().iter().map(|(tool, _)| tool.name).collect();
    assert!(names.is_sorted());
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len());
    let again: Vec<String> = alone(everything()).registry().iter().map(|(tool, _)| tool.name.to_string()).collect();
    assert_eq!(names, again);
}

#[test]
fn a_second_domain_loads_a_tool_too() {
    let server = server(offering(&["lxc"], Access::default()));
    assert!(server.registry().get("pve_list_appliance_templates").is_ok());
    assert!(server.registry().get("pve_list_vms").is_err());
}

#[test]
fn patterns_narrow_within_the_gates() {
    let mut settings = settings(nowhere(), Access::default());
    settings.offer.only = vec!["pve_*_vm".into(), "pve_list_vms".into()];
    settings.offer.exclude = vec!["*_delete_*".into()];
    let server = server(settings);
    let names: Vec<&str> = server.registry().offered().map(|tool| tool.name).collect();
    assert_eq!(names, ["pve_list_vms"]);
}

#[tokio::test]
async fn what_is_not_offered_says_why() {
    let server = server(offering(&["vm", "api"], Access::default()));
    let closed = fails(&server, "pve_start_vm", json!({"vmid": 100}), "gate_closed").await;
    assert!(closed["hint"].as_str().unwrap().contains("PROXMOX_ALLOW_WRITES=true"), "{closed}");
    let absent = fails(&server, "pve_get_lxc_config", json!({"vmid": 101}), "unknown_tool").await;
    assert!(absent["hint"].as_str().unwrap().contains("'lxc' to PROXMOX_TOOLSETS"), "{absent}");
    let unknown = fails(&server, "pve_list_vmss", json!({}), "unknown_tool").await;
    assert!(unknown["hint"].as_str().unwrap().contains("'pve_list_vms'"), "{unknown}");
}

/// `tools/list` is paid on every exchange.
#[test]
fn the_list_stays_within_its_budget() {
    const KIB: usize = 1024;
    let writes = Access { writes: true, ..Access::default() };
    let size = |toolsets: &[String], access: Access| {
        let toolsets: Vec<&str> = toolsets.iter().map(String::as_str).collect();
        let handler = Handler::new(server(offering(&toolsets, access)));
        serde_json::to_vec(handler.tools()).expect("JSON").len()
    };
    let generic = size(&["workflows".into(), "api".into()], Access::default());
    assert!(generic <= 12 * KIB, "generic tools, read-only: {generic}");
    let reads = size(&default_toolsets(), Access::default());
    assert!(reads <= 105 * KIB, "default toolsets, read-only: {reads}");
    let changes = size(&default_toolsets(), writes);
    assert!(changes <= 215 * KIB, "default toolsets, writes: {changes}");
    let all = size(&all_toolsets(), everything());
    assert!(all <= 460 * KIB, "everything: {all}");
    let handler = Handler::new(alone(everything()));
    let create = handler.tools().iter().find(|tool| tool.name == "pve_create_vm").expect("it is offered");
    let one = serde_json::to_vec(create).expect("JSON").len();
    assert!(one <= 9 * KIB, "pve_create_vm: {one}");
}

#[test]
fn every_schema_is_a_plain_object() {
    for full in [false, true] {
        for (tool, _) in alone(everything()).registry().iter() {
            let schema = tool.input_schema(full, &["one".into(), "two".into()]);
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert!(schema.get("properties").is_some_and(|p| p.is_object()), "{}", tool.name);
            assert!(schema["properties"].get("instance").is_some(), "{}", tool.name);
            for word in ["anyOf", "oneOf", "allOf", "$ref"] {
                assert!(!schema.contains_key(word), "{} has {word} at its root", tool.name);
            }
            assert!(!serde_json::to_string(&schema).unwrap().contains("$ref"), "{}", tool.name);
        }
    }
}

#[test]
fn the_listing_names_domain_gate_and_tool() {
    let settings = offering(&["api", "pools"], everything());
    insta::assert_snapshot!(list_tools::of(&list_tools::registry(&settings)));
}
