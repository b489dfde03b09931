//! Users, groups, roles, tokens and rules.

use fake_pve::{FakePve, Scenario};
use serde_json::{Value, json};

use crate::client::{Api, Got};

async fn node(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

fn column<'v>(list: &'v Value, key: &str) -> Vec<&'v str> {
    list.as_array().into_iter().flatten().filter_map(|item| item[key].as_str()).collect()
}

/// Refused with one text for one parameter.
#[track_caller]
fn param(got: &Got, name: &str, text: &str) {
    assert_eq!(got.refusal(), (400, "Parameter verification failed.", &json!({name: text})));
}

#[tokio::test]
async fn users_belong_to_groups() {
    let (_pve, api) = node(Scenario::empty()).await;
    api.post("/access/groups", json!({"groupid": "ops", "comment": "on call"})).await.data();
    api.post("/access/groups", json!({"groupid": "dev"})).await.data();
    let new =
        json!({"userid": "ann@pve", "password": "secret-12", "groups": "ops", "firstname": "Ann", "comment": "ü"});
    api.post("/access/users", new.clone()).await.data();
    assert_eq!(api.post("/access/users", new).await.refusal().1, "create user failed: user 'ann@pve' already exists");
    let got = api.post("/access/users", json!({"userid": "bob@pve", "groups": "no"})).await;
    assert_eq!(got.refusal().1, "create user failed: no such group 'no'");
    let got = api.get("/access/users/ann@pve").await;
    let expected = json!({"enable": 1, "expire": 0, "firstname": "Ann", "email": "", "comment": "ü", "groups": ["ops"], "tokens": null});
    assert_eq!(got.data(), &expected);
    api.put("/access/users/ann@pve", json!({"groups": "dev", "append": 1, "email": "ann@example.org"})).await.data();
    assert_eq!(api.get("/access/users/ann@pve").await.data()["groups"], json!(["dev", "ops"]));
    api.put("/access/users/ann@pve", json!({"groups": "dev", "enable": 0})).await.data();
    let group = api.get("/access/groups/ops").await;
    assert_eq!(group.data(), &json!({"comment": "on call", "members": []}));
    let list = api.get("/access/users?full=1&enabled=0").await;
    assert_eq!((column(list.data(), "userid"), &list.data()[0]["groups"]), (vec!["ann@pve"], &json!("dev")));
    let login = json!({"username": "ann@pve", "password": "secret-12"});
    assert_eq!(Api::anonymous(&_pve).post("/access/ticket", login).await.status, 401, "disabled");
    api.delete("/access/users/ann@pve").await.data();
    assert_eq!(api.get("/access/users/ann@pve").await.refusal().1, "no such user ('ann@pve')");
    assert_eq!(api.get("/access/groups/dev").await.data()["members"], json!([]));
    api.delete("/access/groups/dev").await.data();
    let got = api.delete("/access/groups/dev").await;
    assert_eq!(got.refusal().1, "delete group failed: group 'dev' does not exist");
}

#[tokio::test]
async fn the_secret_of_a_token_is_told_once() {
    let (pve, api) = node(Scenario::one_vm().user("ann@pve", "secret-12", "/", "PVEAuditor")).await;
    let path = "/access/users/ann@pve/token/ci";
    let made = api.post(path, json!({"comment": "for CI"})).await;
    let made = made.data();
    assert_eq!(
        (&made["full-tokenid"], &made["info"]),
        (&json!("ann@pve!ci"), &json!({"comment": "for CI", "privsep": 1}))
    );
    let first = made["value"].as_str().expect("a secret").to_string();
    param(&api.post(path, json!({})).await, "tokenid", "Token already exists.");
    assert_eq!(api.get(path).await.data(), &json!({"comment": "for CI", "expire": 0, "privsep": 1}));
    let token = Api::with_token(&pve, &format!("ann@pve!ci={first}"));
    assert_eq!(
        token.get("/cluster/resources?type=vm").await.data(),
        &json!([]),
        "separated, without rights of its own"
    );
    let changed = api.put(path, json!({"privsep": 0, "regenerate": 1, "delete": "comment"})).await;
    let second = changed.data()["value"].as_str().expect("a new secret").to_string();
    assert_ne!(first, second);
    assert_eq!(token.get("/version").await.status, 401, "the old secret is void");
    let token = Api::with_token(&pve, &format!("ann@pve!ci={second}"));
    assert_eq!(column(token.get("/cluster/resources?type=vm").await.data(), "id"), ["qemu/100"]);
    assert_eq!(
        api.get("/access/users/ann@pve/token").await.data(),
        &json!([{"expire": 0, "privsep": 0, "tokenid": "ci"}])
    );
    api.delete(path).await.data();
    assert_eq!(token.get("/version").await.status, 401);
    assert_eq!(api.get(path).await.refusal().1, "no such token 'ci' for user 'ann@pve'");
    let got = api.post("/access/users/no@pve/token/ci", json!({})).await;
    assert_eq!(got.refusal().1, "no such user ('no@pve')");
}

