//! Asking for the same list again: it is never older than the world.

use std::time::Duration;

use fake_pve::{FakePve, Fault, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::{Api, Got};
use crate::raw::Connection;

const LIST: &str = "/cluster/resources";

fn row(got: &Got, id: &str) -> Value {
    got.data().as_array().into_iter().flatten().find(|row| row["id"] == id).cloned().unwrap_or_default()
}

/// The same answer twice.
async fn twice(api: &Api, query: &str) -> Got {
    let path = format!("{LIST}{query}");
    let (first, again) = (api.get(&path).await, api.get(&path).await);
    assert_eq!(first.body, again.body);
    again
}

#[tokio::test]
async fn lists_follow_every_change() {
    let pve = FakePve::builder().clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    let reader = Api::login(&pve, "reader@pve", "reader-secret").await;
    assert_eq!(row(&twice(&api, "").await, "qemu/101")["name"], "db");
    assert_eq!(row(&twice(&api, "?type=node").await, "qemu/101"), Value::Null);
    assert_eq!(row(&twice(&reader, "").await, "qemu/101")["name"], "db");

    api.put("/nodes/pve1/qemu/101/config", json!({"name": "other"})).await.data();
    assert_eq!(row(&twice(&api, "").await, "qemu/101")["name"], "other");
    pve.world(|world| world.guests.remove(&201));
    assert_eq!(row(&twice(&api, "").await, "lxc/201"), Value::Null);

    let uptime = row(&twice(&api, "").await, "qemu/100")["uptime"].as_i64().expect("seconds");
    pve.advance(Duration::from_secs(7));
    assert_eq!(row(&twice(&api, "").await, "qemu/100")["uptime"], uptime + 7);

    api.post("/nodes/pve1/qemu/101/status/start", json!({})).await.data();
    assert_eq!(row(&twice(&api, "").await, "qemu/101")["status"], "stopped");
    pve.advance(Duration::from_secs(60));
    assert_eq!(row(&twice(&api, "").await, "qemu/101")["status"], "running");

    let acl = json!({"path": "/vms/101", "users": "reader@pve", "roles": "NoAccess"});
    api.put("/access/acl", acl).await.data();
    assert_eq!(row(&twice(&reader, "").await, "qemu/101"), Value::Null);
    assert_eq!(row(&twice(&api, "").await, "qemu/101")["name"], "other");

    pve.fault(Fault::on("GET", LIST).fails(500, "no").once());
    assert_eq!(api.get(LIST).await.refusal().1, "no");
    let down = pve.fault(Fault::node_offline("pve1"));
    assert_eq!(row(&api.get(LIST).await, "qemu/100")["status"], "unknown");
    pve.clear_fault(down);
    assert_eq!(row(&twice(&api, "").await, "qemu/100")["status"], "running");
    let lists = pve.requests().into_iter().filter(|entry| entry.path == LIST).count();
    assert_eq!(lists, 26, "each is in the journal");
}

#[tokio::test]
async fn a_list_packed_twice_is_the_same() {
    let pve = FakePve::builder().scenario(Scenario::cluster()).clock(Mode::Manual).start().await.expect("a cluster");
    let ask = |more: &str| {
        format!("GET /api2/json{LIST} HTTP/1.1\r\nAuthorization: PVEAPIToken={}\r\n{more}\r\n", pve.token())
    };
    let mut connection = Connection::open(&pve).await;
    let plain = connection.exchange(ask("").as_bytes()).await;
    let mut before = None;
    for _ in 0..3 {
        let packed = connection.exchange(ask("Accept-Encoding: gzip\r\n").as_bytes()).await;
        assert_eq!(packed.all("content-encoding"), ["gzip"]);
        assert!(packed.body.len() < plain.body.len());
        assert_eq!(*before.get_or_insert_with(|| packed.body.clone()), packed.body);
    }
    assert_eq!(connection.exchange(ask("").as_bytes()).await.body, plain.body);
}
