//! Virtual time: how long things take, and when "now" is.
//!
//! At time scale 0 nothing ever waits: with [`Mode::Auto`] the first read of a task's status or log runs the clock to
//! that task's end, and so does any request once the task has run for 0.3 seconds; with [`Mode::Manual`] only
//! [`Clock::advance`] moves it. At a scale above 0 a virtual second lasts that many real ones, and nothing jumps.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What moves the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Real time, and jumps to the end of a task when somebody looks at it, or when it has run for 0.3 seconds (only at
    /// time scale 0).
    #[default]
    Auto,
    /// Nothing but `advance`: for tests that watch a task run. Starts at [`MANUAL_START`].
    Manual,
}

/// Where a manual clock starts, in seconds since the epoch: 2026-12-01 12:00:00 UTC.
pub const MANUAL_START: i64 = 1_796_126_400;

/// The clock of one cluster.
#[derive(Clone, Debug)]
pub struct Clock {
    mode: Mode,
    scale: f64,
    start_ms: i64,
    jumped_ms: i64,
    began: Instant,
}

impl Clock {
    /// A clock. `scale` is real seconds per virtual second; negative or not finite counts as 0.
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
    pub fn new(mode: Mode, scale: f64) -> Clock {
        let scale = if scale.is_finite() && scale > 0.0 { scale } else { 0.0 };
        let start_ms = match mode {
            Mode::Auto => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64),
            Mode::Manual => MANUAL_START * 1000,
        };
        Clock { mode, scale, start_ms, jumped_ms: 0, began: Instant::now() }
    }

    /// A clock that nothing but [`Clock::advance`] moves, from a moment in seconds since the epoch.
    pub fn manual_at(start: i64) -> Clock {
        Clock { start_ms: start * 1000, ..Clock::new(Mode::Manual, 0.0) }
    }

    /// Virtual milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        let real = match self.mode {
            Mode::Manual => 0.0,
            Mode::Auto if self.scale > 0.0 => self.began.elapsed().as_secs_f64() * 1000.0 / self.scale,
            Mode::Auto => self.began.elapsed().as_secs_f64() * 1000.0,
        };
        self.start_ms + self.jumped_ms + real as i64
    }

    /// Virtual seconds since the epoch.
    pub fn now(&self) -> i64 {
        self.now_ms().div_euclid(1000)
    }

    /// Moves time forward.
    pub fn advance(&mut self, by: Duration) {
        self.jumped_ms += by.as_millis() as i64;
    }

    /// Whether looking at a task runs the clock to its end.
    pub fn runs_to_end(&self) -> bool {
        self.mode == Mode::Auto && self.scale == 0.0
    }

    /// Moves time to a moment that lies ahead.
    pub fn run_to_ms(&mut self, moment_ms: i64) {
        self.jumped_ms += (moment_ms - self.now_ms()).max(0);
    }

    /// How long a virtual delay really lasts; `None` when nothing waits.
    pub fn real(&self, delay: Duration) -> Option<Duration> {
        (self.mode == Mode::Auto && self.scale > 0.0).then(|| delay.mul_f64(self.scale))
    }
}

/// Waits a virtual delay; the only sleep of the package.
#[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
pub(crate) async fn wait(real: Option<Duration>) {
    if let Some(real) = real {
        tokio::time::sleep(real).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_by_hand() {
        let mut clock = Clock::new(Mode::Manual, 0.0);
        assert_eq!(clock.now(), MANUAL_START);
        clock.advance(Duration::from_millis(2500));
        assert_eq!(clock.now_ms(), MANUAL_START * 1000 + 2500);
        clock.run_to_ms(0);
        assert_eq!(clock.now(), MANUAL_START + 2);
        assert!(!clock.runs_to_end() && clock.real(Duration::from_secs(3)).is_none());
    }

    #[test]
    fn a_scaled_clock_waits() {
        let clock = Clock::new(Mode::Auto, 0.5);
        assert_eq!(clock.real(Duration::from_secs(3)), Some(Duration::from_millis(1500)));
    }
}
