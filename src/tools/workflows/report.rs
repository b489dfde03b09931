//! What a check found, what it could not see, and by which thresholds. What could not be seen never counts as good.

use serde_json::{Map, Value, json};

use crate::error::{Code, Fault};
use crate::tools::{Reply, result, text};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Broken, or about to break.
    Critical,
    /// Will hurt some day.
    Warning,
    /// Worth knowing.
    Info,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Severity::Critical => "critical",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// One thing that is not as it should be.
#[derive(Debug)]
struct Finding {
    section: &'static str,
    severity: Severity,
    check: &'static str,
    subject: String,
    says: String,
}

/// A part that could not be read.
#[derive(Debug)]
struct Missing {
    section: &'static str,
    of: String,
    fault: Fault,
}

/// The report of one check, section by section.
#[derive(Debug)]
pub struct Report {
    sections: Vec<&'static str>,
    unused: Vec<&'static str>,
    findings: Vec<Finding>,
    missing: Vec<Missing>,
    thresholds: Map<String, Value>,
    limits: &'static [&'static str],
}

/// Faults after which nothing else can be read either: they are the answer, not a gap in it.
pub fn ends_everything(code: Code) -> bool {
    use Code::{
        Cancelled, TlsFingerprintMismatch, TlsUntrusted, TwoFactor, Unauthenticated, UnexpectedRedirect, Unreachable,
    };
    [Cancelled, TlsFingerprintMismatch, TlsUntrusted, TwoFactor, Unauthenticated, UnexpectedRedirect, Unreachable]
        .contains(&code)
}

