//! Guests go on and off: what is refused at once, what fails in the task, what is different afterwards.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::task::{log, run, status};

async fn cluster(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

async fn current(api: &Api, guest: &str) -> Value {
    api.get(&format!("/nodes/pve1/{guest}/status/current")).await.data().clone()
}

#[tokio::test]
async fn a_machine_from_start_to_stop() {
    let (_pve, api) = cluster(Scenario::one_vm()).await;
    let off = current(&api, "qemu/100").await;
    let expected = json!({
        "cpu": 0, "cpus": 1, "disk": 0, "ha": {"managed": 0}, "maxdisk": 8_589_934_592u64, "maxmem": 536_870_912,
        "mem": 0, "memhost": 0, "name": "one", "netin": 0, "netout": 0, "qmpstatus": "stopped", "status": "stopped",
        "uptime": 0, "vmid": 100,
    });
    assert_eq!(off, expected);
    let upid = run(&api, "/nodes/pve1/qemu/100/status/start", json!({}), "OK").await;
    assert!(upid.contains(":qmstart:100:root@pam:"), "{upid}");
    assert_eq!(log(&api, &upid).await, ["TASK OK"]);
    let on = current(&api, "qemu/100").await;
    assert_eq!(
        (&on["status"], &on["qmpstatus"], &on["running-qemu"]),
        (&json!("running"), &json!("running"), &json!("11.0.0"))
    );
    for key in ["pid", "balloon", "ballooninfo", "blockstat", "nics", "proxmox-support", "running-machine", "freemem"] {
        assert!(!on[key].is_null(), "{key}");
    }
    assert!(on["nics"]["tap100i0"].is_object() && on["blockstat"]["scsi0"].is_object());
    run(&api, "/nodes/pve1/qemu/100/status/start", json!({}), "VM 100 already running").await;
    run(&api, "/nodes/pve1/qemu/100/status/suspend", json!({}), "OK").await;
    let paused = current(&api, "qemu/100").await;
    assert_eq!((&paused["status"], &paused["qmpstatus"]), (&json!("running"), &json!("paused")));
    let got = api.post("/nodes/pve1/qemu/100/status/shutdown", json!({})).await;
    assert_eq!(got.refusal().1, "VM is paused - cannot shutdown");
    run(&api, "/nodes/pve1/qemu/100/status/resume", json!({}), "OK").await;
    run(&api, "/nodes/pve1/qemu/100/status/reset", json!({}), "OK").await;
    run(&api, "/nodes/pve1/qemu/100/status/reboot", json!({}), "OK").await;
    assert_eq!(current(&api, "qemu/100").await["status"], "running");
    let tasks = api.get("/nodes/pve1/tasks?source=all&typefilter=qmstart").await;
    assert_eq!(tasks.data().as_array().map(Vec::len), Some(3), "the event daemon starts it again, in its own task");
    run(&api, "/nodes/pve1/qemu/100/status/shutdown", json!({}), "OK").await;
    assert_eq!(current(&api, "qemu/100").await["status"], "stopped");
    run(&api, "/nodes/pve1/qemu/100/status/stop", json!({}), "OK").await;
    for (what, text) in
        [("suspend", "VM 100 not running"), ("reset", "VM 100 not running"), ("reboot", "VM 100 not running")]
    {
        let got = api.post(&format!("/nodes/pve1/qemu/100/status/{what}"), json!({})).await;
        assert_eq!((got.status, got.refusal().1), (500, text));
    }
}

#[tokio::test]
async fn a_container_refuses_at_once() {
    let (_pve, api) = cluster(Scenario::one_ct()).await;
    let off = current(&api, "lxc/200").await;
    assert_eq!(
        (&off["type"], &off["maxdisk"], &off["maxswap"]),
        (&json!("lxc"), &json!(4u64 << 30), &json!(512u64 << 20))
    );
    for (what, text) in
        [("stop", "CT 200 not running"), ("shutdown", "CT 200 not running"), ("reboot", "VM 200 not running")]
    {
        let got = api.post(&format!("/nodes/pve1/lxc/200/status/{what}"), json!({})).await;
        assert_eq!((got.status, got.refusal().1), (500, text));
    }
    assert_eq!(api.get("/nodes/pve1/lxc/200/interfaces").await.data(), &json!(null));
    run(&api, "/nodes/pve1/lxc/200/status/start", json!({}), "OK").await;
    let got = api.post("/nodes/pve1/lxc/200/status/start", json!({})).await;
    assert_eq!(got.refusal().1, "CT 200 already running");
    let on = current(&api, "lxc/200").await;
    assert_eq!(on["pressurecpusome"], "0.00");
    assert!(on["disk"].as_u64() > Some(0), "{on}");
    let interfaces = api.get("/nodes/pve1/lxc/200/interfaces").await;
    let eth0 = &interfaces.data()[1];
    assert_eq!((&eth0["name"], &eth0["ip-addresses"][0]["ip-address-type"]), (&json!("eth0"), &json!("inet")));
    assert_eq!(eth0["inet"], "10.10.1.20/16");
    run(&api, "/nodes/pve1/lxc/200/status/reboot", json!({}), "OK").await;
    run(&api, "/nodes/pve1/lxc/200/status/suspend", json!({}), "OK").await;
    assert_eq!(current(&api, "lxc/200").await["status"], "stopped");
    run(&api, "/nodes/pve1/lxc/200/status/resume", json!({}), "OK").await;
    run(&api, "/nodes/pve1/lxc/200/status/stop", json!({}), "OK").await;
    let text = "command 'lxc-checkpoint -n 200 -r --foreground -D /var/lib/vz/dump' failed: exit code 1";
    run(&api, "/nodes/pve1/lxc/200/status/resume", json!({}), text).await;
}

#[tokio::test]
async fn what_keeps_a_guest_from_starting() {
    let (pve, api) = cluster(Scenario::one_vm().ct(200, "pve1", json!({}))).await;
    let start = "/nodes/pve1/qemu/100/status/start";
    let with = |key: &'static str, value: Value| {
        pve.world(|world| {
            let guest = world.guests.get_mut(&100).expect("the guest");
            guest.config.insert(key.into(), value);
        });
    };
    let without =
        |key: &'static str| pve.world(|world| world.guests.get_mut(&100).expect("the guest").config.remove(key));
    let text = "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist";
    run(&api, "/nodes/pve1/qemu/999/status/start", json!({}), text).await;
    let text = "unable to find configuration file for VM 999 on node 'pve1'";
    run(&api, "/nodes/pve1/qemu/999/status/stop", json!({}), text).await;
    with("lock", json!("backup"));
    run(&api, start, json!({}), "VM is locked (backup)").await;
    without("lock");
    with("template", json!(1));
    run(&api, start, json!({}), "you can't start a vm if it's a template").await;
    without("template");
    with("cores", json!(9));
    run(&api, start, json!({}), "MAX 8 vcpus allowed per VM on this node").await;
    with("cores", json!(1));
    with("net1", json!("virtio=BC:24:11:00:00:02,bridge=vmbr7"));
    run(&api, start, json!({}), "bridge 'vmbr7' does not exist").await;
    without("net1");
    with("scsi1", json!("local-lvm:vm-100-disk-9,size=1G"));
    run(&api, start, json!({}), "no such logical volume pve/vm-100-disk-9").await;
    without("scsi1");
    run(&api, start, json!({"machine": "viommu=intel"}), "unable to determine machine base type 'viommu=intel+pve0'")
        .await;
    pve.world(|world| world.no_quorum = true);
    let got = api.post(start, json!({})).await;
    assert_eq!(got.refusal().1, "cluster not ready - no quorum?");
    pve.world(|world| {
        world.no_quorum = false;
        world.take_volume("pve1", "local-lvm:vm-200-disk-0");
    });
    let upid = run(&api, "/nodes/pve1/lxc/200/status/start", json!({}), "startup for container '200' failed").await;
    assert_eq!(log(&api, &upid).await[0], "no such logical volume pve/vm-200-disk-0");
    let token = Api::root_token(&pve);
    let got = token.post(start, json!({"skiplock": 1})).await;
    assert_eq!(got.refusal().2, &json!({"skiplock": "Only root may use this option."}));
}

