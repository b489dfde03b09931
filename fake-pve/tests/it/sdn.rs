//! Software-defined networks: asked for, applied, taken back.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::qemu::{ended, started};

async fn with_vnet(api: &Api) {
    let zone = json!({"zone": "z1", "type": "simple", "ipam": "pve", "dhcp": "dnsmasq"});
    assert_eq!(api.post("/cluster/sdn/zones", zone).await.status, 200);
    assert_eq!(api.post("/cluster/sdn/vnets", json!({"vnet": "v1", "zone": "z1"})).await.status, 200);
}

#[tokio::test]
async fn what_waits_is_shown_until_it_is_applied() {
    let (pve, api) = started(Scenario::cluster()).await;
    with_vnet(&api).await;
    let waiting = api.get("/cluster/sdn/zones?pending=1").await;
    let facts = json!({"ipam": "pve", "dhcp": "dnsmasq"});
    assert_eq!((&waiting.data()[0]["state"], &waiting.data()[0]["pending"]), (&json!("new"), &facts));
    assert_eq!(api.get("/cluster/sdn/vnets?running=1").await.data(), &json!([]));
    assert_eq!(api.get("/nodes/pve1/sdn/zones").await.data(), &json!([]));
    assert!(!pve.world(|world| world.has_bridge("pve1", "v1")));

    let task = api.put("/cluster/sdn", json!({})).await;
    let (status, log) = ended(&api, &task).await;
    assert_eq!((status.as_str(), log[0].as_str()), ("OK", "pve1: reloading network config"));
    assert_eq!(api.get("/nodes/pve2/sdn/zones").await.data(), &json!([{"zone": "z1", "status": "available"}]));
    assert_eq!(
        api.get("/nodes/pve1/sdn/zones/z1/content").await.data(),
        &json!([{"vnet": "v1", "status": "available"}])
    );
    assert!(pve.world(|world| world.has_bridge("pve1", "v1")));
    let bridges = api.get("/nodes/pve1/network?type=any_bridge").await;
    assert!(bridges.data().as_array().is_some_and(|list| list.iter().any(|iface| iface["iface"] == "v1")));

    assert_eq!(api.put("/cluster/sdn/vnets/v1", json!({"alias": "one"})).await.status, 200);
    assert_eq!(api.put("/cluster/sdn/zones/z1", json!({"mtu": 1400, "delete": "dhcp"})).await.status, 200);
    let changed = api.get("/cluster/sdn/zones/z1?pending=1").await;
    let waits = json!({"mtu": 1400, "dhcp": "deleted"});
    assert_eq!((&changed.data()["state"], &changed.data()["pending"]), (&json!("changed"), &waits));
    assert_eq!(api.delete("/cluster/sdn/vnets/v1").await.status, 200);
    let gone = api.get("/cluster/sdn/vnets?pending=1").await;
    assert_eq!((&gone.data()[0]["state"], &gone.data()[0]["pending"]), (&json!("deleted"), &json!({})));
    assert_eq!(api.post("/cluster/sdn/rollback", json!({})).await.status, 200);
    let back = api.get("/cluster/sdn/vnets/v1").await;
    assert_eq!((&back.data()["zone"], &back.data()["alias"]), (&json!("z1"), &Value::Null));
}

#[tokio::test]
async fn nodes_load_what_is_applied_later() {
    let pve = FakePve::builder().scenario(Scenario::empty()).clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    with_vnet(&api).await;
    assert_eq!(api.put("/cluster/sdn", json!({})).await.status, 200);
    let content = api.get("/nodes/pve1/sdn/zones/z1/content").await;
    let text = "local sdn network configuration is not yet generated, please reload";
    assert_eq!(content.data(), &json!([{"vnet": "v1", "status": "pending", "statusmsg": text}]));
    pve.advance(Duration::from_secs(5));
    assert_eq!(api.get("/nodes/pve1/sdn/zones").await.data()[0]["status"], "available");
}

#[tokio::test]
async fn objects_that_do_not_fit_are_refused() {
    let (_pve, api) = started(Scenario::empty()).await;
    with_vnet(&api).await;
    let refused = async |path: &str, object: Value| api.post(path, object).await.refusal().1.to_string();
    let zone = json!({"zone": "z2", "type": "vlan"});
    assert_eq!(refused("/cluster/sdn/zones", zone).await, "missing value for required option 'bridge'");
    let zone = json!({"zone": "z2", "type": "simple", "tag": 3});
    assert_eq!(refused("/cluster/sdn/zones", zone).await, "unexpected property 'tag'");
    let vnet = json!({"vnet": "v2", "zone": "z1", "tag": 3});
    let text = "create sdn vnet object failed: 400 Parameter verification failed.\ntag: vlan tag is not allowed on simple zone";
    assert_eq!(refused("/cluster/sdn/vnets", vnet).await, text);
    let subnet = json!({"type": "subnet", "subnet": "10.0.0.0/24", "gateway": "10.1.0.1"});
    let text = "create sdn subnet object failed: 400 Parameter verification failed.\ngateway: 10.1.0.1 is not in subnet 10.0.0.0/24";
    assert_eq!(refused("/cluster/sdn/vnets/v1/subnets", subnet).await, text);
    let got = api.delete("/cluster/sdn/zones/z1").await;
    assert!(
        got.refusal().1.starts_with("delete sdn zone object failed: zone z1 is used by vnet v1 at "),
        "{}",
        got.body
    );
    assert_eq!(api.get("/cluster/sdn/vnets/nosuch").await.refusal().1, "sdn vnet 'nosuch' does not exist");
    let dns = json!({"dns": "dns1", "type": "powerdns", "key": "k", "url": "http://192.0.2.99/"});
    let text = "500 Can't connect to 192.0.2.99:80 (No route to host)";
    assert_eq!(
        refused("/cluster/sdn/dns", dns).await,
        format!("create sdn dns object failed: dns api error: Invalid response from server: {text}")
    );
    let dns = json!({"dns": "dns1", "type": "powerdns", "key": "k", "url": "http://dns.example.com/"});
    assert_eq!(api.post("/cluster/sdn/dns", dns).await.status, 200);
}

