//! A cluster in trouble: each workflow says what went wrong with a code, what was done and what was not, and never takes half
//! for the whole.

use fake_pve::{FakePve, Fault, Scenario};
use serde_json::{Value, json};

use super::{as_root, lively, still};
use crate::served::{call, done, fails};

const TEMPLATE: &str = "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst";

/// Every workflow that reads, with arguments for the default cluster.
fn reading() -> Vec<(&'static str, Value)> {
    vec![
        ("pve_backup_coverage", json!({})),
        ("pve_capacity_report", json!({})),
        ("pve_find_guest", json!({})),
        ("pve_health_check", json!({})),
        ("pve_list_guest_snapshots", json!({"vmid": 100})),
        ("pve_overview", json!({})),
        ("pve_security_audit", json!({})),
    ]
}

/// Every workflow that changes something.
fn changing() -> Vec<(&'static str, Value)> {
    vec![
        ("pve_guest_power", json!({"vmid": 101, "action": "start"})),
        ("pve_provision_lxc", json!({"hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve1"})),
        ("pve_provision_vm_from_template", json!({"template": 9000, "name": "app"})),
        ("pve_snapshot_guest", json!({"vmid": 101, "snapname": "before"})),
    ]
}

fn created(answer: &Value) -> Vec<u64> {
    answer["created"].as_array().into_iter().flatten().filter_map(|made| made["vmid"].as_u64()).collect()
}

fn guests(fake: &FakePve) -> usize {
    fake.world(|world| world.guests.len())
}

#[tokio::test]
async fn a_login_that_is_not_accepted_any_more() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    fake.fault(Fault::login_expired());
    for (tool, arguments) in reading().into_iter().chain(changing()) {
        fails(&server, tool, arguments, "unauthenticated").await;
    }
}

#[tokio::test]
async fn a_connection_that_breaks() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    fake.fault(Fault::on_all().resets());
    for (tool, arguments) in reading().into_iter().chain(changing()) {
        fails(&server, tool, arguments, "unreachable").await;
    }
}

#[tokio::test]
async fn one_list_that_fails_is_one_gap() {
    let fake = still(Scenario::healthy()).await;
    let server = super::with_checker(&fake);
    let cases = [
        ("pve_health_check", "/cluster/status", "quorum"),
        ("pve_health_check", "/nodes/pve1/services", "services"),
        ("pve_health_check", "/nodes/pve2/tasks", "tasks"),
        ("pve_health_check", "/cluster/ha/status/current", "ha"),
        ("pve_health_check", "/cluster/ceph/status", "ceph"),
        ("pve_health_check", "/nodes/pve1/replication", "replication"),
        ("pve_health_check", "/nodes/pve1/subscription", "subscription"),
        ("pve_health_check", "/nodes", "nodes"),
        ("pve_backup_coverage", "/cluster/backup", "jobs"),
        ("pve_backup_coverage", "/cluster/backup/*/included_volumes", "jobs"),
        ("pve_backup_coverage", "/nodes/pve1/storage/local/content", "backups"),
        ("pve_backup_coverage", "/nodes/pve1/tasks", "tasks"),
        ("pve_capacity_report", "/nodes/pve1/storage/local/rrddata", "growth"),
        ("pve_security_audit", "/cluster/firewall/options", "firewall"),
        ("pve_security_audit", "/nodes/pve1/firewall/options", "firewall"),
        ("pve_security_audit", "/nodes/pve1/qemu/100/config", "guests"),
        ("pve_security_audit", "/access/users", "accounts"),
        ("pve_security_audit", "/access/tfa", "accounts"),
        ("pve_security_audit", "/access/acl", "accounts"),
        ("pve_security_audit", "/nodes/pve1/apt/update", "updates"),
        ("pve_security_audit", "/nodes/pve1/certificates/info", "certificates"),
    ];
    for (tool, path, section) in cases {
        let fault = fake.fault(Fault::on("GET", path).fails(500, "rename failed"));
        let answer = done(&server, tool, json!({})).await;
        assert_eq!(answer["overall"], "incomplete", "{tool} {path}: {answer}");
        assert_eq!(answer["sections"][section], "incomplete", "{tool} {path}: {answer}");
        let missing = answer["unavailable"].as_array().expect("a list");
        assert!(missing.iter().any(|row| row["section"] == section && row["reason"] == "rename failed"), "{answer}");
        fake.clear_fault(fault);
        let answer = done(&server, tool, json!({})).await;
        assert_eq!(answer["overall"], "no_findings", "{tool} without {path}: {answer}");
    }
}

