//! The README's tables are written from the code. A test that finds them out of date rewrites them and fails once.

use std::path::Path;

use pvemcp::config::variables::{State, VARIABLES};

/// Replaces what stands between `<!-- name -->` and `<!-- /name -->`; true when it was different.
fn write_block(readme: &mut String, name: &str, content: &str) -> bool {
    let open = format!("<!-- {name} -->\n");
    let close = format!("<!-- /{name} -->");
    let start = readme.find(&open).unwrap_or_else(|| panic!("README.md has no block {name}")) + open.len();
    let end = start + readme[start..].find(&close).unwrap_or_else(|| panic!("the block {name} has no end"));
    let differs = readme[start..end] != *content;
    readme.replace_range(start..end, content);
    differs
}

fn variables() -> String {
    let mut table = String::from("| Variable | Default | What it does |\n|---|---|---|\n");
    for variable in VARIABLES.iter().filter(|variable| variable.state == State::Works) {
        let default = if variable.default.is_empty() { String::new() } else { format!("`{}`", variable.default) };
        table += &format!("| `{}` | {default} | {} |\n", variable.name, variable.meaning);
    }
    let named = |state: State| {
        let names = VARIABLES.iter().filter(|variable| variable.state == state);
        names.map(|variable| format!("`{}`", variable.name)).collect::<Vec<_>>().join(", ")
    };
    table += &format!("\nKnown, but refused at the start by this version: {}.\n", named(State::NotYet));
    table += &format!("\nKnown, and reported as without effect yet: {}.\n", named(State::NoEffectYet));
    table
}

#[test]
fn the_tables_are_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let mut readme = std::fs::read_to_string(&file).expect("README.md");
    let blocks = [("variables", variables())];
    let stale: Vec<&str> = blocks
        .iter()
        .filter(|(name, content)| write_block(&mut readme, name, content))
        .map(|(name, _)| *name)
        .collect();
    if !stale.is_empty() {
        std::fs::write(&file, readme).expect("README.md can be written");
    }
    assert_eq!(stale, Vec::<&str>::new(), "README.md was out of date; it has been rewritten, look at it and commit it");
}
