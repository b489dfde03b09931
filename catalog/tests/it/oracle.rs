//! How recorded answers judge ours: known differences one by one, and nothing else.

use std::collections::BTreeMap;

/// Known differences of one recording: key of the vector -> reason.
pub fn exceptions(name: &str) -> BTreeMap<String, String> {
    let text = include_str!("../data/exceptions.toml");
    let all: BTreeMap<String, Vec<BTreeMap<String, String>>> = toml::from_str(text).expect("exceptions.toml is TOML");
    let rows = all.get(name).cloned().unwrap_or_default();
    rows.into_iter().map(|row| (row["key"].clone(), row["reason"].clone())).collect()
}

/// Holds the results against the recording: at least 99.9 % right, and what is wrong is listed, what is listed is wrong.
pub fn judge(name: &str, vectors: usize, wrong: &BTreeMap<String, String>, whole: bool) {
    let exceptions = exceptions(name);
    let unlisted: Vec<String> = wrong
        .iter()
        .filter(|(key, _)| !exceptions.contains_key(*key))
        .map(|(key, difference)| format!("{key}\n    {difference}"))
        .collect();
    let shown = unlisted.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(unlisted.is_empty(), "{name}: {} of {vectors} differ from the recording:\n{shown}", unlisted.len());
    let most = if whole { vectors / 1000 } else { vectors };
    assert!(wrong.len() <= most, "{name}: {} of {vectors} differ: more than one in a thousand", wrong.len());
    let stale: Vec<&String> = exceptions.keys().filter(|key| whole && !wrong.contains_key(*key)).collect();
    assert!(stale.is_empty(), "{name}: listed as different, but right: {stale:?}");
}

/// Texts are compared up to the place in Perl's files, and lines of a property string in any order.
pub fn comparable(text: &str) -> String {
    let text = text.split(" at /usr/share/perl5/").next().unwrap_or_default();
    match text.split_once("format error\n") {
        Some((before, errors)) => {
            let mut errors: Vec<&str> = errors.lines().collect();
            errors.sort_unstable();
            format!("{before}format error\n{}", errors.join("\n"))
        }
        None => text.to_string(),
    }
}
