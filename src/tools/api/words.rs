//! Words for the search: how text is split, what is left out, and what people say for the API's words.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// Words that say nothing.
const NOTHING: [&str; 142] = [
    "a",
    "about",
    "after",
    "again",
    "all",
    "already",
    "an",
    "and",
    "another",
    "any",
    "anybody",
    "anything",
    "are",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "doing",
    "else",
    "even",
    "every",
    "for",
    "from",
    "give",
    "gives",
    "got",
    "guy",
    "had",
    "has",
    "have",
    "having",
    "he",
    "her",
    "here",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "let",
    "like",
    "ll",
    "m",
    "maybe",
    "me",
    "more",
    "most",
    "much",
    "must",
    "my",
    "need",
    "needs",
    "never",
    "nobody",
    "not",
    "nothing",
    "now",
    "of",
    "ok",
    "on",
    "once",
    "one",
    "only",
    "or",
    "other",
    "our",
    "over",
    "please",
    "proxmox",
    "pve",
    "really",
    "right",
    "s",
    "she",
    "should",
    "so",
    "some",
    "somebody",
    "somehow",
    "something",
    "soon",
    "still",
    "stuff",
    "such",
    "t",
    "tell",
    "than",
    "thanks",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "this",
    "those",
    "to",
    "too",
    "try",
    "up",
    "us",
    "ve",
    "very",
    "want",
    "wants",
    "was",
    "way",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "whole",
    "whose",
    "why",
    "will",
    "with",
    "without",
    "would",
    "yet",
    "you",
    "your",
];

/// Words of a question or of a wish to look.
const LOOKS: [&str; 16] = [
    "are", "can", "did", "does", "get", "has", "how", "is", "list", "show", "see", "what", "when", "which", "who",
    "history",
];

/// Of these, those that ask wherever they stand.
const ASKS: [&str; 8] = ["how", "list", "show", "see", "what", "when", "which", "who"];

/// Words of a wish to change something; synonyms lead to these.
const CHANGES: [&str; 24] = [
    "add", "apply", "clone", "create", "delete", "give", "keep", "migrate", "move", "reboot", "renew", "reset",
    "resize", "restore", "resume", "rollback", "run", "shutdown", "start", "stop", "suspend", "update", "wake", "wipe",
];

/// What people write in several words, or with a hyphen, and the word that stands for it.
const PHRASES: [(&str, &str); 25] = [
    ("log in", "login"),
    ("logged in", "login"),
    ("sign in", "login"),
    ("let's encrypt", "letsencrypt"),
    ("lets encrypt", "letsencrypt"),
    ("shut down", "shutdown"),
    ("power off", "poweroff"),
    ("turn off", "poweroff"),
    ("switch off", "poweroff"),
    ("turn on", "poweron"),
    ("switch on", "poweron"),
    ("power on", "poweron"),
    ("wake up", "wake"),
    ("back up", "backup"),
    ("kick off", "start"),
    ("roll back", "rollback"),
    ("set up", "create"),
    ("get rid of", "delete"),
    ("network card", "nic"),
    ("time zone", "timezone"),
    ("cloud-init", "cloudinit"),
    ("cloud init", "cloudinit"),
    ("two factor", "tfa"),
    ("ip set", "ipset"),
    // The storage that every installation begins with.
    ("local-lvm", "storage"),
];

/// What a query wants, as far as its words tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// To see something.
    Look,
    /// To change something.
    Change,
    /// Either.
    Open,
}

/// What a query wants. A question is a wish to look, whatever else it names.
pub fn wish(query: &str) -> Wish {
    let lower = said_in_one(query);
    if lower.starts_with("give me ") {
        return Wish::Look;
    }
    let mut plain = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let first = plain.next().unwrap_or_default();
    if LOOKS.contains(&first) {
        return Wish::Look;
    }
    let changes = |word: &str| {
        let word = stem(word);
        CHANGES.contains(&word.as_str()) || synonyms(&word).iter().any(|other| CHANGES.contains(&other.as_str()))
    };
    if changes(first) {
        return Wish::Change;
    }
    let others: Vec<&str> = plain.collect();
    if others.iter().any(|word| ASKS.contains(word)) {
        return Wish::Look;
    }
    if others.iter().any(|word| changes(word)) { Wish::Change } else { Wish::Open }
}

