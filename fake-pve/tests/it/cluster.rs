//! What the cluster says about itself.

use fake_pve::{FakePve, Scenario};
use serde_json::{Value, json};

use crate::client::Api;

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
