//! High availability: what is asked of it, and what its managers do in their own time.

use std::time::Duration;

use fake_pve::world::Volume;
use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;

/// Two nodes and two machines on a storage that both nodes see.
fn two_nodes() -> Scenario {
    let nfs =
        json!({"type": "nfs", "server": "192.0.2.9", "export": "/srv", "path": "/mnt/pve/nfs", "content": "images"});
    let mut scenario = Scenario::empty().node("pve2").storage("nfs", nfs, 1 << 40);
    scenario.world.cluster = Some("two".into());
    for vmid in [100, 101] {
        let volid = format!("nfs:{vmid}/vm-{vmid}-disk-0.raw");
        scenario = scenario.vm(vmid, "pve1", json!({"scsi0": format!("{volid},size=8G")}));
        let volume = Volume {
            volid,
            content: "images".into(),
            format: "raw".into(),
            size: 8 << 30,
            vmid: Some(vmid),
            ..Volume::default()
        };
        scenario.world.put_volume("pve1", volume);
    }
    scenario
}

async fn cluster(mode: Mode) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(two_nodes()).clock(mode).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

/// State of a service in words, and its node.
async fn service(api: &Api, sid: &str) -> (String, String) {
    let got = api.get("/cluster/ha/status/current").await;
    let rows = got.data().as_array().into_iter().flatten();
    let row = rows.into_iter().find(|row| row["sid"] == sid).cloned().unwrap_or(Value::Null);
    let text = |key: &str| row[key].as_str().unwrap_or_default().to_string();
    (text("state"), text("node"))
}

async fn guest(api: &Api, vmid: u32) -> (String, String) {
    let got = api.get("/cluster/resources?type=vm").await;
    let rows = got.data().as_array().into_iter().flatten();
    let row = rows.into_iter().find(|row| row["vmid"] == vmid).cloned().unwrap_or(Value::Null);
    (row["status"].as_str().unwrap_or_default().to_string(), row["node"].as_str().unwrap_or_default().to_string())
}

fn pair(state: &str, node: &str) -> (String, String) {
    (state.to_string(), node.to_string())
}

fn seconds(pve: &FakePve, seconds: u64) {
    pve.advance(Duration::from_secs(seconds));
}

#[tokio::test]
async fn resources_are_checked() {
    let (_pve, api) = cluster(Mode::Manual).await;
    for (form, text) in [
        (json!({"sid": "999"}), "unable to detect SID from VMID - VM/CT 999 does not exist"),
        (json!({"sid": "vm:999"}), "resource 'vm:999' does not exist in cluster"),
        (json!({"sid": "ct:100"}), "resource 'ct:100' - guest with ID 100 is not a container"),
        (json!({"sid": "vm:100", "type": "ct"}), "types does not match"),
        (json!({"sid": "vm:100", "group": "grp"}), "invalid parameter 'group': ha groups have been migrated to rules"),
    ] {
        assert_eq!(api.post("/cluster/ha/resources", form).await.refusal().1, text);
    }
    api.post("/cluster/ha/resources", json!({"sid": "100", "state": "stopped", "max_restart": 2})).await.data();
    let got = api.post("/cluster/ha/resources", json!({"sid": "vm:100"})).await;
    assert_eq!(got.refusal().1, "create resource failed: resource ID 'vm:100' already defined");
    let shown = api.get("/cluster/ha/resources/vm:100").await;
    let digest = shown.data()["digest"].clone();
    let expected = json!({"sid": "vm:100", "type": "vm", "state": "stopped", "max_restart": 2, "digest": digest});
    assert_eq!(shown.data(), &expected);
    let change = json!({"comment": "important", "delete": "max_restart", "digest": digest});
    api.put("/cluster/ha/resources/vm:100", change.clone()).await.data();
    assert!(api.put("/cluster/ha/resources/100", change).await.body.contains("detected modified configuration"));
    assert_eq!(api.get("/cluster/ha/resources?type=ct").await.data(), &json!([]));
    let got = api.post("/cluster/ha/groups", json!({"group": "grp", "nodes": "pve1"})).await;
    assert!(got.body.contains("ha groups have been migrated to rules"), "{}", got.body);
    api.delete("/cluster/ha/resources/vm:100").await.data();
    let got = api.delete("/cluster/ha/resources/vm:100").await;
    assert_eq!(got.refusal().1, "cannot delete service 'vm:100', not HA managed!");
}