#[tokio::test]
async fn pending_changes_wait_for_a_stop() {
    let (pve, api) = cluster(Scenario::one_vm().running(100)).await;
    pve.world(|world| {
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.pending.insert("memory".into(), json!("2048"));
        guest.pending_delete.insert("scsi0".into(), false);
    });
    run(&api, "/nodes/pve1/qemu/100/status/reset", json!({}), "OK").await;
    assert_eq!(current(&api, "qemu/100").await["maxmem"], 512u64 << 20);
    run(&api, "/nodes/pve1/qemu/100/status/reboot", json!({}), "OK").await;
    assert_eq!(current(&api, "qemu/100").await["maxmem"], 2048u64 << 20);
    pve.world(|world| assert_eq!(world.guests[&100].option("unused0").as_deref(), Some("local-lvm:vm-100-disk-0")));
}

#[tokio::test]
async fn a_deaf_guest_is_killed_only_when_told_so() {
    let (pve, api) = cluster(Scenario::one_vm().running(100).ct(200, "pve1", json!({})).running(200)).await;
    pve.world(|world| {
        for guest in world.guests.values_mut() {
            guest.state.insert("ignores-shutdown".into(), json!(true));
        }
    });
    let shutdown = "/nodes/pve1/qemu/100/status/shutdown";
    run(&api, shutdown, json!({"timeout": 5}), "VM quit/powerdown failed - got timeout").await;
    let upid = run(&api, "/nodes/pve1/lxc/200/status/shutdown", json!({}), "container did not stop").await;
    let line = "command 'lxc-stop -n 200 --nokill --timeout 60' failed: exit code 1";
    assert_eq!(log(&api, &upid).await[0], line);
    assert_eq!(current(&api, "qemu/100").await["status"], "running");
    let upid = run(&api, shutdown, json!({"timeout": 5, "forceStop": 1}), "OK").await;
    assert_eq!(log(&api, &upid).await[0], "VM still running - terminating now with SIGTERM");
    assert_eq!(current(&api, "qemu/100").await["status"], "stopped");
}

