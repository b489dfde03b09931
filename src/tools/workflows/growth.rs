//! How fast a storage fills up: a straight line through what was recorded.

const DAY: f64 = 86_400.0;

/// Fewer points or less time than this say nothing.
const FEWEST_POINTS: usize = 10;
const SHORTEST: f64 = DAY;

/// The course of a storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Bytes per day; negative when it empties.
    pub per_day: f64,
    /// Days until it is full, where it grows.
    pub days_until_full: Option<f64>,
    /// How many days the record covers.
    pub days_seen: f64,
}

/// The course from points of time (seconds) and used bytes; `None` when there are too few.
pub fn of(points: &[(f64, f64)], used: f64, total: f64) -> Option<Growth> {
    let (first, last) = (points.first()?.0, points.last()?.0);
    if points.len() < FEWEST_POINTS || last - first < SHORTEST {
        return None;
    }
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_time, mean_used) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(time, _)| (time - mean_time).powi(2)).sum();
    let together: f64 = points.iter().map(|(time, used)| (time - mean_time) * (used - mean_used)).sum();
    let per_day = together / spread * DAY;
    // Less than a thousandth of the storage in a year is standing still.
    let grows = per_day * 365.0 > total / 1000.0;
    let days_until_full = grows.then(|| ((total - used) / per_day).max(0.0));
    Some(Growth { per_day, days_until_full, days_seen: (last - first) / DAY })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(days: usize, start: f64, per_day: f64) -> Vec<(f64, f64)> {
        (0..=days * 4).map(|at| (at as f64 * DAY / 4.0, start + per_day * at as f64 / 4.0)).collect()
    }

    #[test]
    fn a_straight_line_is_followed_to_its_end() {
        let growth = of(&line(30, 100.0, 10.0), 400.0, 1000.0).expect("a month is enough");
        assert!((growth.per_day - 10.0).abs() < 1e-6, "{growth:?}");
        assert_eq!(growth.days_until_full.map(f64::round), Some(60.0));
        assert_eq!(growth.days_seen, 30.0);
    }

    #[test]
    fn what_shrinks_or_stands_still_is_never_full() {
        assert_eq!(of(&line(30, 900.0, -10.0), 600.0, 1000.0).and_then(|growth| growth.days_until_full), None);
        assert_eq!(of(&line(30, 900.0, 0.0), 900.0, 1000.0).and_then(|growth| growth.days_until_full), None);
    }

    #[test]
    fn an_hour_says_nothing() {
        let hour: Vec<(f64, f64)> = (0..60).map(|at| (f64::from(at) * 60.0, f64::from(at))).collect();
        assert_eq!(of(&hour, 60.0, 100.0), None);
        assert_eq!(of(&[], 1.0, 2.0), None);
    }
}
