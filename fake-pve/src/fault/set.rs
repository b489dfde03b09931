//! The faults that are set, and what strikes a request at each point of its way.

use std::time::Duration;

use pve_catalog::Verb;

use super::{Effect, Fault, FaultId, condition};
use crate::behaviour::{Answer, Failure};
use crate::work::Fate;
use crate::world::World;

/// Where in the life of a request a fault can strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// Before authentication: refused or cut connections, slow answers.
    Connection,
    /// Instead of authentication.
    Login,
    /// After the permission check: the node is down, slow or not trusted.
    Node,
    /// After verification, instead of the behaviour: internal errors, the fate of the task.
    Call,
    /// On the finished answer: lost or cut.
    Answer,
}

/// What is known of a request at a point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    pub point: Point,
    /// The verb as it was sent.
    pub verb: &'a str,
    /// Decoded path beneath the format.
    pub path: &'a str,
    /// The node that answers.
    pub node: Option<&'a str>,
}

/// What a fault does to a request here.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Blow {
    Fail(Failure),
    /// Virtual time.
    Delay(Duration),
    /// Real time.
    Stall(Duration),
    Reset,
    CutBody,
}

/// One fault that is set.
#[derive(Debug)]
struct Set {
    id: FaultId,
    fault: Fault,
}

/// The faults that are set, in the order in which they were.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    set: Vec<Set>,
    last: u64,
}

impl Faults {
    /// Sets a fault. One that is a condition of the cluster is in force at once.
    ///
    /// # Errors
    /// What it names does not exist.
    pub fn set(&mut self, world: &mut World, fault: Fault) -> Result<FaultId, String> {
        condition::begin(world, &fault)?;
        self.last += 1;
        self.set.push(Set { id: FaultId(self.last), fault });
        Ok(FaultId(self.last))
    }

    /// Clears a fault; whether it was still set.
    pub fn clear(&mut self, world: &mut World, id: FaultId) -> bool {
        let Some(at) = self.set.iter().position(|set| set.id == id) else { return false };
        let gone = self.set.remove(at);
        let rest: Vec<&Fault> = self.set.iter().map(|set| &set.fault).collect();
        condition::end(world, &gone.fault, &rest);
        true
    }

    /// Clears all of them.
    pub fn clear_all(&mut self, world: &mut World) {
        for id in self.set.iter().map(|set| set.id).collect::<Vec<_>>() {
            self.clear(world, id);
        }
    }

    /// Whether none is set.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// What is set, with the number of times that are left in place of the first one.
    pub fn list(&self) -> impl Iterator<Item = (FaultId, &Fault)> {
        self.set.iter().map(|set| (set.id, &set.fault))
    }

    /// What strikes here; each fault that does has struck once more.
    pub fn strike(&mut self, world: &mut World, at: At<'_>) -> Vec<Blow> {
        let mut blows = Vec::new();
        for (id, blow) in self.struck(at) {
            // One end is enough; what comes behind it waits for the next request.
            let ends = matches!(blow, Blow::Fail(_) | Blow::Reset | Blow::CutBody);
            blows.push(blow);
            self.spend(world, id);
            if ends {
                break;
            }
        }
        blows
    }

    fn struck(&self, at: At<'_>) -> Vec<(FaultId, Blow)> {
        let here = self.set.iter().filter(|set| set.fault.times != Some(0) && fits(&set.fault, at));
        here.filter_map(|set| Some((set.id, blow(&set.fault.effect, at)?))).collect()
    }

    /// The same without counting: for tasks that a call may not start.
    pub fn fate(&self, at: At<'_>) -> Option<(FaultId, Fate)> {
        let here = self.set.iter().filter(|set| set.fault.times != Some(0) && fits(&set.fault, at));
        here.filter_map(|set| Some((set.id, fate(&set.fault.effect)?))).next()
    }

    /// Counts one strike; the last one clears the fault.
    pub fn spend(&mut self, world: &mut World, id: FaultId) {
        let Some(set) = self.set.iter_mut().find(|set| set.id == id) else { return };
        let Some(times) = &mut set.fault.times else { return };
        *times = times.saturating_sub(1);
        if *times == 0 {
            self.clear(world, id);
        }
    }

    /// Counts the conditions that have struck a finished call, and clears what is spent.
    pub fn review(&mut self, world: &mut World, verb: Verb, path: &str, answer: &Answer) {
        let counts = |set: &&Set| condition::has_struck(&set.fault, verb, path, answer);
        for id in self.set.iter().filter(counts).map(|set| set.id).collect::<Vec<_>>() {
            self.spend(world, id);
        }
        self.forget_filled(world);
    }

