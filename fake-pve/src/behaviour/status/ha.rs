//! Guests that the HA manager looks after: calls on them become requests, and its agent acts a little later.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Shutdown, Start, Target, halt};
use crate::behaviour::migrate;
use crate::work::{NewTask, Run};
use crate::world::{World, ha};

/// Who does what the manager decides.
const AGENT: &str = "root@pam";

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
        .finish(move |run| {
            act(run, &target, request);
            Ok(())
        })
}

/// The manager notes what is wanted, and its agent on the node starts the real task.
fn act(run: &mut Run<'_>, target: &Target, request: Request) {
    let (now_ms, runs) = (run.now * 1000, target.runs(run.world).unwrap_or(false));
    let task = match request {
        Request::Start => {
            ha::request(run.world, target.vmid, "started");
            (!runs).then(|| super::start(run.world, now_ms, target, AGENT, Start::default()))
        }
        Request::Stop(timeout) => {
            ha::request(run.world, target.vmid, "stopped");
            let how = Shutdown { timeout: Some(timeout), force: true, ..Shutdown::default() };
            runs.then(|| match timeout {
                0 => halt::stop(run.world, now_ms, target, AGENT, false),
                _ => halt::shutdown(run.world, now_ms, target, AGENT, &how),
            })
        }
        Request::Migrate(node) => Some(migrate::follow(run.world, run.now, target, AGENT, &node, true)),
    };
    if let Some(task) = task {
        run.spawn(task.line("task started by HA resource agent"));
    }
}

/// `ha` of a guest's status.
pub(super) fn state(world: &World, target: &Target) -> Value {
    if !ha::managed(world, target.vmid) {
        return json!({"managed": 0});
    }
    let resource = world.ha_resource(target.vmid);
    json!({"managed": 1, "state": resource.map(ha::wanted)})
}
