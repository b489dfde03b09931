//! The words about methods are ours, whole, short, and told apart.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use pve_catalog::encode::encode;
use pve_catalog::{Catalog, Gate, Rules};
use serde_json::Value;

/// The longest summary, in characters.
const LONGEST: usize = 120;
/// An official description of this many words is nobody's common phrase.
const DESCRIPTION: usize = 6;
/// Nor is a run of this many words out of one.
const SENTENCE: usize = 9;
/// Words that make a sentence out of names: without one, a run is a list of facts, such as conntrack helpers.
const BINDING: [&str; 16] =
    ["a", "an", "and", "are", "be", "by", "for", "if", "in", "is", "not", "of", "on", "or", "the", "to"];

fn summaries() -> &'static BTreeMap<String, String> {
    &Catalog::rules().summaries
}

#[test]
fn every_method_has_a_summary_and_every_summary_a_method() {
    let keys: BTreeSet<String> = Catalog::embedded().methods().iter().map(|method| method.key()).collect();
    let said: BTreeSet<String> = summaries().keys().cloned().collect();
    assert_eq!(keys.difference(&said).collect::<Vec<_>>(), Vec::<&String>::new(), "methods without a summary");
    assert_eq!(said.difference(&keys).collect::<Vec<_>>(), Vec::<&String>::new(), "summaries without a method");
    for method in Catalog::embedded().methods() {
        assert_eq!(method.summary, summaries()[&method.key()]);
    }
}

#[test]
fn summaries_are_short_lines_of_one_form() {
    let mut problems = Vec::new();
    for (key, text) in summaries() {
        if text.chars().count() > LONGEST {
            problems.push(format!("{key}: longer than {LONGEST} characters"));
        }
        if !text.starts_with(|first: char| first.is_ascii_uppercase()) || text.ends_with(['.', ' ', ',', ';']) {
            problems.push(format!("{key}: starts with a capital, ends without a full stop"));
        }
        if text.contains("  ") || text.contains(|c: char| c.is_control() || !c.is_ascii()) {
            problems.push(format!("{key}: holds odd characters"));
        }
    }
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn no_two_summaries_are_the_same() {
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut problems = Vec::new();
    for (key, text) in summaries() {
        if let Some(other) = seen.insert(words(text).join(" "), key) {
            problems.push(format!("{key} and {other}: {text}"));
        }
    }
    assert_eq!(problems, Vec::<String>::new());
}

/// `(task)` is said exactly where the answer is a UPID.
#[test]
fn a_summary_says_when_it_starts_a_task() {
    let mut problems = Vec::new();
    for method in Catalog::embedded().methods() {
        let says = ["task)", "as a task"].iter().any(|word| method.summary.contains(word));
        if says != method.task {
            problems.push(format!("{}: {}", method.key(), method.summary));
        }
    }
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn a_method_without_a_summary_stops_the_build_and_is_guarded_in_an_import() {
    let facts = r#"{"path":"/nodes/{node}/lxc/{vmid}/brew","verb":"GET","name":"brew","returns":{"type":"object"}}
{"path":"/nodes/{node}/lxc/{vmid}/brew","verb":"POST","name":"brew","returns":{"type":"string"}}"#;
    let rules: &Rules = Catalog::rules();
    let refusal = encode(facts, rules).expect_err("nobody wrote about brewing");
    assert_eq!(refusal, "nothing is decided about GET /nodes/{node}/lxc/{vmid}/brew");
    let imported = Catalog::imported(facts).expect("an import may hold more than we know");
    let told: Vec<(Gate, &str)> = imported.methods().iter().map(|method| (method.gate, method.summary)).collect();
    assert_eq!(told, [(Gate::Sensitive, "Get lxc brew"), (Gate::Elevated, "Create lxc brew")]);
}

#[test]
fn no_summary_is_an_official_description() {
    let Some(official) = official() else { return };
    let descriptions: Vec<String> = (official.iter().map(|text| words(text)))
        .filter(|words| words.len() >= DESCRIPTION)
        .map(|words| format!(" {} ", words.join(" ")))
        .collect();
    let mut problems = Vec::new();
    for (key, text) in summaries() {
        let padded = format!(" {} ", words(text).join(" "));
        for description in descriptions.iter().filter(|description| padded.contains(description.as_str())) {
            problems.push(format!("{key}:{description}"));
        }
    }
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn no_file_of_the_catalogue_holds_an_official_sentence() {
    let Some(official) = official() else { return };
    let sentences: HashSet<Vec<String>> = (official.iter().map(|text| words(text)))
        .flat_map(|words| words.windows(SENTENCE).map(<[String]>::to_vec).collect::<Vec<_>>())
        .filter(|run| run.iter().any(|word| BINDING.contains(&word.as_str())))
        .collect();
    assert!(sentences.len() > 5000, "the document was read");
    let mut problems = Vec::new();
    for file in files(Path::new(env!("CARGO_MANIFEST_DIR"))) {
        let text = std::fs::read_to_string(&file).expect("a text file");
        let words = words(&text);
        let found = words.windows(SENTENCE).find(|run| sentences.contains(*run));
        problems.extend(found.map(|run| format!("{}: {}", file.display(), run.join(" "))));
    }
    assert_eq!(problems, Vec::<String>::new());
}

/// Words in lower case, without punctuation.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Every text of the official document that a person wrote, where `PVE_FACTS` has it.
fn official() -> Option<Vec<String>> {
    #[expect(clippy::disallowed_methods, reason = "where the recorded facts are")]
    let facts = std::env::var_os("PVE_FACTS")?;
    let file = Path::new(&facts).join("apidoc.js");
    let document = std::fs::read_to_string(&file).expect("the document of PVE_FACTS is readable");
    let start = document.find('[').expect("the schema is a list");
    let tree = serde_json::Deserializer::from_str(&document[start..]).into_iter::<Value>().next();
    let mut texts = Vec::new();
    collect(&tree.expect("a value").expect("JSON"), &mut texts);
    Some(texts)
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect(value, texts)),
        Value::Object(object) => {
            for (key, value) in object {
                match value.as_str() {
                    Some(text) if key.ends_with("description") => texts.push(text.to_string()),
                    _ => collect(value, texts),
                }
            }
        }
        _ => {}
    }
}

/// Text files of the package.
fn files(root: &Path) -> Vec<PathBuf> {
    const ENDS: [&str; 7] = ["rs", "toml", "md", "json", "jsonl", "txt", "snap"];
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the package") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| ENDS.iter().any(|known| end == *known)) {
                files.push(path);
            }
        }
    }
    files
}