#[tokio::test]
async fn the_lock_is_for_its_holder() {
    let (_pve, api) = started(Scenario::empty()).await;
    let token = api.post("/cluster/sdn/lock", json!({})).await.data().as_str().expect("a token").to_string();
    let zone = json!({"zone": "z1", "type": "simple"});
    let got = api.post("/cluster/sdn/zones", zone).await;
    assert!(
        got.refusal().1.starts_with("create sdn zone object failed: invalid lock token provided! at "),
        "{}",
        got.body
    );
    let zone = json!({"zone": "z1", "type": "simple", "lock-token": token});
    assert_eq!(api.post("/cluster/sdn/zones", zone).await.status, 200);
    assert_eq!(api.put("/cluster/sdn", json!({})).await.status, 500);
    assert_eq!(api.put("/cluster/sdn", json!({"lock-token": token})).await.status, 200);
    assert_eq!(api.post("/cluster/sdn/vnets", json!({"vnet": "v1", "zone": "z1"})).await.status, 200);
    let got = api.post("/cluster/sdn/lock", json!({})).await;
    let text = "could not acquire lock for SDN config: configuration has pending changes at ";
    assert!(got.refusal().1.starts_with(text), "{}", got.body);
    assert_eq!(api.post("/cluster/sdn/lock", json!({"allow-pending": 1})).await.status, 200);
    assert_eq!(api.delete("/cluster/sdn/lock").await.status, 500);
    assert_eq!(api.delete("/cluster/sdn/lock?force=1").await.status, 200);
}

#[tokio::test]
async fn subnets_and_addresses() {
    let (_pve, api) = started(Scenario::empty()).await;
    with_vnet(&api).await;
    let subnet = json!({
        "type": "subnet", "subnet": "10.0.0.0/24", "gateway": "10.0.0.1", "dhcp-range": "start-address=10.0.0.10,end-address=10.0.0.20",
    });
    let got = api.post("/cluster/sdn/vnets/v1/subnets", subnet).await;
    assert_eq!(got.status, 200, "{}", got.body);
    let shown = api.get("/cluster/sdn/vnets/v1/subnets/z1-10.0.0.0-24").await;
    let range = json!([{"start-address": "10.0.0.10", "end-address": "10.0.0.20"}]);
    assert_eq!((&shown.data()["cidr"], &shown.data()["dhcp-range"]), (&json!("10.0.0.0/24"), &range));
    let address = json!({"zone": "z1", "ip": "10.0.0.50", "mac": "02:00:00:00:00:05"});
    assert!(
        api.post("/cluster/sdn/vnets/v1/ips", address.clone()).await.refusal().1.starts_with("can't find any subnet")
    );
    ended(&api, &api.put("/cluster/sdn", json!({})).await).await;
    assert_eq!(api.post("/cluster/sdn/vnets/v1/ips", address.clone()).await.status, 200);
    assert_eq!(api.post("/cluster/sdn/vnets/v1/ips", address).await.refusal().1, "IP '10.0.0.50' already exist");
    let known = api.get("/cluster/sdn/ipams/pve/status").await;
    assert_eq!(known.data().as_array().map(Vec::len), Some(2));
    let got = api.delete("/cluster/sdn/vnets/v1/subnets/z1-10.0.0.0-24").await;
    assert_eq!(got.refusal().1, "delete sdn subnet object failed: cannot delete subnet '10.0.0.0/24', not empty");
    assert_eq!(api.delete("/cluster/sdn/vnets/v1/ips?zone=z1&ip=10.0.0.50").await.status, 200);
    assert_eq!(api.delete("/cluster/sdn/vnets/v1/subnets/z1-10.0.0.0-24").await.status, 200);
}

