//! Load over time without a recorder: smooth curves that follow from a name and the virtual clock alone.
//!
//! A curve is a mean with a handful of waves on it, from a day's rhythm to a minute's jitter. Its integral is known in
//! closed form, so an average over any step, a counter since a start and the value of a moment always agree.

use serde_json::{Value, json};

use super::{Guest, GuestStatus, Node, power};

/// Periods of the waves in seconds, and how far each may carry the curve from its mean.
const WAVES: [(f64, f64); 6] =
    [(86_400.0, 0.26), (604_800.0, 0.1), (11_340.0, 0.18), (1410.0, 0.16), (283.0, 0.14), (71.0, 0.1)];

/// A quantity over time.
#[derive(Clone, Debug)]
pub struct Curve {
    mean: f64,
    rough: f64,
    phases: [f64; WAVES.len()],
}

impl Curve {
    /// The curve of a name around a mean; `rough` from 0 (flat) to 1 (between a twentieth and twice the mean).
    pub fn new(name: &str, mean: f64, rough: f64) -> Curve {
        let mut seed = hash(name);
        let phases = std::array::from_fn(|_| fraction(&mut seed) * std::f64::consts::TAU);
        Curve { mean, rough: rough.clamp(0.0, 1.0), phases }
    }

    /// The value at a moment, in seconds.
    pub fn at(&self, moment: f64) -> f64 {
        let waves = WAVES.iter().zip(self.phases);
        let swing: f64 =
            waves.map(|((period, far), phase)| far * (std::f64::consts::TAU * moment / period + phase).sin()).sum();
        self.mean * (1.0 + self.rough * swing)
    }

    /// The integral over a span, in value times seconds; 0 for a span that ends before it begins.
    pub fn over(&self, from: f64, to: f64) -> f64 {
        if to <= from {
            return 0.0;
        }
        let waves = WAVES.iter().zip(self.phases);
        let swing: f64 = waves
            .map(|((period, far), phase)| {
                let speed = std::f64::consts::TAU / period;
                far * ((speed * from + phase).cos() - (speed * to + phase).cos()) / speed
            })
            .sum();
        self.mean * (to - from + self.rough * swing)
    }

    /// The average over a span.
    pub fn average(&self, from: f64, to: f64) -> f64 {
        if to > from { self.over(from, to) / (to - from) } else { self.at(from) }
    }

    /// The highest value of some moments in a span.
    pub fn highest(&self, from: f64, to: f64) -> f64 {
        (0..=12).map(|part| self.at(from + (to - from) * f64::from(part) / 12.0)).fold(0.0, f64::max)
    }
}

/// What a guest does while it runs.
pub struct GuestLoad {
    /// Load of its processors, 0 to 1.
    pub cpu: Curve,
    /// Memory in use, in bytes.
    pub memory: Curve,
    /// Bytes received a second.
    pub netin: Curve,
    /// Bytes sent a second.
    pub netout: Curve,
    /// Bytes read a second.
    pub diskread: Curve,
    /// Bytes written a second.
    pub diskwrite: Curve,
}

/// Counters of a guest since it was started, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Received.
    pub netin: u64,
    /// Sent.
    pub netout: u64,
    /// Read from disks.
    pub diskread: u64,
    /// Written to disks.
    pub diskwrite: u64,
}

impl GuestLoad {
    /// The curves of a guest: its own load and memory as they stand, rates that follow from its number.
    pub fn of(guest: &Guest) -> GuestLoad {
        let name = |what: &str| format!("guest {} {what}", guest.vmid);
        let cpu = if guest.cpu > 0.0 { guest.cpu } else { 0.01 };
        let memory = if guest.memory_used > 0 { guest.memory_used } else { guest.max_memory() / 4 };
        let rate = |what: &str, low: f64, high: f64| {
            let mean = low + (high - low) * fraction(&mut hash(&name(what)));
            Curve::new(&name(what), mean, 1.0)
        };
        GuestLoad {
            cpu: Curve::new(&name("cpu"), cpu, 0.9),
            memory: Curve::new(&name("memory"), memory as f64, 0.06),
            netin: rate("netin", 2e3, 6e4),
            netout: rate("netout", 1e3, 4e4),
            diskread: rate("diskread", 5e2, 3e4),
            diskwrite: rate("diskwrite", 4e3, 9e4),
        }
    }

