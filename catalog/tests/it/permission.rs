//! Permissions against what Proxmox's own code answered.

use std::collections::{BTreeMap, BTreeSet};

use pve_catalog::permission::{
    AccessConfig, Denied, Permission, Request, authorize, builtin_roles, describe, privileges,
};
use pve_catalog::{Catalog, Verb};
use serde_json::{Map, Value};

use crate::recorded;

fn access(text: &str) -> AccessConfig {
    let (access, warnings) = AccessConfig::parse(text);
    assert_eq!(warnings, Vec::<String>::new());
    access
}

fn world() -> AccessConfig {
    access(include_str!("../data/user.cfg"))
}

/// What one recorded request gets here: nothing, or the message with Proxmox's line end.
fn decide(access: &AccessConfig, vector: &Value) -> Option<String> {
    let text = |key: &str| vector[key].as_str().expect("a recorded text");
    let (path, authid) = (text("path"), text("user"));
    let found = Catalog::embedded().find(text("method").parse().expect("a verb"), path).expect("a known method");
    let mut params: Map<String, Value> = vector["params"].as_object().expect("parameters").clone();
    params.extend(found.values.iter().map(|(name, value)| (name.to_string(), Value::from(*value))));
    let decided = if authid.contains('!') && !found.method.allow_token {
        Err(Denied::token_not_accepted(path))
    } else {
        authorize(found.method, access, &Request { authid: Some(authid), params: &params })
    };
    decided.err().map(|denied| {
        assert_eq!(denied.status, 403, "{denied}");
        format!("{denied}\n")
    })
}