#[tokio::test]
async fn an_applied_network_has_a_firewall() {
    let (_pve, api) = started(Scenario::empty()).await;
    with_vnet(&api).await;
    let at = "/cluster/sdn/vnets/v1/firewall";
    assert!(api.get(&format!("{at}/rules")).await.refusal().1.starts_with("invalid vnet specified at "));
    ended(&api, &api.put("/cluster/sdn", json!({})).await).await;
    let rule = json!({"type": "forward", "action": "DROP", "enable": 1});
    assert_eq!(api.post(&format!("{at}/rules"), rule).await.status, 200);
    let got = api.post(&format!("{at}/rules"), json!({"type": "in", "action": "DROP"})).await;
    assert_eq!(got.refusal().2, &json!({"type": "invalid rule type 'in' for rule_env 'vnet'"}));
    assert_eq!(api.put(&format!("{at}/options"), json!({"enable": 1, "policy_forward": "DROP"})).await.status, 200);
    assert_eq!(api.get(&format!("{at}/options")).await.data()["policy_forward"], "DROP");
}

#[tokio::test]
async fn fabrics_have_nodes_within_their_prefix() {
    let (_pve, api) = started(Scenario::cluster()).await;
    let fabrics = "/cluster/sdn/fabrics";
    let fabric = json!({"id": "f1", "protocol": "openfabric", "ip_prefix": "10.10.0.0/24"});
    assert_eq!(api.post(&format!("{fabrics}/fabric"), fabric).await.data(), "");
    let node = json!({"node_id": "pve1", "protocol": "openfabric", "ip": "10.99.0.1"});
    let got = api.post(&format!("{fabrics}/node/f1"), node).await;
    assert_eq!(
        got.refusal().1,
        "adding node failed: node IP 10.99.0.1 is outside the IP prefix 10.10.0.0/24 of the fabric"
    );
    for (node, ip) in [("pve1", "10.10.0.1"), ("pve2", "10.10.0.2")] {
        let node = json!({"node_id": node, "protocol": "openfabric", "ip": ip, "interfaces": "name=eno1"});
        assert_eq!(api.post(&format!("{fabrics}/node/f1"), node).await.status, 200);
    }
    let all = api.get(&format!("{fabrics}/all")).await;
    assert_eq!(all.data()["nodes"].as_array().map(Vec::len), Some(2));
    ended(&api, &api.put("/cluster/sdn", json!({})).await).await;
    assert_eq!(api.get("/nodes/pve1/sdn/fabrics/f1/neighbors").await.data()[0]["neighbor"], "pve2");
    assert_eq!(api.delete(&format!("{fabrics}/fabric/f1")).await.status, 200);
    assert_eq!(api.get(&format!("{fabrics}/all")).await.data(), &json!({"fabrics": [], "nodes": []}));
}

#[tokio::test]
async fn prefix_lists_and_route_maps_are_kept_in_order() {
    let (_pve, api) = started(Scenario::empty()).await;
    let lists = "/cluster/sdn/prefix-lists";
    let entry = json!({"seq": 10, "action": "permit", "prefix": "192.0.2.0/24"});
    let got = api.post(&format!("{lists}/one/entries"), entry.clone()).await;
    assert_eq!(got.refusal().1, "prefix list 'one' does not exist in configuration");
    assert_eq!(api.post(lists, json!({"id": "one"})).await.status, 200);
    assert_eq!(api.post(&format!("{lists}/one/entries"), entry).await.status, 200);
    let entry = json!({"action": "deny", "prefix": "10.0.0.0/8", "le": 24});
    assert_eq!(api.post(&format!("{lists}/one/entries"), entry).await.status, 200);
    let numbers: Vec<Value> = api
        .get(&format!("{lists}/one/entries"))
        .await
        .data()
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry["seq"].clone())
        .collect();
    assert_eq!(numbers, [10, 15]);
    assert_eq!(api.put(&format!("{lists}/one/entries/15"), json!({"seq": 5, "delete": "le"})).await.status, 200);
    assert_eq!(api.get(&format!("{lists}/one/entries/5")).await.data()["prefix"], "10.0.0.0/8");
    assert_eq!(api.get(&format!("{lists}/one")).await.data()["entries"][1], "action=permit,prefix=192.0.2.0/24,seq=10");
    assert_eq!(api.delete(&format!("{lists}/one")).await.status, 200);

    let maps = "/cluster/sdn/route-maps";
    for order in [20, 10] {
        let entry = json!({"route-map-id": "m", "order": order, "action": "permit"});
        assert_eq!(api.post(&format!("{maps}/entries"), entry).await.status, 200);
    }
    assert_eq!(api.get(maps).await.data(), &json!([{"id": "m"}]));
    assert_eq!(api.get(&format!("{maps}/entries/m")).await.data()[0]["order"], 10);
    assert_eq!(api.delete(&format!("{maps}/entries/m/entry/10")).await.status, 200);
    assert_eq!(api.get(&format!("{maps}/entries")).await.data().as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_dry_run_tells_what_a_node_would_change() {
    let (pve, api) = started(Scenario::empty()).await;
    with_vnet(&api).await;
    let plan = api.get("/cluster/sdn/dry-run?node=pve1").await;
    assert!(plan.data()["interfaces-diff"].as_str().is_some_and(|diff| diff.contains("+iface v1\n")), "{}", plan.body);
    assert_eq!(pve.world(|world| world.sdn.version), 0);
}
