//! The README's tables are written from the code. A test that finds them out of date rewrites them and fails once.

use std::path::Path;

use pve_catalog::Gate;
use pvemcp::config::variables::{State, VARIABLES};
use pvemcp::config::{Access, Offer, Purpose, Settings, all_toolsets};
use pvemcp::error::Code;
use pvemcp::mcp::Handler;
use pvemcp::mcp::prompts::GUIDES;
use pvemcp::mcp::resources::{LISTINGS, TEMPLATES};
use pvemcp::policy::Policy;
use pvemcp::tools::Tool;

use crate::served::{alone, everything, nowhere, server, settings};

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

/// Each gate: how many tools, what opens it, what it holds.
fn gates() -> String {
    let all = alone(everything());
    let closed = Policy::new(Access::default());
    let mut table = String::from("| Gate | Tools | Opens with | Holds |\n|---|---|---|---|\n");
    for gate in Gate::ALL {
        let tools = all.registry().iter().filter(|(tool, _)| tool.gate == gate).count();
        let variables: Vec<String> = closed
            .what_opens(gate, pve_catalog::Verb::Post)
            .into_iter()
            .map(|variable| format!("`{variable}`"))
            .collect();
        let opens = match gate {
            Gate::Read => "always open".to_string(),
            Gate::Blocked => "`PROXMOX_UNBLOCK` for one method, through `pve_api_write`; a GET never".to_string(),
            Gate::GuestExec => format!("{}; its reads without the latter", variables.join(" and ")),
            _ => variables.join(" and "),
        };
        table += &format!("| `{gate}` | {tools} | {opens} | {} |\n", gate.holds());
    }
    table
}

/// Each toolset: how many tools read, how many write, and whether it is loaded unless told otherwise.
fn domains() -> String {
    let all = alone(everything());
    let default = default_toolsets();
    let mut table = String::from("| Toolset | Read | Write | Loaded |\n|---|---|---|---|\n");
    for domain in all_toolsets() {
        let mine: Vec<&Tool> =
            all.registry().iter().map(|(tool, _)| tool).filter(|tool| tool.domain() == domain).collect();
        let reads = mine.iter().filter(|tool| tool.reads).count();
        let loaded = if default.contains(&domain) { "yes" } else { "when named" };
        table += &format!("| `{domain}` | {reads} | {} | {loaded} |\n", mine.len() - reads);
    }
    table
}

/// The workflows, those that read first.
fn workflows() -> String {
    let all = alone(everything());
    let mut tools: Vec<&Tool> =
        all.registry().iter().map(|(tool, _)| tool).filter(|tool| tool.domain() == "workflows").collect();
    tools.sort_by_key(|tool| (!tool.reads, tool.name));
    let mut table = String::from("| Tool | Gate | What it does |\n|---|---|---|\n");
    for tool in tools {
        table += &format!("| `{}` | `{}` | {} |\n", tool.name, tool.gate, tool.summary);
    }
    table
}

/// The toolsets of an empty environment.
fn default_toolsets() -> Vec<String> {
    Settings::load(&|_| None, &[], Purpose::List).expect("no setting is wrong").offer.toolsets
}

fn codes() -> String {
    let mut table = String::from("| Code | Means |\n|---|---|\n");
    for code in Code::ALL {
        table += &format!("| `{}` | {} |\n", code.word(), code.meaning().trim_end_matches('.'));
    }
    table
}

