//! Bodies that are sent again while the world and the second are the same: those of the long lists that clients ask for
//! every few moments.
//!
//! Any change of the world is a new state ([`Watched`](super::state::Watched)), permissions and tasks included, and
//! the answer depends on nothing else but the caller, the parameters and the second.

use std::collections::HashMap;

use bytes::Bytes;

use super::{Format, Trace};
use crate::http::{Packings, Reply};
use crate::journal::Level;

/// GET methods that read the world and leave it alone (a test holds them to it), as long as HA has nothing to do.
pub(crate) const READ_ONLY: [&str; 4] = ["/cluster/nextid", "/cluster/resources", "/nodes", "/version"];
/// Those of them that are worth the memory.
const LONG: [&str; 1] = ["/cluster/resources"];
/// How many bodies are kept.
const MOST: usize = 8;

/// The state and second that a body is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub revision: u64,
    pub now: i64,
}

/// What is kept of one answer.
#[derive(Clone)]
struct Answered {
    moment: Moment,
    content_type: Option<String>,
    body: Bytes,
    packings: Packings,
    passed_on: bool,
    level: Level,
    template: Option<&'static str>,
}

/// The bodies, by what was asked and by whom.
#[derive(Default)]
pub(super) struct Kept(HashMap<String, Answered>);

impl Kept {
    /// The reply to a request that was answered in this moment before, with what the journal wants.
    pub fn find(&self, trace: &mut Trace, format: Format, moment: Moment) -> Option<(Reply, Level)> {
        if self.0.is_empty() {
            return None;
        }
        let found = self.0.get(&key(trace, format)?).filter(|found| found.moment == moment)?;
        trace.template = found.template;
        let mut reply = Reply::bare(200, "OK");
        (reply.content_type, reply.body) = (found.content_type.clone(), found.body.clone());
        (reply.packings, reply.passed_on) = (Some(found.packings.clone()), found.passed_on);
        Some((reply, found.level))
    }

    /// Keeps a success of a long list.
    pub fn keep(&mut self, asked: String, moment: Moment, trace: &Template, reply: &mut Reply) {
        if reply.status != 200 || reply.cut.is_some() || !reply.headers.is_empty() {
            return;
        }
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let packings = Packings::default();
        reply.packings = Some(packings.clone());
        let answered = Answered {
            moment,
            content_type: reply.content_type.clone(),
            body: reply.body.clone(),
            packings,
            passed_on: reply.passed_on,
            level: trace.level,
            template: trace.template,
        };
        self.0.insert(asked, answered);
    }
}

/// What the journal wants of a method.
pub(super) struct Template {
    pub template: Option<&'static str>,
    pub level: Level,
}

/// Who asks for what; `None` for what is not kept.
pub(super) fn key(trace: &Trace, format: Format) -> Option<String> {
    let path = trace.path.trim_end_matches('/');
    if trace.verb != "GET" || !LONG.contains(&path) {
        return None;
    }
    let params = serde_json::to_string(&trace.params).ok()?;
    Some(format!("{} {format:?} {path} {params}", trace.authid.as_deref()?))
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::{Direct, Scenario};

    #[test]
    fn what_is_said_to_read_only_does() {
        for scenario in [Scenario::empty(), Scenario::cluster(), Scenario::cluster().offline("pve2").resource_lag(10)] {
            let direct = Direct::new(scenario.world);
            let before = direct.world(|world| world.clone());
            for path in READ_ONLY {
                assert_eq!(direct.call(Some("root@pam"), "GET", path, Map::new()).status, 200, "{path}");
                direct.world(|world| assert!(*world == before, "{path}"));
            }
            assert!(LONG.iter().all(|path| READ_ONLY.contains(path)));
        }
    }
}
