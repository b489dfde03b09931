//! The generic tools: search, describe, read, write, info.

use pvemcp::config::Access;
use serde_json::{Value, json};

use crate::scripted::{Received, ok};
use crate::served::{alone, call, cluster, done, everything, fails, over};

#[test]
fn their_schemas() {
    let server = alone(everything());
    let schemas: Vec<Value> = server
        .registry()
        .offered()
        .filter(|tool| tool.domain() == "api")
        .map(|tool| {
            json!({
                "name": tool.name,
                "summary": tool.summary,
                "input": tool.input_schema(false, &["default".into()]),
                "output": tool.output_schema(false),
            })
        })
        .collect();
    insta::assert_json_snapshot!(schemas);
}

#[tokio::test]
async fn names_paths_and_slips_are_found() {
    let server = alone(everything());
    for (query, wanted) in [
        ("pve_create_vm", "pve_create_vm"),
        ("/nodes/pve1/qemu/100/config", "pve_get_vm_config"),
        ("snapsot rollbak", "pve_rollback_vm_snapshot"),
        ("cluster ressources", "pve_list_cluster_resources"),
    ] {
        let found = done(&server, "pve_api_search", json!({"query": query})).await;
        assert_eq!(found["results"][0]["tool"], wanted, "{query}");
    }
}

#[tokio::test]
async fn a_search_says_what_would_open_a_gate() {
    let server = alone(Access::default());
    let results = done(&server, "pve_api_search", json!({"query": "pve_delete_vm", "limit": 1})).await;
    let first = &results["results"][0];
    assert_eq!(first["open"], false);
    assert_eq!(first["opens_with"], "PROXMOX_ALLOW_WRITES=true");
    assert_eq!(first["required"], json!(["vmid"]));
    let blocked = done(&server, "pve_api_search", json!({"query": "/nodes/pve1/execute", "limit": 1})).await;
    assert!(blocked["results"][0]["opens_with"].as_str().unwrap().contains("PROXMOX_UNBLOCK"), "{blocked}");
}

#[tokio::test]
async fn a_search_can_be_narrowed() {
    let server = alone(everything());
    let results = done(&server, "pve_api_search", json!({"query": "status", "domain": "ceph"})).await;
    assert!(results["results"].as_array().unwrap().iter().all(|result| result["domain"] == "ceph"));
    let fault = fails(&server, "pve_api_search", json!({"query": "x", "domain": "vms"}), "bad_argument").await;
    assert!(fault["message"].as_str().unwrap().contains("did you mean 'vm'"), "{fault}");
}

#[tokio::test]
async fn a_description_of_many_parameters_begins_with_groups() {
    let server = alone(everything());
    let told = done(&server, "pve_api_describe", json!({"tool": "pve_create_vm"})).await;
    assert!(told["optional"].is_null());
    assert!(told["groups"]["disks"].as_str().unwrap().contains("scsi"));
    assert!(serde_json::to_string(&told).unwrap().len() < 4000);
    let group = done(&server, "pve_api_describe", json!({"tool": "pve_create_vm", "group": "network"})).await;
    assert!(group["optional"]["net"].is_string(), "{group}");
    let one = done(&server, "pve_api_describe", json!({"tool": "pve_create_vm", "parameter": "net0"})).await;
    assert!(one["parameter"]["keys"]["bridge"].is_string(), "{one}");
    assert_eq!(one["parameter"]["numbers"], "net0 to net31");
    let few = done(&server, "pve_api_describe", json!({"path": "/nodes/pve1/qemu/100/clone"})).await;
    assert!(few["required"]["newid"].is_string());
    assert!(few["privileges"].as_str().unwrap().contains("VM.Clone"), "{few}");
}

#[tokio::test]
async fn every_tool_can_be_described() {
    let server = alone(everything());
    let names: Vec<String> = server.registry().iter().map(|(tool, _)| tool.name.to_string()).collect();
    for name in names {
        let told = done(&server, "pve_api_describe", json!({"tool": name})).await;
        let size = serde_json::to_string(&told).unwrap().len();
        assert!(size < 9000, "{name} takes {size} bytes");
    }
}

#[tokio::test]
async fn a_description_needs_to_know_which_method() {
    let server = alone(everything());
    let fault = fails(&server, "pve_api_describe", json!({"path": "/pools"}), "bad_argument").await;
    assert!(fault["message"].as_str().unwrap().contains("GET, POST, PUT, DELETE"), "{fault}");
    fails(&server, "pve_api_describe", json!({}), "bad_argument").await;
    fails(&server, "pve_api_describe", json!({"path": "/no/such/path"}), "not_found").await;
    let fault = fails(&server, "pve_api_describe", json!({"tool": "pve_clone_vms"}), "bad_argument").await;
    assert!(fault["hint"].as_str().unwrap().contains("pve_clone_vm"), "{fault}");
}

