//! Real clients against the fake: what their scripts print (`PASS`, `FAIL`, `SKIP` and an operation, then a `RESULT`), held
//! against what must fail. `clients/main.rs` runs them.

use std::collections::{BTreeMap, BTreeSet};

/// Script -> operation -> reason.
pub struct Expected(BTreeMap<String, BTreeMap<String, String>>);

impl Expected {
    /// `clients/expected.toml`.
    ///
    /// # Panics
    /// When the file is malformed: it is part of the source.
    pub fn of_this_build() -> Expected {
        Expected(toml::from_str(include_str!("../clients/expected.toml")).expect("expected.toml has the form it says"))
    }

    /// `suite/expected.toml`, where a script is a part of the suite.
    ///
    /// # Panics
    /// As [`Expected::of_this_build`].
    pub fn of_the_suite() -> Expected {
        Expected(toml::from_str(include_str!("../suite/expected.toml")).expect("expected.toml has the form it says"))
    }

    /// What must fail in a script, with the reasons.
    pub fn of(&self, script: &str) -> BTreeMap<String, String> {
        self.0.get(script).cloned().unwrap_or_default()
    }
}

/// What a script found.
#[derive(Debug, Default)]
pub struct Outcome {
    passed: BTreeSet<String>,
    /// Operation -> why.
    failed: BTreeMap<String, String>,
    /// Whether it came to its end.
    complete: bool,
}

impl Outcome {
    /// Reads the lines; others are the clients' own.
    pub fn read(output: &str) -> Outcome {
        let mut outcome = Outcome::default();
        for line in output.lines() {
            match line.split_once(' ') {
                Some(("PASS", operation)) => drop(outcome.passed.insert(operation.into())),
                Some(("FAIL", rest)) => {
                    let (operation, why) = rest.split_once(": ").unwrap_or((rest, ""));
                    outcome.failed.insert(operation.into(), why.into());
                }
                Some(("RESULT", _)) => outcome.complete = true,
                _ => {}
            }
        }
        outcome
    }

    /// From what another program found: operation -> why it fails, or nothing.
    pub fn of(found: impl IntoIterator<Item = (String, Option<String>)>) -> Outcome {
        let mut outcome = Outcome { complete: true, ..Outcome::default() };
        for (operation, failure) in found {
            match failure {
                None => drop(outcome.passed.insert(operation)),
                Some(why) => drop(outcome.failed.insert(operation, why)),
            }
        }
        outcome
    }

    /// Holds it against what must fail.
    ///
    /// # Errors
    /// Every difference, one a line.
    pub fn judge(&self, expected: BTreeMap<String, String>) -> Result<(), String> {
        let mut wrong = Vec::new();
        if !self.complete {
            wrong.push("it did not come to its end".to_string());
        }
        if self.passed.is_empty() {
            wrong.push("nothing passed".to_string());
        }
        for (operation, why) in self.failed.iter().filter(|(operation, _)| !expected.contains_key(*operation)) {
            wrong.push(format!("{operation} fails: {why}"));
        }
        for (operation, reason) in expected.iter().filter(|(operation, _)| !self.failed.contains_key(*operation)) {
            wrong.push(format!("{operation} does not fail any more: take it off expected.toml ({reason})"));
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str =
        "PASS auth\n# GET /x\nFAIL clone: RuntimeError: no: such\nSKIP old: gone\nRESULT c pass=1 fail=1\n";

    fn expected(operations: &[&str]) -> BTreeMap<String, String> {
        operations.iter().map(|operation| (operation.to_string(), "the client is wrong".into())).collect()
    }

    #[test]
    fn a_failure_counts_both_ways() {
        let outcome = Outcome::read(PRINTED);
        assert_eq!(outcome.judge(expected(&["clone"])), Ok(()));
        assert_eq!(outcome.judge(expected(&[])), Err("clone fails: RuntimeError: no: such".into()));
        let stale = "auth does not fail any more: take it off expected.toml (the client is wrong)";
        assert_eq!(outcome.judge(expected(&["auth", "clone"])), Err(stale.into()));
    }

    #[test]
    fn a_script_that_breaks_off_has_failed() {
        assert_eq!(Outcome::read("PASS auth\n").judge(expected(&[])), Err("it did not come to its end".into()));
        assert!(Outcome::read("RESULT c pass=0\n").judge(expected(&[])).is_err_and(|text| text == "nothing passed"));
    }
}
