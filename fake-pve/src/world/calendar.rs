//! Calendar events (`mon..fri 02:30`, `*/15`, `daily`): when the next one is. Times are UTC.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde::{Deserialize, Serialize};

/// A schedule with its next event, as whoever waits for it remembers them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Awaited {
    /// The calendar event.
    pub schedule: String,
    /// In seconds since the epoch; `None` for never.
    pub next: Option<i64>,
}

/// A parsed event: what each part of a moment must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// Bit 0 is Monday; 0 is any day.
    days: u8,
    years: Vec<Part>,
    months: Vec<Part>,
    dates: Vec<Part>,
    hours: Vec<Part>,
    minutes: Vec<Part>,
    seconds: Vec<Part>,
}

/// One value, range or repetition; an empty list of parts is anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    from: i64,
    to: i64,
    step: i64,
}

const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

impl Calendar {
    /// Reads an event; `None` when it is none.
    pub fn parse(text: &str) -> Option<Calendar> {
        let text = text.trim().trim_end_matches("UTC").trim();
        let text = match text.to_lowercase().as_str() {
            "minutely" => "*:*:00".to_string(),
            "hourly" => "*:00:00".into(),
            "daily" => "00:00:00".into(),
            "weekly" => "mon 00:00:00".into(),
            "monthly" => "*-01 00:00:00".into(),
            "yearly" | "annually" => "01-01 00:00:00".into(),
            "quarterly" => "01,04,07,10-01 00:00:00".into(),
            "semiannually" | "semi-annually" => "01,07-01 00:00:00".into(),
            other => other.to_string(),
        };
        let mut calendar = Calendar {
            days: 0,
            years: Vec::new(),
            months: Vec::new(),
            dates: Vec::new(),
            hours: Vec::new(),
            minutes: Vec::new(),
            seconds: Vec::new(),
        };
        let mut timed = false;
        for word in text.split_whitespace() {
            if word.starts_with(|c: char| c.is_alphabetic()) {
                calendar.days |= days(word)?;
            } else if word.contains('-') {
                calendar.date(word)?;
            } else {
                calendar.time(word)?;
                timed = true;
            }
        }
        if text.is_empty() {
            return None;
        }
        if !timed {
            (calendar.hours, calendar.minutes, calendar.seconds) = (parts("0")?, parts("0")?, parts("0")?);
        }
        Some(calendar)
    }

    fn date(&mut self, word: &str) -> Option<()> {
        let fields: Vec<&str> = word.split('-').collect();
        let (year, month, day) = match fields.as_slice() {
            [month, day] => ("*", *month, *day),
            [year, month, day] => (*year, *month, *day),
            _ => return None,
        };
        (self.years, self.months, self.dates) = (parts(year)?, parts(month)?, parts(day)?);
        Some(())
    }

    /// `HH:MM[:SS]`; a single field is minutes.
    fn time(&mut self, word: &str) -> Option<()> {
        let fields: Vec<&str> = word.split(':').collect();
        let (hour, minute, second) = match fields.as_slice() {
            [minute] => ("*", *minute, "0"),
            [hour, minute] => (*hour, *minute, "0"),
            [hour, minute, second] => (*hour, *minute, *second),
            _ => return None,
        };
        (self.hours, self.minutes, self.seconds) = (parts(hour)?, parts(minute)?, parts(second)?);
        Some(())
    }

    /// The first event after a moment in seconds since the epoch; `None` when there is none within thirty years.
    pub fn next(&self, after: i64) -> Option<i64> {
        let start = TimeZone::UTC.to_datetime(Timestamp::from_second(after + 1).ok()?);
        let mut moment = start;
        let end = i64::from(start.year()) + 30;
        while i64::from(moment.year()) <= end {
            let next = self.correct(moment);
            match next {
                None => return Some(TimeZone::UTC.to_timestamp(moment).ok()?.as_second()),
                Some(later) => moment = later?,
            }
        }
        None
    }

