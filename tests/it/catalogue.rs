//! A server on an imported catalogue: it may have more to offer, and nothing of what it says opens anything.

use std::collections::HashMap;
use std::sync::Arc;

use pve_catalog::import::{self, Wanted};
use pve_catalog::imported::version_line;
use pve_catalog::{Catalog, Verb};
use pvemcp::config::{Access, Purpose, Settings};
use pvemcp::error::Code;
use pvemcp::policy::{ApiCall, Policy};
use pvemcp::server::Server;
use serde_json::{Value, json};

use crate::scripted::{Received, status};
use crate::served::{self, call, cluster, done, everything, fails, nowhere};

const SMALL: &str = include_str!("data/apidoc.js");

/// The small document, imported as Proxmox VE 9.9.
fn small(wanted: Wanted) -> &'static Catalog {
    let facts = import::to_jsonl(&import::read(SMALL, wanted).expect("a document"));
    Catalog::imported(&(version_line("9.9").expect("a version") + &facts)).expect("sound facts")
}

fn imported(facts: &[Value]) -> &'static Catalog {
    let lines: String = facts.iter().map(|fact| format!("{fact}\n")).collect();
    Catalog::imported(&lines).expect("sound facts")
}

fn on(catalog: &'static Catalog, access: Access) -> Arc<Server> {
    served::server(Settings { catalog, ..served::settings(nowhere(), access) })
}

fn writes() -> Access {
    Access { writes: true, ..Access::default() }
}

/// A call of an imported method, as the generic tools make it.
fn at(catalog: &'static Catalog, verb: Verb, path: &str, params: &[(&str, &str)]) -> ApiCall {
    let found = catalog.find(verb, path).expect("a method of the import");
    let values = found.values.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let params = params.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    ApiCall::of(found.method, values, params).expect("a plain path")
}

#[tokio::test]
async fn its_methods_are_tools_and_can_be_found() {
    let server = on(small(Wanted::Facts), everything());
    let made = server.registry().offered().filter(|tool| tool.method().is_some());
    let tools: Vec<&str> = made.map(|tool| tool.name).collect();
    assert_eq!(tools, ["pve_create_lxc_brew", "pve_get_lxc_brew", "pve_list_teapots", "pve_start_vm"]);
    let found = done(&server, "pve_api_search", json!({"query": "teapots"})).await;
    assert_eq!(found["results"][0]["path"], "/teapots");
    let gone = fails(&server, "pve_list_vms", json!({}), "unknown_tool").await;
    assert!(gone["message"].as_str().is_some_and(|said| said.contains("no tool")), "{gone}");
    let info = done(&server, "pve_mcp_info", json!({})).await;
    assert_eq!(
        info["catalogue"],
        json!({"pve_version": "9.9", "methods": 4, "source": "PROXMOX_CATALOG", "unknown_to_our_decisions": 3})
    );
}

#[tokio::test]
async fn what_we_do_not_know_needs_more_than_writes() {
    let server = on(small(Wanted::Facts), writes());
    fails(&server, "pve_create_lxc_brew", json!({"node": "pve1", "vmid": 101}), "gate_closed").await;
    let shown = done(&server, "pve_start_vm", json!({"node": "pve1", "vmid": 100, "dry_run": true})).await;
    assert_eq!(shown["dry_run"], true, "the method itself is as it was");
    let gently = json!({"node": "pve1", "vmid": 100, "gently": true, "dry_run": true});
    let fault = fails(&server, "pve_start_vm", gently.clone(), "gate_closed").await;
    assert!(fault["message"].as_str().is_some_and(|said| said.contains("'gently': this server's own")), "{fault}");
    let open = Access { elevated: true, ..writes() };
    done(&on(small(Wanted::Facts), open), "pve_start_vm", gently).await;
}