#[tokio::test]
async fn a_read_can_be_made_small() {
    let rows = |request: &Received| {
        (request.path() == "/cluster/resources").then(|| {
            ok(r#"{"data":[{"vmid":100,"name":"web","status":"running","mem":9},{"vmid":101,"name":"db","status":"stopped","mem":1},
                {"vmid":102,"name":"web2","status":"running","mem":3}]}"#)
        })
    };
    let scripted = cluster(rows).await;
    let arguments =
        json!({"path": "/cluster/resources", "where": {"status": "running"}, "fields": "vmid,name", "limit": 1});
    let read = done(&over(&scripted), "pve_api_read", arguments).await;
    assert_eq!(read["data"], json!([{"vmid": 100, "name": "web"}]));
    assert_eq!(read["matched"], 2);
    assert_eq!(read["untrusted"], true);
}

#[tokio::test]
async fn paths_must_be_plain() {
    let server = alone(everything());
    for path in [
        "",
        "/",
        "/nodes?x=1",
        "/nodes//qemu",
        "/nodes/%2e%2e",
        "/nodes/../access",
        "/nodes/a b",
        "/nodes/{node}/qemu",
        "/nodes/ü",
    ] {
        fails(&server, "pve_api_read", json!({"path": path}), "bad_argument").await;
        fails(&server, "pve_api_write", json!({"method": "POST", "path": path}), "bad_argument").await;
    }
}

#[tokio::test]
async fn a_path_parameter_may_not_be_given_again() {
    let arguments =
        json!({"method": "PUT", "path": "/nodes/pve1/qemu/100/config", "params": {"vmid": 101, "name": "x"}});
    let fault = fails(&alone(everything()), "pve_api_write", arguments, "bad_argument").await;
    assert!(fault["message"].as_str().unwrap().contains("'vmid' is part of the path"), "{fault}");
}

#[tokio::test]
async fn a_generic_write_treats_arguments_as_the_tool_does() {
    let arguments = json!({
        "method": "put", "path": "nodes/pve1/qemu/100/config", "dry_run": true,
        "params": {"onboot": true, "net": {"0": "virtio,bridge=vmbr0"}},
    });
    let shown = done(&alone(everything()), "pve_api_write", arguments).await;
    assert_eq!(
        shown["request"],
        json!({
            "method": "PUT", "path": "/nodes/pve1/qemu/100/config",
            "params": {"onboot": "1", "net0": "virtio,bridge=vmbr0"},
        })
    );
    let arguments = json!({"method": "PUT", "path": "/nodes/pve1/qemu/100/config", "params": {"onbot": 1}});
    let fault = fails(&alone(everything()), "pve_api_write", arguments, "bad_argument").await;
    assert!(fault["errors"]["onbot"].as_str().unwrap().contains("'onboot'"), "{fault}");
}

#[tokio::test]
async fn a_generic_write_passes_the_same_policy() {
    let writes = Access { writes: true, ..Access::default() };
    let server = alone(writes);
    let arguments = json!({"method": "POST", "path": "/access/users", "params": {"userid": "a@pve"}});
    fails(&server, "pve_api_write", arguments, "gate_closed").await;
    let arguments = json!({"method": "POST", "path": "/nodes/pve1/execute", "params": {"commands": "[]"}});
    fails(&server, "pve_api_write", arguments, "blocked").await;
    let unknown = json!({"method": "POST", "path": "/nodes/pve1/lxc/100/exec"});
    let fault = fails(&server, "pve_api_write", unknown, "gate_closed").await;
    assert!(fault["note"].as_str().unwrap().contains("does not know"), "{fault}");
    fails(&alone(Access::default()), "pve_api_read", json!({"path": "/brand/new"}), "gate_closed").await;
}

