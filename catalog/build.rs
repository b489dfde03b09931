//! Joins `data/facts.jsonl` with the decisions in `data/*.toml` into the one file that the library embeds.

#[expect(dead_code, reason = "advice is asked for at run time")]
#[path = "src/advice.rs"]
mod advice;
#[expect(dead_code, reason = "requests are judged at run time")]
#[path = "src/arguments.rs"]
mod arguments;
#[expect(dead_code, reason = "staleness is a test's question")]
#[path = "src/decide.rs"]
mod decide;
#[path = "src/encode.rs"]
mod encode;
#[expect(dead_code, reason = "the build needs the vocabulary only")]
#[path = "src/gate.rs"]
mod gate;
#[path = "src/glob.rs"]
mod glob;
#[path = "src/name.rs"]
mod name;
#[expect(dead_code, reason = "the build needs the placeholders of a template only")]
#[path = "src/path.rs"]
mod path;
#[path = "src/record.rs"]
mod record;
#[expect(dead_code, reason = "the build writes schemas, it does not ask them")]
#[path = "src/schema.rs"]
mod schema;
#[expect(dead_code, reason = "the build embeds the rules, it does not ask them")]
#[path = "src/secrets.rs"]
mod secrets;
#[path = "src/tables.rs"]
mod tables;
#[expect(dead_code, reason = "the build needs the vocabulary only")]
#[path = "src/verb.rs"]
mod verb;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn main() -> Result<(), String> {
    let data = Path::new("data");
    println_cargo("rerun-if-changed=data");
    println_cargo("rerun-if-changed=src");
    let rules = decide::Rules {
        gates: toml(data, "gates")?,
        domains: toml(data, "domains")?,
        methods: toml(data, "methods")?,
        names: toml(data, "names")?,
        arguments: toml(data, "arguments")?,
        reserved: toml(data, "reserved")?,
        secrets: toml(data, "secrets")?,
        summaries: toml(data, "summaries")?,
        advice: toml(data, "advice")?,
        aliases: toml(data, "aliases")?,
    };
    let privileges: BTreeMap<String, Vec<String>> = toml(data, "privileges")?;
    let tables = tables::Tables {
        privileges: privileges.into_values().flatten().collect(),
        roles: toml(data, "roles")?,
        glossary: toml(data, "glossary")?,
        examples: toml(data, "examples")?,
    };
    let facts = fs::read_to_string(data.join("facts.jsonl")).map_err(|e| format!("facts.jsonl: {e}"))?;
    #[expect(clippy::disallowed_methods, reason = "how cargo tells a build script where to write")]
    let out = std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    let out = Path::new(&out);
    fs::write(out.join("catalog.postcard"), encode::encode(&facts, &rules)?).map_err(|e| e.to_string())?;
    let rules = postcard::to_stdvec(&rules).map_err(|e| e.to_string())?;
    fs::write(out.join("rules.postcard"), rules).map_err(|e| e.to_string())?;
    let tables = postcard::to_stdvec(&tables).map_err(|e| e.to_string())?;
    fs::write(out.join("tables.postcard"), tables).map_err(|e| e.to_string())?;
    let ranges: std::collections::BTreeMap<String, (u32, u32)> = toml(data, "ranges")?;
    let ranges = postcard::to_stdvec(&ranges).map_err(|e| e.to_string())?;
    fs::write(out.join("ranges.postcard"), ranges).map_err(|e| e.to_string())
}

fn toml<T: serde::de::DeserializeOwned>(data: &Path, name: &str) -> Result<T, String> {
    let file = data.join(name).with_extension("toml");
    let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    ::toml::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))
}

fn println_cargo(directive: &str) {
    println!("cargo::{directive}");
}
