//! Second factors: how they are added, asked for, used up and locked.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;

const URL: &str = "otpauth://totp/ann?secret=JBSWY3DPEHPK3PXP";
/// Passwords of that secret: at the start of a manual clock, and half a minute and a minute later.
const PASSWORDS: [&str; 3] = ["663807", "058114", "914194"];

async fn with_ann() -> (FakePve, Api, Api) {
    let scenario = Scenario::empty().user("ann@pve", "secret-12", "/", "PVEAuditor");
    let pve = FakePve::builder().scenario(scenario).clock(Mode::Manual).start().await.expect("a cluster");
    let ann = Api::login(&pve, "ann@pve", "secret-12").await;
    let root = Api::root(&pve).await;
    (pve, root, ann)
}

async fn add_authenticator(ann: &Api) -> String {
    let form =
        json!({"type": "totp", "description": "phone", "totp": URL, "value": PASSWORDS[0], "password": "secret-12"});
    let got = ann.post("/access/tfa/ann@pve", form).await;
    got.data()["id"].as_str().expect("an id").to_string()
}

/// The ticket of the first step.
async fn half(pve: &FakePve) -> Value {
    let form = json!({"username": "ann@pve", "password": "secret-12"});
    let got = Api::anonymous(pve).post("/access/ticket", form).await;
    assert_eq!(got.data()["NeedTFA"], 1);
    got.data()["ticket"].clone()
}

async fn second(pve: &FakePve, ticket: &Value, answer: &str) -> u16 {
    let form = json!({"username": "ann@pve", "tfa-challenge": ticket, "password": answer});
    Api::anonymous(pve).post("/access/ticket", form).await.status
}

#[tokio::test]
async fn an_authenticator_makes_logins_two_steps() {
    let (pve, root, ann) = with_ann().await;
    let form = json!({"type": "totp", "description": "phone", "totp": URL, "value": "000000", "password": "secret-12"});
    let got = ann.post("/access/tfa/ann@pve", form).await;
    assert_eq!(got.refusal().1, "failed to verify TOTP challenge");
    let got = ann.post("/access/tfa/ann@pve", json!({"type": "recovery"})).await;
    assert_eq!(got.refusal().2, &json!({"password": "password is required to modify user"}));
    let got = ann.post("/access/tfa/ann@pve", json!({"type": "recovery", "password": "wrong"})).await;
    assert_eq!(got.refusal().1, "invalid credentials");
    let id = add_authenticator(&ann).await;
    let listed = root.get("/access/tfa").await;
    let entry = json!({"id": id, "type": "totp", "description": "phone", "created": pve.now()});
    assert_eq!(listed.data(), &json!([{"userid": "ann@pve", "entries": [entry]}]));
    assert_eq!(root.get("/access/users/ann@pve/tfa?multiple=1").await.data(), &json!({"types": ["totp"]}));
    assert_eq!(root.get("/access/users/ann@pve").await.data()["keys"], "x");

    let ticket = half(&pve).await;
    assert!(ticket.as_str().is_some_and(|text| text.starts_with("PVE:!tfa!")), "{ticket}");
    let request = ann
        .http
        .get(ann.at("/version"))
        .header("Cookie", format!("PVEAuthCookie={}", ticket.as_str().unwrap_or_default()));
    assert_eq!(Api::anonymous(&pve).send(request).await.status, 401, "half a login opens nothing");
    pve.advance(Duration::from_secs(30));
    assert_eq!(second(&pve, &ticket, "totp:123456").await, 401);
    assert_eq!(second(&pve, &ticket, &format!("totp:{}", PASSWORDS[1])).await, 200);
    assert_eq!(second(&pve, &ticket, &format!("totp:{}", PASSWORDS[1])).await, 401, "each password is good once");

    root.put(&format!("/access/tfa/ann@pve/{id}"), json!({"enable": 0})).await.data();
    assert_eq!(root.get(&format!("/access/tfa/ann@pve/{id}")).await.data()["enable"], json!(false));
    Api::login(&pve, "ann@pve", "secret-12").await.get("/version").await.data();
    root.delete(&format!("/access/tfa/ann@pve/{id}")).await.data();
    assert_eq!(root.get(&format!("/access/tfa/ann@pve/{id}")).await.status, 404);
    assert_eq!(root.get("/access/users/ann@pve").await.data()["keys"], json!(null));
}

#[tokio::test]
async fn recovery_codes_are_used_up() {
    let (pve, root, ann) = with_ann().await;
    let form = json!({"type": "recovery", "password": "secret-12"});
    let made = ann.post("/access/tfa/ann@pve", form.clone()).await;
    let codes: Vec<String> = serde_json::from_value(made.data()["recovery"].clone()).expect("codes");
    assert_eq!((codes.len(), codes[0].len(), &made.data()["id"]), (10, 19, &json!("recovery")));
    assert_eq!(ann.post("/access/tfa/ann@pve", form).await.refusal().1, "user already has recovery keys");
    let shown = root.get("/access/tfa/ann@pve").await;
    assert!(codes.iter().all(|code| !shown.body.contains(code.as_str())));
    let ticket = half(&pve).await;
    assert_eq!(second(&pve, &ticket, &format!("recovery:{}", codes[3])).await, 200);
    assert_eq!(second(&pve, &ticket, &format!("recovery:{}", codes[3])).await, 401);
    let ticket = half(&pve).await;
    let asked = ticket.as_str().expect("a ticket");
    assert!(asked.contains("[0,1,2,4,5,6,7,8,9]") || asked.contains("%5B0%2C1%2C2%2C4%2C5"), "{asked}");
}

#[tokio::test]
async fn too_many_wrong_passwords_lock_them() {
    let (pve, root, ann) = with_ann().await;
    add_authenticator(&ann).await;
    pve.advance(Duration::from_secs(60));
    let ticket = half(&pve).await;
    for _ in 0..8 {
        assert_eq!(second(&pve, &ticket, "totp:000000").await, 401);
    }
    assert_eq!(second(&pve, &ticket, &format!("totp:{}", PASSWORDS[2])).await, 401, "locked");
    assert_eq!(root.get("/access/tfa").await.data()[0]["totp-locked"], json!(true));
    assert_eq!(root.put("/access/users/ann@pve/unlock-tfa", json!({})).await.data(), &json!(true));
    assert_eq!(root.put("/access/users/ann@pve/unlock-tfa", json!({})).await.data(), &json!(false));
    assert_eq!(second(&pve, &ticket, &format!("totp:{}", PASSWORDS[2])).await, 200);
}

#[tokio::test]
async fn other_kinds_need_what_is_not_there() {
    let (_pve, root, _ann) = with_ann().await;
    for (kind, text) in [
        ("u2f", "no u2f configuration available"),
        ("webauthn", "no webauthn configuration available"),
        ("yubico", "no yubico otp configuration available for realm pve"),
    ] {
        assert_eq!(root.post("/access/tfa/ann@pve", json!({"type": kind})).await.refusal().1, text);
    }
    let got = root.post("/access/tfa/no@pve", json!({"type": "recovery"})).await;
    assert_eq!(got.refusal().1, "no such user ('no@pve')");
}
