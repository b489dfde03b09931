//! A clock that a test holds in its hand.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use pvemcp::pve::Clock;
use tokio::sync::watch;

/// Stands still until it is moved; knows who sleeps.
#[derive(Debug)]
pub struct HandClock {
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
struct State {
    now: Duration,
    /// Who sleeps, and for how long; numbered in the order of going to sleep.
    asleep: Vec<(usize, Duration)>,
    next: usize,
    /// Everybody before this number was woken, or was passed over.
    woken: usize,
}

impl Default for HandClock {
    fn default() -> HandClock {
        HandClock { state: watch::Sender::new(State::default()) }
    }
}

impl HandClock {
    /// Moves it.
    pub fn advance(&self, time: Duration) {
        self.state.send_modify(|state| state.now += time);
    }

    /// Waits until somebody sleeps for exactly so long who has not been woken yet, then moves the clock by that much.
    pub async fn wake(&self, time: Duration) {
        let mut state = self.state.subscribe();
        let fits = |state: &State| {
            let mut fresh = state.asleep.iter().filter(|(id, asleep)| *id >= state.woken && *asleep == time);
            fresh.next().map(|(id, _)| *id)
        };
        let found = state.wait_for(|state| fits(state).is_some()).await.expect("the clock lives");
        let id = fits(&found).expect("just seen");
        drop(found);
        self.state.send_modify(|state| {
            state.woken = id + 1;
            state.now += time;
        });
    }
}

impl Clock for HandClock {
    fn now(&self) -> Duration {
        self.state.borrow().now
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let mut state = self.state.subscribe();
        let (mut until, mut id) = (Duration::MAX, 0);
        self.state.send_modify(|state| {
            until = state.now.saturating_add(time);
            id = state.next;
            state.next += 1;
            state.asleep.push((id, time));
        });
        let awake = Awake { clock: self, id };
        Box::pin(async move {
            let _awake = awake;
            state.wait_for(|state| state.now >= until).await.expect("the clock lives");
        })
    }
}

/// A sleeper that woke up, or was not waited for any longer.
struct Awake<'c> {
    clock: &'c HandClock,
    id: usize,
}

impl Drop for Awake<'_> {
    fn drop(&mut self) {
        self.clock.state.send_modify(|state| state.asleep.retain(|(id, _)| *id != self.id));
    }
}
