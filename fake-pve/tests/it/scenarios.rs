//! The built-in scenarios: each starts, and holds what its name promises.

use fake_pve::{FakePve, Scenario, scenario};
use serde_json::json;

use crate::client::Api;
use crate::task::run;

async fn started(name: &str) -> (FakePve, Api) {
    let scenario = Scenario::named(name).expect("a scenario");
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

#[tokio::test]
async fn every_named_scenario_starts_and_survives_json() {
    for name in scenario::NAMES {
        let scenario = Scenario::named(name).expect("a scenario");
        let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
        // One of them asks root for a second factor.
        let api = Api::root_token(&pve);
        assert_eq!(api.get("/version").await.status, 200, "{name}");
        let world = pve.world(|world| world.clone());
        let again = Scenario::from_json(&Scenario { world: world.clone() }.to_json()).expect("a world");
        assert_eq!(again.world, world, "{name}");
    }
    let refused = Scenario::named("nope").expect_err("a refusal").to_string();
    assert!(refused.contains("there are ceph, ceph-installed, cluster"), "{refused}");
}

#[tokio::test]
async fn ceph_is_healthy() {
    let (_pve, api) = started("ceph").await;
    let status = api.get("/cluster/ceph/status").await;
    assert_eq!(status.data()["health"]["status"], "HEALTH_OK", "{}", status.data());
    assert_eq!(status.data()["osdmap"]["num_up_osds"], 3);
    assert_eq!(api.get("/nodes/pve1/ceph/mds").await.data()[0]["state"], "up:active");
}

#[tokio::test]
async fn groups_live_until_they_are_migrated() {
    let (_pve, api) = started("ha-groups").await;
    let group = json!({"group": "near", "nodes": "pve1,pve2", "comment": "both"});
    assert_eq!(api.post("/cluster/ha/groups", group.clone()).await.status, 200);
    let twice = api.post("/cluster/ha/groups", group).await;
    assert_eq!(twice.refusal().1, "create ha group failed: ha group 'near' already defined");
    assert_eq!(api.put("/cluster/ha/groups/near", json!({"restricted": 1, "delete": "comment"})).await.status, 200);
    let shown = api.get("/cluster/ha/groups/near").await;
    assert_eq!((&shown.data()["restricted"], shown.data().get("comment")), (&json!(1), None));
    let member = json!({"sid": "vm:100", "group": "near"});
    assert_eq!(api.post("/cluster/ha/resources", member).await.status, 200);
    assert_eq!(api.get("/cluster/ha/resources/vm:100").await.data()["group"], "near");
    assert_eq!(api.delete("/cluster/ha/groups/near").await.status, 500);
}

#[tokio::test]
async fn a_newcomer_joins_and_a_guest_moves_to_the_neighbours() {
    let (pve, api) = started("newcomer").await;
    let join = json!({"hostname": "192.0.2.12", "fingerprint": vec!["AA"; 32].join(":"), "password": "rehearsal-1"});
    run(&api, "/cluster/config/join", join, "OK").await;
    assert_eq!(pve.world(|world| world.nodes.keys().cloned().collect::<Vec<_>>()), ["far1", "pve1"]);
    assert_eq!(pve.world(|world| world.cluster.clone()).as_deref(), Some("elsewhere"));

    let (pve, api) = started("neighbours").await;
    let journey = json!({
        "target-endpoint": "host=192.0.2.30,apitoken=PVEAPIToken=root@pam!ci=11111111-2222-3333-4444-555555555555",
        "target-bridge": "vmbr0", "target-storage": "local-lvm", "delete": 1,
    });
    run(&api, "/nodes/pve1/qemu/101/remote_migrate", journey, "OK").await;
    assert!(!pve.world(|world| world.guests.contains_key(&101)));
    let there = |world: &mut fake_pve::World| {
        world.servers["192.0.2.30"].cluster.as_ref().is_some_and(|cluster| cluster.guests.contains_key(&101))
    };
    assert!(pve.world(there));
}

#[tokio::test]
async fn a_pool_made_by_hand_carries_a_storage() {
    let (_pve, api) = started("cluster").await;
    let pool = json!({"name": "tank", "devices": "/dev/sdb", "raidlevel": "single"});
    run(&api, "/nodes/pve1/disks/zfs", pool, "OK").await;
    let storage = json!({"storage": "tank", "type": "zfspool", "pool": "tank", "content": "images"});
    assert_eq!(api.post("/storage", storage).await.status, 200);
}
