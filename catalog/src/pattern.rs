//! Perl patterns in a linear-time engine: translated once, compiled once, and applied the way Proxmox applies them.
//!
//! Proxmox writes `$value =~ m/^$pattern$/` without a group, so `a|b` means "starts with a, or ends with b", and `$` lets
//! one trailing line feed pass. Patterns come from the official document (and from imported ones, which are not ours):
//! the engine has no backtracking, and the compiled size is limited.

use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use regex::{Regex, RegexBuilder};

/// Compiled programs of more bytes than this are large.
const SMALL: usize = 256 << 10;
/// Compiled programs of more bytes than this are refused: `[\w.-]{0,127}` with its Unicode letters needs about half.
const LARGE: usize = 16 << 20;
/// Patterns kept compiled, and large ones among them: an imported catalogue cannot fill memory. Ours has about a
/// hundred, three of them large.
const MOST_KEPT: usize = 512;
const MOST_LARGE: usize = 12;

/// Perl's `$`: the end, or the line feed that ends the text.
const END: &str = r"(?:\n?\z)";

static COMPILED: LazyLock<RwLock<Compiled>> = LazyLock::new(RwLock::default);

#[derive(Default)]
struct Compiled {
    patterns: HashMap<String, Option<Regex>>,
    large: usize,
}

/// Whether the value matches a property's pattern (`^pattern$`, no group); `None` when the pattern needs what a
/// linear-time engine cannot do (look-around, back references) or is too large: then nobody can say.
pub fn matches(pattern: &str, value: &str) -> Option<bool> {
    compiled(&format!("^{pattern}$"), value)
}

/// Whether a pattern from outside may be run: a short text and a small program, so that no value of a request can keep the
/// engine busy. A pattern that the engine does not know is no trouble: it is never run.
pub(crate) fn is_cheap(pattern: &str) -> bool {
    const LONGEST: usize = 500;
    if pattern.len() > LONGEST {
        return false;
    }
    match translate(&format!("^{pattern}$")) {
        Some(rust) => build(&rust, SMALL).is_some(),
        None => true,
    }
}

/// Whether the whole value matches a pattern of ours, written in Perl's dialect; `$` lets a trailing line feed pass.
pub(crate) fn whole(pattern: &'static str, value: &str) -> bool {
    compiled(&format!("^(?:{pattern})$"), value).unwrap_or(false)
}

fn compiled(perl: &str, value: &str) -> Option<bool> {
    let known = COMPILED.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = known.patterns.get(perl) {
        return regex.as_ref().map(|regex| regex.is_match(value));
    }
    drop(known);
    let rust = translate(perl);
    let build = |most| build(rust.as_deref()?, most);
    let mut known = COMPILED.write().unwrap_or_else(PoisonError::into_inner);
    let small = build(SMALL);
    let large = || (known.large < MOST_LARGE).then(|| build(LARGE))?;
    let (regex, is_large) = match small {
        Some(regex) => (Some(regex), false),
        None => (large(), true),
    };
    let answer = regex.as_ref().map(|regex| regex.is_match(value));
    known.large += usize::from(is_large && regex.is_some());
    if known.patterns.len() < MOST_KEPT || is_large {
        known.patterns.insert(perl.to_string(), regex);
    }
    answer
}

fn build(rust: &str, most: usize) -> Option<Regex> {
    RegexBuilder::new(rust).size_limit(most).build().ok()
}

/// Perl's dialect to that of `regex`; `None` where there is no equal.
fn translate(perl: &str) -> Option<String> {
    let mut out = String::with_capacity(perl.len() + 16);
    let mut rest = perl;
    while let Some(next) = rest.chars().next() {
        rest = match next {
            '\\' => escape(rest, &mut out)?,
            '[' => class(rest, &mut out)?,
            '(' => group(rest, &mut out)?,
            '{' => repetition(rest, &mut out),
            '$' => {
                out.push_str(END);
                &rest[1..]
            }
            other => {
                out.push(other);
                &rest[other.len_utf8()..]
            }
        };
    }
    Some(out)
}

/// `\d`, `\.`, `\0` … outside a class.
fn escape<'r>(rest: &'r str, out: &mut String) -> Option<&'r str> {
    let letter = rest[1..].chars().next()?;
    let after = &rest[1 + letter.len_utf8()..];
    match letter {
        '0' => out.push_str(r"\x00"),
        'Z' => out.push_str(END),
        'h' => out.push_str(r"[ \t]"),
        'e' => out.push_str(r"\x1B"),
        'A' | 'z' | 'b' | 'B' | 'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'n' | 'r' | 't' | 'f' | 'v' => {
            out.push('\\');
            out.push(letter);
        }
        'x' | 'p' | 'P' => {
            let digits = after.chars().take_while(char::is_ascii_hexdigit).take(2).count();
            let end = if after.starts_with('{') { after.find('}')? + 1 } else { digits };
            out.push('\\');
            out.push(letter);
            out.push_str(after.get(..end)?);
            return Some(&after[end..]);
        }
        letter if letter.is_ascii_alphanumeric() => return None,
        letter => out.push_str(&regex::escape(&letter.to_string())),
    }
    Some(after)
}

