//! Faults on demand, as clients meet them.

use std::time::Duration;

use fake_pve::{FakePve, Fault, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::raw::{Connection, Reply};
use crate::task::{log, run, status, upid};

const START: &str = "/nodes/pve1/qemu/100/status/start";
const CONFIG: &str = "/nodes/pve1/qemu/100/config";

async fn one_vm() -> (FakePve, Api) {
    with(Scenario::one_vm()).await
}

async fn with(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    (pve, api)
}

#[tokio::test]
async fn a_call_fails_as_often_as_it_should_and_changes_nothing() {
    let (pve, api) = one_vm().await;
    pve.fault(Fault::on("PUT", "/nodes/*/qemu/*/config").fails(500, "rename failed: No space left\nmore").times(2));
    for _ in 0..2 {
        let got = api.put(CONFIG, json!({"name": "two"})).await;
        assert_eq!((got.status, got.reason.as_str()), (500, "rename failed: No space left"));
        assert_eq!(got.json["message"], "rename failed: No space left\nmore\n");
        assert_eq!(got.json["data"], Value::Null);
    }
    assert_eq!(pve.world(|world| world.guests[&100].name()), "one");
    assert!(pve.faults().is_empty());
    api.put(CONFIG, json!({"name": "two"})).await.data();
    assert_eq!(pve.world(|world| world.guests[&100].name()), "two");
}

#[tokio::test]
async fn parameters_are_refused_in_verifications_words() {
    let (pve, api) = one_vm().await;
    let id = pve.fault(Fault::on("PUT", CONFIG).refuses("name", "too dull").refuses("memory", "too little"));
    let got = api.put(CONFIG, json!({"name": "two"})).await;
    let errors = json!({"name": "too dull", "memory": "too little"});
    assert_eq!(got.refusal(), (400, "Parameter verification failed.", &errors));
    assert_eq!(api.get(CONFIG).await.status, 200, "the verb decides too");
    assert!(pve.clear_fault(id) && !pve.clear_fault(id));
    api.put(CONFIG, json!({"name": "two"})).await.data();
    pve.fault(Fault::on("GET", "/version").fails(500, "long story").reason("short"));
    let got = api.get("/version").await;
    assert_eq!((got.reason.as_str(), got.refusal().1), ("short", "long story"));
}

#[tokio::test]
async fn permissions_and_parameters_come_before_a_failing_call() {
    let (pve, api) = with(Scenario::one_vm().user("reader@pve", "reader-secret", "/", "PVEAuditor")).await;
    pve.fault(Fault::on("POST", START).fails(500, "no").once());
    let reader = Api::login(&pve, "reader@pve", "reader-secret").await;
    assert_eq!(reader.post(START, json!({})).await.status, 403);
    assert_eq!(api.post(START, json!({"timeout": "soon"})).await.status, 400);
    assert_eq!(api.post(START, json!({})).await.refusal().1, "no");
}

#[tokio::test]
async fn a_task_fails_at_its_end_with_its_work_undone() {
    let (pve, api) = one_vm().await;
    pve.fault(Fault::on("POST", START).fails_task("start failed: QEMU exited with code 1").once());
    let task = upid(&api.post(START, json!({})).await);
    assert_eq!(status(&api, &task).await, "");
    pve.advance(Duration::from_secs(3600));
    assert_eq!(status(&api, &task).await, "start failed: QEMU exited with code 1");
    assert_eq!(
        log(&api, &task).await.last().map(String::as_str),
        Some("TASK ERROR: start failed: QEMU exited with code 1")
    );
    assert_eq!(power(&api).await, "stopped");
    let task = upid(&api.post(START, json!({})).await);
    pve.advance(Duration::from_secs(3600));
    assert_eq!((status(&api, &task).await.as_str(), power(&api).await), ("OK", json!("running")));
}

async fn power(api: &Api) -> Value {
    api.get("/nodes/pve1/qemu/100/status/current").await.data()["status"].clone()
}

#[tokio::test]
async fn failing_clones_leave_nothing_behind() {
    let pve = FakePve::builder().scenario(Scenario::cluster()).start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    pve.fault(Fault::on("POST", "/**/clone").fails_task("clone failed: copy failed").once());
    let before = pve.world(|world| (world.guests.clone(), world.volumes.clone()));
    let clone = json!({"newid": 300, "full": 1});
    run(&api, "/nodes/pve1/qemu/9000/clone", clone.clone(), "clone failed: copy failed").await;
    assert_eq!(pve.world(|world| (world.guests.clone(), world.volumes.clone())), before);
    run(&api, "/nodes/pve1/qemu/9000/clone", clone, "OK").await;
    assert!(pve.world(|world| world.guests.contains_key(&300)));
}

#[tokio::test]
async fn a_task_warns_and_does_its_work() {
    let pve = FakePve::builder().scenario(Scenario::one_vm()).start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    pve.fault(Fault::on("POST", START).warns_task(["no EFI disk", "old machine type"]));
    let task = run(&api, START, json!({}), "WARNINGS: 2").await;
    let lines = log(&api, &task).await;
    for line in ["WARN: no EFI disk", "WARN: old machine type", "TASK WARNINGS: 2"] {
        assert!(lines.iter().any(|found| found == line), "{lines:?}");
    }
    assert!(pve.world(|world| world.guests[&100].runs()));
}

#[tokio::test]
async fn a_call_that_starts_no_task_does_not_spend_a_tasks_fault() {
    let (pve, api) = one_vm().await;
    pve.fault(Fault::on_all().fails_task("broken").once());
    api.get("/version").await.data();
    api.put(CONFIG, json!({"name": "two"})).await.data();
    assert_eq!(pve.faults().len(), 1);
    upid(&api.post(START, json!({})).await);
    assert_eq!(pve.faults().len(), 0);
}

#[tokio::test]
async fn answers_are_slow_in_virtual_and_in_real_time() {
    let (pve, api) = one_vm().await;
    pve.fault(Fault::on("GET", "/version").delays(Duration::from_secs(45)).once());
    let before = pve.now();
    api.get("/version").await.data();
    assert_eq!(pve.now(), before + 45);
    pve.fault(Fault::on("GET", "/version").stalls(Duration::from_secs(3600)).once());
    let impatient = api.http.get(api.at("/version")).timeout(Duration::from_millis(50));
    #[expect(clippy::disallowed_methods, reason = "no answer is expected")]
    let error = impatient.send().await.expect_err("no answer in time");
    assert!(error.is_timeout(), "{error}");
    api.get("/version").await.data();
}

#[tokio::test]
async fn connections_are_reset_before_the_call_and_after_it() {
    let (pve, api) = one_vm().await;
    let put = |name: &str| {
        let body = format!("name={name}");
        format!(
            "PUT /api2/json{CONFIG} HTTP/1.1\r\nAuthorization: PVEAPIToken={}\r\nContent-Length: {}\r\n\r\n{body}",
            pve.token(),
            body.len()
        )
    };
    pve.fault(Fault::on("PUT", CONFIG).resets().once());
    let reply = Connection::open(&pve).await.exchange(put("two").as_bytes()).await;
    assert_eq!((reply, pve.world(|world| world.guests[&100].name())), (Reply::default(), "one".into()));

    pve.fault(Fault::on("PUT", CONFIG).loses_answer().once());
    let reply = Connection::open(&pve).await.exchange(put("two").as_bytes()).await;
    assert_eq!((reply, pve.world(|world| world.guests[&100].name())), (Reply::default(), "two".into()));

    pve.fault(Fault::on("GET", "/nodes/pve1/services").cuts_body().once());
    let get =
        format!("GET /api2/json/nodes/pve1/services HTTP/1.1\r\nAuthorization: PVEAPIToken={}\r\n\r\n", pve.token());
    let reply = Connection::open(&pve).await.exchange(get.as_bytes()).await;
    let announced: usize = reply.all("content-length")[0].parse().expect("a length");
    assert_eq!(reply.line, "HTTP/1.1 200 OK");
    assert_eq!(reply.body.len(), announced / 2);
    api.get("/nodes/pve1/services").await.data();
}

#[tokio::test]
async fn a_node_is_down_for_calls_and_in_lists_and_comes_back() {
    let pve = FakePve::builder().clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    pve.fault(Fault::node_offline("pve2").times(2));
    for verb in 0..2 {
        let nodes = api.get("/nodes").await;
        let row = nodes.data().as_array().into_iter().flatten().find(|row| row["node"] == "pve2").cloned();
        assert_eq!(row.expect("a node")["status"], "offline");
        let resources = api.get("/cluster/resources?type=vm").await;
        let guest = resources.data().as_array().into_iter().flatten().find(|row| row["vmid"] == 201).cloned();
        assert_eq!(guest.expect("a guest")["status"], "unknown");
        let got = match verb {
            0 => api.get("/nodes/pve2/status").await,
            _ => api.post("/nodes/pve2/lxc/201/status/start", json!({})).await,
        };
        assert_eq!((got.status, got.reason.as_str(), got.body.as_str()), (595, "No route to host", ""));
    }
    api.get("/nodes/pve2/status").await.data();
    assert!(pve.world(|world| world.nodes["pve2"].online));
    pve.fault(Fault::on("GET", "/nodes/pve2/**").unreachable(596, "Connection timed out"));
    let got = api.get("/nodes/pve2/status").await;
    assert_eq!((got.status, got.reason.as_str()), (596, "Connection timed out"));
}

#[tokio::test]
async fn without_quorum_nothing_is_written() {
    let pve = FakePve::builder().start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    let id = pve.fault(Fault::quorum_lost());
    let files = |pve: &FakePve| {
        pve.world(|world| world.files().into_iter().map(|path| (world.file(&path), path)).collect::<Vec<_>>())
    };
    let before = files(&pve);
    let refusals = [
        (START, json!({}), "cluster not ready - no quorum?"),
        ("/nodes/pve1/qemu", json!({"vmid": 300}), "cluster not ready - no quorum?"),
        ("/access/users", json!({"userid": "x@pve"}), "create user failed: cfs-lock 'file-user_cfg' error: no quorum!"),
        (
            "/storage",
            json!({"storage": "more", "type": "dir", "path": "/srv"}),
            "create storage failed: cfs-lock 'file-storage_cfg' error: no quorum!",
        ),
        ("/pools", json!({"poolid": "more"}), "create pool failed: cfs-lock 'file-user_cfg' error: no quorum!"),
    ];
    for (path, form, message) in refusals {
        let got = api.post(path, form).await;
        assert_eq!(got.refusal(), (500, message, &Value::Null), "{path}");
    }
    let got = api.put("/nodes/pve1/qemu/101/config", json!({"name": "other"})).await;
    let message = got.refusal().1;
    assert!(message.starts_with("unable to open file '/etc/pve/nodes/pve1/qemu-server/101.conf.tmp."), "{message}");
    assert!(message.ends_with("' - Permission denied"), "{message}");
    let got = api.put("/cluster/options", json!({"keyboard": "de"})).await;
    assert!(got.refusal().1.contains("no quorum"), "{got:?}");
    let snapshot = upid(&api.post("/nodes/pve1/qemu/101/snapshot", json!({"snapname": "abc"})).await);
    let end = status(&api, &snapshot).await;
    assert!(end.starts_with("unable to open file '/etc/pve/nodes/pve1/qemu-server/101.conf.tmp."), "{end}");
    assert_eq!(files(&pve), before);
    api.get("/nodes/pve1/qemu/101/config").await.data();
    Api::root(&pve).await;
    assert!(pve.clear_fault(id));
    api.put("/nodes/pve1/qemu/101/config", json!({"name": "other"})).await.data();
    pve.fault(Fault::quorum_lost().once());
    assert_eq!(api.post("/access/users", json!({"userid": "x@pve"})).await.status, 500);
    api.post("/access/users", json!({"userid": "x@pve"})).await.data();
}

#[tokio::test]
async fn a_locked_guest_says_so_until_it_is_free() {
    let (pve, api) = one_vm().await;
    pve.fault(Fault::guest_locked(100, "backup").times(2));
    let got = api.put(CONFIG, json!({"name": "two"})).await;
    assert_eq!(got.refusal().1, "VM is locked (backup)");
    assert_eq!(api.get("/nodes/pve1/qemu/100/status/current").await.data()["lock"], "backup");
    let task = upid(&api.post(START, json!({})).await);
    assert_eq!(status(&api, &task).await, "VM is locked (backup)");
    api.put(CONFIG, json!({"name": "two"})).await.data();
    assert!(api.get(CONFIG).await.data().get("lock").is_none());
}

#[tokio::test]
async fn a_full_storage_allocates_nothing() {
    let pve = FakePve::builder().start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    pve.fault(Fault::storage_full("local-lvm").times(2));
    let got = api.get("/nodes/pve1/storage/local-lvm/status").await;
    assert_eq!((&got.data()["avail"], &got.data()["used"]), (&json!(0), &got.data()["total"]));
    let content = "/nodes/pve1/storage/local-lvm/content";
    let form = json!({"vmid": 100, "filename": "vm-100-disk-7", "size": "1G"});
    let thin = "lvcreate 'pve/vm-100-disk-7' error:   Cannot create new thin volume, free space in thin pool pve/data \
                reached threshold.";
    let got = api.post(content, form.clone()).await;
    assert_eq!(got.refusal().1, thin);
    let create = json!({"vmid": 300, "scsi0": "local-lvm:4"});
    let task = upid(&api.post("/nodes/pve1/qemu", create).await);
    let end = status(&api, &task).await;
    assert!(end.starts_with("unable to create VM 300 - lvcreate 'pve/vm-300-disk-0' error:   Cannot create"), "{end}");
    assert!(pve.world(|world| !world.guests.contains_key(&300)));
    api.post(content, form).await.data();
    assert!(pve.faults().is_empty());

    pve.fault(Fault::storage_full("local"));
    let form = json!({"vmid": 100, "filename": "vm-100-disk-8.qcow2", "size": "1G"});
    let got = api.post("/nodes/pve1/storage/local/content", form).await;
    let full = "unable to create image: qemu-img: /var/lib/vz/images/100/vm-100-disk-8.qcow2: No space left on device";
    assert_eq!(got.refusal().1, full);
    let backup = upid(&api.post("/nodes/pve1/vzdump", json!({"vmid": 101, "storage": "local"})).await);
    assert_eq!(status(&api, &backup).await, "job errors");
    assert!(log(&api, &backup).await.iter().any(|line| line.contains("No space left on device")));
    assert!(pve.world(|world| world.volumes_of("pve1", "local").all(|volume| volume.content != "backup")));
    pve.clear_faults();
    run(&api, "/nodes/pve1/vzdump", json!({"vmid": 101, "storage": "local"}), "OK").await;
}

#[tokio::test]
async fn logins_expire_and_can_be_renewed() {
    let (pve, api) = one_vm().await;
    let login = Api::root(&pve).await;
    pve.fault(Fault::login_expired().times(2));
    for client in [&api, &login] {
        let got = client.get("/version").await;
        assert_eq!((got.status, got.reason.as_str(), got.body.as_str()), (401, "Authentication failed!", ""));
    }
    login.get("/version").await.data();
    let old = "permission denied - invalid PVE ticket";
    pve.fault(Fault::on("GET", "/nodes").unauthorized(old));
    let renewed = Api::root(&pve).await;
    assert_eq!(renewed.get("/nodes").await.reason, old);
    pve.clear_faults();
    renewed.get("/nodes").await.data();
}

#[tokio::test]
async fn faults_are_set_and_cleared_by_the_control_interface() {
    let (pve, api) = one_vm().await;
    let control = |verb: reqwest::Method, path: &str| {
        api.http.request(verb, api.at(path)).bearer_auth(pve.control_token()).header("Host", "localhost")
    };
    let anonymous = Api::anonymous(&pve);
    let fault = json!({"verb": "GET", "path": "/version", "effect": {"fail": {"status": 500, "message": "no"}}});
    let post = |body: String| control(reqwest::Method::POST, "/_rehearsal/faults").body(body);
    let got = anonymous.send(post(fault.to_string())).await;
    assert_eq!(got.json["id"], 1, "{}", got.body);
    let got = anonymous.send(post(json!({"effect": {"node_offline": {"node": "pve9"}}}).to_string())).await;
    assert_eq!((got.status, got.reason.as_str()), (400, "no such cluster node 'pve9'"));
    assert_eq!(anonymous.send(post("{}".into())).await.status, 400);
    assert_eq!(api.get("/version").await.refusal().1, "no");
    let got = anonymous.send(control(reqwest::Method::GET, "/_rehearsal/faults")).await;
    assert_eq!(got.json[0]["fault"]["path"], "/version");
    for status in [200, 404] {
        let got = anonymous.send(control(reqwest::Method::DELETE, "/_rehearsal/faults/1")).await;
        assert_eq!(got.status, status);
    }
    api.get("/version").await.data();
    assert_eq!(anonymous.send(control(reqwest::Method::DELETE, "/_rehearsal/faults")).await.status, 200);
}