fn check_vectors(vectors: &[Value]) {
    let access = world();
    let mut wrong = Vec::new();
    for vector in vectors {
        let outcome = &vector["outcome"];
        let expected = (outcome["status"] == 403).then(|| outcome["message"].as_str().unwrap_or_default().to_string());
        let got = decide(&access, vector);
        if got != expected {
            wrong.push(format!("{vector}\n  got {got:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        vectors.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}

#[test]
fn sample_of_recorded_decisions() {
    let vectors = recorded::sample(include_str!("../data/permission-vectors.jsonl"));
    assert!(vectors.len() > 500);
    check_vectors(&vectors);
}

#[test]
fn every_recorded_decision() {
    let Some(vectors) = recorded::lines("oracle/permission-vectors.jsonl.gz") else { return };
    assert!(vectors.len() > 13_000);
    check_vectors(&vectors);
}

fn check_matrix(rows: &[Value]) {
    let access = world();
    let mut wrong = Vec::new();
    for row in rows.iter().filter(|row| row.get("privs").is_some()) {
        let text = |key: &str| row[key].as_str().expect("a recorded text");
        let (user, path) = (text("user"), text("path"));
        let flags = |map: &Map<String, Value>| -> BTreeMap<String, bool> {
            map.iter().map(|(name, flag)| (name.clone(), flag == 1 || flag == "1")).collect()
        };
        let expected = flags(row["privs"].as_object().expect("privileges"));
        let got = access.effective(user, path);
        let expected_roles = match row["roles"].as_object() {
            Some(roles) => flags(roles),
            None => row["roles"].as_str().map(|role| (role.to_string(), true)).into_iter().collect(),
        };
        let got_roles = access.roles_on(user, path);
        if got != expected || got_roles != expected_roles {
            wrong.push(format!("{user} {path}: {got:?} instead of {expected:?}, {got_roles:?} of {expected_roles:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong[..wrong.len().min(20)].join("\n"));
}

#[test]
fn sample_of_the_recorded_matrix() {
    let rows = recorded::sample(include_str!("../data/permission-matrix.jsonl"));
    assert!(rows.len() > 80);
    check_matrix(&rows);
}

#[test]
fn the_recorded_matrix() {
    let Some(rows) = recorded::lines("oracle/permission-matrix.jsonl") else { return };
    assert!(rows.len() > 800);
    check_matrix(&rows);
}

#[test]
fn built_in_roles_are_known() {
    assert_eq!(privileges().len(), 47);
    assert_eq!(builtin_roles().len(), 17);
    assert_eq!(builtin_roles()["Administrator"].len(), 47);
    assert_eq!(builtin_roles()["PVEAdmin"].len(), 40);
    let known: BTreeSet<&String> = privileges().iter().collect();
    assert!(builtin_roles().values().flatten().all(|privilege| known.contains(privilege)));
}

#[test]
fn built_in_roles_equal_the_recorded_ones() {
    let Some(recorded) = recorded::json("oracle/roles-and-privs.json") else { return };
    let access = world();
    for (name, held) in recorded["roles"].as_object().expect("roles") {
        let expected: BTreeSet<String> = held.as_object().expect("privileges").keys().cloned().collect();
        assert_eq!(access.role(name), Some(&expected), "{name}");
    }
}

fn check_user_cfg(texts: &[Value]) {
    for text in texts {
        let (access, warnings) = AccessConfig::parse(text["input"].as_str().expect("a text"));
        assert_eq!(Value::from(access.print()), text["rewritten"], "{text}");
        let expected = text.get("warnings").cloned().unwrap_or(Value::Array(Vec::new()));
        assert_eq!(Value::from(warnings), expected, "{text}");
    }
}

#[test]
fn user_cfg_is_read_and_written_as_recorded() {
    check_user_cfg(&recorded::sample(include_str!("../data/user-cfg.jsonl")));
}

#[test]
fn every_recorded_user_cfg_is_written_back_unchanged() {
    let mut seen = BTreeSet::new();
    for letter in ["A", "B", "D"] {
        let Some(vectors) = recorded::lines(&format!("oracle/exec-vectors-{letter}.jsonl.gz")) else { return };
        let after =
            vectors.iter().filter_map(|vector| vector["outcome"].get("files_after").or(vector.get("files_after")));
        let files = after.filter_map(Value::as_object).flatten().filter(|(name, _)| name.ends_with("user.cfg"));
        seen.extend(files.filter_map(|(_, text)| text.as_str()).map(str::to_string));
    }
    assert!(seen.len() > 40);
    let (mut clean, mut with_leftovers) = (0, 0);
    for text in seen {
        // A rule on a token that is gone is written once more and dropped on the next reading.
        match AccessConfig::parse(&text) {
            (access, warnings) if warnings.is_empty() => {
                assert_eq!(access.print(), text);
                clean += 1;
            }
            _ => with_leftovers += 1,
        }
    }
    assert!(clean > 30 && with_leftovers < 10, "{clean} {with_leftovers}");
}

#[test]
fn a_caller_is_told_what_is_missing() {
    let access = world();
    let get = |path| Catalog::embedded().get(Verb::Get, path).expect("a method");
    let no_params = Map::new();
    let ask = |path, authid| authorize(get(path), &access, &Request { authid, params: &no_params });
    assert_eq!(ask("/access/domains", None), Ok(()));
    assert_eq!(ask("/version", None), Err(Denied::check_failed(Some("user != null"))));
    assert_eq!(ask("/version", Some("nobody@pve")), Ok(()));
    assert_eq!(
        ask("/nodes/{node}/qemu/{vmid}/config", Some("alice@pve")).map_err(|denied| denied.message),
        Err("Permission check failed (/vms/-, VM.Audit)".to_string())
    );
    let mut params = Map::new();
    params.insert("userid".into(), "ghost@pve".into());
    let ghost =
        authorize(get("/access/users/{userid}"), &access, &Request { authid: Some("bob@pve"), params: &params });
    assert_eq!(ghost, Err(Denied { status: 500, message: "no such user ('ghost@pve')".into() }));
    params.insert("node".into(), "pve1".into());
    params.insert("vmid".into(), "1 00".into());
    let odd = authorize(
        get("/nodes/{node}/qemu/{vmid}/config"),
        &access,
        &Request { authid: Some("admin@pve"), params: &params },
    );
    assert_eq!(odd.map_err(|denied| denied.message), Err("Permission check failed (, VM.Audit)".into()));
}

/// What is not understood would refuse everybody.
#[test]
fn every_expression_is_understood() {
    for method in Catalog::embedded().methods() {
        let permission = Permission::of(method);
        assert_eq!(permission.stated, !method.permissions().is_empty());
        assert!(!format!("{permission:?}").contains("Or([])"), "{}", method.key());
    }
}

#[test]
fn permissions_are_told_in_one_line() {
    let lines: BTreeSet<String> = Catalog::embedded().methods().iter().filter_map(describe).collect();
    insta::assert_snapshot!(lines.into_iter().collect::<Vec<_>>().join("\n"));
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "((user|group|role|acl|pool|token):[a-z0-9@!:,/%. é-]{0,60}\\n){0,6}|\\PC{0,80}") {
        let (access, _) = AccessConfig::parse(&text);
        let (again, _) = AccessConfig::parse(&access.print());
        proptest::prop_assert_eq!(again.users.len(), access.users.len());
    }

    #[test]
    fn any_path_and_caller_are_judged_without_panic(authid in "\\PC{0,20}|(root@pam|alice@pve)!?[a-z0-9]{0,4}", path in "\\PC{0,20}") {
        let held = world().effective(&authid, &path);
        proptest::prop_assert!(held.keys().all(|privilege| privileges().contains(privilege)));
    }
}