#[tokio::test]
async fn rules_must_be_possible() {
    let (_pve, api) = cluster(Mode::Manual).await;
    let rules = "/cluster/ha/rules";
    let keep = |name: &str, affinity: &str| json!({"rule": name, "type": "resource-affinity", "affinity": affinity, "resources": "vm:101,vm:100"});
    let got = api.post(rules, keep("apart", "negative")).await;
    assert_eq!(got.refusal().1, "create ha rule failed: cannot use unmanaged resource(s) vm:100, vm:101.");
    for sid in ["vm:100", "vm:101"] {
        api.post("/cluster/ha/resources", json!({"sid": sid, "state": "stopped"})).await.data();
    }
    api.post(rules, keep("apart", "negative")).await.data();
    let got = api.post(rules, keep("together", "positive")).await;
    let text = "rule shares two or more resources with a negative resource affinity rule";
    let text = format!("create ha rule failed: 400 Rule 'together' is invalid.\nresources: {text}");
    assert_eq!((got.status, got.refusal().1), (500, text.as_str()), "a lock makes a text of every refusal");
    let lone = json!({"rule": "lone", "type": "resource-affinity", "affinity": "positive", "resources": "vm:100"});
    let text = "rule is ineffective as there are less than two resources";
    assert!(api.post(rules, lone).await.body.contains(text));
    let place =
        |name: &str, nodes: &str| json!({"rule": name, "type": "node-affinity", "nodes": nodes, "resources": "vm:100"});
    let got = api.post(rules, place("home", "pve7")).await;
    assert_eq!(got.refusal().1, "create ha rule failed: cannot use non-existent node(s) pve7.");
    api.post(rules, place("home", "pve2:2,pve1")).await.data();
    let text = "resource 'vm:100' is already used in another node affinity rule";
    assert!(api.post(rules, place("other", "pve1")).await.body.contains(text));
    let list = api.get("/cluster/ha/rules?type=node-affinity").await;
    let shown = &list.data()[0];
    assert_eq!((&shown["rule"], &shown["nodes"], &shown["order"]), (&json!("home"), &json!("pve1,pve2:2"), &json!(2)));
    // The first rule is impossible now: one of its resources has preferences.
    let errors = json!({"resources": ["resources are in node affinity rules with multiple priorities"]});
    assert_eq!(api.get("/cluster/ha/rules/apart").await.data()["errors"], errors);
    api.put("/cluster/ha/rules/apart", json!({"type": "resource-affinity", "disable": 1})).await.data();
    assert_eq!(api.get("/cluster/ha/rules/apart").await.data()["errors"], json!(null));
    api.delete("/cluster/ha/resources/vm:100").await.data();
    assert_eq!(api.get("/cluster/ha/rules/home").await.refusal().1, "no such ha rule 'home'");
    assert_eq!(api.get("/cluster/ha/rules/apart").await.data()["resources"], "vm:101");
}