#[tokio::test]
async fn keys_of_property_strings_are_parameters_too() {
    let facts = json!({"path": "/nodes/{node}/qemu/{vmid}/config", "verb": "PUT", "name": "update_vm",
        "parameters": {"additionalProperties": 0, "properties": {"net[n]": {"type": "string", "optional": 1, "format": {
            "model": {"type": "string", "default_key": 1}, "bridge": {"type": "string", "optional": 1},
            "host-path": {"type": "string", "optional": 1}}}}}});
    let catalog = imported(&[facts]);
    let admits = |value: &str| {
        let call = at(catalog, Verb::Put, "/nodes/pve1/qemu/100/config", &[("net0", value)]);
        Policy::new(writes()).admit(call, false).is_ok()
    };
    assert!(admits("virtio,bridge=vmbr0"));
    assert!(!admits("virtio,host-path=/etc"));
}

#[tokio::test]
async fn an_import_cannot_lead_a_path_away_from_what_was_decided_about_it() {
    let method = |verb: &str, path: &str| json!({"path": path, "verb": verb, "name": "x"});
    let general =
        imported(&[method("POST", "/nodes/{node}/{what}"), method("GET", "/nodes/{node}/{kind}/{vmid}/{what}")]);
    let special = imported(&[
        method("POST", "/nodes/{node}/qemu/100/status/{what}"),
        method("PUT", "/nodes/{node}/qemu/{vmid}/{what}"),
    ]);
    let refusal = |access: &Access, call: ApiCall| Policy::new(access.clone()).admit(call, false).expect_err("refused");
    let execute = at(general, Verb::Post, "/nodes/pve1/execute", &[]);
    assert_eq!(refusal(&everything(), execute).code, Code::Blocked);
    let socket = at(general, Verb::Get, "/nodes/pve1/qemu/100/vncwebsocket", &[]);
    assert_eq!(refusal(&everything(), socket).code, Code::Blocked);
    let protected = Access { protected_vmids: vec![100], ..everything() };
    let stop = at(special, Verb::Post, "/nodes/pve1/qemu/100/status/stop", &[]);
    assert_eq!(refusal(&protected, stop.clone()).code, Code::ProtectedGuest, "the number is no value of this template");
    assert!(Policy::new(everything()).judge(&stop).destructive);
    let hook = at(special, Verb::Put, "/nodes/pve1/qemu/101/config", &[("hookscript", "local:snippets/x")]);
    assert_eq!(refusal(&writes(), hook).code, Code::GateClosed);
    let config = at(special, Verb::Put, "/nodes/pve1/qemu/101/config", &[("name", "web")]);
    assert_eq!(refusal(&writes(), config).code, Code::GateClosed, "the import's own method is unknown");
}

#[tokio::test]
async fn an_import_without_a_blocked_method_does_not_open_it() {
    let server = on(small(Wanted::Facts), everything());
    let execute = json!({"method": "POST", "path": "/nodes/pve1/execute", "params": {"commands": "[]"}});
    fails(&server, "pve_api_write", execute, "blocked").await;
    let hook =
        json!({"method": "PUT", "path": "/nodes/pve1/qemu/100/config", "params": {"hookscript": "local:snippets/x"}});
    fails(&on(small(Wanted::Facts), writes()), "pve_api_write", hook, "gate_closed").await;
}