#[tokio::test]
async fn roles_of_proxmox_stay_as_they_are() {
    let (_pve, api) = node(Scenario::empty()).await;
    let text = "cannot use role ID starting with the (case-insensitive) 'PVE' namespace";
    param(&api.post("/access/roles", json!({"roleid": "pveMine"})).await, "roleid", text);
    let got = api.put("/access/roles/PVEAuditor", json!({"privs": "VM.Audit"})).await;
    assert_eq!(got.refusal().1, "auto-generated role 'PVEAuditor' cannot be modified");
    let got = api.delete("/access/roles/Administrator").await;
    assert_eq!(got.refusal().1, "auto-generated role 'Administrator' cannot be deleted");
    api.post("/access/roles", json!({"roleid": "Look", "privs": "VM.Audit"})).await.data();
    api.put("/access/roles/Look", json!({"privs": "Sys.Audit", "append": 1})).await.data();
    assert_eq!(api.get("/access/roles/Look").await.data(), &json!({"Sys.Audit": 1, "VM.Audit": 1}));
    api.put("/access/roles/Look", json!({"privs": "VM.Console"})).await.data();
    let list = api.get("/access/roles").await;
    let own = list.data().as_array().into_iter().flatten().find(|role| role["roleid"] == "Look");
    assert_eq!(own, Some(&json!({"roleid": "Look", "privs": "VM.Console", "special": 0})));
    assert!(api.post("/access/roles", json!({"roleid": "Other", "privs": "No.Such"})).await.body.contains("No.Such"));
    api.delete("/access/roles/Look").await.data();
    assert_eq!(api.get("/access/roles/Look").await.refusal().1, "role 'Look' does not exist");
}

#[tokio::test]
async fn rules_are_checked_and_can_be_delegated() {
    let scenario = Scenario::one_vm().user("ann@pve", "secret-12", "/vms/100", "PVEVMAdmin");
    let (pve, api) = node(scenario.user("bob@pve", "secret-12", "/vms/1000", "PVEVMUser")).await;
    let got = api.put("/access/acl", json!({"path": "/vms", "roles": "PVEAuditor"})).await;
    let text = "either 'users', 'groups' or 'tokens' is required.";
    assert_eq!(got.refusal().2, &json!({"users": text, "groups": text, "tokens": text}));
    let rule = |path: &str, role: &str, user: &str| json!({"path": path, "roles": role, "users": user});
    param(&api.put("/access/acl", rule("/foo", "PVEAuditor", "bob@pve")).await, "path", "invalid ACL path '/foo'");
    let got = api.put("/access/acl", rule("/vms", "No", "bob@pve")).await;
    assert_eq!(got.refusal().1, "ACL update failed: role 'No' does not exist");
    let got = api.put("/access/acl", rule("/vms", "PVEAuditor", "no@pve")).await;
    assert_eq!(got.refusal().1, "ACL update failed: user 'no@pve' does not exist");
    let got = api.put("/access/acl", json!({"path": "/vms", "roles": "PVEAuditor", "tokens": "bob@pve!no"})).await;
    assert_eq!(got.refusal().1, "ACL update failed: no such token 'no' for user 'bob@pve'");
    // VM.Allocate on a guest lets Ann hand on what she has, and no more.
    let ann = Api::login(&pve, "ann@pve", "secret-12").await;
    ann.put("/access/acl", rule("/vms/100", "PVEVMUser", "bob@pve")).await.data();
    let got = ann.put("/access/acl", rule("/vms/100", "PVESysAdmin", "bob@pve")).await;
    let text = "Cannot add role 'PVESysAdmin' - requires 'Permissions.Modify' or superset of privileges.";
    assert!(got.body.contains(text), "{}", got.body);
    assert_eq!(ann.put("/access/acl", rule("/vms", "PVEVMUser", "bob@pve")).await.status, 403);
    let seen = ann.get("/access/acl").await;
    assert_eq!(column(seen.data(), "path"), ["/vms/100", "/vms/100"], "only what she could change");
    let bob = Api::login(&pve, "bob@pve", "secret-12").await;
    assert_eq!(bob.get("/access/acl").await.data(), &json!([]));
    assert_eq!(column(bob.get("/cluster/resources?type=vm").await.data(), "id"), ["qemu/100"]);
    let mut gone = rule("/vms/100", "PVEVMUser", "bob@pve");
    gone["delete"] = json!(1);
    api.put("/access/acl", gone).await.data();
    assert_eq!(bob.get("/cluster/resources?type=vm").await.data(), &json!([]));
}

#[tokio::test]
async fn lists_of_users_show_what_one_may_manage() {
    let scenario = Scenario::empty().user("ann@pve", "secret-12", "/access/groups/ops", "PVEUserAdmin");
    let (pve, api) = node(scenario.user("bob@pve", "secret-12", "/vms", "PVEVMUser")).await;
    api.post("/access/groups", json!({"groupid": "ops"})).await.data();
    api.put("/access/users/bob@pve", json!({"groups": "ops"})).await.data();
    let ann = Api::login(&pve, "ann@pve", "secret-12").await;
    assert_eq!(column(ann.get("/access/users").await.data(), "userid"), ["ann@pve", "bob@pve"]);
    let bob = Api::login(&pve, "bob@pve", "secret-12").await;
    assert_eq!(column(bob.get("/access/users").await.data(), "userid"), ["bob@pve"]);
    assert_eq!(bob.get("/access/users/ann@pve").await.status, 403);
    assert_eq!(bob.get("/access/groups").await.data(), &json!([]));
    assert_eq!(
        ann.put("/access/users/bob@pve", json!({"comment": "hers"})).await.status,
        403,
        "no group of hers named"
    );
    ann.put("/access/users/bob@pve", json!({"groups": "ops", "comment": "hers"})).await.data();
    assert_eq!(ann.put("/access/users/root@pam", json!({"comment": "not hers"})).await.status, 403);
}
