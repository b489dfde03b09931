//! Old names of tools: they still answer, and the table holds nothing else.

use std::sync::Arc;

use pve_catalog::Catalog;
use pvemcp::server::Server;
use pvemcp::tools::aliases::{Aliases, problems};
use serde_json::json;

use crate::scripted::StillClock;
use crate::served::{self, alone, done, everything, fails, nowhere};

fn table(rows: &[(&str, &str)]) -> Aliases {
    rows.iter().map(|(old, new)| (old.to_string(), new.to_string())).collect()
}

fn with(aliases: Aliases) -> Arc<Server> {
    let settings = served::settings(nowhere(), everything());
    Server::with_aliases(settings, Arc::new(StillClock::default()), aliases).expect("usable settings")
}

#[tokio::test]
async fn an_old_name_answers_with_the_new_result_and_a_note() {
    let server = with(table(&[("pve_find_method", "pve_api_search"), ("pve_vm_on", "pve_start_vm")]));
    let mut old = done(&server, "pve_find_method", json!({"query": "list pools"})).await;
    assert_eq!(old["note"], "pve_find_method is called pve_api_search now");
    old.as_object_mut().expect("an object").remove("note");
    assert_eq!(old, done(&server, "pve_api_search", json!({"query": "list pools"})).await);
    let refused = fails(&server, "pve_vm_on", json!({"vmid": 5}), "bad_argument").await;
    assert_eq!(refused["note"], "pve_vm_on is called pve_start_vm now", "errors too: {refused}");
    let told = done(&server, "pve_api_describe", json!({"tool": "pve_vm_on"})).await;
    assert_eq!(told["tool"], "pve_start_vm");
    assert!(server.registry().offered().all(|tool| tool.name != "pve_vm_on"), "nobody learns it anew");
    fails(&alone(everything()), "pve_vm_on", json!({"vmid": 100}), "unknown_tool").await;
}

#[test]
fn a_stale_or_colliding_row_is_found() {
    let server = alone(everything());
    let rows = [
        ("pve_old_good", "pve_start_vm"),
        ("pve_old_gone", "pve_never_was"),
        ("pve_stop_vm", "pve_start_vm"),
        ("pve_old_chain", "pve_old_good"),
        ("pve_overview", "pve_start_vm"),
        ("Pve Odd", "pve_start_vm"),
    ];
    let found = problems(&table(&rows), server.registry(), &["pve_overview"]);
    assert_eq!(
        found,
        [
            "Pve Odd was never the name of a tool",
            "pve_old_chain leads to pve_old_good, which is an old name itself",
            "pve_old_gone leads to pve_never_was, which is no tool",
            "pve_overview is the name of a tool",
            "pve_stop_vm is the name of a tool",
        ]
    );
}

#[test]
fn the_table_is_sound() {
    let rules = Catalog::rules();
    let reserved: Vec<&str> = rules.reserved.values().flatten().map(String::as_str).collect();
    let found = problems(&rules.aliases, alone(everything()).registry(), &reserved);
    assert_eq!(found, Vec::<String>::new(), "mend catalog/data/aliases.toml");
}
