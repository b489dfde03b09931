//! What the cluster says about itself.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::task::{run, status, upid};

#[tokio::test]
async fn the_default_cluster_holds_what_clients_expect() {
    let pve = FakePve::builder().start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    let got = api.get("/cluster/resources").await;
    let items = got.data().as_array().expect("a list");
    let ids: Vec<&str> = items.iter().filter_map(|item| item["id"].as_str()).collect();
    for id in ["qemu/100", "qemu/101", "qemu/9000", "lxc/200", "lxc/201", "node/pve1", "node/pve2", "/pool/test"] {
        assert!(ids.contains(&id), "{id} is missing in {ids:?}");
    }
    for id in ["storage/pve1/local", "storage/pve2/local-lvm", "network/pve1/zone/localnetwork"] {
        assert!(ids.contains(&id), "{id} is missing in {ids:?}");
    }
    let of = |id: &str| items.iter().find(|item| item["id"] == id).expect("listed");
    assert_eq!((&of("qemu/100")["status"], &of("qemu/101")["status"]), (&json!("running"), &json!("stopped")));
    assert_eq!((&of("qemu/9000")["template"], &of("qemu/101")["pool"]), (&json!(1), &json!("test")));
    assert_eq!(of("qemu/100")["maxdisk"], 8_u64 << 30);
    assert!(of("node/pve1")["maxcpu"].as_u64() >= Some(4));
    assert_eq!(api.get("/cluster/resources?type=node").await.data().as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn lists_are_filtered_by_permission() {
    let scenario = Scenario::cluster().user("one@pve", "password", "/vms/100", "PVEVMUser");
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::login(&pve, "one@pve", "password").await;
    let got = api.get("/cluster/resources").await;
    let ids: Vec<&Value> = got.data().as_array().expect("a list").iter().map(|item| &item["id"]).collect();
    assert_eq!(ids, ["qemu/100", "node/pve1", "node/pve2"]);
    let got = api.get("/nodes").await;
    assert_eq!(got.data()[0]["maxcpu"], json!(null));
}

#[tokio::test]
async fn the_next_id_is_text() {
    let pve = FakePve::builder().start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    assert_eq!(api.get("/cluster/nextid").await.data(), "102");
    assert_eq!(api.get("/cluster/nextid?vmid=500").await.data(), "500");
    assert_eq!(api.get("/cluster/nextid?vmid=100").await.refusal().2, &json!({"vmid": "VM 100 already exists"}));
}

#[tokio::test]
async fn a_standalone_node_has_no_cluster_entry() {
    let pve = FakePve::builder().scenario(Scenario::empty()).start().await.expect("a cluster");
    let got = Api::root_token(&pve).get("/cluster/status").await;
    assert_eq!(got.data().as_array().map(Vec::len), Some(1));
    assert_eq!((&got.data()[0]["type"], &got.data()[0]["nodeid"]), (&json!("node"), &json!(0)));
}

#[tokio::test]
async fn a_world_survives_as_json() {
    let world = Scenario::cluster().world;
    let text = serde_json::to_string(&world).expect("JSON");
    assert_eq!(Scenario::from_json(&text).expect("a world").world, world);
    assert!(Scenario::from_json("{}").is_err());
    assert!(Scenario::named("nosuch").is_err());
}

async fn node(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

#[tokio::test]
async fn options_of_the_datacenter_are_shown_taken_apart() {
    let scenario = Scenario::one_vm().user("ann@pve", "secret-12", "/vms", "PVEVMUser");
    let (pve, api) = node(scenario).await;
    let all = json!({
        "keyboard": "de", "migration": "network=192.0.2.0/24,secure", "next-id": "lower=300,upper=310",
        "registered-tags": "prod;dev", "description": "a\nb", "console": "applet",
    });
    api.put("/cluster/options", all).await.data();
    let shown = api.get("/cluster/options").await;
    let shown = shown.data();
    assert_eq!(shown["migration"], json!({"type": "secure", "network": "192.0.2.0/24"}));
    assert_eq!((&shown["registered-tags"], &shown["console"]), (&json!(["prod", "dev"]), &json!("html5")));
    assert_eq!((&shown["description"], &shown["mac_prefix"]), (&json!("a\nb\n"), &json!("BC:24:11")));
    let file = pve.world(|world| world.file("datacenter.cfg")).expect("a file");
    assert_eq!(file.lines().take(2).collect::<Vec<_>>(), ["#a", "#b"]);
    let ann = Api::login(&pve, "ann@pve", "secret-12").await;
    assert_eq!(ann.get("/cluster/options").await.data()["keyboard"], json!(null), "only for auditors");
    assert_eq!(api.get("/cluster/nextid").await.data(), "300");
    let got = api.put("/cluster/options", json!({"next-id": "lower=300,upper=200"})).await;
    assert!(got.body.contains("boundary rule broken"), "{}", got.body);
    api.put("/cluster/options", json!({"delete": "keyboard,nosuch,next-id"})).await.data();
    assert_eq!(api.get("/cluster/options").await.data()["keyboard"], json!(null));
    assert_eq!(api.get("/cluster/nextid").await.data(), "101");
}

#[tokio::test]
async fn figures_of_the_resource_list_may_be_old() {
    let scenario = Scenario::one_vm().resource_lag(10);
    let pve = FakePve::builder().scenario(scenario).clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    let status = async || api.get("/cluster/resources?type=vm").await.data()[0]["status"].clone();
    assert_eq!(status().await, "stopped");
    pve.world(|world| world.guests.get_mut(&100).map(|guest| guest.power_on(0, 1)));
    assert_eq!(status().await, "stopped", "what the node told last");
    pve.advance(Duration::from_secs(11));
    assert_eq!(status().await, "running");
}

#[tokio::test]
async fn the_log_tells_everybody_his_own() {
    let scenario = Scenario::empty().user("ann@pve", "secret-12", "/vms", "PVEVMUser");
    let (pve, api) = node(scenario).await;
    let ann = Api::login(&pve, "ann@pve", "secret-12").await;
    let got = ann.get("/cluster/log").await;
    let users: Vec<&Value> = got.data().as_array().into_iter().flatten().map(|entry| &entry["user"]).collect();
    assert_eq!(users, ["ann@pve"]);
    assert_eq!(got.data()[0]["msg"], "successful auth for user 'ann@pve'");
    let got = api.get("/cluster/log?max=1").await;
    assert_eq!((got.data().as_array().map(Vec::len), &got.data()[0]["user"]), (Some(1), &json!("ann@pve")));
}

#[tokio::test]
async fn nodes_found_a_cluster_join_it_and_leave_it() {
    let (_pve, api) = node(Scenario::empty()).await;
    let got = api.get("/cluster/config/join").await;
    assert_eq!((got.status, got.refusal().1), (424, "node is not in a cluster, no join info available!"));
    assert_eq!(api.get("/cluster/config/nodes").await.data(), &json!([]));
    run(&api, "/cluster/config", json!({"clustername": "new"}), "OK").await;
    let got = api.post("/cluster/config", json!({"clustername": "again"})).await;
    assert_eq!(got.refusal().1, "cluster config '/etc/pve/corosync.conf' already exists");
    assert_eq!(api.get("/cluster/config/totem").await.data()["cluster_name"], "new");
    let info = api.get("/cluster/config/join").await;
    assert_eq!((&info.data()["preferred_node"], &info.data()["nodelist"][0]["name"]), (&json!("pve1"), &json!("pve1")));
    api.post("/cluster/config/nodes/pve2", json!({"new_node_ip": "192.0.2.77"})).await.data();
    let got = api.post("/cluster/config/nodes/pve2", json!({})).await;
    assert_eq!(got.refusal().1, "can't add existing node 'pve2'");
    let status = api.get("/cluster/status").await;
    let rows: Vec<(&Value, &Value)> =
        status.data().as_array().into_iter().flatten().skip(1).map(|row| (&row["name"], &row["online"])).collect();
    assert_eq!(rows, [(&json!("pve1"), &json!(1)), (&json!("pve2"), &json!(0))]);
    assert_eq!(api.delete("/cluster/config/nodes/pve1").await.refusal().1, "Cannot delete myself from cluster!");
    api.delete("/cluster/config/nodes/pve2").await.data();
    assert_eq!(api.get("/cluster/status").await.data().as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn mappings_are_checked_against_a_node() {
    let scenario = Scenario::cluster().user("ann@pve", "secret-12", "/mapping/usb/disk", "PVEMappingUser");
    let (pve, api) = node(scenario).await;
    for id in ["disk", "key"] {
        let map = json!({"id": id, "map": "id=1234:5678,node=pve1", "description": "a device"});
        api.post("/cluster/mapping/usb", map).await.data();
    }
    let again = api.post("/cluster/mapping/usb", json!({"id": "key", "map": "id=1:2,node=pve1"})).await;
    assert!(again.body.contains("already defined") || again.status == 400, "{}", again.body);
    let list = api.get("/cluster/mapping/usb?check-node=pve2").await;
    let checks = json!([{"severity": "warning", "message": "No mapping for node pve2."}]);
    assert_eq!((&list.data()[0]["checks"], &list.data()[0]["map"]), (&checks, &json!(["id=1234:5678,node=pve1"])));
    let ann = Api::login(&pve, "ann@pve", "secret-12").await;
    let seen = ann.get("/cluster/mapping/usb").await;
    assert_eq!((seen.data().as_array().map(Vec::len), &seen.data()[0]["id"]), (Some(1), &json!("disk")));
    api.put("/cluster/mapping/usb/key", json!({"map": "id=1234:5678,node=pve2", "delete": "description"})).await.data();
    assert_eq!(api.get("/cluster/mapping/usb/key").await.data()["description"], json!(null));
    api.delete("/cluster/mapping/usb/key").await.data();
    assert_eq!(api.get("/cluster/mapping/usb/key").await.refusal().1, "mapping 'key' not found");
}

#[tokio::test]
async fn servers_of_metrics_are_tried() {
    let (_pve, api) = node(Scenario::empty()).await;
    let path = "/cluster/metrics/server/one";
    let got = api.post(path, json!({"type": "graphite", "server": "0.0.0.1", "port": 2003})).await;
    assert_eq!(got.refusal().1, "couldn't create carbon socket [0.0.0.1]:2003 - Network is unreachable");
    let influx = json!({"type": "influxdb", "server": "192.0.2.50", "port": 8086, "influxdbproto": "https", "token": "metric-secret"});
    api.post(path, influx).await.data();
    let shown = api.get(path).await;
    assert!(!shown.body.contains("metric-secret") && shown.data()["influxdbproto"] == "https", "{}", shown.body);
    let got = api.put(path, json!({"server": "192.0.2.51", "port": 8086, "delete": "server"})).await;
    assert_ne!(got.status, 200, "required");
    api.put(path, json!({"server": "192.0.2.51", "port": 8087})).await.data();
    let list = api.get("/cluster/metrics/server").await;
    let row = json!({"id": "one", "type": "influxdb", "server": "192.0.2.51", "port": 8087, "disable": 0});
    assert_eq!(list.data(), &json!([row]));
    api.delete(path).await.data();
    assert_eq!(api.get(path).await.refusal().1, "status server entry 'one' does not exist");
}

#[tokio::test]
async fn accounts_and_plugins_for_certificates() {
    let (_pve, api) = node(Scenario::empty()).await;
    run(&api, "/cluster/acme/account", json!({"name": "one", "contact": "admin@example.org"}), "OK").await;
    let got = api.post("/cluster/acme/account", json!({"name": "one", "contact": "admin@example.org"})).await;
    assert_eq!(got.refusal().2, &json!({"name": "ACME account config file 'one' already exists."}));
    let shown = api.get("/cluster/acme/account/one").await;
    assert_eq!(shown.data()["account"]["contact"], json!(["mailto:admin@example.org"]));
    let plugin = json!({"id": "dns1", "type": "dns", "api": "cf", "data": "Q0ZfVG9rZW49c2VjcmV0"});
    api.post("/cluster/acme/plugins", plugin.clone()).await.data();
    assert_ne!(api.post("/cluster/acme/plugins", plugin).await.status, 200);
    assert_eq!(api.get("/cluster/acme/plugins/dns1").await.data()["api"], "cf");
    api.delete("/cluster/acme/plugins/dns1").await.data();
    let got = api.delete("/cluster/acme/account/one").await;
    assert_eq!(status(&api, &upid(&got)).await, "OK");
    assert_eq!(api.get("/cluster/acme/account").await.data(), &json!([]));
}

#[tokio::test]
async fn schedules_are_understood() {
    let (_pve, api) = node(Scenario::empty()).await;
    // 2026-12-01 12:00:00 UTC, a Tuesday.
    let path = "/cluster/jobs/schedule-analyze?iterations=2&starttime=1796126400&schedule=";
    let got = api.get(&format!("{path}mon..fri%2012:30")).await;
    let moments: Vec<&Value> = got.data().as_array().into_iter().flatten().map(|item| &item["timestamp"]).collect();
    assert_eq!(moments, [1_796_128_200, 1_796_128_200 + 86_400]);
    assert_eq!(got.data()[0]["utc"], "Tue Dec  1 12:30:00 2026");
    let job = json!({"realm": "pve", "scope": "users", "schedule": "daily"});
    let got = api.post("/cluster/jobs/realm-sync/night", job).await;
    assert_ne!(got.status, 200, "{}", got.body);
}

#[tokio::test]
async fn processor_models_of_ones_own() {
    let (_pve, api) = node(Scenario::empty()).await;
    let path = "/cluster/qemu/custom-cpu-models";
    let model = json!({"cputype": "custom-fast", "reported-model": "Skylake-Server", "flags": "+aes"});
    api.post(path, model.clone()).await.data();
    assert_eq!(api.post(path, model).await.refusal().1, "custom CPU model 'fast' already exists");
    assert_eq!(api.get(&format!("{path}/fast")).await.data()["reported-model"], "Skylake-Server");
    let models = api.get("/nodes/pve1/capabilities/qemu/cpu").await;
    assert!(
        models.data().as_array().into_iter().flatten().any(|cpu| cpu["name"] == "custom-fast" && cpu["custom"] == 1)
    );
    api.delete(&format!("{path}/fast")).await.data();
    assert_eq!(api.delete(&format!("{path}/fast")).await.refusal().1, "custom CPU model 'fast' does not exist");
}
