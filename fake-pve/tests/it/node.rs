//! What a node says of itself and does with itself.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::qemu::{ended, started};

#[tokio::test]
async fn resolver_names_and_clock() {
    let (_pve, api) = started(Scenario::empty()).await;
    assert_eq!(api.get("/nodes/pve1/dns").await.data(), &json!({"search": "example.com", "dns1": "192.0.2.1"}));
    assert_eq!(api.put("/nodes/pve1/dns", json!({"search": "example.org", "dns2": "192.0.2.2"})).await.status, 200);
    assert_eq!(api.get("/nodes/pve1/dns").await.data(), &json!({"search": "example.org", "dns2": "192.0.2.2"}));
    let hosts = api.get("/nodes/pve1/hosts").await;
    assert_eq!(hosts.data()["data"], "127.0.0.1 localhost\n192.0.2.11 pve1.example.org pve1\n");
    let change = json!({"data": "127.0.0.1 localhost\n", "digest": hosts.data()["digest"]});
    assert_eq!(api.post("/nodes/pve1/hosts", change.clone()).await.status, 200);
    assert_eq!(api.post("/nodes/pve1/hosts", change).await.status, 500);
    let got = api.post("/nodes/pve1/hosts", json!({"data": "x y"})).await;
    assert_eq!(got.refusal().2, &json!({"data": "Invalid IP 'x'"}));
    assert_eq!(api.put("/nodes/pve1/time", json!({"timezone": "Europe/Vienna"})).await.status, 200);
    let time = api.get("/nodes/pve1/time").await;
    assert_eq!(time.data()["localtime"].as_i64(), time.data()["time"].as_i64().map(|time| time + 3600));
    let got = api.put("/nodes/pve1/time", json!({"timezone": "Middle/Earth"})).await;
    assert_eq!(got.refusal().2, &json!({"timezone": "No such timezone"}));
}

#[tokio::test]
async fn options_of_a_node() {
    let (_pve, api) = started(Scenario::empty()).await;
    assert_eq!(api.get("/nodes/pve1/config").await.data(), &json!({}));
    let options = json!({"startall-onboot-delay": 5, "wakeonlan": "02:00:00:00:00:01"});
    assert_eq!(api.put("/nodes/pve1/config", options).await.status, 200);
    let shown = api.get("/nodes/pve1/config").await;
    assert_eq!((&shown.data()["startall-onboot-delay"], &shown.data()["description"]), (&json!("5"), &json!("")));
    let one = api.get("/nodes/pve1/config?property=wakeonlan").await;
    assert_eq!(one.data(), &json!({"wakeonlan": "02:00:00:00:00:01"}));
    assert_eq!(api.put("/nodes/pve1/config", json!({"delete": "wakeonlan", "digest": "1"})).await.status, 500);
    assert_eq!(api.put("/nodes/pve1/config", json!({"delete": "wakeonlan"})).await.status, 200);
    assert_eq!(api.get("/nodes/pve1/config").await.data()["wakeonlan"], Value::Null);
}

#[tokio::test]
async fn a_node_goes_down_with_its_guests_and_comes_back() {
    let scenario = Scenario::cluster().ct(300, "pve2", json!({"onboot": 1})).running(300).running(201);
    let pve = FakePve::builder().scenario(scenario).clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    let status = async || {
        let nodes = api.get("/cluster/resources?type=node").await;
        let list = nodes.data().as_array().cloned().unwrap_or_default();
        list.into_iter().find(|node| node["node"] == "pve2").map(|node| node["status"].clone()).unwrap_or_default()
    };
    let runs = |vmid| pve.world(|world| world.guests[&vmid].runs());
    assert_eq!(api.post("/nodes/pve2/status", json!({"command": "reboot"})).await.data(), &Value::Null);
    assert_eq!(status().await, "online");
    pve.advance(Duration::from_secs(6));
    assert_eq!((status().await, runs(300), runs(201)), (json!("offline"), false, false));
    assert_eq!(api.get("/nodes/pve2/status").await.status, 595);
    pve.advance(Duration::from_secs(40));
    assert_eq!((status().await, runs(300), runs(201)), (json!("online"), true, false));

    let options = json!({"wakeonlan": "mac=02:00:00:00:00:02"});
    let got = api.post("/nodes/pve2/wakeonlan", json!({})).await;
    assert_eq!(got.refusal().1, "No wake on LAN MAC address defined for 'pve2'!");
    assert_eq!(api.put("/nodes/pve2/config", options).await.status, 200);
    assert_eq!(api.post("/nodes/pve2/status", json!({"command": "shutdown"})).await.status, 200);
    pve.advance(Duration::from_secs(100));
    assert_eq!(status().await, "offline");
    assert_eq!(api.post("/nodes/pve2/wakeonlan", json!({})).await.data(), "02:00:00:00:00:02");
    pve.advance(Duration::from_secs(40));
    assert_eq!(status().await, "online");
    let got = api.post("/nodes/pve1/wakeonlan", json!({})).await;
    assert_eq!(got.refusal().1, "'pve1' is local node, cannot wake my self!");
}

