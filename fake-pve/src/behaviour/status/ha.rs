//! Guests that HA manages: calls on them become requests, and the managers act some rounds later.

use std::time::Duration;

use super::Target;
use crate::work::{NewTask, Run};
use crate::world::ha;

/// What is asked of the manager.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// To have it started.
    Start,
    /// To have it stopped; 0 seconds is at once.
    Stop(i64),
    /// To have it on another node.
    Migrate(String),
}

/// The task that hands a request to the manager (`hastart`, `hastop`, `hamigrate`).
pub(crate) fn request(target: &Target, user: &str, request: Request) -> NewTask {
    let word = target.word();
    let (worker_type, line) = match &request {
        Request::Start => ("hastart", format!("Requesting HA start for {word}")),
        Request::Stop(_) => ("hastop", format!("Requesting HA stop for {word}")),
        Request::Migrate(node) => ("hamigrate", format!("Requesting HA migration for {word} to node {node}")),
    };
    let target = target.clone();
    NewTask::new(&target.node, user, worker_type, &target.vmid.to_string())
        .lasts(Duration::from_millis(500))
        .line(line)
        .finish(move |run| ask(run, &target, &request))
}

/// What the worker asks with the command `ha-manager`; its refusal is a line of the task's log.
fn ask(run: &mut Run<'_>, target: &Target, request: &Request) -> Result<(), String> {
    let sid = ha::sid_of(target.kind, target.vmid);
    let (asked, command) = match request {
        Request::Start => (ha::request_state(run.world, &sid, "started"), format!("set {sid} --state started")),
        Request::Stop(timeout) => {
            let seconds = u32::try_from(*timeout).unwrap_or(0);
            (ha::request_stop(run.world, &sid, seconds), format!("crm-command stop {sid} {timeout}"))
        }
        Request::Migrate(node) => {
            (ha::request_move(run.world, &sid, node, false), format!("crm-command migrate {sid} {node}"))
        }
    };
    asked.map_err(|error| {
        run.log(error);
        format!("command 'ha-manager {command}' failed: exit code 255")
    })
}