    /// The start of the next unit of time that could fit; `None` when the moment fits already.
    fn correct(&self, moment: DateTime) -> Option<Option<DateTime>> {
        let midnight = moment.date().at(0, 0, 0, 0);
        let later = |from: DateTime, span: Span| from.checked_add(span).ok();
        if !fits(&self.years, i64::from(moment.year())) {
            let first = midnight.with().month(1).day(1).build().ok();
            return Some(first.and_then(|first| later(first, Span::new().years(1))));
        }
        if !fits(&self.months, i64::from(moment.month())) {
            let first = midnight.with().day(1).build().ok();
            return Some(first.and_then(|first| later(first, Span::new().months(1))));
        }
        let weekday = moment.weekday().to_monday_zero_offset();
        let day_fits = self.days == 0 || self.days & (1 << weekday) != 0;
        if !day_fits || !fits(&self.dates, i64::from(moment.day())) {
            return Some(later(midnight, Span::new().days(1)));
        }
        if !fits(&self.hours, i64::from(moment.hour())) {
            return Some(later(moment.date().at(moment.hour(), 0, 0, 0), Span::new().hours(1)));
        }
        if !fits(&self.minutes, i64::from(moment.minute())) {
            let minute = moment.date().at(moment.hour(), moment.minute(), 0, 0);
            return Some(later(minute, Span::new().minutes(1)));
        }
        if !fits(&self.seconds, i64::from(moment.second())) {
            return Some(later(moment, Span::new().seconds(1)));
        }
        None
    }
}

fn fits(parts: &[Part], value: i64) -> bool {
    let one = |part: &Part| (part.from..=part.to).contains(&value) && (value - part.from) % part.step == 0;
    parts.is_empty() || parts.iter().any(one)
}

/// `1,3`, `8..17`, `*/15`, `5/10`, `*`.
fn parts(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<i64>().ok().filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let (from, to) = match range.split_once("..") {
            Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
            None if range == "*" && step.is_none() => return Some(Vec::new()),
            None if range == "*" => (0, i64::MAX),
            None => {
                let value = range.parse().ok()?;
                (value, if step.is_some() { i64::MAX } else { value })
            }
        };
        parts.push(Part { from, to, step: step.unwrap_or(1) });
    }
    Some(parts)
}

/// `mon..fri`, `sat,sun`, also across the end of the week.
fn days(text: &str) -> Option<u8> {
    let day = |word: &str| DAYS.iter().position(|name| word.len() >= 3 && name.starts_with(word));
    let mut mask = 0;
    for part in text.split(',') {
        let (from, to) = match part.split_once("..") {
            Some((from, to)) => (day(from)?, day(to)?),
            None => (day(part)?, day(part)?),
        };
        let length = (to + 7 - from) % 7;
        for at in 0..=length {
            mask |= 1 << ((from + at) % 7);
        }
    }
    Some(mask)
}

#[cfg(test)]
mod tests {
    use super::Calendar;

    /// Monday, 2026-11-30 19:05:10 UTC.
    const NOW: i64 = 1_796_065_510;

    fn next(text: &str) -> i64 {
        Calendar::parse(text).expect("an event").next(NOW).expect("a moment") - NOW
    }

    #[test]
    fn the_next_event_is_found() {
        assert_eq!(next("*/15"), 9 * 60 + 50);
        assert_eq!(next("1"), 55 * 60 + 50);
        assert_eq!(next("daily"), 4 * 3600 + 54 * 60 + 50);
        assert_eq!(next("mon..fri 02:00"), 6 * 3600 + 54 * 60 + 50);
        assert_eq!(next("sun 19:05:10"), 6 * 86_400);
        assert_eq!(next("sat..mon 19:06"), 50);
        assert_eq!(next("2027-01-01"), 31 * 86_400 + 4 * 3600 + 54 * 60 + 50);
        assert_eq!(next("8..17/2:30"), 13 * 3600 + 24 * 60 + 50);
        assert_eq!(Calendar::parse("2020-01-01").expect("an event").next(NOW), None);
        assert!(
            Calendar::parse("bogus").is_none() && Calendar::parse("").is_none() && Calendar::parse("*/0").is_none()
        );
    }
}