#[tokio::test]
async fn packages_and_where_they_come_from() {
    let (_pve, api) = started(Scenario::empty()).await;
    assert_eq!(api.get("/nodes/pve1/apt/update").await.data(), &json!([]));
    let (status, log) = ended(&api, &api.post("/nodes/pve1/apt/update", json!({})).await).await;
    assert_eq!((status.as_str(), log[0].as_str()), ("OK", "starting apt-get update"));
    assert_eq!(api.get("/nodes/pve1/apt/update").await.data()[0]["Package"], "pve-manager");
    let manager = api.get("/nodes/pve1/apt/versions").await;
    assert!(manager.data().as_array().is_some_and(|list| list.iter().any(|item| item["ManagerVersion"].is_string())));
    let missing = api.get("/nodes/pve1/apt/changelog?name=nosuch").await;
    assert_eq!(missing.data(), "E: Unable to locate package nosuch\nE: No packages found\nRC: 100");

    let sources = api.get("/nodes/pve1/apt/repositories").await;
    let status = |sources: &Value, handle: &str| {
        let repos = sources["standard-repos"].as_array().cloned().unwrap_or_default();
        repos.into_iter().find(|repo| repo["handle"] == handle).map(|repo| repo["status"].clone()).unwrap_or_default()
    };
    assert_eq!((status(sources.data(), "enterprise"), status(sources.data(), "test")), (json!(false), Value::Null));
    let add = json!({"handle": "test", "digest": sources.data()["digest"]});
    assert_eq!(api.put("/nodes/pve1/apt/repositories", add.clone()).await.status, 200);
    assert_eq!(api.put("/nodes/pve1/apt/repositories", add).await.status, 500);
    let path = "/etc/apt/sources.list.d/pve-enterprise.sources";
    let change = json!({"path": path, "index": 0, "enabled": 1});
    assert_eq!(api.post("/nodes/pve1/apt/repositories", change).await.status, 200);
    let sources = api.get("/nodes/pve1/apt/repositories").await;
    assert_eq!((status(sources.data(), "enterprise"), status(sources.data(), "test")), (json!(true), json!(true)));
}