static SYNONYMS: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let table: BTreeMap<String, Vec<String>> =
        toml::from_str(include_str!("synonyms.toml")).expect("a test reads this file");
    let mut synonyms: HashMap<String, Vec<String>> = HashMap::new();
    for (word, others) in table {
        synonyms.entry(stem(&word)).or_default().extend(others.iter().map(|other| stem(other)));
    }
    synonyms
});

static SAID: LazyLock<HashMap<String, String>> =
    LazyLock::new(|| toml::from_str(include_str!("said.toml")).expect("a test reads this file"));

/// How people ask for a method (`VERB /template`), beyond its own words.
pub fn said(method: &str) -> &'static str {
    SAID.get(method).map(String::as_str).unwrap_or_default()
}

/// A query without what stands in quotes: the name of something, which says nothing about what to do with it.
pub fn without_names(query: &str) -> String {
    let mut plain = String::new();
    let mut rest = query;
    while let Some(at) = rest.find(['\'', '"']) {
        let (before, quoted) = rest.split_at(at);
        let mark = &quoted[..1];
        let begins = before.is_empty() || before.ends_with(|c: char| c.is_whitespace() || c == '(');
        plain.push_str(before);
        match quoted[1..].find(mark).filter(|_| begins) {
            Some(end) => rest = &quoted[1..][end + 1..],
            None => {
                plain.push_str(mark);
                rest = &quoted[1..];
            }
        }
    }
    plain + rest
}

/// The words of a text that say something, lower case, without the plural's `s`.
pub fn split(text: &str) -> Vec<String> {
    let lower = said_in_one(text);
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    // Numbers are ids: they name one thing, not a kind of things.
    let telling = words.filter(|word| !NOTHING.contains(word) && word.parse::<u64>().is_err());
    telling.map(stem).collect()
}

/// Lower case, with phrases as the one word that stands for them.
fn said_in_one(text: &str) -> String {
    let mut said = text.to_lowercase();
    for (phrase, word) in PHRASES {
        let mut from = 0;
        while let Some(at) = said[from..].find(phrase).map(|at| from + at) {
            let (before, after) = (&said[..at], &said[at + phrase.len()..]);
            let whole = !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric);
            from = at + if whole { word.len() } else { phrase.len() };
            if whole {
                said = format!("{before}{word}{after}");
            }
        }
    }
    said
}

/// Words that have synonyms, for finding the one that was meant by a slip.
pub fn with_synonyms() -> impl Iterator<Item = &'static str> {
    SYNONYMS.keys().map(String::as_str)
}

/// What else to look for when somebody says this word.
pub fn synonyms(word: &str) -> &'static [String] {
    SYNONYMS.get(word).map(Vec::as_slice).unwrap_or_default()
}

fn stem(word: &str) -> String {
    const SAME: [&str; 7] = ["status", "dns", "https", "access", "address", "ss", "is"];
    if word.len() < 3 || SAME.iter().any(|end| word.ends_with(end)) {
        return word.to_string();
    }
    if let Some(short) = word.strip_suffix("ies").filter(|short| short.len() > 2) {
        return format!("{short}y");
    }
    match word.strip_suffix('s') {
        Some(short) => short.to_string(),
        None => word.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_lose_their_plural_and_the_small_ones_go() {
        assert_eq!(split("How do I list the VMs of a node?"), ["list", "vm", "node"]);
        assert_eq!(split("status of repositories"), ["status", "repository"]);
    }

    #[test]
    fn what_people_say_is_there_for_each_method_and_for_nothing_else() {
        let methods: BTreeSet<String> = pve_catalog::Catalog::embedded().methods().iter().map(|m| m.key()).collect();
        let rows: BTreeSet<String> = SAID.keys().cloned().collect();
        assert_eq!(methods.symmetric_difference(&rows).collect::<Vec<_>>(), Vec::<&String>::new());
    }

    #[test]
    fn names_in_quotes_are_left_out() {
        assert_eq!(without_names("bounce lxc 'mail' at once"), "bounce lxc  at once");
        assert_eq!(without_names("don't stop the \"web one\""), "don't stop the ");
        assert_eq!(without_names("an open 'quote"), "an open 'quote");
    }

    #[test]
    fn synonyms_can_be_read() {
        assert!(synonyms("container").contains(&"lxc".to_string()));
    }
}