#[tokio::test]
async fn a_stop_waits_for_a_shutdown_unless_it_overrules_it() {
    let pve = FakePve::builder()
        .scenario(Scenario::one_vm().running(100))
        .clock(Mode::Manual)
        .start()
        .await
        .expect("a cluster");
    let api = Api::root(&pve).await;
    pve.world(|world| {
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.state.insert("ignores-shutdown".into(), json!(true));
    });
    let shutdown = api.post("/nodes/pve1/qemu/100/status/shutdown", json!({})).await;
    let shutdown = shutdown.data().as_str().expect("a UPID").to_string();
    let stop = api.post("/nodes/pve1/qemu/100/status/stop", json!({})).await;
    let stop = stop.data().as_str().expect("a UPID").to_string();
    pve.advance(Duration::from_secs(11));
    let text = "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout";
    assert_eq!(status(&api, &stop).await, text);
    let stop = api.post("/nodes/pve1/qemu/100/status/stop", json!({"overrule-shutdown": 1})).await;
    let stop = stop.data().as_str().expect("a UPID").to_string();
    pve.advance(Duration::from_secs(1));
    assert_eq!(status(&api, &stop).await, "OK");
    assert_eq!(status(&api, &shutdown).await, "received interrupt");
    assert_eq!(log(&api, &stop).await[0], format!("overruled qmshutdown tasks: {shutdown}"));
    assert_eq!(current(&api, "qemu/100").await["status"], "stopped");
}

