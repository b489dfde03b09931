//! The scoreboard: how many steps match, by file and by method, and the first differences.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use super::compare::Verdict;
use super::step::Step;

/// Differences shown for one method of one recorded file.
const SHOWN: usize = 3;
/// Longest difference shown when nothing was asked for.
const LONGEST: usize = 1500;

#[derive(Clone, Copy, Default)]
struct Score {
    matched: usize,
    differing: usize,
    no_evidence: usize,
}

#[derive(Default)]
pub struct Board {
    filter: Option<String>,
    by_file: BTreeMap<String, Score>,
    by_method: BTreeMap<String, Score>,
    differences: BTreeMap<String, Vec<String>>,
    shown: BTreeMap<(String, String), usize>,
    /// Every step that differs, for comparing two runs.
    places: Vec<String>,
    reasons: BTreeMap<String, usize>,
}

/// Matching steps by file: of the whole recording, and of the sample.
#[derive(Deserialize)]
struct Floor {
    whole: BTreeMap<String, usize>,
    sample: BTreeMap<String, usize>,
}

impl Board {
    pub fn new(filter: Option<String>) -> Board {
        Board { filter, ..Board::default() }
    }

    pub fn wants(&self, step: &Step) -> bool {
        let call = || format!("{} {}", step.verb, step.path);
        self.filter.as_ref().is_none_or(|part| call().contains(part.as_str()))
    }

    pub fn add(&mut self, file: &str, step: &Step, verdict: Verdict) {
        let method = step.method();
        let scores = [self.by_file.entry(file.into()).or_default(), self.by_method.entry(method.clone()).or_default()];
        match verdict {
            Verdict::Matched => scores.into_iter().for_each(|score| score.matched += 1),
            Verdict::NoEvidence(reason) => {
                scores.into_iter().for_each(|score| score.no_evidence += 1);
                *self.reasons.entry(reason).or_default() += 1;
            }
            Verdict::Differing(differences) => {
                scores.into_iter().for_each(|score| score.differing += 1);
                self.places.push(format!("{} {} {}\n", step.place, step.verb, step.path));
                let shown = self.shown.entry((file.into(), method.clone())).or_default();
                *shown += 1;
                if self.filter.is_some() || *shown <= SHOWN {
                    self.differences.entry(method).or_default().push(self::shown(
                        step,
                        &differences,
                        self.filter.is_some(),
                    ));
                }
            }
        }
    }

    /// Prints the totals and writes the file.
    #[expect(clippy::print_stdout, reason = "the totals are what a run is for")]
    pub fn publish(&self) {
        let mut text = String::from("Recorded calls replayed: matched / differing / no evidence\n\n");
        text.push_str(&table(&self.by_file));
        println!("{text}");
        text.push('\n');
        text.push_str(&table(&self.by_method));
        text.push_str("\nNo evidence\n");
        for (reason, count) in &self.reasons {
            let _written = writeln!(text, "{count:6} {reason}");
        }
        let mut methods: Vec<_> = self.differences.iter().collect();
        methods.sort_by_key(|(method, _)| std::cmp::Reverse(self.by_method[*method].differing));
        for (method, differences) in methods {
            let _written = writeln!(text, "\n== {method}: {} differ", self.by_method[method].differing);
            text.push_str(&differences.concat());
        }
        if self.filter.is_some() {
            println!("{}", self.differences.values().flatten().map(String::as_str).collect::<String>());
        }
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replay.txt");
        std::fs::write(&file, text).expect("a writable target folder");
        let places = file.with_file_name("replay-differing.txt");
        std::fs::write(places, self.places.concat()).expect("a writable target folder");
        println!("scoreboard: {}", file.display());
    }

    /// Holds the totals against the committed numbers.
    pub fn judge(&self, floor: &str, whole: bool) {
        let floor: Floor = toml::from_str(floor).expect("numbers by file");
        let (name, committed) = if whole { ("whole", floor.whole) } else { ("sample", floor.sample) };
        let matched: BTreeMap<String, usize> =
            self.by_file.iter().map(|(file, score)| (file.clone(), score.matched)).collect();
        let lines: Vec<String> = matched.iter().map(|(file, count)| format!("\"{file}\" = {count}")).collect();
        let now = format!("[{name}]\n{}", lines.join("\n"));
        std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-floor-{name}.toml")), &now)
            .expect("a writable target folder");
        let fell: Vec<&String> = committed
            .iter()
            .filter(|(file, floor)| matched.get(*file).is_none_or(|now| now < floor))
            .map(|(file, _)| file)
            .collect();
        assert!(fell.is_empty(), "fewer calls match than before in {fell:?}; now:\n{now}");
        assert!(matched == committed, "more calls match than before: write this into tests/replay-floor.toml\n{now}");
    }
}

fn shown(step: &Step, differences: &[String], full: bool) -> String {
    let params = serde_json::to_string(&step.params).unwrap_or_default();
    let mut text = format!("\n  {} {} {params} as {} ({})\n", step.verb, step.path, step.user, step.place);
    for difference in differences {
        let cut: String = if full { difference.clone() } else { difference.chars().take(LONGEST).collect() };
        let _written = writeln!(text, "    {cut}");
    }
    text
}

fn table(scores: &BTreeMap<String, Score>) -> String {
    let mut text = String::new();
    let mut all = Score::default();
    for (name, score) in scores {
        all.matched += score.matched;
        all.differing += score.differing;
        all.no_evidence += score.no_evidence;
        text.push_str(&row(name, *score));
    }
    text + &row("all", all)
}

fn row(name: &str, score: Score) -> String {
    let judged = score.matched + score.differing;
    let percent = if judged == 0 { 100.0 } else { 100.0 * score.matched as f64 / judged as f64 };
    format!("{:6} {:6} {:6} {percent:6.1} %  {name}\n", score.matched, score.differing, score.no_evidence)
}
