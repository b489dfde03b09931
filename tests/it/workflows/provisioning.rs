//! New guests in steps: what was done, what was created, what remains; nothing deleted, nothing taken over.

use fake_pve::world::Volume;
use fake_pve::{FakePve, Scenario};
use serde_json::{Value, json};

use super::{as_reader, as_root, lively, still, text};
use crate::served::{self, call, done, fails};

const TEMPLATE: &str = "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst";

/// The default cluster; its template has an agent and a cloud-init drive.
fn with_template() -> Scenario {
    let mut scenario = Scenario::cluster();
    let drive = Volume {
        volid: "local-lvm:vm-9000-cloudinit".into(),
        content: "images".into(),
        format: "raw".into(),
        size: 4 << 20,
        vmid: Some(9000),
        ..Volume::default()
    };
    scenario.world.put_volume("pve1", drive);
    if let Some(template) = scenario.world.guests.get_mut(&9000) {
        template.config.insert("agent".into(), json!("1"));
        template.config.insert("ide2".into(), json!("local-lvm:vm-9000-cloudinit,media=cdrom"));
    }
    scenario
}

fn statuses(answer: &Value) -> Vec<String> {
    let steps = answer["steps"].as_array().expect("steps");
    let told =
        |step: &Value| format!("{} {}", step["step"].as_str().unwrap_or("?"), step["status"].as_str().unwrap_or("?"));
    steps.iter().map(told).collect()
}

fn config(fake: &FakePve, vmid: u32, key: &str) -> Option<String> {
    fake.world(|world| world.guests.get(&vmid).and_then(|guest| guest.option(key)))
}

/// Nothing was ever deleted.
fn deleted_nothing(fake: &FakePve) {
    assert!(fake.requests().iter().all(|entry| entry.verb != "DELETE"), "{:?}", fake.requests());
}

#[tokio::test]
async fn a_container_from_a_template_to_its_address() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    let arguments = json!({
        "hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve1", "memory": "1024", "cores": 2, "disk_gib": 6,
        "tags": "docs", "nesting": true, "password": "correct horse battery", "firewall": "1",
        "ssh_public_keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me"],
    });
    let made = done(&server, "pve_provision_lxc", arguments).await;
    assert_eq!(statuses(&made), ["template done", "create done", "start done", "address done"], "{made}");
    assert_eq!((&made["status"], &made["vmid"], &made["remaining"]), (&json!("done"), &json!(102), &json!([])));
    assert_eq!(made["created"][0]["vmid"], 102, "{made}");
    assert!(made["ip"].as_str().is_some_and(|ip| ip.starts_with("10.")), "{made}");
    assert!(!made.to_string().contains("correct horse"), "the password shows nowhere");
    assert_eq!(config(&fake, 102, "unprivileged").as_deref(), Some("1"));
    assert_eq!(config(&fake, 102, "memory").as_deref(), Some("1024"));
    assert_eq!(config(&fake, 102, "features").as_deref(), Some("nesting=1"));
    let net = config(&fake, 102, "net0").expect("a network device");
    assert!(net.contains("bridge=vmbr0") && net.contains("firewall=1") && net.contains("ip=dhcp"), "{net}");
    assert!(config(&fake, 102, "rootfs").is_some_and(|disk| disk.contains("size=6G")));
    deleted_nothing(&fake);
}

#[tokio::test]
async fn a_template_that_is_not_there_is_downloaded() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    let arguments = json!({"hostname": "alma", "ostemplate": "almalinux-9", "node": "pve2", "start": false});
    let made = done(&server, "pve_provision_lxc", arguments.clone()).await;
    assert_eq!(statuses(&made), ["template done", "create done", "start skipped", "address skipped"], "{made}");
    assert!(
        made["created"][0]["volid"].as_str().is_some_and(|volid| volid.starts_with("local:vztmpl/almalinux-9")),
        "{made}"
    );
    let again = done(&server, "pve_provision_lxc", arguments).await;
    assert_eq!(again["created"].as_array().map(Vec::len), Some(1), "it is there now: {again}");
    let unknown = json!({"hostname": "x", "ostemplate": "windows-95", "node": "pve1"});
    let refused = fails(&server, "pve_provision_lxc", unknown, "not_found").await;
    assert_eq!((&refused["failed_step"], &refused["created"]), (&json!("template"), &json!([])), "{refused}");
}