#[tokio::test]
async fn secrets_stay_masked_whatever_an_import_calls_their_method() {
    let token = "/access/users/{userid}/token/{tokenid}";
    let renamed = "/access/{a}/{b}/{c}/{d}";
    let secret = "01234567-89ab-cdef-0123-0123456789ab";
    let catalog = imported(&[json!({"path": renamed, "verb": "POST", "name": "x",
        "parameters": {"properties": {"comment": {"type": "string", "optional": 1}}}})]);
    assert!(Catalog::knows(Verb::Post, token));
    let answers = move |request: &Received| {
        request
            .path()
            .contains("/token/")
            .then(|| crate::scripted::ok(&format!(r#"{{"data":{{"full-tokenid":"a@pve!b","value":"{secret}"}}}}"#)))
    };
    let scripted = cluster(answers).await;
    let access = Access { sensitive: false, ..everything() };
    let server = served::server(Settings { catalog, ..served::settings(scripted.connection(), access) });
    let arguments = json!({"method": "POST", "path": "/access/users/a@pve/token/b"});
    let reply = call(&server, "pve_api_write", arguments).await;
    assert!(!reply.is_error, "{}", json!(reply.structured));
    assert!(!json!(reply.structured).to_string().contains(secret), "{}", json!(reply.structured));
}

#[tokio::test]
async fn texts_stand_in_full_schemas_and_descriptions_and_nowhere_else() {
    let server = on(small(Wanted::Texts), everything());
    let brew = server.registry().get("pve_create_lxc_brew").expect("a tool");
    let shown = |full: bool| format!("{} {}", brew.description(full), json!(brew.input_schema(full, &["one".into()])));
    assert!(!shown(false).contains("Proxmox's text") && !shown(false).contains("How strong"), "{}", shown(false));
    for text in ["Proxmox's text: Brew something. It takes a while.", "Proxmox's text: How strong."] {
        assert!(shown(true).contains(text), "{}", shown(true));
    }
    let told = done(&server, "pve_api_describe", json!({"tool": "pve_create_lxc_brew"})).await;
    assert_eq!((&told["official"], &told["untrusted"]), (&json!("Brew something. It takes a while."), &json!(true)));
    assert!(!told["optional"].to_string().contains("How strong"), "lines are ours: {told}");
    let one = done(&server, "pve_api_describe", json!({"tool": "pve_create_lxc_brew", "parameter": "cup0"})).await;
    assert_eq!(one["parameter"]["official"], json!({"cup[n]": "A cup.", "size": "How much fits in."}));
    assert_eq!(one["untrusted"], true);
    let found = done(&server, "pve_api_search", json!({"query": "brew"})).await;
    assert!(!found.to_string().contains("something"), "{found}");
    let bare =
        done(&on(small(Wanted::Facts), everything()), "pve_api_describe", json!({"tool": "pve_create_lxc_brew"})).await;
    assert!(bare["official"].is_null() && bare["untrusted"].is_null(), "{bare}");
}

#[tokio::test]
async fn a_method_that_the_cluster_does_not_have_is_told_with_both_versions() {
    let refuses = |request: &Received| {
        let path = request.path().to_string();
        (path != "/version" && path != "/cluster/resources" && path != "/nodes")
            .then(|| status(&format!("501 Method 'GET {path}' not implemented"), "{}"))
    };
    let scripted = cluster(refuses).await;
    let server = served::over(&scripted);
    let same = fails(&server, "pve_list_pools", json!({}), "not_supported").await;
    assert_eq!((&same["catalogue_version"], &same["cluster_version"]), (&json!("9.2"), &json!("9.2.1")));
    assert!(same["hint"].as_str().is_some_and(|hint| hint.contains("both of Proxmox VE 9.2")), "{same}");
    let catalog = small(Wanted::Facts);
    let other = served::server(Settings { catalog, ..served::settings(scripted.connection(), everything()) });
    let differs = fails(&other, "pve_list_teapots", json!({}), "not_supported").await;
    let hint = differs["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("Proxmox VE 9.9") && hint.contains("9.2.1") && hint.contains("catalog import"), "{hint}");
    let exec = json!({"method": "POST", "path": "/nodes/pve1/lxc/101/exec"});
    let exec = fails(&server, "pve_api_write", exec, "not_supported").await;
    assert!(exec["hint"].as_str().is_some_and(|hint| hint.contains("inside a container")), "{exec}");
}

#[tokio::test]
async fn errors_carry_the_advice_that_belongs_to_them() {
    let server = served::alone(everything());
    let wrong = json!({"node": "pve1", "vmid": 100, "net0": "virtio,bridg=vmbr0", "dry_run": true});
    let fault = fails(&server, "pve_update_vm_config", wrong, "bad_argument").await;
    let advice = fault["advice"].as_array().expect("advice");
    assert!(advice.len() == 1 && advice[0].as_str().is_some_and(|line| line.contains("MAC")), "{fault}");
    let plain = json!({"node": "pve1", "vmid": 100, "cores": "many", "dry_run": true});
    assert!(fails(&server, "pve_update_vm_config", plain, "bad_argument").await["advice"].is_null());

    let refuses = |request: &Received| request.path().ends_with("/resize").then(|| status("596 timeout", "{}"));
    let scripted = cluster(refuses).await;
    let grow = json!({"vmid": 100, "disk": "scsi0", "size": "+5G"});
    let fault = fails(&served::over(&scripted), "pve_resize_vm_disk", grow, "node_unreachable").await;
    let advice: Vec<&str> = fault["advice"].as_array().expect("advice").iter().filter_map(Value::as_str).collect();
    assert!(advice.iter().any(|line| line.contains("may have grown")), "{fault}");
    assert!(advice.len() <= 3, "{fault}");
    let closed = served::alone(Access::default());
    let start =
        json!({"method": "PUT", "path": "/nodes/pve1/qemu/100/resize", "params": {"disk": "scsi0", "size": "1G"}});
    let fault = fails(&closed, "pve_api_write", start, "gate_closed").await;
    assert!(fault["advice"].is_null());
}

/// A tool that is not there yet must not be named; once it is there, it may.
#[tokio::test]
async fn advice_names_no_tool_that_does_not_exist() {
    let server = served::alone(everything());
    let exists = |name: &str| server.registry().find(name).is_some();
    let mut told = Vec::new();
    for method in Catalog::embedded().methods() {
        told.extend(server.registry().advice(method).map(|advice| advice.text.clone()));
    }
    told.extend(server.registry().iter().map(|(tool, _)| tool.summary.to_string()));
    for path in ["/nodes/pve1/lxc/101/exec", "/nodes/pve1/qemu/100/restore", "/nodes/pve1/qemu/100/exec"] {
        told.push(server.registry().instead_of(Verb::Post, path).expect("known to be looked for").to_string());
    }
    assert!(told.len() > 100);
    for text in told {
        let missing: Vec<&str> = pvemcp::tools::advice::tools_in(&text).filter(|name| !exists(name)).collect();
        assert!(missing.is_empty(), "{missing:?} in: {text}");
    }
}

fn load(file: &str) -> Result<Settings, String> {
    let vars = HashMap::from([("PROXMOX_CATALOG", file.to_string())]);
    let settings = Settings::load(&|name| vars.get(name).cloned(), &["PROXMOX_CATALOG".into()], Purpose::List);
    settings.map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

#[test]
fn the_setting_names_a_file_of_facts_and_nothing_else_will_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("facts.jsonl");
    let path = file.to_str().expect("UTF-8").to_string();
    assert!(load(&path).expect_err("it is not there").contains("PROXMOX_CATALOG="));
    let write = |text: &str| std::fs::write(&file, text).expect("written");
    write(&import::to_jsonl(&import::read(SMALL, Wanted::Facts).expect("a document")));
    let settings = load(&path).expect("sound facts");
    assert!(!settings.catalog.is_embedded());
    assert_eq!(
        settings.warnings,
        [
            "PROXMOX_CATALOG: this server's own decisions do not know all of its methods: 2 need PROXMOX_ALLOW_SENSITIVE, \
         1 need PROXMOX_ALLOW_ELEVATED"
        ]
    );
    for wrong in ["", SMALL, "{}", "[[[[", "{\"path\":\"/x\",\"verb\":\"GET\"", &"{\"a\":".repeat(10_000)] {
        write(wrong);
        assert!(load(&path).is_err(), "{}", &wrong[..wrong.len().min(40)]);
    }
    write(&" ".repeat(100 << 20));
    assert!(load(&path).expect_err("too large").contains("larger than 32 MiB"));
}
