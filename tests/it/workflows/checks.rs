//! Checks find exactly the troubles that the scenario lists, and none in a cluster that is kept well.

use std::collections::BTreeSet;

use fake_pve::Scenario;
use fake_pve::scenario::TROUBLES;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{as_reader, still, text, with_checker};
use crate::served::{done, fails};

const CHECKS: &[&str] = &["pve_health_check", "pve_backup_coverage", "pve_capacity_report", "pve_security_audit"];

#[derive(Deserialize)]
struct Troubles {
    trouble: Vec<Trouble>,
}

#[derive(Deserialize)]
struct Trouble {
    tool: String,
    check: String,
    subject: String,
}

fn found(answer: &Value) -> BTreeSet<String> {
    let findings = answer["findings"].as_array().expect("findings");
    let named = |finding: &Value| {
        format!("{} {}", finding["check"].as_str().expect("a check"), finding["subject"].as_str().expect("a subject"))
    };
    let names: BTreeSet<String> = findings.iter().map(named).collect();
    assert_eq!(names.len(), findings.len(), "each once: {answer}");
    names
}

#[tokio::test]
async fn they_find_exactly_what_is_listed() {
    let fake = still(Scenario::troubled()).await;
    let server = with_checker(&fake);
    let listed: Troubles = toml::from_str(TROUBLES).expect("the list of troubles");
    for tool in CHECKS {
        let answer = done(&server, tool, json!({})).await;
        let troubles = listed.trouble.iter().filter(|trouble| trouble.tool == *tool);
        let wanted: BTreeSet<String> =
            troubles.map(|trouble| format!("{} {}", trouble.check, trouble.subject)).collect();
        assert_eq!(found(&answer), wanted, "{tool}");
        assert_eq!(answer["overall"], "findings", "{tool}");
    }
    let tools: BTreeSet<&str> = listed.trouble.iter().map(|trouble| trouble.tool.as_str()).collect();
    assert_eq!(tools, CHECKS.iter().copied().collect(), "every list is read");
}

#[tokio::test]
async fn a_cluster_that_is_kept_well_has_no_findings() {
    let fake = still(Scenario::healthy()).await;
    let server = with_checker(&fake);
    for tool in CHECKS {
        let answer = done(&server, tool, json!({})).await;
        assert_eq!(found(&answer), BTreeSet::new(), "{tool}");
        assert_eq!(answer["overall"], "no_findings", "{tool}: {answer}");
        assert!(answer["thresholds"].as_object().is_some_and(|thresholds| !thresholds.is_empty()), "{tool}");
    }
}

#[tokio::test]
async fn their_texts() {
    let fake = still(Scenario::troubled()).await;
    let server = with_checker(&fake);
    for tool in CHECKS {
        insta::assert_snapshot!(*tool, text(&server, tool, json!({})).await);
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_never_good() {
    let fake = still(Scenario::healthy().offline("pve2")).await;
    let server = with_checker(&fake);
    for tool in CHECKS {
        let answer = done(&server, tool, json!({})).await;
        assert_eq!(answer["overall"], "incomplete", "{tool}: {answer}");
        let missing = answer["unavailable"].as_array().expect("a list");
        assert!(missing.iter().any(|missing| missing["code"] == "node_unreachable"), "{tool}: {answer}");
        assert!(missing.iter().all(|missing| missing["reason"].as_str().is_some_and(|reason| !reason.is_empty())));
    }
}

#[tokio::test]
async fn a_reader_sees_less_and_is_told_so() {
    let fake = still(Scenario::healthy()).await;
    fake.world(|world| {
        world.access.config.acl.clear();
        world.access.grant("/vms", "reader@pve", "PVEAuditor");
        world.access.grant_token("/vms", "reader@pve!ro", "PVEAuditor");
    });
    let server = as_reader(&fake);
    for tool in CHECKS {
        let answer = done(&server, tool, json!({})).await;
        assert_eq!(answer["overall"], "incomplete", "{tool}: {answer}");
        let missing = answer["unavailable"].as_array().expect("a list");
        assert!(missing.iter().any(|missing| missing["code"] == "forbidden"), "{tool}: {answer}");
    }
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_an_error() {
    let server = crate::served::alone(crate::served::everything());
    for tool in CHECKS {
        fails(&server, tool, json!({}), "unreachable").await;
    }
}

#[tokio::test]
async fn thresholds_are_arguments() {
    let fake = still(Scenario::healthy()).await;
    let server = with_checker(&fake);
    let answer = done(&server, "pve_health_check", json!({"storage_percent": "1"})).await;
    assert_eq!(answer["thresholds"]["storage_percent"], 1);
    assert!(found(&answer).contains("storage_full pve1/local"), "{answer}");
    fails(&server, "pve_health_check", json!({"storage_percent": 0}), "bad_argument").await;
}
