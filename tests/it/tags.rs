//! Guests protected by tag: through the door, against the fake cluster.

use std::sync::Arc;

use fake_pve::{FakePve, Scenario};
use pvemcp::config::{Access, ConfirmFallback, Connection, Credentials};
use pvemcp::error::Code;
use pvemcp::policy::{Effect, Place, Policy, SshCommand, Tagged};
use pvemcp::server::Server;
use serde_json::{Value, json};

use crate::files::connection;
use crate::served::{self, call, done, everything, fails};

async fn cluster() -> FakePve {
    let scenario = Scenario::empty()
        .vm(100, "pve1", json!({"name": "db", "tags": "keep;prod"}))
        .vm(101, "pve1", json!({"name": "web", "tags": "test"}))
        .ct(102, "pve1", json!({"hostname": "ct", "tags": "Prod"}));
    FakePve::builder().scenario(scenario).start().await.expect("a cluster")
}

fn guarded(connection: Connection) -> Arc<Server> {
    let access =
        Access { protected_tags: vec!["prod".into()], confirm_fallback: ConfirmFallback::Allow, ..everything() };
    served::server(served::settings(connection, access))
}

fn write(method: &str, path: &str, params: Value) -> Value {
    json!({"method": method, "path": path, "params": params})
}

#[tokio::test]
async fn a_guest_with_the_tag_is_not_changed_and_keeps_it() {
    let fake = cluster().await;
    let (server, open) =
        (guarded(connection(&fake)), served::server(served::settings(connection(&fake), everything())));
    done(&open, "pve_api_write", write("POST", "/nodes/pve1/qemu/101/snapshot", json!({"snapname": "s1"}))).await;
    for (method, path, params) in [
        ("POST", "/nodes/pve1/qemu/100/status/start", json!({})),
        ("PUT", "/nodes/pve1/qemu/100/config", json!({"tags": "keep"})),
        ("PUT", "/nodes/pve1/qemu/100/config", json!({"delete": "tags"})),
        ("PUT", "/nodes/pve1/lxc/102/config", json!({"tags": "x"})),
        ("POST", "/nodes/pve1/qemu/100/snapshot/s1/rollback", json!({})),
        ("DELETE", "/nodes/pve1/qemu/100", json!({})),
        ("POST", "/nodes/pve1/qemu", json!({"vmid": 100, "archive": "local:backup/x.vma", "force": 1})),
        ("POST", "/nodes/pve1/stopall", json!({})),
        ("POST", "/nodes/pve1/vzdump", json!({"all": 1})),
        ("DELETE", "/nodes/pve1/storage/local-lvm/content/local-lvm:vm-100-disk-0", json!({})),
    ] {
        let fault = fails(&server, "pve_api_write", write(method, path, params), "protected_guest").await;
        assert!(fault["hint"].as_str().is_some_and(|hint| hint.contains("PROXMOX_PROTECTED_TAGS")), "{fault}");
    }
    let mut dry = write("POST", "/nodes/pve1/qemu/100/status/start", json!({}));
    dry["dry_run"] = true.into();
    fails(&server, "pve_api_write", dry, "protected_guest").await;
    done(&server, "pve_api_read", json!({"path": "/nodes/pve1/qemu/100/config"})).await;
    done(&server, "pve_api_write", write("POST", "/nodes/pve1/qemu/101/snapshot/s1/rollback", json!({}))).await;
    done(&server, "pve_api_write", write("POST", "/nodes/pve1/qemu/101/clone", json!({"newid": 900}))).await;
}

#[tokio::test]
async fn a_tag_counts_from_the_moment_it_is_there() {
    let fake = cluster().await;
    let server = guarded(connection(&fake));
    let rename = |tags: &str| write("PUT", "/nodes/pve1/qemu/101/config", json!({"tags": tags}));
    done(&server, "pve_api_write", rename("test;prod")).await;
    fails(&server, "pve_api_write", rename("test"), "protected_guest").await;
    // Taken off by a person, without this server.
    let open = served::server(served::settings(connection(&fake), everything()));
    done(&open, "pve_api_write", rename("test")).await;
    done(&server, "pve_api_write", rename("other")).await;
}

#[tokio::test]
async fn what_cannot_be_read_is_protected() {
    let fake = cluster().await;
    // A guest that is not in the list.
    let server = guarded(connection(&fake));
    let start = |vmid: u32| write("POST", &format!("/nodes/pve1/qemu/{vmid}/status/start"), json!({}));
    fails(&server, "pve_api_write", start(555), "protected_guest").await;
    // An account that sees no guests.
    let (id, secret) = ("blind@pve!t", "33333333-4444-5555-6666-777777777777");
    fake.world(|world| {
        world.access.add_token(id, secret, true);
        world.access.grant("/nodes", "blind@pve", "PVEAuditor");
        world.access.grant_token("/nodes", id, "PVEAuditor");
    });
    let credentials = Credentials::Token { id: id.into(), secret: secret.into() };
    let blind = guarded(Connection { credentials, ..connection(&fake) });
    fails(&blind, "pve_api_write", start(101), "protected_guest").await;
    // No list at all.
    let broken = served::cluster(|request| {
        request.path().starts_with("/cluster/resources").then(|| crate::scripted::status("500 no list", "{}"))
    })
    .await;
    let server = guarded(broken.connection());
    fails(&server, "pve_api_write", start(100), "protected_guest").await;
    assert!(broken.received().iter().all(|request| request.verb == "GET"), "no write left");
    // What is about no guest needs no tags.
    let reply = call(&server, "pve_api_write", write("POST", "/pools", json!({"poolid": "p"}))).await;
    assert!(!reply.is_error, "{}", reply.text);
}

#[test]
fn the_door_wants_the_tags_of_commands_too() {
    let tags = vec!["prod".to_string()];
    let policy = Policy::new(Access { protected_tags: tags.clone(), ..everything() });
    let stop = |vmid: &str| {
        let place = Place::Node("pve1".into());
        SshCommand::run("test", place, ["pct", "stop", vmid], Effect::Changes).expect("a command")
    };
    let rows = json!([
        {"vmid": 100, "tags": "a;PROD"}, {"vmid": "101", "tags": "proddy"}, {"vmid": 102},
        {"vmid": 103, "status": "unknown"}, {"vmid": 104, "status": "unknown", "tags": "x"},
    ]);
    let code = |command: SshCommand| policy.admit_ssh(command, false).err().map(|fault| fault.code);
    let read = |vmid: &str| stop(vmid).with_tags(Tagged::of(&rows, &tags));
    assert_eq!(code(stop("101")), Some(Code::ProtectedGuest), "nobody read the tags");
    for (vmid, refused) in [("100", true), ("101", false), ("102", false), ("103", true), ("104", false), ("105", true)]
    {
        assert_eq!(code(read(vmid)), refused.then_some(Code::ProtectedGuest), "{vmid}");
    }
}