    /// A full storage counts for itself, because tasks allocate too.
    fn forget_filled(&mut self, world: &mut World) {
        for set in &mut self.set {
            if let (Effect::StorageFull { storage }, Some(times)) = (&set.fault.effect, &mut set.fault.times) {
                *times = world.storages.get(storage).and_then(|found| found.full).unwrap_or(0);
            }
        }
        let spent = self.set.iter().filter(|set| set.fault.times == Some(0)).map(|set| set.id);
        for id in spent.collect::<Vec<_>>() {
            self.clear(world, id);
        }
    }
}

fn fits(fault: &Fault, at: At<'_>) -> bool {
    let verb = fault.verb == "*" || fault.verb.eq_ignore_ascii_case(at.verb);
    verb && path_fits(&fault.path, at.path)
}

/// Whether a path fits a pattern: `*` within a segment, `**` for any number of segments.
fn path_fits(pattern: &str, path: &str) -> bool {
    let parts = |text: &str| text.split('/').filter(|part| !part.is_empty()).map(str::to_string).collect::<Vec<_>>();
    segments_fit(&parts(pattern), &parts(path))
}

fn segments_fit(pattern: &[String], path: &[String]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            segments_fit(rest, path) || path.split_first().is_some_and(|(_, later)| segments_fit(pattern, later))
        }
        (Some((first, rest)), Some((segment, later))) => {
            text_fits(first.as_bytes(), segment.as_bytes()) && segments_fit(rest, later)
        }
        _ => false,
    }
}

fn text_fits(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|from| text_fits(rest, &text[from..])),
        Some((byte, rest)) => text.first() == Some(byte) && text_fits(rest, &text[1..]),
    }
}

fn blow(effect: &Effect, at: At<'_>) -> Option<Blow> {
    Some(match (at.point, effect) {
        (Point::Connection, Effect::Delay { seconds }) => Blow::Delay(duration(*seconds)),
        (Point::Connection, Effect::Stall { seconds }) => Blow::Stall(duration(*seconds)),
        (Point::Connection, Effect::Reset) => Blow::Reset,
        (Point::Login, Effect::Unauthorized { reason }) => Blow::Fail(Failure::transport(401, reason)),
        (Point::Node, Effect::Unreachable { status, reason }) => Blow::Fail(Failure::transport(*status, reason)),
        (Point::Node, Effect::NodeOffline { node }) if at.node == Some(node) => {
            Blow::Fail(Failure::transport(595, "No route to host"))
        }
        (Point::Call, Effect::Fail { status, message, reason, errors }) => Blow::Fail(Failure {
            errors: errors.clone(),
            reason: reason.clone(),
            ..Failure::new(*status, message.clone())
        }),
        (Point::Answer, Effect::LoseAnswer) => Blow::Reset,
        (Point::Answer, Effect::CutBody) => Blow::CutBody,
        _ => return None,
    })
}

fn fate(effect: &Effect) -> Option<Fate> {
    match effect {
        Effect::FailTask { text } => Some(Fate::Fail(text.clone())),
        Effect::WarnTask { warnings } => Some(Fate::Warn(warnings.clone())),
        _ => None,
    }
}

/// Nonsense is no time at all.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_segments() {
        for (pattern, path, fits) in [
            ("/version", "/version/", true),
            ("/nodes/*/qemu/*/status/start", "/nodes/pve1/qemu/100/status/start", true),
            ("/nodes/*/qemu", "/nodes/pve1/qemu/100", false),
            ("/nodes/pve*/**", "/nodes/pve2/lxc/101", true),
            ("/**", "/", true),
            ("/**/config", "/nodes/pve1/qemu/100/config", true),
            ("/nodes/**/config", "/nodes/config", true),
            ("/nodes/*x", "/nodes/pve1", false),
        ] {
            assert_eq!(path_fits(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn faults_strike_in_order_and_as_often_as_they_should() {
        let (mut world, mut faults) = (World::default(), Faults::default());
        let slow = Fault::on("GET", "/version").delays(Duration::from_secs(2));
        faults.set(&mut world, slow).expect("set");
        faults.set(&mut world, Fault::on_all().resets().once()).expect("set");
        let at = At { point: Point::Connection, verb: "GET", path: "/version", node: None };
        assert_eq!(faults.strike(&mut world, at), [Blow::Delay(Duration::from_secs(2)), Blow::Reset]);
        assert_eq!(faults.strike(&mut world, at), [Blow::Delay(Duration::from_secs(2))]);
        faults.clear_all(&mut world);
        assert_eq!((faults.strike(&mut world, at), faults.list().count()), (Vec::new(), 0));
    }
}
