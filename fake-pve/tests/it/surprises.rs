//! What real Proxmox does that surprises clients, where no other file has it: strings that are numbers elsewhere, guests
//! that are listed late, clones that stay where their base is.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::raw::Connection;
use crate::task::{log, run, upid};

async fn started(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

#[tokio::test]
async fn a_new_guest_is_listed_late_as_unknown() {
    let scenario = Scenario::one_vm().resource_lag(10);
    let pve = FakePve::builder().scenario(scenario).clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    let made = api.post("/nodes/pve1/qemu", json!({"vmid": 101, "name": "two"})).await;
    assert!(upid(&made).contains(":qmcreate:101:"));
    let listed = async || {
        let got = api.get("/cluster/resources?type=vm").await;
        let found = got.data().as_array().into_iter().flatten().find(|guest| guest["vmid"] == 101);
        found.cloned().expect("it is listed at once")
    };
    let early = listed().await;
    assert_eq!((&early["status"], early.get("name")), (&json!("unknown"), None));
    pve.advance(Duration::from_secs(12));
    let late = listed().await;
    assert_eq!((&late["status"], &late["name"]), (&json!("stopped"), &json!("two")));
}

#[tokio::test]
async fn some_numbers_are_strings() {
    let (_pve, api) = started(Scenario::cluster()).await;
    assert_eq!(api.get("/cluster/nextid").await.data(), &json!("102"));
    assert_eq!(api.get("/cluster/config/apiversion").await.data(), &json!("1"));
    let nodes = api.get("/cluster/config/nodes").await;
    let ids: Vec<&Value> = nodes.data().as_array().into_iter().flatten().map(|node| &node["nodeid"]).collect();
    assert_eq!(ids, [&json!("1"), &json!("2")]);
    assert_eq!(api.get("/cluster/config/join").await.data()["nodelist"][0]["nodeid"], "1");
    assert_eq!(api.get("/cluster/status").await.data()[1]["nodeid"], 1, "here it is a number");
    let pressure = api.get("/nodes/pve2/lxc").await.data()[0]["pressurecpusome"].clone();
    assert_eq!(pressure, "0.00", "read from a file of text");
}

#[tokio::test]
async fn nodes_have_four_processors_at_least() {
    let (_pve, api) = started(Scenario::cluster()).await;
    for node in api.get("/nodes").await.data().as_array().into_iter().flatten() {
        assert!(node["maxcpu"].as_u64().is_some_and(|cpus| cpus >= 4), "{node}");
    }
}

#[tokio::test]
async fn a_linked_clone_stays_with_its_base_unless_the_storage_forgets_it() {
    let dir = json!({"type": "dir", "path": "/srv/files", "content": "images"});
    let scenario = Scenario::one_vm().node("pve2").storage("files", dir, 64 << 30);
    let (_pve, api) = started(scenario).await;
    for (template, clone, storage, end) in [(110, 111, "local-lvm", "OK"), (120, 121, "files", "migration aborted")] {
        let form = json!({"vmid": template, "scsi0": format!("{storage}:4")});
        run(&api, "/nodes/pve1/qemu", form, "OK").await;
        run(&api, &format!("/nodes/pve1/qemu/{template}/template"), json!({}), "OK").await;
        run(&api, &format!("/nodes/pve1/qemu/{template}/clone"), json!({"newid": clone}), "OK").await;
        let moved = run(&api, &format!("/nodes/pve1/qemu/{clone}/migrate"), json!({"target": "pve2"}), end).await;
        let told = log(&api, &moved).await.join("\n");
        assert_eq!(told.contains("can't migrate"), end != "OK", "{told}");
    }
}

#[tokio::test]
async fn a_directory_mapping_needs_its_directory() {
    let (_pve, api) = started(Scenario::empty()).await;
    let got = api.post("/cluster/mapping/dir", json!({"id": "md", "map": "node=pve1,path=/mnt/x"})).await;
    assert_eq!((got.status, got.refusal().1), (500, "Path /mnt/x does not exist"));
    let form = json!({"id": "md", "map": "node=pve1,path=/var/lib/vz"});
    assert_eq!(api.post("/cluster/mapping/dir", form).await.status, 200);
}

#[tokio::test]
async fn a_login_without_a_content_type_is_a_form() {
    let (pve, _api) = started(Scenario::empty()).await;
    let body = format!("username=root@pam&password={}", pve.credentials().password);
    let head =
        format!("POST /api2/json/access/ticket HTTP/1.1\r\nHost: pve1\r\nContent-Length: {}\r\n\r\n", body.len());
    let got = Connection::open(&pve).await.exchange(format!("{head}{body}").as_bytes()).await;
    assert_eq!(got.line, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn the_default_storage_of_a_container_counts_only_without_a_root_file_system() {
    let template = "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst";
    let scenario = Scenario::empty().file(template, "vztmpl", "tzst", 120 << 20);
    let (_pve, api) = started(scenario).await;
    let mut form = json!({"vmid": 200, "ostemplate": template, "storage": "local", "rootfs": "local-lvm:4"});
    run(&api, "/nodes/pve1/lxc", form.clone(), "OK").await;
    form["vmid"] = json!(201);
    form.as_object_mut().and_then(|form| form.remove("rootfs"));
    let got = api.post("/nodes/pve1/lxc", form).await;
    assert_eq!(got.refusal().2, &json!({"storage": "storage 'local' does not support container directories"}));
}

#[tokio::test]
async fn a_display_has_a_clipboard_that_may_be_null() {
    let scenario =
        Scenario::one_vm().vm(101, "pve1", json!({"vga": "std"})).vm(102, "pve1", json!({"vga": "std,clipboard=vnc"}));
    let (_pve, api) = started(scenario).await;
    let clipboard = async |vmid: u32| {
        let got = api.get(&format!("/nodes/pve1/qemu/{vmid}/status/current")).await;
        got.data().get("clipboard").cloned()
    };
    assert_eq!(clipboard(100).await, None);
    assert_eq!(clipboard(101).await, Some(json!(null)));
    assert_eq!(clipboard(102).await, Some(json!("vnc")));
}
