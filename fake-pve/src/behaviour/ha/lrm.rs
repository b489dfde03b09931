//! What a node's own manager does for a service: tasks of `root@pam` on the guest's node.

use pve_catalog::permission::ROOT;

use crate::behaviour::migrate;
use crate::behaviour::status::{Shutdown, Start, Target, shutdown, start, stop};
use crate::work::NewTask;
use crate::world::ha::{Action, What};
use crate::world::{GuestKind, World};

/// The task of an action.
pub(crate) fn task(world: &World, now_ms: i64, action: &Action) -> NewTask {
    let kind = if action.sid.starts_with("ct:") { GuestKind::Lxc } else { GuestKind::Vm };
    let target = Target { kind, vmid: action.vmid, node: action.node.clone() };
    let task = match &action.what {
        What::Start => start(world, now_ms, &target, ROOT, Start::default()),
        What::Stop(Some(0)) => stop(world, now_ms, &target, ROOT, false),
        What::Stop(timeout) => {
            let how = Shutdown { timeout: timeout.map(i64::from), force: true, ..Shutdown::default() };
            shutdown(world, now_ms, &target, ROOT, &how)
        }
        What::Migrate(node) => migrate::follow(world, now_ms.div_euclid(1000), &target, ROOT, node, true),
    };
    task.line("task started by HA resource agent")
}
