//! Notifications: targets and matchers, with the refusals of their own library.

use fake_pve::{FakePve, Scenario};
use serde_json::{Value, json};

use crate::client::Api;

async fn node() -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(Scenario::empty()).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

const ENDPOINTS: &str = "/cluster/notifications/endpoints";
const MATCHERS: &str = "/cluster/notifications/matchers";

#[tokio::test]
async fn each_type_of_target_keeps_its_options() {
    let (pve, api) = node().await;
    let smtp = json!({"name": "mail", "server": "smtp.example.org", "from-address": "pve@example.org", "mailto": "a@example.org", "username": "pve", "password": "mail-secret", "disable": 1});
    let gotify = json!({"name": "push", "server": "https://push.example.org", "token": "push-secret"});
    let webhook = json!({"name": "hook", "url": "https://hook.example.org/{{ title }}", "method": "post", "body": "e30=", "header": "name=X-Key,value=YQ==", "secret": "name=key,value=aG9vay1zZWNyZXQ="});
    for (kind, form) in [("smtp", smtp), ("gotify", gotify), ("webhook", webhook)] {
        api.post(&format!("{ENDPOINTS}/{kind}"), form).await.data();
    }
    let shown = api.get(&format!("{ENDPOINTS}/smtp/mail")).await;
    assert_eq!((&shown.data()["disable"], &shown.data()["mailto"]), (&json!(true), &json!(["a@example.org"])));
    for (kind, name) in [("smtp", "mail"), ("gotify", "push"), ("webhook", "hook")] {
        let body = api.get(&format!("{ENDPOINTS}/{kind}/{name}")).await.body;
        assert!(!body.contains("-secret") && !body.contains("aG9vay1zZWNyZXQ="), "{body}");
    }
    let file = pve.world(|world| world.file("priv/notifications.cfg")).expect("a file");
    assert!(file.contains("mail-secret") && file.contains("push-secret"), "{file}");
    let targets = api.get("/cluster/notifications/targets").await;
    let origin = |name: &str| {
        let mut items = targets.data().as_array().into_iter().flatten();
        items.find(|item| item["name"] == name).map(|item| item["origin"].clone())
    };
    assert_eq!((origin("mail-to-root"), origin("hook")), (Some(json!("builtin")), Some(json!("user-created"))));
    api.put(&format!("{ENDPOINTS}/sendmail/mail-to-root"), json!({"comment": "mine"})).await.data();
    let shown = api.get("/cluster/notifications/targets").await;
    assert!(shown.body.contains("modified-builtin"));
    api.post("/cluster/notifications/targets/hook/test", json!({})).await.data();
    let got = api.post("/cluster/notifications/targets/none/test", json!({})).await;
    assert_eq!((got.status, got.refusal().1), (404, "endpoint 'none' does not exist"));
}

#[tokio::test]
async fn names_are_unique_and_references_are_kept() {
    let (_pve, api) = node().await;
    let got = api.get(&format!("{ENDPOINTS}/gotify/none")).await;
    assert_eq!((got.status, got.refusal().1), (404, "endpoint 'none' not found"));
    let gotify = json!({"name": "push", "server": "https://push.example.org", "token": "t"});
    api.post(&format!("{ENDPOINTS}/gotify"), gotify.clone()).await.data();
    assert_ne!(api.post(&format!("{ENDPOINTS}/gotify"), gotify).await.status, 200);
    let matcher = json!({"name": "night", "target": "push", "mode": "any", "match-severity": "error"});
    api.post(MATCHERS, matcher).await.data();
    let shown = api.get(&format!("{MATCHERS}/night")).await;
    assert_eq!((&shown.data()["target"], &shown.data()["match-severity"]), (&json!(["push"]), &json!(["error"])));
    let got = api.post(MATCHERS, json!({"name": "lost", "target": "nowhere"})).await;
    assert_eq!(got.status, 404, "{}", got.body);
    let got = api.delete(&format!("{ENDPOINTS}/gotify/push")).await;
    assert!(got.status == 400 && got.body.contains("night"), "{}", got.body);
    let digest = shown.data()["digest"].clone();
    assert_eq!(digest.as_str().map(str::len), Some(64));
    api.put(&format!("{MATCHERS}/night"), json!({"delete": "mode", "digest": digest})).await.data();
    let got = api.put(&format!("{MATCHERS}/night"), json!({"mode": "all", "digest": "00"})).await;
    assert_eq!(got.status, 400);
    let got = api.put(&format!("{MATCHERS}/night"), json!({"delete": "bogus"})).await;
    assert!(got.body.contains("unknown variant `bogus`, expected one of"), "{}", got.body);
    api.delete(&format!("{MATCHERS}/night")).await.data();
    api.delete(&format!("{ENDPOINTS}/gotify/push")).await.data();
    // The default matcher comes back with its own content.
    api.put(&format!("{MATCHERS}/default-matcher"), json!({"disable": 1})).await.data();
    api.delete(&format!("{MATCHERS}/default-matcher")).await.data();
    let list = api.get(MATCHERS).await;
    let items: Vec<&Value> = list.data().as_array().into_iter().flatten().collect();
    assert_eq!((items.len(), &items[0]["origin"]), (1, &json!("builtin")));
}
