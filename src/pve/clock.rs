//! Time as the client sees it: an argument, so that tests neither sleep nor wait for tickets to grow old.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// What the client needs of time.
pub trait Clock: Debug + Send + Sync {
    /// Time since some fixed moment; never goes back.
    fn now(&self) -> Duration;

    /// Waits.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The real clock.
#[derive(Debug)]
pub struct WallClock {
    start: Instant,
}

impl Default for WallClock {
    fn default() -> WallClock {
        WallClock { start: Instant::now() }
    }
}

impl Clock for WallClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}
