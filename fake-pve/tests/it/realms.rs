//! Realms, their synchronisation, and passwords.

use fake_pve::world::access::Directory;
use fake_pve::{FakePve, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::task::{log, run};

async fn node(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

fn ldap(realm: &str) -> Value {
    json!({
        "realm": realm, "type": "ldap", "server1": "192.0.2.10", "base_dn": "dc=example,dc=org", "user_attr": "uid",
        "bind_dn": "cn=reader", "password": "bind-secret", "default": 1,
    })
}

#[tokio::test]
async fn realms_keep_their_options_and_hide_their_password() {
    let (pve, api) = node(Scenario::empty()).await;
    let list = api.get("/access/domains").await;
    let names: Vec<&Value> = list.data().as_array().into_iter().flatten().map(|item| &item["realm"]).collect();
    assert_eq!(names, ["pam", "pve"]);
    api.post("/access/domains", ldap("one")).await.data();
    let got = api.post("/access/domains", ldap("one")).await;
    assert_eq!(got.refusal().1, "add auth server failed: domain 'one' already exists");
    let shown = api.get("/access/domains/one").await;
    assert!(!shown.body.contains("bind-secret"), "{}", shown.body);
    assert_eq!((&shown.data()["default"], &shown.data()["user_attr"]), (&json!(1), &json!("uid")));
    assert_eq!(pve.world(|world| world.file("priv/realm/one.pw")).as_deref(), Some("bind-secret"));
    let text = pve.world(|world| world.file("domains.cfg")).expect("a file");
    assert!(text.contains("ldap: one\n") && !text.contains("bind-secret"), "{text}");
    // Only one realm is the default.
    api.post("/access/domains", ldap("two")).await.data();
    assert_eq!(api.get("/access/domains/one").await.data()["default"], json!(null));
    let digest = api.get("/access/domains/two").await.data()["digest"].clone();
    let change = json!({"comment": "second", "delete": "default", "digest": digest});
    api.put("/access/domains/two", change.clone()).await.data();
    assert!(api.put("/access/domains/two", change).await.body.contains("detected modified configuration"));
    assert_eq!(api.get("/access/domains/two").await.data()["comment"], "second");
    let got = api.put("/access/domains/two", json!({"delete": "base_dn"})).await;
    assert!(got.body.contains("missing value for required option 'base_dn'"), "{}", got.body);
    let got = api.post("/access/domains", json!({"realm": "xx", "type": "pam"})).await;
    assert_eq!(got.refusal().1, "add auth server failed: unable to create builtin type 'pam'");
    let openid = json!({"realm": "sso", "type": "openid", "issuer-url": "https://id.example.org", "client-id": "pve"});
    api.post("/access/domains", openid).await.data();
    let got =
        api.post("/access/openid/auth-url", json!({"realm": "one", "redirect-url": "https://pve.example.org"})).await;
    assert_eq!(got.status, 500);
    api.delete("/access/domains/two").await.data();
    assert_eq!(api.get("/access/domains/two").await.refusal().1, "domain 'two' does not exist");
}

#[tokio::test]
async fn users_come_from_a_directory() {
    let (pve, api) = node(Scenario::empty()).await;
    api.post("/access/domains", ldap("dir")).await.data();
    let got = api.post("/access/domains/dir/sync", json!({})).await;
    assert_eq!(got.status, 400, "{}", got.body);
    let got = api.post("/access/domains/pve/sync", json!({"scope": "both"})).await;
    assert!(got.body.contains("Only LDAP/AD realms can be synced"), "{}", got.body);
    let sync = "/access/domains/dir/sync";
    run(&api, sync, json!({"scope": "both"}), "IO::Socket::IP: connect: Connection refused").await;
    pve.world(|world| {
        let person = |first: &str| json!({"firstname": first}).as_object().cloned().unwrap_or_default();
        let users = [("ann".to_string(), person("Ann")), ("bob".to_string(), person("Bob"))].into();
        let groups = [("ops".to_string(), ["ann".to_string()].into())].into();
        world.access.directories.insert("dir".into(), Directory { users, groups })
    });
    let upid = run(&api, sync, json!({"scope": "both", "dry-run": 1}), "OK").await;
    assert!(log(&api, &upid).await.iter().any(|line| line == "adding user 'ann@dir'"));
    assert_eq!(api.get("/access/users/ann@dir").await.status, 500);
    run(&api, sync, json!({"scope": "both"}), "OK").await;
    assert_eq!(api.get("/access/users/ann@dir").await.data()["firstname"], "Ann");
    assert_eq!(api.get("/access/groups/ops-dir").await.data()["members"], json!(["ann@dir"]));
    pve.world(|world| world.access.directories.get_mut("dir").map(|dir| dir.users.remove("bob")));
    run(&api, sync, json!({"scope": "users", "remove-vanished": "none"}), "OK").await;
    api.get("/access/users/bob@dir").await.data();
    run(&api, sync, json!({"scope": "users", "remove-vanished": "entry"}), "OK").await;
    assert_eq!(api.get("/access/users/bob@dir").await.refusal().1, "no such user ('bob@dir')");
}

#[tokio::test]
async fn passwords_are_changed_by_those_who_know_theirs() {
    let (pve, root) = node(Scenario::empty().user("ann@pve", "secret-12", "/", "PVEAuditor")).await;
    let ann = Api::login(&pve, "ann@pve", "secret-12").await;
    let change = |form: Value| ann.put("/access/password", form);
    let got = change(json!({"userid": "ann@pve", "password": "other-secret"})).await;
    assert_eq!(got.refusal().2, &json!({"confirmation-password": "password is required to modify user"}));
    let mut form = json!({"userid": "ann@pve", "password": "other-secret", "confirmation-password": "wrong-one"});
    assert_eq!(change(form.clone()).await.refusal().1, "invalid credentials");
    form["confirmation-password"] = json!("secret-12");
    change(form.clone()).await.data();
    Api::login(&pve, "ann@pve", "other-secret").await.get("/version").await.data();
    form["userid"] = json!("root@pam");
    assert_eq!(change(form).await.status, 403);
    root.put("/access/password", json!({"userid": "ann@pve", "password": "third-secret"})).await.data();
    Api::login(&pve, "ann@pve", "third-secret").await.get("/version").await.data();
    let got = root.put("/access/password", json!({"userid": "no@pve", "password": "third-secret"})).await;
    assert_eq!(got.refusal().1, "no such user ('no@pve')");
}