#[tokio::test]
async fn a_node_that_is_down() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    fake.fault(Fault::node_offline("pve2"));
    let health = done(&server, "pve_health_check", json!({})).await;
    assert_eq!(health["overall"], "incomplete", "{health}");
    assert_eq!(
        (&health["findings"][0]["check"], &health["findings"][0]["subject"]),
        (&json!("node_offline"), &json!("pve2"))
    );
    let overview = done(&server, "pve_overview", json!({})).await;
    assert_eq!(overview["nodes"][1]["status"], "offline", "{overview}");
    for (tool, arguments) in [
        ("pve_guest_power", json!({"vmid": 201, "action": "stop"})),
        ("pve_snapshot_guest", json!({"vmid": 201, "snapname": "before"})),
        ("pve_list_guest_snapshots", json!({"vmid": 201})),
        ("pve_provision_lxc", json!({"hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve2"})),
        ("pve_provision_vm_from_template", json!({"template": 9000, "name": "app", "node": "pve2", "full": true})),
    ] {
        fails(&server, tool, arguments, "node_unreachable").await;
    }
}

#[tokio::test]
async fn a_guest_that_is_locked() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    for vmid in [101, 200, 9000] {
        fake.fault(Fault::guest_locked(vmid, "backup"));
    }
    for (tool, arguments) in [
        ("pve_guest_power", json!({"vmid": 101, "action": "start"})),
        ("pve_guest_power", json!({"vmid": 200, "action": "start"})),
        ("pve_snapshot_guest", json!({"vmid": 101, "snapname": "before"})),
        ("pve_provision_vm_from_template", json!({"template": 9000, "name": "app"})),
    ] {
        let reply = call(&server, tool, arguments).await;
        let told = json!(reply.structured);
        assert!(reply.is_error, "{tool}: {told}");
        assert!(matches!(told["code"].as_str(), Some("guest_locked" | "task_failed")), "{tool}: {told}");
        assert!(told["message"].as_str().is_some_and(|message| message.contains("locked")), "{tool}: {told}");
        assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("wait for it")), "{tool}: {told}");
    }
    assert_eq!(guests(&fake), 5);
}

#[tokio::test]
async fn a_cluster_without_quorum() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    fake.fault(Fault::quorum_lost());
    let health = done(&server, "pve_health_check", json!({})).await;
    assert!(
        health["findings"].as_array().is_some_and(|all| all.iter().any(|one| one["check"] == "no_quorum")),
        "{health}"
    );
    for (tool, arguments) in changing() {
        let reply = call(&server, tool, arguments).await;
        let told = json!(reply.structured);
        assert!(reply.is_error, "{tool}: {told}");
        assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("quorum")), "{tool}: {told}");
        assert_eq!(created(&told), Vec::<u64>::new(), "{tool}: {told}");
    }
    assert_eq!(guests(&fake), 5);
}

#[tokio::test]
async fn a_storage_without_room() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    fake.fault(Fault::storage_full("local-lvm"));
    for (tool, arguments, step) in [
        ("pve_provision_lxc", json!({"hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve1"}), "create"),
        ("pve_provision_vm_from_template", json!({"template": 9000, "name": "app", "full": true}), "clone"),
    ] {
        let reply = call(&server, tool, arguments).await;
        let told = json!(reply.structured);
        assert!(reply.is_error, "{tool}: {told}");
        assert_eq!(told["failed_step"], step, "{told}");
        assert_eq!(created(&told).len(), guests(&fake) - 5, "what is left is told: {told}");
    }
}

#[tokio::test]
async fn a_task_that_fails_at_each_step() {
    for (step, path, made) in [("create", "/nodes/pve1/lxc", 0), ("start", "/nodes/pve1/lxc/*/status/start", 1)] {
        let fake = lively(Scenario::cluster()).await;
        fake.fault(Fault::on("POST", path).fails_task("unable to do it"));
        let arguments = json!({"hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve1"});
        let told = fails(&as_root(&fake), "pve_provision_lxc", arguments, "task_failed").await;
        assert_eq!((&told["failed_step"], created(&told).len()), (&json!(step), made), "{told}");
        assert!(told["log"].as_array().is_some_and(|log| !log.is_empty()), "{told}");
        assert!(
            told["steps"].as_array().is_some_and(|steps| steps.iter().any(|one| one["status"] == "failed")),
            "{told}"
        );
        assert_eq!(guests(&fake), 5 + made);
    }
    for (step, verb, path, made) in [
        ("clone", "POST", "/nodes/pve1/qemu/9000/clone", 0),
        ("resize", "PUT", "/nodes/pve1/qemu/*/resize", 1),
        ("start", "POST", "/nodes/pve1/qemu/*/status/start", 1),
    ] {
        let fake = lively(Scenario::cluster()).await;
        fake.fault(Fault::on(verb, path).fails_task("unable to do it"));
        let arguments = json!({"template": 9000, "name": "app", "disk_gib": 9});
        let told = fails(&as_root(&fake), "pve_provision_vm_from_template", arguments, "task_failed").await;
        assert_eq!((&told["failed_step"], created(&told).len()), (&json!(step), made), "{told}");
        assert_eq!(guests(&fake), 5 + made);
    }
    let fake = lively(Scenario::cluster()).await;
    fake.fault(Fault::on("POST", "/nodes/pve1/qemu/101/*").fails_task("unable to do it"));
    fake.fault(Fault::on("POST", "/nodes/pve1/qemu/101/status/*").fails_task("unable to do it"));
    let server = as_root(&fake);
    for (tool, arguments) in [
        ("pve_guest_power", json!({"vmid": 101, "action": "start"})),
        ("pve_snapshot_guest", json!({"vmid": 101, "snapname": "before"})),
    ] {
        fails(&server, tool, arguments, "task_failed").await;
    }
}