#[tokio::test]
async fn the_managers_take_their_time() {
    let (pve, api) = cluster(Mode::Manual).await;
    let rows = api.get("/cluster/ha/status/current").await;
    let ids: Vec<&Value> = rows.data().as_array().into_iter().flatten().map(|row| &row["id"]).collect();
    assert_eq!(ids, ["quorum", "fencing", "lrm:pve1", "lrm:pve2"]);
    api.post("/cluster/ha/resources", json!({"sid": "vm:100"})).await.data();
    assert_eq!(service(&api, "vm:100").await, pair("queued", "pve1"));
    seconds(&pve, 10);
    assert_eq!(service(&api, "vm:100").await, pair("starting", "pve1"));
    seconds(&pve, 5);
    assert_eq!(service(&api, "vm:100").await, pair("started", "pve1"));
    assert_eq!(guest(&api, 100).await, pair("running", "pve1"));
    let tasks = api.get("/cluster/tasks").await;
    assert!(tasks.data()[0]["upid"].as_str().is_some_and(|upid| upid.contains(":qmstart:100:root@pam:")));
    // A guest that dies is started again.
    pve.world(|world| world.guests.get_mut(&100).map(|guest| guest.power_off()));
    seconds(&pve, 25);
    assert_eq!(guest(&api, 100).await, pair("running", "pve1"));
    let status = api.get("/nodes/pve1/qemu/100/status/current").await;
    assert_eq!(status.data()["ha"], json!({"managed": 1, "state": "started"}));
    api.put("/cluster/ha/resources/vm:100", json!({"state": "stopped"})).await.data();
    seconds(&pve, 30);
    assert_eq!(service(&api, "vm:100").await, pair("stopped", "pve1"));
    assert_eq!(guest(&api, 100).await, pair("stopped", "pve1"));
    let written = api.get("/cluster/ha/status/manager_status").await;
    assert_eq!(written.data()["manager_status"]["service_status"]["vm:100"]["state"], "stopped");
    assert_eq!(written.data()["quorum"], json!({"node": "pve1", "quorate": "1"}));
}

#[tokio::test]
async fn in_automatic_time_one_look_shows_the_end() {
    let (_pve, api) = cluster(Mode::Auto).await;
    api.post("/cluster/ha/resources", json!({"sid": "vm:100"})).await.data();
    assert_eq!(guest(&api, 100).await, pair("running", "pve1"));
    let asked = api.post("/cluster/ha/resources/vm:100/migrate", json!({"node": "pve2"})).await;
    assert_eq!(asked.data(), &json!({"sid": "vm:100", "requested-node": "pve2"}));
    assert_eq!(service(&api, "vm:100").await, pair("started", "pve2"));
    assert_eq!(guest(&api, 100).await, pair("running", "pve2"));
    api.post("/cluster/ha/resources/vm:100/relocate", json!({"node": "pve1"})).await.data();
    assert_eq!(guest(&api, 100).await, pair("running", "pve1"));
    let tasks = api.get("/cluster/tasks").await;
    let mut types: Vec<(&Value, &Value)> =
        tasks.data().as_array().into_iter().flatten().map(|task| (&task["starttime"], &task["type"])).collect();
    types.sort_by_key(|(start, _)| start.as_i64());
    let types: Vec<&Value> = types.into_iter().map(|(_, of)| of).collect();
    assert_eq!(types, ["qmstart", "qmigrate", "qmshutdown", "qmigrate", "qmstart"]);
}

#[tokio::test]
async fn the_services_of_a_lost_node_are_recovered() {
    let (pve, api) = cluster(Mode::Manual).await;
    for vmid in [100, 101] {
        pve.world(|world| world.guests.get_mut(&vmid).map(|guest| guest.node = "pve2".into()));
        api.post("/cluster/ha/resources", json!({"sid": format!("vm:{vmid}")})).await.data();
    }
    let rule = json!({"rule": "home", "type": "node-affinity", "nodes": "pve2", "resources": "vm:101", "strict": 1});
    api.post("/cluster/ha/rules", rule).await.data();
    seconds(&pve, 30);
    assert_eq!(guest(&api, 100).await, pair("running", "pve2"));
    pve.world(|world| world.nodes.get_mut("pve2").map(|node| node.online = false));
    seconds(&pve, 40);
    assert_eq!(service(&api, "vm:100").await.1, "pve2", "a node may be silent for a while");
    seconds(&pve, 60);
    assert_eq!(service(&api, "vm:100").await, pair("started", "pve1"));
    assert_eq!(guest(&api, 100).await, pair("running", "pve1"));
    assert_eq!(service(&api, "vm:101").await, pair("recovery", "pve2"), "nowhere else to go");
    pve.world(|world| world.nodes.get_mut("pve2").map(|node| node.online = true));
    seconds(&pve, 40);
    assert_eq!(service(&api, "vm:101").await, pair("started", "pve2"));
}