#[tokio::test]
async fn suspended_to_disk_and_back() {
    let (pve, api) = cluster(Scenario::one_vm().running(100)).await;
    let upid = run(&api, "/nodes/pve1/qemu/100/status/suspend", json!({"todisk": 1}), "OK").await;
    assert_eq!(log(&api, &upid).await, ["State saved, quitting", "TASK OK"]);
    let off = current(&api, "qemu/100").await;
    assert_eq!((&off["status"], &off["lock"]), (&json!("stopped"), &json!("suspended")));
    let saved = pve.world(|world| world.guests[&100].option("vmstate")).expect("a saved state");
    assert!(saved.starts_with("local-lvm:vm-100-state-suspend-"), "{saved}");
    assert!(pve.world(|world| world.volume("pve1", &saved).is_some()));
    let upid = run(&api, "/nodes/pve1/qemu/100/status/start", json!({}), "OK").await;
    let lines = log(&api, &upid).await;
    assert_eq!((lines[0].as_str(), lines[3].as_str()), ("Resuming suspended VM", "Resumed VM, removing state"));
    assert_eq!(lines[2], format!("activating and using '{saved}' as vmstate"));
    let on = current(&api, "qemu/100").await;
    assert_eq!((&on["status"], &on["lock"]), (&json!("running"), &json!(null)));
    assert!(pve.world(|world| world.volume("pve1", &saved).is_none()));
}

#[tokio::test]
async fn managed_guests_are_left_to_the_manager() {
    let (_pve, api) = cluster(Scenario::one_vm()).await;
    assert_eq!(api.post("/cluster/ha/resources", json!({"sid": "vm:100", "state": "stopped"})).await.status, 200);
    assert_eq!(current(&api, "qemu/100").await["ha"]["managed"], 1);
    let upid = run(&api, "/nodes/pve1/qemu/100/status/start", json!({}), "OK").await;
    assert!(upid.contains(":hastart:100:"), "{upid}");
    assert_eq!(log(&api, &upid).await, ["Requesting HA start for VM 100", "TASK OK"]);
    // The manager acts some rounds later; in automatic time a look at the guest waits for it.
    let on = current(&api, "qemu/100").await;
    assert_eq!((&on["status"], &on["ha"]["state"]), (&json!("running"), &json!("started")));
    let tasks = api.get("/nodes/pve1/tasks?source=all&typefilter=qmstart").await;
    let real = tasks.data()[0]["upid"].as_str().expect("the agent's task").to_string();
    assert_eq!(log(&api, &real).await[0], "task started by HA resource agent");
    let got = api.post("/nodes/pve1/qemu/100/status/suspend", json!({"todisk": 1})).await;
    assert_eq!(got.refusal().1, "Cannot suspend HA managed VM to disk");
    let got = api.post("/nodes/pve1/qemu/100/status/stop", json!({"overrule-shutdown": 1})).await;
    assert_eq!(got.refusal().2, &json!({"overrule-shutdown": "Not applicable for HA resources."}));
    let upid = run(&api, "/nodes/pve1/qemu/100/status/stop", json!({}), "OK").await;
    assert!(upid.contains(":hastop:100:"), "{upid}");
    assert_eq!(api.get("/cluster/ha/resources/vm:100").await.data()["state"], "stopped");
}

#[tokio::test]
async fn the_index_is_that_of_proxmox() {
    let (_pve, api) = cluster(Scenario::one_vm().ct(200, "pve1", json!({}))).await;
    let names = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(|item| item["subdir"].as_str().map(str::to_string)).collect()
    };
    let vm = api.get("/nodes/pve1/qemu/100/status").await;
    assert_eq!(names(vm.data()), ["current", "start", "stop", "reset", "shutdown", "suspend", "reboot"]);
    let ct = api.get("/nodes/pve1/lxc/200/status").await;
    assert_eq!(names(ct.data()), ["current", "start", "stop", "shutdown", "reboot", "migrate"]);
    assert_eq!(api.get("/nodes/pve1/qemu/999/status").await.status, 500);
}
