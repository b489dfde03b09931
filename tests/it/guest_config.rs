//! A change of a guest's configuration: made against what was read, and shown before and after.

use fake_pve::FakePve;
use pvemcp::config::{Connection, Credentials, Tls};
use serde_json::json;

use crate::served;

fn connection(fake: &FakePve) -> Connection {
    let credentials = fake.credentials();
    Connection {
        url: fake.url(),
        credentials: Credentials::Token {
            id: format!("root@pam!{}", credentials.token_name),
            secret: credentials.token_secret.clone().into(),
        },
        tls: Tls::Off,
        ..served::nowhere()
    }
}

#[tokio::test]
async fn a_change_carries_the_digest_and_shows_what_it_did() {
    let fake = FakePve::builder().start().await.expect("the fake starts");
    let server = served::server(served::settings(connection(&fake), served::everything()));
    let done = served::done(&server, "pve_update_vm_config", json!({"vmid": 101, "description": "one"})).await;
    assert_eq!(done["change"]["after"]["description"], "one", "{done}");
    assert!(done["change"]["before"].get("description").is_none(), "{done}");
    let sent = fake.requests().into_iter().rfind(|entry| entry.verb == "PUT").expect("it was sent");
    assert!(sent.params.get("digest").is_some_and(|digest| digest.as_str().is_some_and(|d| d.len() == 40)), "{sent:?}");
}

#[tokio::test]
async fn a_digest_of_the_callers_own_is_kept_and_a_stale_one_refused() {
    let fake = FakePve::builder().start().await.expect("the fake starts");
    let server = served::server(served::settings(connection(&fake), served::everything()));
    let stale = json!({"vmid": 101, "description": "two", "digest": "a".repeat(40)});
    served::fails(&server, "pve_update_vm_config", stale, "conflict").await;
    let config = served::done(&server, "pve_get_vm_config", json!({"vmid": 101})).await;
    assert!(config["data"].get("description").is_none(), "nothing was changed: {config}");
}
