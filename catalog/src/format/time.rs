//! Time formats: calendar events, weekdays, time zones.
//!
//! The grammar of calendar events is Proxmox's own (`[WEEKDAYS] [[YYYY-]MM-DD] [HH:MM[:SS]]`, each number a list of
//! values, ranges and repetitions), and so are the two details with which it says where reading stopped.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::{Check, expect};

pub(super) const FORMATS: &[(&str, Check)] = &[
    ("pve-calendar-event", |v| calendar(v).map_err(|error| format!("invalid calendar event '{v}' - {error}\n\n"))),
    ("pve-day-of-week", |v| {
        let fits = matches!(v, "mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun");
        expect(fits, format!("invalid day '{v}'\n"))
    }),
    ("timezone", |v| expect(is_zone(v), format!("invalid time zone '{v}'\n"))),
    ("pve-ct-timezone", |v| expect(v == "host" || is_zone(v), format!("invalid time zone '{v}'\n"))),
];

static ZONES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| include_str!("../../data/zones.txt").lines().collect());

fn is_zone(value: &str) -> bool {
    value == "UTC" || ZONES.contains(value)
}

const KEYWORDS: [&str; 10] = [
    "minutely",
    "hourly",
    "daily",
    "weekly",
    "monthly",
    "yearly",
    "annually",
    "quarterly",
    "semiannually",
    "semi-annually",
];

/// Reads a calendar event; the error is Proxmox's sentence without line ends.
fn calendar(value: &str) -> Result<(), String> {
    let text = value.trim();
    if text.is_empty() {
        return Err("unable to parse calendar event - event is empty".into());
    }
    let text = text.strip_suffix("UTC").map_or(text, str::trim_end);
    let stopped = |rest: &str, detail: &str| Err(format!("unable to parse calendar event at '{rest}' - {detail}"));
    if KEYWORDS.contains(&text) {
        return Ok(());
    }
    let (mut rest, mut found) = (text, false);
    if rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        rest = match weekdays(rest) {
            Ok(after) => blanks(after),
            Err(word) => return stopped(word, "Context(\"weekday\")"),
        };
        found = true;
    }
    if let Some(after) = date(rest) {
        (rest, found) = (blanks(after), true);
    }
    if let Some(after) = time(rest) {
        (rest, found) = (after, true);
    }
    if !found {
        return stopped(rest, "Context(\"date or time specification\")");
    }
    if rest.is_empty() { Ok(()) } else { stopped(rest, "Nom(Eof)") }
}

fn blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

/// `mon,wed..fri`; the error is the word that is no day.
fn weekdays(text: &str) -> Result<&str, &str> {
    let mut rest = weekday_range(text)?;
    while let Some(after) = rest.strip_prefix(',').and_then(|after| weekday_range(after).ok()) {
        rest = after;
    }
    Ok(rest)
}

fn weekday_range(text: &str) -> Result<&str, &str> {
    let rest = weekday(text)?;
    Ok(rest.strip_prefix("..").and_then(|after| weekday(after).ok()).unwrap_or(rest))
}

fn weekday(text: &str) -> Result<&str, &str> {
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let word = text[..end].to_ascii_lowercase();
    let known = DAYS.iter().any(|day| word == *day || word == day[..3]);
    if known { Ok(&text[end..]) } else { Err(&text[..end]) }
}

/// `YYYY-MM-DD` or `MM-DD`.
fn date(text: &str) -> Option<&str> {
    let full = values(text, 2200).and_then(|rest| month_and_day(rest.strip_prefix('-')?));
    full.or_else(|| month_and_day(text))
}

fn month_and_day(text: &str) -> Option<&str> {
    values(values(text, 13)?.strip_prefix('-')?, 32)
}

/// `HH:MM[:SS]`, `MM[:SS]`.
fn time(text: &str) -> Option<&str> {
    let minutes = values(text, 24).and_then(|rest| rest.strip_prefix(':')).unwrap_or(text);
    let rest = values(minutes, 60)?;
    Some(rest.strip_prefix(':').and_then(|seconds| values(seconds, 60)).unwrap_or(rest))
}

/// `*`, `*/n`, or a list of values below `most`.
fn values(text: &str, most: u32) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('*') {
        return match rest.strip_prefix('/') {
            Some(step) => number(step, most).map(|(after, step)| if step > 0 { after } else { rest }),
            None => Some(rest),
        };
    }
    let mut rest = one(text, most)?;
    while let Some(after) = rest.strip_prefix(',').and_then(|after| one(after, most)) {
        rest = after;
    }
    Some(rest)
}

/// `a`, `a..b`, `a/n`, `a..b/n`.
fn one(text: &str, most: u32) -> Option<&str> {
    let (mut rest, first) = number(text, most)?;
    if let Some((after, last)) = rest.strip_prefix("..").and_then(|last| number(last, most)) {
        if first > last {
            return None;
        }
        rest = after;
    }
    match rest.strip_prefix('/') {
        Some(step) => number(step, most).map(|(after, _)| after),
        None => Some(rest),
    }
}

fn number(text: &str, most: u32) -> Option<(&str, u32)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse::<u32>().ok().filter(|number| *number < most)?;
    Some((&text[end..], number))
}
