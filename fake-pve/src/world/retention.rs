//! Which backups a retention keeps: newest first, each rule takes what the rules before it have not covered.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde_json::{Map, Value};

use super::option;

/// A retention as its property string says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Everything stays.
    pub all: bool,
    /// The newest ones.
    pub last: u64,
    /// Hours, days, ISO weeks, months and years of which the newest stays.
    pub periods: [u64; 5],
}

const PERIODS: [&str; 5] = ["keep-hourly", "keep-daily", "keep-weekly", "keep-monthly", "keep-yearly"];

/// What becomes of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It stays.
    Keep,
    /// It goes.
    Remove,
    /// It is protected, and does not count.
    Protected,
}

impl Retention {
    /// Reads `keep-last=3,keep-daily=7`; unreadable numbers count as 0.
    pub fn parse(text: &str) -> Retention {
        let mut retention = Retention::default();
        for (key, value) in text.split(',').filter_map(|part| part.trim().split_once('=')) {
            let number = value.parse().unwrap_or(0);
            match PERIODS.iter().position(|period| *period == key) {
                Some(at) => retention.periods[at] = number,
                None if key == "keep-last" => retention.last = number,
                None if key == "keep-all" => retention.all = matches!(value, "1" | "yes" | "on" | "true"),
                None => {}
            }
        }
        retention
    }

    /// Reads the object of an API answer.
    pub fn from_object(object: &Map<String, Value>) -> Retention {
        let parts: Vec<String> = object.iter().map(|(key, value)| format!("{key}={}", option::text(value))).collect();
        Retention::parse(&parts.join(","))
    }

    /// Whether nothing would ever be removed.
    pub fn keeps_everything(&self) -> bool {
        self.all || (self.last == 0 && self.periods == [0; 5])
    }

    /// How many backups it leaves at most.
    pub fn limit(&self) -> u64 {
        if self.all { 0 } else { self.last + self.periods.iter().sum::<u64>() }
    }

    /// As logs write it: keys sorted.
    pub fn print(&self) -> String {
        let mut parts = Vec::new();
        if self.all {
            parts.push("keep-all=1".to_string());
        }
        let numbers = PERIODS.iter().zip(self.periods).chain([(&"keep-last", self.last)]);
        parts.extend(numbers.filter(|(_, number)| *number > 0).map(|(key, number)| format!("{key}={number}")));
        parts.sort();
        parts.join(", ")
    }

    /// Marks the backups of one guest, given as time in seconds and whether it is protected, in the order given.
    pub fn mark(&self, backups: &[(i64, bool)]) -> Vec<Mark> {
        let mut marks: Vec<Option<Mark>> =
            backups.iter().map(|(_, protected)| protected.then_some(Mark::Protected)).collect();
        if self.keeps_everything() {
            return marks.into_iter().map(|mark| mark.unwrap_or(Mark::Keep)).collect();
        }
        let mut newest: Vec<usize> = (0..backups.len()).collect();
        newest.sort_by_key(|at| -backups[*at].0);
        let times: Vec<i64> = backups.iter().map(|(time, _)| *time).collect();
        keep(&mut marks, &newest, self.last, |at| times[at].to_string());
        for (at, count) in self.periods.into_iter().enumerate() {
            keep(&mut marks, &newest, count, |backup| period(at, times[backup]));
        }
        marks.into_iter().map(|mark| mark.unwrap_or(Mark::Remove)).collect()
    }
}

/// One rule: the newest of each period that no kept backup covers yet, as many periods as `count`.
fn keep(marks: &mut [Option<Mark>], newest: &[usize], count: u64, id: impl Fn(usize) -> String) {
    if count == 0 {
        return;
    }
    let covered: Vec<String> = newest.iter().filter(|at| marks[**at] == Some(Mark::Keep)).map(|at| id(*at)).collect();
    let mut taken: Vec<String> = Vec::new();
    for at in newest {
        let period = id(*at);
        if marks[*at].is_some() || covered.contains(&period) {
            continue;
        }
        if taken.contains(&period) {
            marks[*at] = Some(Mark::Remove);
        } else if taken.len() as u64 >= count {
            break;
        } else {
            marks[*at] = Some(Mark::Keep);
            taken.push(period);
        }
    }
}

fn period(rule: usize, time: i64) -> String {
    let moment: DateTime = Offset::UTC.to_datetime(jiff::Timestamp::from_second(time).unwrap_or_default());
    let date = moment.date();
    let week = date.iso_week_date();
    match rule {
        0 => format!("{date} {}", moment.hour()),
        1 => date.to_string(),
        2 => format!("{}/{}", week.week(), week.year()),
        3 => format!("{}/{}", date.month(), date.year()),
        _ => date.year().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;
    /// 2026-12-01 12:00:00 UTC, a Tuesday.
    const NOW: i64 = 1_796_126_400;

    fn marks(retention: &str, backups: &[(i64, bool)]) -> String {
        let letter = |mark: Mark| match mark {
            Mark::Keep => 'k',
            Mark::Remove => 'r',
            Mark::Protected => 'p',
        };
        Retention::parse(retention).mark(backups).into_iter().map(letter).collect()
    }

    #[test]
    fn each_rule_skips_what_is_covered() {
        let daily: Vec<(i64, bool)> = (0..10).map(|day| (NOW - day * DAY, false)).collect();
        assert_eq!(marks("keep-last=2", &daily), "kkrrrrrrrr");
        assert_eq!(marks("keep-last=1,keep-daily=2", &daily), "kkkrrrrrrr");
        // Monday 30 November begins a week: the newest of the two weeks before stay.
        assert_eq!(marks("keep-weekly=3", &daily), "krkrrrrrrk");
        assert_eq!(marks("keep-all=1", &daily), "kkkkkkkkkk");
        assert_eq!(marks("keep-last=0", &daily), "kkkkkkkkkk");
    }

    #[test]
    fn protected_ones_do_not_count() {
        let backups = [(NOW - 2 * DAY, false), (NOW, true), (NOW - DAY, false)];
        assert_eq!(marks("keep-last=1", &backups), "rpk");
        let same_hour = [(NOW, false), (NOW + 60, false), (NOW - 3600, false)];
        assert_eq!(marks("keep-hourly=2", &same_hour), "rkk");
    }

    #[test]
    fn a_retention_is_written_sorted() {
        let retention = Retention::parse("keep-weekly=1,keep-last=3");
        assert_eq!((retention.print().as_str(), retention.limit()), ("keep-last=3, keep-weekly=1", 4));
        assert!(Retention::parse("").keeps_everything());
    }
}
