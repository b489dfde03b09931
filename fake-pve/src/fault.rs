//! Faults on demand. The places where one can strike are named here; what strikes is work of its own.
//!
//! The engine asks [`Faults::strike`] at each [`Point`] in Proxmox's own order of things, so that a fault looks the way
//! the real one would (an unreachable node fails after the permission check, a cut connection before everything).

/// Where in the life of a request a fault can strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before authentication: refused or cut connections, slow answers.
    Connection,
    /// After the permission check: the node is down, slow or not trusted.
    Node,
    /// After verification, instead of the behaviour: locks, quorum, internal errors.
    Call,
    /// On the finished answer: garbage, cut bodies, wrong types.
    Answer,
}

/// What is known of a request at a point.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The place.
    pub point: Point,
    /// The verb.
    pub verb: &'a str,
    /// Decoded path beneath the format.
    pub path: &'a str,
    /// The node that answers.
    pub node: Option<&'a str>,
    /// Who asks.
    pub authid: Option<&'a str>,
}

/// The faults that are set.
#[derive(Debug, Default)]
pub struct Faults {}

impl Faults {
    /// The failure that strikes here, if any: status and message.
    pub fn strike(&mut self, _at: At<'_>) -> Option<(u16, String)> {
        None
    }
}
