//! Logins and privileges.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::json;

use crate::client::Api;

#[tokio::test]
async fn a_login_answers_ticket_csrf_token_and_capabilities() {
    let pve = FakePve::builder().start().await.expect("a cluster");
    let api = Api::anonymous(&pve);
    let got =
        api.post("/access/ticket", json!({"username": "root", "realm": "pam", "password": pve.credentials().password}));
    let got = got.await;
    let login = got.data();
    assert_eq!((&login["username"], &login["clustername"]), (&json!("root@pam"), &json!("rehearsal")));
    assert!(login["ticket"].as_str().is_some_and(|ticket| ticket.starts_with("PVE:root@pam:")));
    assert_eq!(login["cap"]["vms"]["VM.Allocate"], 1);
    assert_eq!(login["cap"].as_object().map(|cap| cap.len()), Some(7));
}

#[tokio::test]
async fn a_wrong_password_is_401_in_each_format() {
    let pve = FakePve::builder().start().await.expect("a cluster");
    let api = Api::anonymous(&pve);
    for (userid, password) in [("root@pam", "wrong"), ("no@pam", "wrong"), ("root", "wrong")] {
        let got = api.post("/access/ticket", json!({"username": userid, "password": password})).await;
        assert_eq!((got.status, got.reason.as_str()), (401, "authentication failure"), "{userid}");
        assert_eq!(got.json, json!({"data": null, "message": "authentication failure\n"}));
    }
    let got = api.post("/api2/extjs/access/ticket", json!({"username": "root@pam", "password": "wrong"})).await;
    // The answer of another process: its status came in a header field.
    assert_eq!((got.status, &got.json["status"]), (200, &json!("401")));
    let got = api.post("/access/ticket", json!({"username": "root@pam"})).await;
    assert_eq!(got.refusal().2, &json!({"password": "property is missing and it is not optional"}));
}

#[tokio::test]
async fn a_ticket_dies_after_two_hours_and_can_be_renewed_before() {
    let pve = FakePve::builder().clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    pve.advance(Duration::from_secs(7199));
    assert_eq!(api.get("/version").await.status, 200);
    pve.advance(Duration::from_secs(1));
    let got = api.get("/version").await;
    assert_eq!((got.status, got.reason.as_str()), (401, "Authentication failed!"));
}

#[tokio::test]
async fn disabled_users_and_their_tokens_are_out() {
    let pve = FakePve::builder().start().await.expect("a cluster");
    let token = Api::with_token(&pve, "reader@pve!ro=11111111-2222-3333-4444-555555555555");
    assert_eq!(token.get("/version").await.status, 200);
    pve.world(|world| world.access.config.users.get_mut("reader@pve").expect("the reader").enable = false);
    assert_eq!(token.get("/version").await.status, 401);
    let anonymous = Api::anonymous(&pve);
    let got = anonymous.post("/access/ticket", json!({"username": "reader@pve", "password": "reader-secret"}));
    assert_eq!(got.await.status, 401);
}

#[tokio::test]
async fn permissions_are_told_by_path() {
    let pve = FakePve::builder().start().await.expect("a cluster");
    let reader = Api::login(&pve, "reader@pve", "reader-secret").await;
    let got = reader.get("/access/permissions").await;
    assert_eq!(got.data()["/"]["VM.Audit"], 1);
    assert_eq!(got.data()["/vms"]["VM.Allocate"], json!(null));
    let got = reader.get("/access/permissions?path=/vms/100").await;
    assert_eq!(got.data()["/vms/100"]["VM.Audit"], 1);
    let got = Api::root_token(&pve).get("/access/permissions?userid=reader@pve&path=/").await;
    assert_eq!(got.data()["/"]["Sys.Audit"], 1);
}

#[tokio::test]
async fn known_credentials_stay_on_loopback() {
    let builder = FakePve::builder().scenario(Scenario::empty()).bind("0.0.0.0:0");
    let refused = builder.credentials(fake_pve::Credentials::well_known()).start().await;
    assert!(matches!(refused, Err(fake_pve::Error::PublicCredentials(_))));
}