impl Report {
    /// An empty report of these sections. `limits` says what the check cannot see at all.
    pub fn new(sections: &[&'static str], thresholds: Value, limits: &'static [&'static str]) -> Report {
        let thresholds = thresholds.as_object().cloned().unwrap_or_default();
        let (unused, findings, missing) = Default::default();
        Report { sections: sections.to_vec(), unused, findings, missing, thresholds, limits }
    }

    /// What was read for a section, or a note that it could not be. `of` says which part: a node, a guest; empty for the whole.
    ///
    /// # Errors
    /// The fault, when nothing else can be read either.
    pub fn taken<T>(&mut self, section: &'static str, of: &str, read: Result<T, Fault>) -> Result<Option<T>, Fault> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(fault) if ends_everything(fault.code) => Err(fault),
            Err(fault) => {
                self.missing.push(Missing { section, of: of.to_string(), fault });
                Ok(None)
            }
        }
    }

    /// Something is not as it should be. `check` and `subject` are its name; `says` is one sentence.
    pub fn found(
        &mut self,
        section: &'static str,
        severity: Severity,
        check: &'static str,
        subject: impl Into<String>,
        says: impl Into<String>,
    ) {
        self.findings.push(Finding { section, severity, check, subject: subject.into(), says: says.into() });
    }

    /// There is nothing to check: the cluster does not use it.
    pub fn not_used(&mut self, section: &'static str) {
        self.unused.push(section);
    }

    fn standing(&self, section: &'static str) -> &'static str {
        if self.missing.iter().any(|missing| missing.section == section) {
            "incomplete"
        } else if self.findings.iter().any(|finding| finding.section == section) {
            "findings"
        } else if self.unused.contains(&section) {
            "not_used"
        } else {
            "ok"
        }
    }

    /// `incomplete` as soon as anything is missing; never `no_findings` then.
    fn overall(&self) -> &'static str {
        match (self.missing.is_empty(), self.findings.is_empty()) {
            (false, _) => "incomplete",
            (true, false) => "findings",
            (true, true) => "no_findings",
        }
    }

    /// The answer. `facts` stand beside the findings, `lines` below them in the text.
    pub fn reply(mut self, facts: Map<String, Value>, lines: Vec<String>) -> Reply {
        self.findings.sort_by(|one, other| {
            let key = |finding: &Finding| (finding.severity, finding.check, finding.subject.clone());
            key(one).cmp(&key(other))
        });
        let text = self.text(lines);
        let mut told = Map::new();
        told.insert("overall".into(), self.overall().into());
        told.insert("untrusted".into(), true.into());
        told.insert("counts".into(), self.counts());
        let findings = self.findings.iter().map(|finding| {
            json!({
                "severity": finding.severity.word(), "check": finding.check, "subject": finding.subject,
                "says": finding.says,
            })
        });
        told.insert("findings".into(), findings.collect::<Vec<_>>().into());
        let missing = self.missing.iter().map(|missing| {
            let mut told = json!({
                "section": missing.section, "code": missing.fault.code.word(), "reason": missing.fault.message,
            });
            if !missing.of.is_empty() {
                told["of"] = missing.of.clone().into();
            }
            if let Some(hint) = &missing.fault.hint {
                told["hint"] = hint.clone().into();
            }
            crate::redact::value(None, &told)
        });
        told.insert("unavailable".into(), missing.collect::<Vec<_>>().into());
        let sections = self.sections.iter().map(|section| (section.to_string(), self.standing(section).into()));
        told.insert("sections".into(), Value::Object(sections.collect()));
        told.extend(facts);
        told.insert("thresholds".into(), self.thresholds.into());
        if !self.limits.is_empty() {
            told.insert("limits".into(), self.limits.to_vec().into());
        }
        Reply::with_text(told, text)
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    fn counts(&self) -> Value {
        json!({
            "critical": self.count(Severity::Critical), "warning": self.count(Severity::Warning),
            "info": self.count(Severity::Info), "unavailable": self.missing.len(),
        })
    }

    fn text(&self, lines: Vec<String>) -> String {
        const FINDINGS: usize = 24;
        const MISSING: usize = 8;
        let counts = [Severity::Critical, Severity::Warning, Severity::Info]
            .map(|severity| format!("{} {}", self.count(severity), severity.word()));
        let mut told = vec![format!("overall: {} ({})", self.overall(), counts.join(", "))];
        told.extend(self.findings.iter().take(FINDINGS).map(|finding| {
            format!("{} {} {}: {}", finding.severity.word(), finding.check, finding.subject, finding.says)
        }));
        if self.findings.len() > FINDINGS {
            told.push(format!("… {} more findings in the structured content", self.findings.len() - FINDINGS));
        }
        told.extend(self.missing.iter().take(MISSING).map(|missing| {
            let of = if missing.of.is_empty() { String::new() } else { format!(" of {}", missing.of) };
            let Missing { section, fault, .. } = missing;
            let reason = crate::redact::text(&fault.message);
            format!("unavailable {section}{of}: {} ({reason})", fault.code.word())
        }));
        if self.missing.len() > MISSING {
            told.push(format!("… {} more unavailable in the structured content", self.missing.len() - MISSING));
        }
        let sections = self.sections.iter().map(|section| format!("{section} {}", self.standing(section)));
        told.push(format!("sections: {}", sections.collect::<Vec<_>>().join(", ")));
        told.extend(lines);
        let thresholds = self.thresholds.iter().map(|(name, value)| format!("{name} {value}"));
        told.push(format!("thresholds: {}", thresholds.collect::<Vec<_>>().join(", ")));
        if !self.limits.is_empty() {
            told.push("not seen by this check:".into());
            told.extend(self.limits.iter().map(|limit| format!("  {limit}")));
        }
        text::screen(told)
    }
}

/// The JSON Schema of a report, with the members of one check's own.
pub fn schema(own: Value) -> Value {
    let mut properties = json!({
        "overall": {"enum": ["no_findings", "findings", "incomplete"]},
        "counts": {"type": "object"},
        "findings": {"type": "array"},
        "unavailable": {"type": "array"},
        "sections": {"type": "object"},
        "thresholds": {"type": "object"},
        "untrusted": {"type": "boolean"},
    });
    if let (Some(properties), Value::Object(own)) = (properties.as_object_mut(), own) {
        properties.extend(own);
    }
    result::schema(properties).into()
}