#[tokio::test]
async fn services_move_together_or_are_blocked() {
    let (_pve, api) = cluster(Mode::Auto).await;
    for sid in ["vm:100", "vm:101"] {
        api.post("/cluster/ha/resources", json!({"sid": sid})).await.data();
    }
    let rule =
        json!({"rule": "pair", "type": "resource-affinity", "affinity": "positive", "resources": "vm:100,vm:101"});
    api.post("/cluster/ha/rules", rule).await.data();
    assert_eq!(guest(&api, 101).await, pair("running", "pve1"));
    let asked = api.post("/cluster/ha/resources/vm:100/migrate", json!({"node": "pve2"})).await;
    assert_eq!(asked.data()["comigrated-resources"], json!(["vm:101"]));
    assert_eq!((guest(&api, 100).await.1, guest(&api, 101).await.1), ("pve2".into(), "pve2".into()));
    api.delete("/cluster/ha/rules/pair").await.data();
    api.post("/cluster/ha/resources/vm:101/migrate", json!({"node": "pve1"})).await.data();
    assert_eq!(guest(&api, 101).await.1, "pve1");
    let rule =
        json!({"rule": "apart", "type": "resource-affinity", "affinity": "negative", "resources": "vm:100,vm:101"});
    api.post("/cluster/ha/rules", rule).await.data();
    let asked = api.post("/cluster/ha/resources/vm:100/migrate", json!({"node": "pve1"})).await;
    assert_eq!(asked.data()["blocking-resources"], json!([{"sid": "vm:101", "cause": "resource-affinity"}]));
    assert_eq!(guest(&api, 100).await.1, "pve2");
    let got = api.post("/cluster/ha/resources/ct:300/migrate", json!({"node": "pve1"})).await;
    assert_eq!(got.refusal().1, "resource 'ct:300' is not HA managed");
}

#[tokio::test]
async fn a_guest_that_never_starts_ends_in_error() {
    let (pve, api) = cluster(Mode::Auto).await;
    pve.world(|world| world.take_volume("pve1", "nfs:100/vm-100-disk-0.raw"));
    api.post("/cluster/ha/resources", json!({"sid": "vm:100"})).await.data();
    assert_eq!(service(&api, "vm:100").await.0, "error");
    let got = api.put("/cluster/ha/resources/vm:100", json!({"state": "started"})).await;
    assert!(got.body.contains("service 'vm:100' in error state, must be disabled and fixed first"), "{}", got.body);
    api.put("/cluster/ha/resources/vm:100", json!({"state": "disabled"})).await.data();
    assert_eq!(service(&api, "vm:100").await.0, "disabled");
}

#[tokio::test]
async fn disarmed_it_does_nothing() {
    let (pve, api) = cluster(Mode::Auto).await;
    api.post("/cluster/ha/resources", json!({"sid": "vm:100"})).await.data();
    assert_eq!(guest(&api, 100).await, pair("running", "pve1"));
    api.post("/cluster/ha/status/disarm-ha", json!({"resource-mode": "freeze"})).await.data();
    assert_eq!(service(&api, "vm:100").await.0, "freeze");
    let rows = api.get("/cluster/ha/status/current").await;
    let fencing = rows.data().as_array().into_iter().flatten().find(|row| row["type"] == "fencing");
    assert_eq!(
        fencing.map(|row| (&row["armed-state"], &row["resource_mode"])),
        Some((&json!("disarmed"), &json!("freeze")))
    );
    pve.world(|world| world.guests.get_mut(&100).map(|guest| guest.power_off()));
    assert_eq!(guest(&api, 100).await, pair("stopped", "pve1"));
    api.post("/cluster/ha/status/arm-ha", json!({})).await.data();
    assert_eq!(guest(&api, 100).await, pair("running", "pve1"));
    pve.world(|world| world.no_quorum = true);
    let got = api.post("/cluster/ha/status/arm-ha", json!({})).await;
    assert_eq!(got.refusal().1, "cluster not ready - no quorum?");
}