#[tokio::test]
async fn certificates_are_those_that_are_presented() {
    let (pve, api) = started(Scenario::empty()).await;
    let info = api.get("/nodes/pve1/certificates/info").await;
    let own = info
        .data()
        .as_array()
        .expect("a list")
        .iter()
        .find(|item| item["filename"] == "pve-ssl.pem")
        .cloned()
        .expect("ours");
    assert_eq!(own["fingerprint"], pve.fingerprint());
    assert_eq!(api.get("/nodes").await.data()[0]["ssl_fingerprint"], pve.fingerprint());
    let custom = json!({"certificates": own["pem"]});
    let got = api.post("/nodes/pve1/certificates/custom", custom).await;
    assert_eq!(got.refusal().2, &json!({"key": "Attempted to upload custom certificate without (existing) key."}));
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let custom = json!({"certificates": own["pem"], "key": key});
    let got = api.post("/nodes/pve1/certificates/custom", custom.clone()).await;
    assert_eq!(got.data()["fingerprint"], pve.fingerprint());
    let got = api.post("/nodes/pve1/certificates/custom", custom).await;
    assert_eq!(got.refusal().2, &json!({"force": "Custom certificate exists but 'force' is not set."}));
    assert_eq!(api.get("/nodes/pve1/certificates/info").await.data().as_array().map(Vec::len), Some(3));
    assert_eq!(api.delete("/nodes/pve1/certificates/custom").await.status, 200);

    let acme = "/nodes/pve1/certificates/acme/certificate";
    assert_eq!(api.post(acme, json!({})).await.refusal().1, "ACME domain list in node configuration is missing!");
    assert_eq!(api.put("/nodes/pve1/config", json!({"acme": "domains=a.example.com"})).await.status, 200);
    let (status, _) = ended(&api, &api.post(acme, json!({})).await).await;
    assert_eq!(status, "ACME account config file 'default' does not exist.");
    pve.world(|world| world.documents.put("/cluster/acme/account", "default", serde_json::Map::new()));
    assert_eq!(ended(&api, &api.post(acme, json!({})).await).await.0, "OK");
    let info = api.get("/nodes/pve1/certificates/info").await;
    assert_eq!(info.data()[2]["san"], json!(["a.example.com"]));
    assert_eq!(ended(&api, &api.delete(acme).await).await.0, "OK");
}

#[tokio::test]
async fn subscription_logs_and_reports() {
    let (_pve, api) = started(Scenario::one_vm()).await;
    assert_eq!(api.get("/nodes/pve1/subscription").await.data()["status"], "notfound");
    assert_eq!(api.put("/nodes/pve1/subscription", json!({"key": "pve2c-0123456789"})).await.status, 200);
    let subscription = api.get("/nodes/pve1/subscription").await;
    assert_eq!((&subscription.data()["status"], &subscription.data()["level"]), (&json!("active"), &json!("c")));
    assert_eq!(api.delete("/nodes/pve1/subscription").await.status, 200);
    let syslog = api.get("/nodes/pve1/syslog?limit=2").await;
    assert_eq!(syslog.data().as_array().map(Vec::len), Some(2));
    assert!(syslog.json["total"].as_u64() >= Some(4));
    let journal = api.get("/nodes/pve1/journal?lastentries=1").await;
    assert_eq!(journal.data().as_array().map(Vec::len), Some(3));
    let report = api.get("/nodes/pve1/report").await;
    assert!(
        report
            .data()
            .as_str()
            .is_some_and(|text| text.contains("==== general system info ====") && text.contains("100"))
    );
    assert_eq!(api.get("/nodes/pve1/hardware/pci?pci-class-blacklist=").await.data().as_array().map(Vec::len), Some(5));
    assert_eq!(api.get("/nodes/pve1/hardware/pci").await.data().as_array().map(Vec::len), Some(4));
}

#[tokio::test]
async fn several_calls_in_one() {
    let (_pve, api) = started(Scenario::empty()).await;
    let commands = json!([
        {"path": "dns", "method": "GET"},
        {"path": "dns", "method": "PUT", "args": {"search": "x.example.com"}},
        {"path": "dns", "method": "GET", "args": {"node": "pve1"}},
        {"path": "nosuch", "method": "GET"},
        {"path": "time", "method": "PUT", "args": {"timezone": "Middle/Earth"}},
    ]);
    let got = api.post("/nodes/pve1/execute", json!({"commands": commands.to_string()})).await;
    let outcomes = got.data().as_array().expect("outcomes");
    let statuses: Vec<&Value> = outcomes.iter().map(|outcome| &outcome["status"]).collect();
    assert_eq!(statuses, [200, 200, 400, 500, 400]);
    assert_eq!(outcomes[2]["errors"], json!({"node": "duplicate parameter"}));
    assert_eq!(outcomes[3]["message"], "no handler for 'nodes/pve1/nosuch'\n");
    assert_eq!(api.get("/nodes/pve1/dns").await.data()["search"], "x.example.com");
}
