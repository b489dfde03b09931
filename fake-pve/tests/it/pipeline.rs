//! The order of checks, and the wording and form of each refusal.

use fake_pve::{FakePve, Level, Scenario};
use serde_json::json;

use crate::client::{Api, sent};

async fn cluster() -> FakePve {
    let scenario = Scenario::cluster().node("pve3").offline("pve3");
    FakePve::builder().scenario(scenario).start().await.expect("a cluster")
}

#[tokio::test]
async fn unauthenticated_requests_get_401_without_a_body_even_for_unknown_paths() {
    let pve = cluster().await;
    let api = Api::anonymous(&pve);
    for path in ["/version", "/nonexistent", "/api2/extjs/version"] {
        let got = api.get(path).await;
        assert_eq!((got.status, got.reason.as_str(), got.body.as_str()), (401, "No ticket", ""), "{path}");
    }
    let wrong = Api::with_token(&pve, "root@pam!ci=00000000-0000-0000-0000-000000000000");
    let got = wrong.get("/version").await;
    assert_eq!((got.status, got.reason.as_str(), got.body.as_str()), (401, "Authentication failed!", ""));
}

#[tokio::test]
async fn unknown_verbs_formats_and_paths_are_501() {
    let pve = cluster().await;
    let api = Api::root_token(&pve);
    let got = api.send(api.http.patch(api.at("/version"))).await;
    assert_eq!((got.status, got.reason.as_str(), got.body.as_str()), (501, "method 'PATCH' not available", ""));
    let got = api.get("/api2/xml/version").await;
    assert_eq!((got.status, got.reason.as_str()), (501, "no formatter for uri /version, xml"));
    let got = api.get("/api2").await;
    assert_eq!((got.status, got.body.as_str()), (501, "no such uri"));
    let got = api.get("/nonexistent").await;
    assert_eq!(got.json, json!({"data": null, "message": "Method 'GET /nonexistent' not implemented"}));
    assert_eq!((got.status, got.reason.as_str()), (501, "Method 'GET /nonexistent' not implemented"));
    let got = api.get("/api2/extjs/nonexistent").await;
    let expected =
        json!({"success": 0, "status": 501, "message": "Method 'GET /nonexistent' not implemented", "data": null});
    assert_eq!((got.status, got.reason.as_str(), got.json), (200, "OK", expected));
    let got = api.get("/no/such/file").await;
    assert_eq!((got.status, got.body.as_str()), (500, "no such file '/no/such/file'\n"));
}

#[tokio::test]
async fn empty_segments_and_encoded_slashes_are_those_of_proxmox() {
    let pve = cluster().await;
    let api = Api::root_token(&pve);
    for path in ["//version", "/version/", "/%76ersion", "/nodes%2Fpve1%2Fversion"] {
        assert_eq!(api.get(&format!("/api2/json{path}")).await.data()["release"], "9.2", "{path}");
    }
}

#[tokio::test]
async fn tickets_need_a_csrf_token_for_changes() {
    let pve = cluster().await;
    let api = Api::root(&pve).await;
    assert_eq!(api.get("/version").await.status, 200);
    let anonymous = Api::anonymous(&pve);
    let login =
        anonymous.post("/access/ticket", json!({"username": "root@pam", "password": pve.credentials().password})).await;
    let cookie = format!("PVEAuthCookie={}", login.data()["ticket"].as_str().expect("a ticket"));
    let request = anonymous.http.put(anonymous.at("/nodes/pve1/dns")).header("Cookie", &cookie);
    let got = anonymous.send(request.form(&json!({"search": "example.org"}))).await;
    assert_eq!(
        (got.status, got.reason.as_str(), got.body.as_str()),
        (401, "Permission denied - invalid csrf token", "")
    );
    assert_eq!(api.put("/nodes/pve1/dns", json!({"search": "example.org"})).await.status, 200);
}

#[tokio::test]
async fn bodies_are_judged_after_authentication() {
    let pve = cluster().await;
    let api = Api::root_token(&pve);
    let got = api.send(api.http.delete(api.at("/cluster/ha/rules/x")).body("a=1")).await;
    assert_eq!((got.status, got.reason.as_str()), (501, "Unexpected content for method 'DELETE'"));
    let plain = api.http.post(api.at("/cluster/ha/rules")).header("Content-Type", "text/plain").body("a=1");
    let got = api.send(plain).await;
    assert_eq!((got.status, got.reason.as_str()), (506, "upload 'Content-Type 'text/plain' not implemented"));
    let got = api.send(api.http.post(api.at("/cluster/ha/rules")).body(vec![b'a'; 600 << 10])).await;
    assert_eq!((got.status, got.reason.as_str()), (501, "for data too large"));
    let broken = api.http.post(api.at("/cluster/ha/rules")).header("Content-Type", "application/json").body("{");
    let got = api.send(broken).await;
    assert!(got.status == 500 && got.reason.starts_with("malformed JSON string"), "{} {}", got.status, got.reason);
}

#[tokio::test]
async fn path_values_may_be_repeated_but_not_contradicted() {
    let pve = cluster().await;
    let api = Api::root_token(&pve);
    assert_eq!(api.get("/nodes/pve1/status?node=pve1").await.status, 200);
    let got = api.get("/nodes/pve1/status?node=pve2").await;
    let text = "duplicate parameter (already defined in URI) with conflicting values!";
    assert_eq!(got.refusal(), (400, "Parameter verification failed.", &json!({"node": text})));
    assert_eq!(got.json["message"], "Parameter verification failed.\n");
}