/// What `tools/list` weighs, by profile.
fn context() -> String {
    let writes = Access { writes: true, ..Access::default() };
    let named = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<String>>();
    let profiles = [
        ("`api`", named(&["api"]), Access::default()),
        ("`workflows,api`", named(&["workflows", "api"]), Access::default()),
        ("`api`, writes", named(&["api"]), writes.clone()),
        ("`api,vm,lxc`, writes", named(&["api", "vm", "lxc"]), writes.clone()),
        ("default, read-only", default_toolsets(), Access::default()),
        ("default, writes", default_toolsets(), writes),
        ("`all`, every gate open", all_toolsets(), everything()),
    ];
    let mut table = String::from("| Toolsets and gates | Tools | Size | Tokens, roughly |\n|---|---|---|---|\n");
    for (name, toolsets, access) in profiles {
        let offer = Offer { toolsets, ..Offer::default() };
        let handler = Handler::new(server(Settings { offer, ..settings(nowhere(), access) }));
        let bytes = serde_json::to_vec(handler.tools()).expect("JSON").len();
        // Coarse: a word more in one summary should not change this page.
        let (kib, tokens) = (bytes.div_ceil(1024), (bytes / 4).div_ceil(500) * 500);
        table += &format!("| {name} | {} | {kib} KiB | {tokens} |\n", handler.tools().len());
    }
    table
}

fn resources() -> String {
    let mut table = String::from("| Resource | What it holds | Changes are told |\n|---|---|---|\n");
    for listing in LISTINGS {
        let told = if listing.watched { "yes" } else { "no" };
        table += &format!("| `proxmox://<instance>/{}` | {} | {told} |\n", listing.name, listing.summary);
    }
    for (uri, name, summary) in TEMPLATES {
        let told = if name == "guest" { "yes" } else { "no" };
        table += &format!("| `{}` | {summary} | {told} |\n", uri.replace('{', "<").replace('}', ">"));
    }
    table
}

fn prompts() -> String {
    let mut table = String::from("| Prompt | What it is for | Arguments |\n|---|---|---|\n");
    for guide in &GUIDES {
        let arguments: Vec<String> = guide.arguments.iter().map(|(name, ..)| format!("`{name}`")).collect();
        table += &format!("| `{}` | {} | {} |\n", guide.name, guide.summary, arguments.join(", "));
    }
    table
}

#[test]
fn the_tables_are_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let mut readme = std::fs::read_to_string(&file).expect("README.md");
    let blocks = [
        ("variables", variables()),
        ("gates", gates()),
        ("domains", domains()),
        ("workflows", workflows()),
        ("codes", codes()),
        ("context", context()),
        ("resources", resources()),
        ("prompts", prompts()),
    ];
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

/// The texts of the fenced blocks of one language.
fn blocks(readme: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let rest = readme.split(&fence).skip(1);
    rest.map(|rest| rest.split("```").next().unwrap_or_default().to_string()).collect()
}

#[test]
fn every_configuration_block_is_accepted() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(file).expect("README.md");
    let dir = tempfile::tempdir().expect("a folder");
    let token = dir.path().join("token");
    std::fs::write(&token, "mcp@pve!pvemcp=01234567-89ab-cdef-0123-456789abcdef\n").expect("written");
    let blocks = blocks(&readme, "json");
    assert!(blocks.len() >= 3, "the README shows how clients are configured");
    for block in blocks {
        let parsed: serde_json::Value = serde_json::from_str(&block).unwrap_or_else(|error| panic!("{error}: {block}"));
        let servers = parsed["mcpServers"].as_object().unwrap_or_else(|| panic!("not the form of a client: {block}"));
        for server in servers.values() {
            assert!(server["command"].as_str().is_some_and(|command| command.contains("pvemcp")), "{block}");
            let env = server["env"].as_object().expect("variables");
            // What only the reader can know is put in its place.
            let get = |name: &str| match (name, env.get(name)?.as_str()?) {
                ("PROXMOX_CREDENTIALS_FILE", _) => Some(token.display().to_string()),
                ("PROXMOX_FINGERPRINT", text) if text.ends_with('…') => Some(["AA"; 32].join(":")),
                (_, text) => Some(text.to_string()),
            };
            let names: Vec<String> = env.keys().cloned().collect();
            let loaded = Settings::load(&get, &names, Purpose::Connect);
            let loaded = loaded.unwrap_or_else(|errors| panic!("{errors:?}: {block}"));
            assert_eq!(loaded.warnings, Vec::<String>::new(), "{block}");
        }
    }
}
