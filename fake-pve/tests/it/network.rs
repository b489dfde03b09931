//! A node's own network: changes wait for their reload.

use fake_pve::{FakePve, Scenario};
use serde_json::json;

use crate::client::Api;
use crate::qemu::{ended, started};

const AT: &str = "/nodes/pve1/network";

#[tokio::test]
async fn changes_wait_and_are_told() {
    let (pve, api) = started(Scenario::empty()).await;
    assert!(api.get(AT).await.json.get("changes").is_none());
    let bridge =
        json!({"iface": "vmbr1", "type": "bridge", "autostart": 1, "cidr": "10.1.0.1/24", "comments": "inner"});
    assert_eq!(api.post(AT, bridge.clone()).await.status, 200);
    let got = api.post(AT, bridge).await;
    assert_eq!(got.refusal().2, &json!({"iface": "interface already exists"}));
    let waiting = api.get(AT).await;
    let changes = waiting.json["changes"].as_str().expect("changes");
    assert!(changes.contains("+iface vmbr1 inet static\n+\taddress 10.1.0.1/24\n"), "{changes}");
    let shown = api.get(&format!("{AT}/vmbr1")).await;
    let facts =
        (&shown.data()["address"], &shown.data()["netmask"], &shown.data()["comments"], &shown.data()["active"]);
    assert_eq!(facts, (&json!("10.1.0.1"), &json!("24"), &json!("inner\n"), &json!(null)));
    assert!(!pve.world(|world| world.has_bridge("pve1", "vmbr1")));

    let task = api.put(AT, json!({})).await;
    assert!(task.data().as_str().is_some_and(|upid| upid.contains(":srvreload:networking:")));
    assert_eq!(ended(&api, &task).await.0, "OK");
    assert!(pve.world(|world| world.has_bridge("pve1", "vmbr1")));
    assert_eq!(api.get(&format!("{AT}/vmbr1")).await.data()["active"], 1);
    assert!(api.get(AT).await.json.get("changes").is_none());
}

#[tokio::test]
async fn what_waits_can_be_taken_back() {
    let (_pve, api) = started(Scenario::empty()).await;
    assert_eq!(api.delete(&format!("{AT}/vmbr0")).await.status, 200);
    assert_eq!(api.get(&format!("{AT}/vmbr0")).await.refusal().2, &json!({"iface": "interface does not exist"}));
    assert_eq!(api.delete(AT).await.status, 200);
    assert_eq!(api.get(&format!("{AT}/vmbr0")).await.data()["type"], "bridge");
}

#[tokio::test]
async fn interfaces_fit_together() {
    let (_pve, api) = started(Scenario::empty()).await;
    let cases = [
        (
            json!({"iface": "vmbr1", "type": "bridge", "bridge_ports": "eno9"}),
            "bridge 'vmbr1' - unable to find bridge port 'eno9'",
        ),
        (
            json!({"iface": "bond0", "type": "bond", "slaves": "eno9"}),
            "bond 'bond0' - wrong interface type on slave 'eno9' ('' != 'eth or bond')",
        ),
        (
            json!({"iface": "vmbr1", "type": "bridge", "bridge_ports": "eno1"}),
            "port 'eno1' is already used on interface 'vmbr0'",
        ),
        (
            json!({"iface": "ovs0", "type": "OVSBridge"}),
            "Open VSwitch is not installed (need package 'openvswitch-switch')",
        ),
        (
            json!({"iface": "vmbr0.5", "type": "vlan", "mtu": 9000}),
            "interface 'vmbr0' - mtu 1500 is lower than 'vmbr0.5' - mtu 9000",
        ),
    ];
    for (iface, text) in cases {
        let got = api.post(AT, iface).await;
        assert_eq!((got.status, got.refusal().1), (500, text));
    }
    let gateway = json!({"iface": "vmbr1", "type": "bridge", "cidr": "10.0.0.1/8", "gateway": "10.0.0.2"});
    let got = api.post(AT, gateway).await;
    assert_eq!(got.refusal().2, &json!({"gateway": "Default gateway already exists on interface 'vmbr0'."}));
    assert_eq!(api.post(AT, json!({"iface": "eno1.7", "type": "vlan"})).await.status, 200);
    let vlan = api.get(&format!("{AT}/eno1.7")).await;
    assert_eq!((&vlan.data()["vlan-id"], &vlan.data()["vlan-raw-device"]), (&json!("7"), &json!("eno1")));
    let aware = json!({"type": "bridge", "cidr": "192.0.2.11/24", "gateway": "192.0.2.1", "bridge_ports": "eno1", "bridge_vlan_aware": 1});
    assert_eq!(api.put(&format!("{AT}/vmbr0"), aware).await.status, 200);
    assert_eq!(api.get(&format!("{AT}/vmbr0")).await.data()["bridge_vids"], "2-4094");
}

#[tokio::test]
async fn bridges_are_shown_to_those_who_may_use_them() {
    let scenario = Scenario::empty().user("eve@pve", "password", "/vms", "PVEVMAdmin");
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::login(&pve, "eve@pve", "password").await;
    let seen = api.get(AT).await;
    assert_eq!(seen.data().as_array().map(Vec::len), Some(1));
    assert_eq!(api.get(&format!("{AT}/vmbr0")).await.status, 403);
    assert_eq!(api.get(&format!("{AT}?type=any_bridge")).await.data(), &json!([]));
}