#[tokio::test]
async fn a_task_is_awaited_and_a_write_shows_what_was_sent() {
    let upid = "UPID:pve1:0000AAAA:00000001:65000000:qmstart:100:root@pam:";
    let script = move |request: &Received| {
        let path = request.path();
        if path.ends_with("/status/start") {
            return Some(ok(&format!(r#"{{"data":"{upid}"}}"#)));
        }
        if path.ends_with("/log") {
            return Some(ok(r#"{"data":[{"n":1,"t":"TASK OK"}],"total":1}"#));
        }
        path.contains("/tasks/").then(|| ok(r#"{"data":{"status":"stopped","exitstatus":"OK"}}"#))
    };
    let scripted = cluster(script).await;
    let server = over(&scripted);
    let started = done(&server, "pve_start_vm", json!({"vmid": 100})).await;
    assert_eq!(started["task"]["status"], "ok");
    assert_eq!(started["upid"], upid);
    assert_eq!(started["sent"], json!({"method": "POST", "path": "/nodes/pve1/qemu/100/status/start", "params": {}}));
    let not_awaited = done(&server, "pve_start_vm", json!({"vmid": 100, "wait": false})).await;
    assert_eq!(not_awaited["task"]["status"], "still_running");
}

#[tokio::test]
async fn secrets_are_masked_in_what_is_shown() {
    let arguments = json!({"node": "pve1", "vmid": 100, "cipassword": "hunter2hunter2", "dry_run": true});
    let reply = call(&alone(everything()), "pve_update_vm_config", arguments).await;
    let shown = format!("{} {}", json!(reply.structured), reply.text);
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[tokio::test]
async fn info_tells_versions_gates_and_why_a_tool_is_absent() {
    let scripted = cluster(|_| None).await;
    let settings = crate::served::settings(scripted.connection(), Access::default());
    let server = crate::served::server(settings);
    let info = done(&server, "pve_mcp_info", json!({"tool": "pve_start_vm"})).await;
    assert_eq!(info["cluster"]["version"], "9.2.1");
    assert_eq!(info["cluster"]["reachable"], true);
    assert_eq!(info["gates"]["read"], "open");
    assert_eq!(info["gates"]["write"], "closed; opens with PROXMOX_ALLOW_WRITES=true");
    assert_eq!(info["tool"]["standing"], "gate_closed");
    let info = done(&alone(Access::default()), "pve_mcp_info", json!({"tool": "pve_nothing"})).await;
    assert_eq!(info["cluster"]["reachable"], false);
    assert_eq!(info["tool"]["standing"], "unknown");
}

/// A method of a hundred options must not flood, and must not hide one either: groups first, then one line each, then
/// everything about one.
#[tokio::test]
async fn a_method_of_many_options_is_told_in_steps_and_whole() {
    const KIB: usize = 1024;
    let server = alone(everything());
    let size = |told: &Value| serde_json::to_vec(told).expect("JSON").len();
    let many: Vec<String> = server
        .registry()
        .iter()
        .filter(|(tool, _)| tool.input_schema(false, &[])["properties"].as_object().is_some_and(|all| all.len() > 40))
        .map(|(tool, _)| tool.name.to_string())
        .collect();
    assert!(many.contains(&"pve_create_vm".to_string()), "{many:?}");
    for name in many {
        let told = done(&server, "pve_api_describe", json!({"tool": name})).await;
        assert!(size(&told) <= 3 * KIB, "{name}: {} bytes at first", size(&told));
        let schema = server.registry().find(&name).expect("it is there").0.input_schema(true, &[]);
        let properties = schema["properties"].as_object().expect("properties");
        let mut lines = std::collections::BTreeMap::new();
        for (group, names) in told["groups"].as_object().expect("groups") {
            let within = done(&server, "pve_api_describe", json!({"tool": name, "group": group})).await;
            assert!(size(&within) <= 5 * KIB, "{name} {group}: {} bytes", size(&within));
            for lines_of in [&within["required"], &within["optional"]] {
                lines.extend(lines_of.as_object().expect("lines").clone());
            }
            assert!(names.as_str().expect("names").split(' ').all(|name| lines.contains_key(name)), "{name} {group}");
        }
        let known: Vec<&String> = properties.keys().collect();
        let mut told_names: Vec<&String> = lines.keys().collect();
        told_names.sort_by_key(|name| known.iter().position(|other| other == name));
        assert_eq!(told_names, known, "{name} tells every option");
        for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            assert!(told["required"][required].is_string(), "{name} tells {required} at first");
        }
        let ours = ["dry_run", "wait", "wait_seconds"];
        let looked_at = ["pve_create_vm", "pve_create_lxc"].contains(&name.as_str());
        for option in properties.keys().filter(|name| looked_at && !ours.contains(&name.as_str())) {
            let one = done(&server, "pve_api_describe", json!({"tool": name, "parameter": option})).await;
            assert!(size(&one) <= 4 * KIB, "{name} {option}: {} bytes", size(&one));
            let says = one["parameter"]["says"].as_str().unwrap_or_default();
            assert!(!says.is_empty(), "{name} {option}: {one}");
        }
    }
}
