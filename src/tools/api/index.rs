//! The search: an inverted index over names, paths, summaries and parameters, ranked as BM25 does, forgiving about typos.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use pve_catalog::{Catalog, Method, Verb, verify};

use super::words::{self, Wish};
use crate::tools::by_hand;

/// One thing that can be found.
#[derive(Debug, Clone, Copy)]
pub enum Found {
    /// A method of the API, with a tool or without.
    Method(&'static Method),
    /// A tool written by hand.
    Hand(&'static str),
}

/// Word -> where it stands and how much it says there.
#[derive(Debug)]
pub struct Index {
    catalog: &'static Catalog,
    entries: Vec<Entry>,
    postings: HashMap<String, Vec<(usize, f64)>>,
    mean_length: f64,
}

#[derive(Debug)]
struct Entry {
    found: Found,
    name: &'static str,
    /// The words of its name.
    words: BTreeSet<String>,
    domains: Vec<&'static str>,
    reads: bool,
    /// Only lists the paths below it.
    is_index: bool,
    length: f64,
}

/// What the words of a query found in one entry.
#[derive(Debug, Default)]
struct Score<'t> {
    sum: f64,
    words: usize,
    terms: BTreeSet<&'t str>,
}

impl Entry {
    fn new(found: Found, name: &'static str, domains: Vec<&'static str>, reads: bool) -> Entry {
        // Every tool that reads begins with one of these: nobody has to ask for it.
        let telling = |word: &String| !matches!(word.as_str(), "list" | "get");
        let words = words::split(name).into_iter().filter(telling).collect();
        let is_index = matches!(found, Found::Method(method) if method.summary.ends_with("(index)"));
        Entry { found, name, words, domains, reads, is_index, length: 0.0 }
    }

    /// The sum, less where words of the query are missing, where the name says more than was asked, and where the query
    /// wants to look and this changes, or the other way round.
    fn judge(&self, score: &Score<'_>, asked: usize, wish: Wish) -> f64 {
        let covered = score.words as f64 / asked.max(1) as f64;
        let named = self.words.iter().filter(|word| score.terms.contains(word.as_str())).count();
        let precise = named as f64 / self.words.len().max(1) as f64;
        let fits = match wish {
            Wish::Open => 1.0,
            Wish::Look if self.reads => 1.0,
            Wish::Change if !self.reads => 1.0,
            _ => 0.6,
        };
        let wanted = if self.is_index { INDEX } else { 1.0 };
        score.sum * (0.4 + 0.6 * covered) * (0.5 + 0.5 * precise) * fits * wanted
    }
}

/// How much a word says, by where it stands.
const NAME: f64 = 3.0;
const SUMMARY: f64 = 1.5;
const PATH: f64 = 1.2;
const SAID: f64 = 1.0;
const DOMAIN: f64 = 0.8;
const PARAMETER: f64 = 0.35;

/// Two words that stand together, in the query and in what people say, beside what each of them says.
const TOGETHER: f64 = 0.5;

/// A synonym counts less than the word itself, a similar word less than both.
const SYNONYM: f64 = 0.6;
const PREFIX: f64 = 0.7;
const TYPO: f64 = 0.65;

/// Less alike than this, a word is another one and no slip.
const LEAST_LIKENESS: f64 = 0.7;

/// What only lists the paths below it is hardly ever what somebody looks for.
const INDEX: f64 = 0.5;

impl Index {
    /// The index of a catalogue and of the tools written by hand.
    pub fn of(catalog: &'static Catalog) -> Index {
        let mut index = Index { catalog, entries: Vec::new(), postings: HashMap::new(), mean_length: 1.0 };
        for method in catalog.methods() {
            index.method(method);
        }
        for tool in by_hand() {
            let mut weights = BTreeMap::new();
            weigh(&mut weights, tool.name, NAME);
            weigh(&mut weights, &tool.summary, SUMMARY);
            weigh(&mut weights, &tool.domains.join(" "), DOMAIN);
            let entry = Entry::new(Found::Hand(tool.name), tool.name, tool.domains.to_vec(), tool.reads);
            index.enter(Entry { length: weights.values().sum(), ..entry }, weights);
        }
        index.mean_length = index.entries.iter().map(|e| e.length).sum::<f64>() / index.entries.len().max(1) as f64;
        index
    }

