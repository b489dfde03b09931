//! What a run found: a table for people, JSON and JUnit for machines.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::effect::Kind;

/// One tool.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub tool: String,
    /// The method behind it: `GET /version`.
    pub method: String,
    /// How it went.
    pub verdict: Verdict,
    /// What showed that a write was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Kind>,
    /// Why not, when it did not go well.
    pub detail: String,
}

/// How a trial went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything holds and the smallest call succeeds.
    Passed,
    /// The fake does not model what the call does (a list of its own).
    NotModelled,
    /// Something does not hold.
    Failed,
}

/// A whole run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Every tool that was tried, sorted by name.
    pub rows: Vec<Row>,
}

impl Report {
    /// How many went so.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// What did not pass, and the sums.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for row in self.rows.iter().filter(|row| row.verdict == Verdict::Failed) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "FAILED  {:<48} {}\n        {}", row.tool, row.method, row.detail);
        }
        let passed = self.count(Verdict::Passed);
        let share = 100.0 * passed as f64 / self.rows.len().max(1) as f64;
        let _ = writeln!(
            text,
            "{passed} of {} tools passed ({share:.1} %), {} not modelled by the fake, {} failed",
            self.rows.len(),
            self.count(Verdict::NotModelled),
            self.count(Verdict::Failed),
        );
        text + &effects(self.rows.iter().filter_map(|row| row.effect))
    }

    /// For machines.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// For CI systems.
    pub fn junit(&self) -> String {
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"conformance\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
            self.rows.len(),
            self.count(Verdict::Failed),
            self.count(Verdict::NotModelled),
        );
        for row in &self.rows {
            let (name, class, detail) = (escaped(&row.tool), escaped(&row.method), escaped(&row.detail));
            let inner = match row.verdict {
                Verdict::Passed => String::new(),
                Verdict::NotModelled => format!("<skipped message=\"{detail}\"/>"),
                Verdict::Failed => format!("<failure message=\"{detail}\"/>"),
            };
            let _ = writeln!(xml, "  <testcase name=\"{name}\" classname=\"{class}\">{inner}</testcase>");
        }
        xml + "</testsuite>\n"
    }
}

/// What showed that writes were done, by kind: `created 50, removed 40`.
pub fn effects(kinds: impl Iterator<Item = Kind>) -> String {
    let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
    kinds.for_each(|kind| *counts.entry(kind).or_default() += 1);
    let words = counts.iter().map(|(kind, count)| format!("{} {count}", format!("{kind:?}").to_lowercase()));
    format!("effects of writes: {}\n", words.collect::<Vec<_>>().join(", "))
}

fn escaped(text: &str) -> String {
    let clean = text.chars().filter(|c| !c.is_control() || *c == '\n');
    clean.fold(String::new(), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_tells_what_failed() {
        let row = |tool: &str, verdict, detail: &str| Row {
            tool: tool.into(),
            method: "GET /version".into(),
            verdict,
            effect: None,
            detail: detail.into(),
        };
        let report = Report {
            rows: vec![row("a", Verdict::Passed, ""), row("b", Verdict::Failed, "said <\"no\">\nand & more\u{1b}")],
        };
        assert!(report.table().contains("1 of 2 tools passed (50.0 %), 0 not modelled by the fake, 1 failed"));
        assert!(report.junit().contains("<failure message=\"said &lt;&quot;no&quot;&gt;&#10;and &amp; more\"/>"));
        assert!(report.json().contains("\"verdict\": \"failed\""));
    }
}
