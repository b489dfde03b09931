//! Firewalls of the cluster, nodes, guests and virtual networks.

use fake_pve::{FakePve, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::qemu::started;

const STALE: &str = "detected modified configuration - file changed by other user? Try again.";

async fn actions(api: &Api, at: &str) -> Vec<String> {
    let got = api.get(&format!("{at}/rules")).await;
    let rules = got.data().as_array().expect("a list").iter();
    rules.map(|rule| format!("{}:{}", rule["pos"], rule["comment"].as_str().unwrap_or_default())).collect()
}

async fn rule(api: &Api, at: &str, comment: &str) {
    let rule = json!({"type": "in", "action": "ACCEPT", "comment": comment});
    assert_eq!(api.post(&format!("{at}/rules"), rule).await.status, 200);
}

#[tokio::test]
async fn rules_are_put_first_and_moved() {
    let (_pve, api) = started(Scenario::one_vm()).await;
    for at in ["/cluster/firewall", "/nodes/pve1/firewall", "/nodes/pve1/qemu/100/firewall"] {
        for comment in ["c", "b", "a"] {
            rule(&api, at, comment).await;
        }
        assert_eq!(actions(&api, at).await, ["0:a", "1:b", "2:c"]);
        let first = api.get(&format!("{at}/rules/0")).await;
        assert_eq!((&first.data()["enable"], &first.data()["pos"]), (&json!(0), &json!("0")));
        // A move down lands before its target, and nothing else of the call counts.
        let moved = api.put(&format!("{at}/rules/0"), json!({"moveto": 2, "comment": "x"})).await;
        assert_eq!(moved.data(), &Value::Null);
        assert_eq!(actions(&api, at).await, ["0:b", "1:a", "2:c"]);
        api.put(&format!("{at}/rules/2"), json!({"moveto": 0})).await;
        api.put(&format!("{at}/rules/0"), json!({"moveto": 99})).await;
        assert_eq!(actions(&api, at).await, ["0:b", "1:a", "2:c"]);
        let got = api.put(&format!("{at}/rules/7"), json!({"enable": 1})).await;
        assert_eq!((got.status, got.refusal().1), (500, "no rule at position 7"));
    }
}

#[tokio::test]
async fn rules_are_changed_under_their_digest() {
    let (_pve, api) = started(Scenario::empty()).await;
    let at = "/cluster/firewall";
    rule(&api, at, "ssh").await;
    let digest = api.get("/cluster/firewall/rules/0").await.data()["digest"].clone();
    let change = json!({"enable": 1, "proto": "tcp", "dport": "22", "digest": digest});
    assert_eq!(api.put("/cluster/firewall/rules/0", change.clone()).await.status, 200);
    assert_eq!(api.put("/cluster/firewall/rules/0", change).await.refusal().1, STALE);
    let got = api.put("/cluster/firewall/rules/0", json!({"delete": "comment,dport,proto"})).await;
    assert_eq!(got.status, 200, "{}", got.body);
    let shown = api.get("/cluster/firewall/rules/0").await;
    let keys: Vec<&String> = shown.data().as_object().expect("a rule").keys().collect();
    assert_eq!(keys, ["enable", "type", "action", "pos", "digest"]);
    let got = api.put("/cluster/firewall/rules/0", json!({"delete": "action"})).await;
    assert_eq!(got.refusal().2, &json!({"delete": "unable to delete required property 'action'"}));
    assert_eq!(api.delete("/cluster/firewall/rules/0").await.status, 200);
    assert_eq!(api.get("/cluster/firewall/rules").await.data(), &json!([]));
}

#[tokio::test]
async fn rules_that_make_no_sense_are_refused() {
    let (_pve, api) = started(Scenario::one_vm()).await;
    let guest = "/nodes/pve1/qemu/100/firewall";
    let refused = async |at: &str, rule: Value| api.post(&format!("{at}/rules"), rule).await.json["errors"].clone();
    let base = |more: Value| {
        let mut rule = json!({"type": "in", "action": "ACCEPT"});
        more.as_object().into_iter().flatten().for_each(|(key, value)| rule[key] = value.clone());
        rule
    };
    let cases = [
        (base(json!({"macro": "Nosuch"})), json!({"macro": "unknown macro 'Nosuch'"})),
        (
            base(json!({"macro": "ssh", "proto": "udp"})),
            json!({"proto": "parameter 'proto' already define in macro (value = 'tcp')"}),
        ),
        (base(json!({"dport": "80"})), json!({"proto": "missing property - 'dport' requires this property"})),
        (base(json!({"source": "nobody"})), json!({"source": "no such alias 'nobody'"})),
        (base(json!({"source": "+noset"})), json!({"source": "no such ipset 'noset'"})),
        (
            base(json!({"source": "10.0.0.1", "dest": "fe80::1"})),
            json!({"dest": "detected mixed ipv4/ipv6 addresses in rule"}),
        ),
        (
            json!({"type": "forward", "action": "DROP"}),
            json!({"type": "invalid rule type 'forward' for rule_env 'vm'"}),
        ),
        (base(json!({"iface": "vmbr0"})), json!({"iface": "value does not match the regex pattern 'net\\d+'"})),
    ];
    for (rule, errors) in cases {
        assert_eq!(refused(guest, rule.clone()).await, errors, "{rule}");
    }
    let reject = json!({"type": "forward", "action": "REJECT"});
    assert_eq!(
        refused("/cluster/firewall", reject).await,
        json!({"action": "cannot define REJECT rules on forward chain"})
    );
    assert_eq!(api.get(&format!("{guest}/rules")).await.data(), &json!([]));
}

#[tokio::test]
async fn aliases_and_sets_are_named_by_rules() {
    let (_pve, api) = started(Scenario::one_ct()).await;
    let at = "/nodes/pve1/lxc/200/firewall";
    assert_eq!(
        api.post("/cluster/firewall/aliases", json!({"name": "office", "cidr": "10.0.0.0/8"})).await.status,
        200
    );
    let got = api.post("/cluster/firewall/aliases", json!({"name": "OFFICE", "cidr": "10.0.0.0/8"})).await;
    assert_eq!(got.refusal().2, &json!({"name": "alias 'OFFICE' already exists"}));
    assert_eq!(api.post(&format!("{at}/ipset"), json!({"name": "bad", "comment": "c"})).await.status, 200);
    assert_eq!(api.post(&format!("{at}/ipset/bad"), json!({"cidr": "10.1.0.0/16", "nomatch": 1})).await.status, 200);
    assert_eq!(api.post(&format!("{at}/ipset/bad"), json!({"cidr": "office"})).await.status, 200);
    let rule = json!({"type": "in", "action": "DROP", "source": "+bad", "dest": "office", "enable": 1});
    assert_eq!(api.post(&format!("{at}/rules"), rule).await.status, 200);
    let entry = api.get(&format!("{at}/ipset/bad/10.1.0.0/16")).await;
    assert_eq!((&entry.data()["cidr"], &entry.data()["nomatch"]), (&json!("10.1.0.0/16"), &json!(1)));
    let got = api.delete(&format!("{at}/ipset/bad")).await;
    assert_eq!((got.status, got.refusal().1), (500, "IPSet 'bad' is not empty"));
    let refs = api.get(&format!("{at}/refs")).await;
    let named: Vec<&str> =
        refs.data().as_array().expect("a list").iter().filter_map(|item| item["ref"].as_str()).collect();
    assert_eq!(named, ["dc/office", "+guest/bad"]);

    let change = json!({"cidr": "10.0.0.0/9", "rename": "home"});
    assert_eq!(api.put("/cluster/firewall/aliases/office", change).await.status, 200);
    let rule = api.get(&format!("{at}/rules/0")).await;
    assert_eq!(rule.data()["errors"], json!({"dest": "no such alias 'office'"}));
    let renamed = api.post(&format!("{at}/ipset"), json!({"name": "worse", "rename": "bad"})).await;
    assert_eq!(renamed.status, 200);
    assert_eq!(api.get(&format!("{at}/ipset")).await.data()[0]["name"], "worse");
    assert_eq!(api.delete(&format!("{at}/ipset/worse?force=1")).await.status, 200);
}

#[tokio::test]
async fn groups_are_renamed_with_the_rules_that_name_them() {
    let (_pve, api) = started(Scenario::one_vm()).await;
    assert_eq!(api.post("/cluster/firewall/groups", json!({"group": "web"})).await.status, 200);
    let rule = json!({"type": "in", "action": "ACCEPT", "macro": "HTTP", "enable": 1});
    assert_eq!(api.post("/cluster/firewall/groups/web", rule).await.status, 200);
    let named = json!({"type": "group", "action": "web", "iface": "net0", "enable": 1});
    assert_eq!(api.post("/nodes/pve1/qemu/100/firewall/rules", named).await.status, 200);
    assert_eq!(api.post("/cluster/firewall/groups", json!({"group": "www", "rename": "web"})).await.status, 200);
    assert_eq!(api.get("/nodes/pve1/qemu/100/firewall/rules/0").await.data()["action"], "www");
    let got = api.delete("/cluster/firewall/groups/www").await;
    assert_eq!((got.status, got.refusal().1), (500, "Security group 'www' is not empty"));
    let got = api.get("/cluster/firewall/groups/web").await;
    assert_eq!(got.refusal().1, "no such security group 'web'");
    assert_eq!(api.delete("/cluster/firewall/groups/www/0").await.status, 200);
    assert_eq!(api.delete("/cluster/firewall/groups/www").await.status, 200);
}

#[tokio::test]
async fn options_are_those_that_were_set() {
    let (pve, api) = started(Scenario::one_vm()).await;
    let at = "/nodes/pve1/qemu/100/firewall/options";
    let empty = api.get(at).await;
    assert_eq!(empty.data(), &json!({"digest": "da39a3ee5e6b4b0d3255bfef95601890afd80709"}));
    assert_eq!(api.put(at, json!({"enable": 1, "policy_in": "ACCEPT"})).await.status, 200);
    let shown = api.get(at).await;
    assert_eq!((&shown.data()["enable"], &shown.data()["policy_in"]), (&json!(1), &json!("ACCEPT")));
    let got = api.put(at, json!({"delete": "nosuch"})).await;
    assert_eq!(got.refusal().2, &json!({"delete": "no such option 'nosuch'"}));
    assert_eq!(api.put(at, json!({"delete": "enable,policy_in"})).await.status, 200);
    assert_eq!(pve.world(|world| world.firewalls.len()), 0);
}

#[tokio::test]
async fn who_may_change_a_guest_may_change_its_firewall() {
    let scenario = Scenario::one_vm().user("eve@pve", "password", "/vms/100", "PVEVMAdmin");
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::login(&pve, "eve@pve", "password").await;
    let rule = json!({"type": "in", "action": "ACCEPT"});
    assert_eq!(api.post("/nodes/pve1/qemu/100/firewall/rules", rule.clone()).await.status, 200);
    let got = api.post("/cluster/firewall/rules", rule).await;
    assert_eq!((got.status, got.refusal().1), (403, "Permission check failed (/, Sys.Modify)"));
    assert!(api.get("/cluster/firewall/macros").await.data().as_array().is_some_and(|list| list.len() == 86));
}