    fn method(&mut self, method: &'static Method) {
        let mut weights = BTreeMap::new();
        weigh(&mut weights, method.tool.unwrap_or(method.name), NAME);
        weigh(&mut weights, method.summary, SUMMARY);
        weigh(&mut weights, method.path, PATH);
        // What people say and the parameters make an entry no longer: they say nothing about how much it is about.
        let length = weights.values().sum();
        let said = words::said(&method.key());
        weigh(&mut weights, said, SAID);
        weigh(&mut weights, &method.domains.join(" "), DOMAIN);
        for name in verify::parameter_names(method.parameters()) {
            weigh(&mut weights, name.trim_end_matches("[n]"), PARAMETER);
        }
        let name = method.tool.unwrap_or(method.path);
        let reads = method.verb == Verb::Get;
        let entry = Entry::new(Found::Method(method), name, method.domains.clone(), reads);
        self.enter(Entry { length, ..entry }, weights);
        let at = self.entries.len() - 1;
        let together: BTreeSet<String> = [said, method.summary]
            .iter()
            .flat_map(|text| {
                let told = words::split(text);
                pairs(&told).collect::<Vec<_>>()
            })
            .collect();
        for pair in together {
            self.postings.entry(pair).or_default().push((at, SAID));
        }
    }

    fn enter(&mut self, entry: Entry, weights: BTreeMap<String, f64>) {
        let at = self.entries.len();
        self.entries.push(entry);
        for (word, weight) in weights {
            self.postings.entry(word).or_default().push((at, weight));
        }
    }