#[tokio::test]
async fn warnings_are_no_plain_success() {
    let fake = lively(Scenario::cluster()).await;
    fake.fault(Fault::on("POST", "/nodes/pve1/lxc").warns_task(["disk is slow"]));
    let arguments = json!({"hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve1", "start": false});
    let made = done(&as_root(&fake), "pve_provision_lxc", arguments).await;
    assert_eq!((&made["status"], &made["steps"][1]["status"]), (&json!("warning"), &json!("warning")), "{made}");
    assert!(made["steps"][1]["log"].to_string().contains("disk is slow"), "{made}");
}

#[tokio::test]
async fn an_answer_that_is_lost_leaves_a_guest_that_is_told() {
    let fake = lively(Scenario::cluster()).await;
    fake.fault(Fault::on("POST", "/nodes/pve1/lxc").loses_answer().once());
    let arguments = json!({"hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve1"});
    let reply = call(&as_root(&fake), "pve_provision_lxc", arguments).await;
    let told = json!(reply.structured);
    assert!(reply.is_error, "{told}");
    assert_eq!((&told["failed_step"], created(&told)), (&json!("create"), vec![102]), "{told}");
    assert_eq!(told["created"][0]["incomplete"], true, "{told}");
    assert_eq!(guests(&fake), 6, "once only, and nothing was taken away");
}

#[tokio::test]
async fn an_agent_that_never_answers_is_a_warning() {
    let mut scenario = Scenario::cluster();
    if let Some(template) = scenario.world.guests.get_mut(&9000) {
        template.config.insert("agent".into(), json!("1"));
    }
    let fake = lively(scenario).await;
    let agent = "/nodes/pve1/qemu/*/agent/network-get-interfaces";
    fake.fault(Fault::on("GET", agent).fails(500, "QEMU guest agent is not running\n"));
    let made = done(&as_root(&fake), "pve_provision_vm_from_template", json!({"template": 9000, "name": "app"})).await;
    assert_eq!(made["status"], "warning", "{made}");
    let last = made["steps"].as_array().and_then(|steps| steps.last()).expect("steps");
    assert_eq!((&last["step"], &last["status"]), (&json!("agent"), &json!("warning")), "{made}");
    let found = done(&as_root(&fake), "pve_find_guest", json!({"ip": "198.51.100.9", "node": "pve1"})).await;
    assert_eq!(found["unavailable"][0]["code"], "agent_not_running", "{found}");
}

#[tokio::test]
async fn a_password_shows_in_no_error() {
    const SECRET: &str = "correct horse battery";
    let said = format!("cannot use '{SECRET}'");
    let cases = [
        ("POST", "/nodes/pve1/lxc", "pve_provision_lxc", "create"),
        ("PUT", "/nodes/pve1/qemu/*/config", "pve_provision_vm_from_template", "configure"),
    ];
    for (verb, path, tool, step) in cases {
        for fault in [Fault::on(verb, path).fails(500, &said), Fault::on(verb, path).refuses("password", &said)] {
            let fake = lively(Scenario::cluster()).await;
            fake.fault(fault);
            let arguments = match tool {
                "pve_provision_lxc" => {
                    json!({"hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve1", "password": SECRET})
                }
                _ => json!({"template": 9000, "name": "app", "cipassword": SECRET}),
            };
            let reply = call(&as_root(&fake), tool, arguments).await;
            assert_eq!(reply.structured["failed_step"], step, "{reply:?}");
            assert!(!format!("{reply:?}").contains("horse"), "{reply:?}");
        }
    }
}
