//! One value of one variable: strict, and with an error that names the variable, the value and what is accepted.

use std::path::Path;
use std::str::FromStr;

use secrecy::SecretString;

use super::variables;

/// Why the server does not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}{}: {problem}", .shown.as_ref().map(|value| format!("={value}")).unwrap_or_default())]
pub struct ConfigError {
    /// The variable.
    pub variable: String,
    /// Its value, where that may be shown.
    pub shown: Option<String>,
    /// What is wrong, and what is accepted.
    pub problem: String,
}

/// The environment, read through a function so that tests need none.
pub struct Source<'e> {
    get: &'e dyn Fn(&str) -> Option<String>,
    /// Everything found wrong so far: all of it is reported at once.
    pub errors: Vec<ConfigError>,
}

impl<'e> Source<'e> {
    /// Reads through `get`.
    pub fn new(get: &'e dyn Fn(&str) -> Option<String>) -> Source<'e> {
        Source { get, errors: Vec::new() }
    }

    /// The trimmed text of a variable; an empty one counts as not set.
    pub fn text(&self, name: &str) -> Option<String> {
        debug_assert!(variables::find(name).is_some(), "{name} does not stand in the list of variables");
        (self.get)(name).map(|text| text.trim().to_string()).filter(|text| !text.is_empty())
    }

    /// Notes a problem; the value is shown unless it is a secret.
    pub fn problem(&mut self, name: &str, problem: impl Into<String>) {
        let shown = self.text(name).filter(|_| !variables::find(name).is_some_and(|variable| variable.secret));
        self.errors.push(ConfigError { variable: name.into(), shown, problem: problem.into() });
    }

    /// `true/false`, `1/0`, `yes/no`, `on/off`; anything else is an error, never a default.
    pub fn flag(&mut self, name: &str, default: bool) -> bool {
        let Some(text) = self.text(name) else { return default };
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => true,
            "false" | "0" | "no" | "off" => false,
            _ => {
                self.problem(name, "expected true or false");
                default
            }
        }
    }

    /// A whole number within bounds.
    pub fn number<T: FromStr + PartialOrd + std::fmt::Display + Copy>(
        &mut self,
        name: &str,
        default: T,
        least: T,
        most: T,
    ) -> T {
        let Some(text) = self.text(name) else { return default };
        match text.parse::<T>() {
            Ok(number) if number >= least && number <= most => number,
            _ => {
                self.problem(name, format!("expected a number from {least} to {most}"));
                default
            }
        }
    }

    /// One of several words.
    pub fn choice<'c>(&mut self, name: &str, choices: &'c [&'c str]) -> &'c str {
        let Some(text) = self.text(name) else { return choices[0] };
        match choices.iter().find(|choice| choice.eq_ignore_ascii_case(&text)) {
            Some(choice) => choice,
            None => {
                self.problem(name, format!("expected one of {}", choices.join(", ")));
                choices[0]
            }
        }
    }

    /// Entries separated by commas.
    pub fn list(&self, name: &str) -> Vec<String> {
        let text = self.text(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_string).collect()
    }

    /// A secret, from its variable or from the file that `<NAME>_FILE` names.
    pub fn secret(&mut self, name: &str) -> Option<SecretString> {
        let from_file = format!("{name}_FILE");
        match (self.text(name), self.text(&from_file)) {
            (Some(_), Some(_)) => {
                self.problem(&from_file, format!("{name} is set too: set one of the two"));
                None
            }
            (Some(secret), None) => Some(secret.into()),
            (None, Some(file)) => self.file(&from_file, &file).map(|text| text.trim().to_string().into()),
            (None, None) => None,
        }
    }

    /// The text of a file that a variable names.
    pub fn file(&mut self, name: &str, file: &str) -> Option<String> {
        match std::fs::read_to_string(Path::new(file)) {
            Ok(text) => Some(text),
            Err(error) => {
                self.problem(name, format!("the file cannot be read: {error}"));
                None
            }
        }
    }
}
