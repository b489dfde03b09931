//! `pvemcp catalog diff A B`: what an upgrade changes, for people.

use std::fmt::Write;

use pve_catalog::diff::{Changed, Difference};
use pve_catalog::{Catalog, Gate, Method, verify};

/// What changes from one catalogue to another: methods with the gate that holds for them, then parameters.
pub fn diff(before: &'static Catalog, after: &'static Catalog) -> String {
    let difference = Difference::between(before, after);
    let named = |catalog: &Catalog| format!("{} ({} methods)", catalog.version_words(), catalog.methods().len());
    let mut told = format!("from {} to {}\n", named(before), named(after));
    if difference.is_empty() {
        told.push_str("\nno difference\n");
        return told;
    }
    section(&mut told, "new methods", difference.added.iter().map(|method| line('+', method)));
    section(&mut told, "methods that are gone", difference.removed.iter().map(|method| line('-', method)));
    section(&mut told, "methods that change", difference.changed.iter().map(changed));
    told
}

fn section(told: &mut String, title: &str, lines: impl ExactSizeIterator<Item = String>) {
    if lines.len() > 0 {
        // Writing to a string cannot fail.
        let _ = write!(told, "\n{} {title}\n", lines.len());
        lines.for_each(|line| told.push_str(&line));
    }
}

fn line(sign: char, method: &Method) -> String {
    let tool = method.tool.unwrap_or("no tool");
    let destructive = if method.destructive { ", destructive" } else { "" };
    format!("  {sign} {:<70} {}{destructive}; {tool}\n", method.key(), method.gate)
}

fn changed(changed: &Changed) -> String {
    let method = changed.method;
    let mut told = line('~', method);
    let mut say = |sign: char, text: String| told.push_str(&format!("      {sign} {text}\n"));
    changed.added.iter().for_each(|name| say('+', format!("{name}{}", gate_of(method, name))));
    changed.removed.iter().for_each(|name| say('-', name.clone()));
    changed.changed.iter().for_each(|(name, lines)| say('~', format!("{name}: {}", lines.join("; "))));
    changed.other.iter().for_each(|other| say('!', other.clone()));
    told
}

/// The gate that a new parameter needs where that is more than the method's.
fn gate_of(method: &Method, parameter: &str) -> String {
    if method.gate != Gate::Write {
        return String::new();
    }
    let known = Catalog::embedded().get(method.verb, method.path);
    let known = known.is_some_and(|known| verify::parameter_names(known.parameters()).contains(&parameter));
    let rule = Catalog::rules().arguments.raise.iter().find(|rule| rule.names(method.path, parameter));
    match (known, rule) {
        (false, _) => " (needs elevated: this server's own decisions do not know it)".into(),
        (true, Some(rule)) => format!(" (may need elevated: {})", rule.reason),
        (true, None) => String::new(),
    }
}
