//! Terminals kept open between calls.

use pvemcp::config::Access;
use serde_json::{Value, json};

use super::place::Place;
use crate::served::{done, fails};

/// Types, and reads until a text has come.
async fn typed(place: &Place, session: &Value, mut arguments: Value, wanted: &str) -> String {
    arguments["session"] = session.clone();
    let mut told = place.done("pve_ssh_session_send", arguments).await;
    let mut all = told["output"].as_str().expect("text").to_string();
    while !all.contains(wanted) {
        told = place.done("pve_ssh_session_read", json!({"session": session, "wait_seconds": 30})).await;
        let more = told["output"].as_str().expect("text");
        assert!(!more.is_empty(), "nothing more came after: {all}");
        all += more;
    }
    all
}

#[tokio::test]
async fn a_shell_on_a_node_and_one_in_a_container() {
    let Some(place) = Place::start().await else { return };
    let opened = place.done("pve_ssh_session_open", json!({"node": "pve1", "columns": 91, "rows": 33})).await;
    assert_eq!((&opened["node"], &opened["open"], &opened["untrusted"]), (&json!("pve1"), &json!(true), &json!(true)));
    let session = &opened["session"];
    typed(&place, session, json!({"text": "stty size; echo a-''word"}), "a-word").await;
    typed(&place, session, json!({"text": "echo rea''dy; cat; echo en''ded"}), "ready").await;
    typed(&place, session, json!({"keys": ["ctrl-d"]}), "ended").await;
    let container = place.done("pve_ssh_session_open", json!({"vmid": 201})).await;
    assert_eq!((&container["node"], &container["vmid"]), (&json!("pve2"), &json!(201)));
    typed(&place, &container["session"], json!({"text": "hostname; echo insi''de"}), "inside").await;
    let list = place.done("pve_ssh_session_list", json!({})).await;
    assert_eq!((&list["total"], &list["sessions"][0]["session"]), (&json!(2), session));
    place.done("pve_ssh_session_close", json!({"session": container["session"]})).await;
    place.fails("pve_ssh_session_read", json!({"session": container["session"]}), "not_found").await;
    place.done("pve_ssh_session_send", json!({"session": session, "text": "exit 4", "wait_seconds": 0})).await;
    let mut last = json!({"open": true});
    while last["open"] == true {
        last = place.done("pve_ssh_session_read", json!({"session": session, "wait_seconds": 30})).await;
    }
    assert_eq!(last["exit_status"], 4, "{last}");
}

#[tokio::test]
async fn what_is_refused() {
    let Some(place) = Place::start().await else { return };
    place.fails("pve_ssh_session_open", json!({"vmid": 100}), "bad_argument").await;
    place.fails("pve_ssh_session_open", json!({"vmid": 201, "node": "pve1"}), "bad_argument").await;
    place.fails("pve_ssh_session_open", json!({"vmid": 999}), "not_found").await;
    let dry = place.done("pve_ssh_session_open", json!({"vmid": 201, "dry_run": true})).await;
    assert_eq!((&dry["dry_run"], &dry["request"]["run"]), (&json!(true), &json!("exec pct enter 201")));
    assert!(place.ssh.commands().is_empty());
    place.fails("pve_ssh_session_send", json!({"session": "nosuch", "text": "x"}), "not_found").await;
    place.fails("pve_ssh_session_send", json!({"session": "x", "keys": ["f99"]}), "bad_argument").await;
    place.fails("pve_ssh_session_send", json!({"session": "x"}), "bad_argument").await;
    let typed = place.done("pve_ssh_session_send", json!({"session": "x", "text": "canary", "dry_run": true})).await;
    assert!(typed["dry_run"] == true && !typed.to_string().contains("canary"), "{typed}");
    place.fails("pve_ssh_session_close", json!({"session": "nosuch"}), "not_found").await;
    let reading = place.server(Access { ssh: true, ..Access::default() });
    fails(&reading, "pve_ssh_session_list", json!({}), "gate_closed").await;
    let protected = Access { ssh: true, writes: true, protected_vmids: [201].into(), ..Access::default() };
    fails(&place.server(protected), "pve_ssh_session_open", json!({"vmid": 201}), "protected_guest").await;
    let dry = place.server(Access { ssh: true, dry_run: true, ..Access::default() });
    assert_eq!(done(&dry, "pve_ssh_session_open", json!({"node": "pve1"})).await["dry_run"], true);
}