/// `(?^i:…)`, `(?>…)`, `(?!\n)` and plain groups.
fn group<'r>(rest: &'r str, out: &mut String) -> Option<&'r str> {
    if let Some(after) = rest.strip_prefix("(?^") {
        let end = after.find(':')?;
        let set = &after[..end];
        let on: String = set.chars().filter(|c| "imsx".contains(*c)).collect();
        let off: String = "imsx".chars().filter(|c| !on.contains(*c)).collect();
        out.push_str(&format!("(?{on}{}{off}:", if off.is_empty() { "" } else { "-" }));
        return Some(&after[end + 1..]);
    }
    if let Some(after) = rest.strip_prefix("(?>") {
        // An atomic group matches a subset of the plain one: what only it would refuse is let through.
        out.push_str("(?:");
        return Some(after);
    }
    if rest.strip_prefix(r"(?!\n)") == Some("$") {
        // `(?!\n)$` is the end without Perl's line feed.
        out.push_str(r"\z");
        return Some("");
    }
    for unknown in ["(?=", "(?!", "(?<=", "(?<!", "(?#", "(?|", "(?{", "(?&", "(?R", "(?("] {
        if rest.starts_with(unknown) {
            return None;
        }
    }
    out.push('(');
    Some(&rest[1..])
}

/// `{,16}` means from none to 16; a brace that counts nothing is itself.
fn repetition<'r>(rest: &'r str, out: &mut String) -> &'r str {
    let counts = rest.find('}').map(|end| &rest[1..end]).filter(|counts| {
        let (low, high) = counts.split_once(',').unwrap_or((counts, "0"));
        let number = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        number(low) && number(high) && !(low.is_empty() && high.is_empty()) && *counts != ","
    });
    match counts {
        Some(counts) if counts.starts_with(',') => out.push_str(&format!("{{0{counts}}}")),
        Some(counts) if !counts.is_empty() => out.push_str(&format!("{{{counts}}}")),
        _ => {
            out.push_str(r"\{");
            return &rest[1..];
        }
    }
    &rest[counts.map_or(1, |counts| counts.len() + 2)..]
}

/// A bracketed class: what is special only to the Rust engine (`[`, `&&`, `~~`, `--`) is escaped.
fn class<'r>(rest: &'r str, out: &mut String) -> Option<&'r str> {
    let mut rest = &rest[1..];
    out.push('[');
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut first = true;
    // Whether the last element can open a range, and whether a range is waiting for its end.
    let (mut single, mut open) = (false, false);
    loop {
        let next = rest.chars().next()?;
        let mut after = &rest[next.len_utf8()..];
        match next {
            ']' if !first => {
                out.push(']');
                return Some(after);
            }
            '[' if after.starts_with(':') => {
                let end = after.find(":]")? + 2;
                out.push('[');
                out.push_str(&after[..end]);
                after = &after[end..];
                (single, open) = (false, false);
            }
            '-' => {
                let ends = after.starts_with(']') || is_class_escape(after) || after.starts_with("[:");
                if single && !open && !ends {
                    out.push('-');
                    (single, open) = (false, true);
                } else {
                    out.push_str(r"\-");
                    (single, open) = (!open, false);
                }
            }
            '\\' => {
                let wide = is_class_escape(rest);
                after = match after.chars().next()? {
                    'A' | 'z' | 'Z' | 'B' => return None,
                    'b' => {
                        out.push_str(r"\x08");
                        &after[1..]
                    }
                    _ => escape(rest, out)?,
                };
                (single, open) = (!wide && !open, false);
            }
            other => {
                out.push_str(&regex::escape(&other.to_string()));
                (single, open) = (!open, false);
            }
        }
        first = false;
        rest = after;
    }
}

fn is_class_escape(text: &str) -> bool {
    text.strip_prefix('\\').is_some_and(|rest| rest.starts_with(['d', 'D', 'w', 'W', 's', 'S', 'h', 'p', 'P']))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn alternation_has_no_group() {
        assert_eq!(matches("a|b", "ax"), Some(true));
        assert_eq!(matches("a|b", "xb"), Some(true));
        assert_eq!(matches("a|b", "xax"), Some(false));
    }

    #[test]
    fn a_trailing_line_feed_passes() {
        assert_eq!(matches(r"\d+", "12\n"), Some(true));
        assert_eq!(matches(r"\d+", "12\n\n"), Some(false));
        assert_eq!(matches(r"\d+(?!\n)", "12\n"), Some(false));
        assert_eq!(matches(r"\d+(?!\n)", "12"), Some(true));
        assert_eq!(matches("(?^:^a$)", "a\n"), Some(true));
    }

    #[test]
    fn flags_classes_and_counts() {
        assert_eq!(matches("(?^i:[a-z])", "Q"), Some(true));
        assert_eq!(matches("(?^:[a-z])", "Q"), Some(false));
        assert_eq!(matches(r"[A-Za-z0-9\-_\s]{,3}", "a-b"), Some(true));
        assert_eq!(matches(r"[A-Za-z0-9\-_\s]{,3}", "a-bc"), Some(false));
        assert_eq!(matches(r"[\w-.]+", "a-b.c"), Some(true));
        assert_eq!(matches(r"[-_.\w\d]+", "a-b.ä"), Some(true));
        assert_eq!(matches(r"[[]", "["), Some(true));
        assert_eq!(matches(r"(?^:(?:\w+=[^\x00-\x08]*)(?:\0\w+=x)*)", "a=b\0c=x"), Some(true));
        assert_eq!(matches(r"a{", "a{"), Some(true));
    }

    #[test]
    fn letters_of_any_script() {
        assert_eq!(matches(r"[\p{Alphabetic}\x2d\x{2E}]+", "ä-."), Some(true));
        assert_eq!(matches(r"\p{Nd}+", "1"), Some(true));
    }

    #[test]
    fn what_it_cannot_do_is_said() {
        assert_eq!(matches(r"(a)\1", "aa"), None);
        assert_eq!(matches(r"(?=a)a", "a"), None);
    }
}