    /// The best matches, best first, with their scores. `domain` narrows it.
    pub fn search(&self, query: &str, domain: Option<&str>, most: usize) -> Vec<(Found, f64)> {
        let told = words::split(&words::without_names(query));
        let pairs: BTreeSet<String> = pairs(&told).collect();
        let asked: BTreeSet<String> = told.into_iter().filter(|word| self.may_tell(word)).collect();
        let wish = words::wish(query);
        let mut scores: HashMap<usize, Score> = HashMap::new();
        for word in &asked {
            for (at, (score, term)) in self.matches(word) {
                let entry = scores.entry(at).or_default();
                entry.sum += score;
                entry.words += 1;
                entry.terms.insert(term);
            }
        }
        for (at, score) in pairs.iter().flat_map(|pair| self.term(pair)) {
            // Only where a word was found too: a pair says the same once more.
            scores.entry(at).and_modify(|entry| entry.sum += score * TOGETHER);
        }
        let judged = scores.into_iter().map(|(at, score)| (at, self.entries[at].judge(&score, asked.len(), wish)));
        let within = |at: usize| domain.is_none_or(|domain| self.entries[at].domains.contains(&domain));
        let mut ranked: Vec<(usize, f64)> = judged.filter(|(at, _)| within(*at)).collect();
        ranked.extend(self.exact(query, domain).map(|at| (at, 1000.0)));
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| self.entries[a.0].name.cmp(self.entries[b.0].name)));
        let mut seen = HashSet::new();
        ranked.retain(|(at, _)| seen.insert(*at));
        ranked.truncate(most);
        ranked.into_iter().map(|(at, score)| (self.entries[at].found, score)).collect()
    }

    /// Whether a word can be more than the name of something: `pve4` and `sdb1` are names, `ipv6` is known.
    fn may_tell(&self, word: &str) -> bool {
        let named = word.contains(|c: char| c.is_ascii_digit());
        !named || self.postings.contains_key(word) || !words::synonyms(word).is_empty()
    }

    /// What one word of the query finds: the best of itself, its synonyms and its neighbours per entry.
    fn matches<'i>(&'i self, word: &'i str) -> HashMap<usize, (f64, &'i str)> {
        let mut terms: Vec<(&'i str, f64)> = vec![(word, 1.0)];
        terms.extend(words::synonyms(word).iter().map(|other| (other.as_str(), SYNONYM)));
        if !terms.iter().any(|(term, _)| self.postings.contains_key(*term)) {
            terms.extend(self.similar(word));
            // A slip in a word that nobody but people uses.
            let (likeness, meant) = nearest_said(word);
            let others = words::synonyms(meant).iter().filter(|_| likeness >= LEAST_LIKENESS);
            terms.extend(others.map(|other| (other.as_str(), likeness * TYPO * SYNONYM)));
        }
        let mut best: HashMap<usize, (f64, &str)> = HashMap::new();
        for (term, weight) in terms {
            for (at, score) in self.term(term) {
                let slot = best.entry(at).or_insert((0.0, term));
                if score * weight > slot.0 {
                    *slot = (score * weight, term);
                }
            }
        }
        best
    }

    /// BM25 with the weights of the fields as term frequency.
    fn term(&self, term: &str) -> impl Iterator<Item = (usize, f64)> {
        const K: f64 = 1.2;
        const B: f64 = 0.4;
        let postings = self.postings.get(term).map(Vec::as_slice).unwrap_or_default();
        let (all, some) = (self.entries.len() as f64, postings.len() as f64);
        let rarity = (1.0 + (all - some + 0.5) / (some + 0.5)).ln();
        postings.iter().map(move |(at, weight)| {
            let long = 1.0 - B + B * self.entries[*at].length / self.mean_length;
            (*at, rarity * weight * (K + 1.0) / (weight + K * long))
        })
    }

    /// Known words that begin with it, or look like it.
    fn similar(&self, word: &str) -> Vec<(&str, f64)> {
        let mut similar: Vec<(&str, f64)> = self
            .postings
            .keys()
            .filter(|known| !known.contains(' '))
            .filter_map(|known| {
                if word.len() >= 3 && known.starts_with(word) {
                    return Some((known.as_str(), PREFIX));
                }
                let likeness = strsim::normalized_damerau_levenshtein(word, known);
                (likeness >= LEAST_LIKENESS).then_some((known.as_str(), likeness * TYPO))
            })
            .collect();
        similar.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        similar.truncate(4);
        similar
    }

    /// Entries that the query names outright: a tool, or a path with or without its values.
    fn exact(&self, query: &str, domain: Option<&str>) -> impl Iterator<Item = usize> {
        let query = query.trim().to_string();
        let path = query.split_whitespace().find(|word| word.starts_with('/')).unwrap_or_default().to_string();
        let template = self.catalog.route(&path).map_or(path.clone(), |(template, _)| template.to_string());
        let domain = domain.map(str::to_string);
        self.entries.iter().enumerate().filter_map(move |(at, entry)| {
            let named = query.split_whitespace().any(|word| word == entry.name);
            let routed = matches!(entry.found, Found::Method(method) if !path.is_empty() && method.path == template);
            let within = domain.as_deref().is_none_or(|domain| entry.domains.contains(&domain));
            ((named || routed) && within).then_some(at)
        })
    }
}

/// Each word with the next.
fn pairs(words: &[String]) -> impl Iterator<Item = String> {
    words.windows(2).map(|pair| pair.join(" "))
}

/// The word with synonyms that is most like this one.
fn nearest_said(word: &str) -> (f64, &'static str) {
    let all = words::with_synonyms().map(|known| (strsim::normalized_damerau_levenshtein(word, known), known));
    all.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1))).unwrap_or_default()
}

fn weigh(weights: &mut BTreeMap<String, f64>, text: &str, weight: f64) {
    for word in words::split(text) {
        // Said again in the same place, a word says little more.
        let slot = weights.entry(word).or_default();
        *slot = if *slot == 0.0 { weight } else { slot.max(weight) + 0.1 };
    }
}