#[tokio::test]
async fn permission_comes_before_routing_and_verification() {
    let pve = cluster().await;
    pve.world(|world| world.access.add_user("nobody@pve", "nothing"));
    let nobody = Api::login(&pve, "nobody@pve", "nothing").await;
    let root = Api::root_token(&pve);
    let got = nobody.get("/cluster/status").await;
    assert_eq!(got.refusal().1, "Permission check failed (/, Sys.Audit)");
    assert_eq!((got.status, got.reason.as_str()), (403, "Permission check failed (/, Sys.Audit)"));
    assert_eq!(
        nobody.get("/nodes/nosuch/status").await.refusal().1,
        "Permission check failed (/nodes/nosuch, Sys.Audit)"
    );
    let got = root.get("/nodes/nosuch/status?wrong=1").await;
    let text = "hostname lookup 'nosuch' failed - failed to get address info for: nosuch: Name or service not known";
    assert_eq!((got.status, got.refusal().1), (500, text));
    let got = root.get("/nodes/pve3/status").await;
    assert_eq!((got.status, got.reason.as_str(), got.body.as_str()), (595, "No route to host", ""));
    let got = root.get("/nodes/pve1/status?wrong=1").await;
    let text = "property is not defined in schema and the schema does not allow additional properties";
    assert_eq!(got.refusal(), (400, "Parameter verification failed.", &json!({"wrong": text})));
}

#[tokio::test]
async fn a_token_of_root_is_not_root() {
    let pve = cluster().await;
    let api = Api::root_token(&pve);
    let got = api.post("/nodes/pve1/execute", json!({"commands": "[]"})).await;
    assert_eq!(got.refusal().1, "Permission check failed (user != root@pam)");
    let got = api.put("/access/password", json!({"userid": "root@pam", "password": "12345678"})).await;
    assert_eq!(got.status, 403);
    let text = "Permission check failed (URI '/access/password' not available with API token, need proper ticket.";
    assert_eq!(got.reason, text);
    assert_eq!(got.json["message"], format!("{text}\n)\n"));
}

#[tokio::test]
async fn queries_win_over_bodies_and_json_bodies_are_read() {
    let pve = cluster().await;
    let api = Api::root_token(&pve);
    let request = api.http.put(api.at("/nodes/pve1/dns?search=query.example")).form(&json!({"search": "body.example"}));
    assert_eq!(api.send(request).await.status, 200);
    assert_eq!(api.get("/nodes/pve1/dns").await.data()["search"], "query.example");
    let request =
        api.http.put(api.at("/nodes/pve1/dns")).json(&json!({"search": "json.example", "dns1": "192.0.2.53"}));
    assert_eq!(api.send(request).await.status, 200);
    assert_eq!(api.get("/nodes/pve1/dns").await.data()["dns1"], "192.0.2.53");
}

#[tokio::test]
async fn the_journal_tells_what_was_asked_and_who_answered() {
    let pve = cluster().await;
    let api = Api::root_token(&pve);
    api.get("/version").await;
    api.put("/nodes/pve1/dns", json!({"search": "example.org"})).await;
    api.get("/cluster/notifications").await;
    api.get("/nonexistent").await;
    let requests = pve.requests();
    let seen: Vec<_> = requests.iter().map(|entry| (entry.verb.as_str(), entry.status, entry.level)).collect();
    let expected = [
        ("GET", 200, Level::Behaviour),
        ("PUT", 200, Level::Behaviour),
        ("GET", 200, Level::Index),
        ("GET", 501, Level::Pipeline),
    ];
    assert_eq!(seen, expected);
    assert_eq!(requests[1].params["search"], "example.org");
    assert_eq!(requests[1].authid.as_deref(), Some("root@pam!ci"));
    assert_eq!(requests[1].template, Some("/nodes/{node}/dns"));
}

#[tokio::test]
async fn plain_http_is_sent_to_https() {
    let pve = cluster().await;
    let api = Api::anonymous(&pve);
    let plain = pve.url().replace("https", "http");
    let got = sent(api.http.get(format!("{plain}/api2/json/version?a=1"))).await;
    assert_eq!(got.status().as_u16(), 301);
    assert_eq!(got.headers()["location"], format!("{}/api2/json/version?a=1", pve.url()));
    let got = sent(api.http.post(format!("{plain}/api2/json/version"))).await;
    assert_eq!(got.status().as_u16(), 308);
}

#[tokio::test]
async fn the_control_interface_has_its_own_door() {
    let pve = cluster().await;
    let api = Api::root_token(&pve);
    assert_eq!(api.get("/_rehearsal/world").await.status, 401);
    let control = |request: reqwest::RequestBuilder| request.bearer_auth(pve.control_token());
    let got = Api::anonymous(&pve).send(control(api.http.get(api.at("/_rehearsal/world")))).await;
    assert_eq!(got.json["guests"]["100"]["vmid"], 100);
    assert_eq!(got.json["access"]["passwords"]["root@pam"]["hash"], "**********");
    let foreign = control(api.http.get(api.at("/_rehearsal/journal"))).header("Origin", "https://evil.example");
    assert_eq!(Api::anonymous(&pve).send(foreign).await.status, 403);
    let before = pve.now();
    let advance = control(api.http.post(api.at("/_rehearsal/advance"))).json(&json!({"seconds": 100}));
    assert_eq!(Api::anonymous(&pve).send(advance).await.status, 200);
    assert!(pve.now() >= before + 100);
}

#[tokio::test]
async fn a_method_that_declares_no_parameters_looks_at_none() {
    let pve = cluster().await;
    let api = Api::root_token(&pve);
    assert_eq!(api.get("/cluster/firewall/macros?bogus=1").await.status, 200);
    assert_eq!(api.get("/cluster/firewall/refs?bogus=1").await.status, 400);
}