#[tokio::test]
async fn a_vm_from_a_template_to_its_agent() {
    let fake = lively(with_template()).await;
    let server = as_root(&fake);
    let arguments = json!({
        "template": 9000, "name": "app", "cores": 2, "memory": 2048, "disk_gib": 16, "ip": "192.0.2.77/24",
        "gw": "192.0.2.1", "ciuser": "admin", "cipassword": "correct horse battery", "tags": "app",
    });
    let made = done(&server, "pve_provision_vm_from_template", arguments).await;
    let all = ["template done", "clone done", "configure done", "resize done", "start done", "agent done"];
    assert_eq!(statuses(&made), all, "{made}");
    assert_eq!((&made["ip"], &made["vmid"]), (&json!("192.0.2.77"), &json!(102)), "{made}");
    assert!(!made.to_string().contains("correct horse"), "the password shows nowhere");
    assert_eq!(config(&fake, 102, "ipconfig0").as_deref(), Some("ip=192.0.2.77/24,gw=192.0.2.1"));
    assert!(config(&fake, 102, "scsi0").is_some_and(|disk| disk.contains("size=16G")));
    let plain = json!({"template": 9000, "name": "plain", "storage": "local-lvm", "start": 0});
    let plain = done(&server, "pve_provision_vm_from_template", plain).await;
    let all = ["template done", "clone done", "configure skipped", "resize skipped", "start skipped", "agent skipped"];
    assert_eq!(statuses(&plain), all, "{plain}");
    deleted_nothing(&fake);
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_before_anything_is_made() {
    let fake = lively(with_template()).await;
    let server = as_root(&fake);
    let vm = "pve_provision_vm_from_template";
    let lxc = "pve_provision_lxc";
    let cases = [
        (vm, json!({"template": 101, "name": "x"}), "bad_argument"),
        (vm, json!({"template": 200, "name": "x"}), "bad_argument"),
        (vm, json!({"template": 999, "name": "x"}), "not_found"),
        (vm, json!({"template": 9000, "name": "x", "disk_gib": 4}), "bad_argument"),
        (vm, json!({"template": 9000, "name": "x", "storage": "local-lvm", "full": false}), "bad_argument"),
        (vm, json!({"template": 9000, "name": "x", "gw": "192.0.2.1"}), "bad_argument"),
        (vm, json!({"template": 9000, "name": "x", "node": "pve9"}), "not_found"),
        (vm, json!({"template": 9000, "name": "not a name"}), "bad_argument"),
        (vm, json!({"template": 9000, "name": "taken", "vmid": 100}), "conflict"),
        (lxc, json!({"hostname": "x", "ostemplate": TEMPLATE, "node": "pve1", "vmid": 200}), "conflict"),
        (lxc, json!({"hostname": "x", "ostemplate": TEMPLATE}), "bad_argument"),
        (lxc, json!({"hostname": "x", "ostemplate": TEMPLATE, "node": "pve1", "storage": "local"}), "bad_argument"),
        (lxc, json!({"hostname": "x", "ostemplate": TEMPLATE, "node": "pve1", "gw": "192.0.2.1"}), "bad_argument"),
        (
            lxc,
            json!({"hostname": "x", "ostemplate": TEMPLATE, "node": "pve1", "bridge": "vmbr0,ip=dhcp"}),
            "bad_argument",
        ),
        (lxc, json!({"hostname": "x", "ostemplate": "local:vztmpl/none.tar.zst", "node": "pve1"}), "not_found"),
        (lxc, json!({"hostname": "x", "osttemplate": TEMPLATE, "node": "pve1"}), "bad_argument"),
    ];
    for (tool, arguments, code) in cases {
        fails(&server, tool, arguments, code).await;
    }
    assert_eq!(fake.world(|world| world.guests.len()), 5, "nothing was made");
    assert!(fake.requests().iter().all(|entry| entry.verb == "GET" || entry.status >= 400), "{:?}", fake.requests());
}

#[tokio::test]
async fn a_dry_run_answers_the_plan() {
    let fake = lively(with_template()).await;
    let server = as_root(&fake);
    let vm = json!({"template": 9000, "name": "app", "memory": 2048, "cipassword": "correct horse", "dry_run": true});
    let lxc =
        json!({"hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve1", "password": "correct horse", "dry_run": 1});
    for (tool, arguments, requests) in [("pve_provision_vm_from_template", vm, 3), ("pve_provision_lxc", lxc, 2)] {
        let plan = done(&server, tool, arguments.clone()).await;
        assert_eq!(
            (&plan["dry_run"], &plan["status"], &plan["created"]),
            (&json!(true), &json!("planned"), &json!([]))
        );
        assert_eq!(plan["plan"].as_array().map(Vec::len), Some(requests), "{plan}");
        assert!(!plan.to_string().contains("correct horse"), "{plan}");
        insta::assert_snapshot!(format!("plan_of_{tool}"), text(&server, tool, arguments).await);
    }
    assert!(fake.requests().iter().all(|entry| entry.verb == "GET"), "{:?}", fake.requests());
}

#[tokio::test]
async fn a_step_that_takes_long_is_still_running_and_says_what_remains() {
    let fake = still(with_template()).await;
    let server = as_root(&fake);
    let arguments = json!({"template": 9000, "name": "app", "full": true, "wait_seconds": 0});
    let begun = done(&server, "pve_provision_vm_from_template", arguments).await;
    assert_eq!(begun["status"], "still_running", "{begun}");
    assert_eq!(begun["remaining"], json!(["clone", "configure", "resize", "start", "agent"]), "{begun}");
    assert!(begun["steps"][1]["upid"].as_str().is_some_and(|upid| upid.starts_with("UPID:")), "{begun}");
    assert!(begun["hint"].as_str().is_some_and(|hint| hint.contains("pve_wait_task")), "{begun}");
    let arguments = json!({"hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve1", "wait_seconds": 0});
    let begun = done(&server, "pve_provision_lxc", arguments).await;
    assert_eq!(
        (&begun["status"], &begun["remaining"]),
        (&json!("still_running"), &json!(["create", "start", "address"]))
    );
}

#[tokio::test]
async fn a_step_that_fails_says_what_was_made() {
    let fake = lively(with_template()).await;
    let server = as_root(&fake);
    let arguments = json!({"template": 9000, "name": "app", "memory": 2048, "cores": 64, "start": true});
    let failed = call(&server, "pve_provision_vm_from_template", arguments).await;
    let failed = json!(failed.structured);
    assert_eq!((&failed["code"], &failed["failed_step"]), (&json!("task_failed"), &json!("start")), "{failed}");
    assert_eq!(failed["created"][0]["vmid"], 102, "{failed}");
    assert_eq!(failed["remaining"], json!(["start", "agent"]), "{failed}");
    assert!(fake.world(|world| world.guests.contains_key(&102)), "it is left as it is");
    deleted_nothing(&fake);
}

#[tokio::test]
async fn refusals_of_rights_gates_and_nodes() {
    let fake = lively(with_template()).await;
    let vm = json!({"template": 9000, "name": "app"});
    let lxc = json!({"hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve1"});
    let refused = fails(&as_reader(&fake), "pve_provision_vm_from_template", vm, "forbidden").await;
    assert_eq!(refused["failed_step"], "clone", "{refused}");
    fails(&as_reader(&fake), "pve_provision_lxc", lxc.clone(), "forbidden").await;
    let access = pvemcp::config::Access { writes: true, ..Default::default() };
    let connection = super::connection(&fake, super::root_token(&fake));
    let server = served::server(served::settings(connection, access));
    let mut privileged = lxc.clone();
    privileged["unprivileged"] = json!(false);
    let refused = fails(&server, "pve_provision_lxc", privileged, "gate_closed").await;
    assert!(refused["hint"].as_str().is_some_and(|hint| hint.contains("PROXMOX_ALLOW_ELEVATED")), "{refused}");
    fake.world(|world| {
        if let Some(node) = world.nodes.get_mut("pve2") {
            node.online = false;
        }
    });
    let mut away = lxc;
    away["node"] = json!("pve2");
    fails(&server, "pve_provision_lxc", away, "node_unreachable").await;
    assert_eq!(fake.world(|world| world.guests.len()), 5, "nothing was made");
}

#[tokio::test]
async fn two_at_once_get_a_number_each() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    let one = |name: &str| json!({"hostname": name, "ostemplate": TEMPLATE, "node": "pve1", "start": false});
    let made = tokio::join!(
        done(&server, "pve_provision_lxc", one("first")),
        done(&server, "pve_provision_lxc", one("second")),
        done(&server, "pve_provision_lxc", one("third")),
    );
    let mut numbers = [made.0, made.1, made.2].map(|answer| answer["vmid"].as_u64().expect("a number"));
    numbers.sort_unstable();
    assert_eq!(numbers, [102, 103, 104]);
}
