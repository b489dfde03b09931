//! What a script prints (`PASS`, `FAIL`, `SKIP` and an operation, then a `RESULT`), held against what must fail.

use std::collections::{BTreeMap, BTreeSet};

/// Script -> operation -> reason.
pub struct Expected(BTreeMap<String, BTreeMap<String, String>>);

impl Expected {
    /// `expected.toml`.
    pub fn of_this_build() -> Expected {
        Expected(toml::from_str(include_str!("expected.toml")).expect("expected.toml has the form it says"))
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