    /// Its counters at a moment; nothing is counted while it is off.
    pub fn counters(&self, guest: &Guest, now: i64) -> Counters {
        let Some(started) = guest.started.filter(|_| guest.runs()) else { return Counters::default() };
        let since = |curve: &Curve| curve.over(started as f64, now as f64) as u64;
        Counters {
            netin: since(&self.netin),
            netout: since(&self.netout),
            diskread: since(&self.diskread),
            diskwrite: since(&self.diskwrite),
        }
    }
}

/// Load of a guest's processors at a moment, 0 to 1; the integer 0 unless it runs.
pub fn guest_cpu(guest: &Guest, now: i64) -> Value {
    match guest.status {
        GuestStatus::Running => json!(GuestLoad::of(guest).cpu.at(now as f64).clamp(0.0, 1.0)),
        GuestStatus::Paused | GuestStatus::Stopped => json!(0),
    }
}

/// Part of a span in which a guest ran, 0 to 1.
pub fn share_of_run(guest: &Guest, from: i64, to: i64, now: i64) -> f64 {
    let spans = power::ran(guest, now);
    let ran: i64 = spans.iter().map(|(start, end)| (to.min(*end) - from.max(*start)).max(0)).sum();
    if to > from { ran as f64 / (to - from) as f64 } else { 0.0 }
}

/// What a node does.
pub struct NodeLoad {
    /// Load of the processors, 0 to 1.
    pub cpu: Curve,
    /// Memory in use, in bytes.
    pub memory: Curve,
    /// Time that processors wait for disks, 0 to 1.
    pub iowait: Curve,
    /// Processes that want to run.
    pub loadavg: Curve,
    /// Bytes received a second.
    pub netin: Curve,
    /// Bytes sent a second.
    pub netout: Curve,
}

impl NodeLoad {
    /// The curves of a node by its name; `memory` is what it and its guests use now, in bytes.
    pub fn of(name: &str, node: &Node, memory: u64) -> NodeLoad {
        let curve = |what: &str, mean: f64, rough: f64| Curve::new(&format!("node {name} {what}"), mean, rough);
        NodeLoad {
            cpu: curve("cpu", node.cpu, 0.9),
            memory: curve("memory", memory as f64, 0.05),
            iowait: curve("iowait", node.cpu / 20.0, 1.0),
            loadavg: curve("loadavg", node.cpu * f64::from(node.cpus) * 1.2, 0.9),
            netin: curve("netin", 9e4, 1.0),
            netout: curve("netout", 7e4, 1.0),
        }
    }
}

/// FNV-1a.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The next fraction of a seed, 0 to 1.
fn fraction(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_agrees_with_the_values_beneath_it() {
        let curve = Curve::new("vm 100 cpu", 0.3, 1.0);
        let samples = 6000;
        let sum: f64 = (0..samples).map(|at| curve.at(1e9 + f64::from(at))).sum();
        let average = curve.average(1e9, 1e9 + f64::from(samples));
        assert!((sum / f64::from(samples) - average).abs() < 1e-3, "{average}");
        assert!((0..samples).all(|at| (0.01..0.6).contains(&curve.at(1e9 + 97.0 * f64::from(at)))));
        assert!(curve.highest(1e9, 1e9 + 600.0) >= curve.average(1e9, 1e9 + 600.0));
    }

    #[test]
    fn counters_only_grow() {
        let mut guest = crate::Scenario::one_vm().world.guests[&100].clone();
        assert_eq!(GuestLoad::of(&guest).counters(&guest, 1000), Counters::default());
        guest.power_on(1000, 1);
        let load = GuestLoad::of(&guest);
        let mut last = 0;
        for now in 1000..3000 {
            let netin = load.counters(&guest, now).netin;
            assert!(netin >= last);
            last = netin;
        }
        assert!(last > 1_000_000, "{last}");
    }

    #[test]
    fn names_make_different_curves() {
        let (one, other) = (Curve::new("a", 1.0, 1.0), Curve::new("b", 1.0, 1.0));
        assert!((one.at(5e8) - other.at(5e8)).abs() > 1e-6);
    }
}
