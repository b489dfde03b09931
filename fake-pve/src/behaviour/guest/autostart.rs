//! What follows when a guest has been made: its first start, high availability, its pool.

use std::time::Duration;

use crate::work::{NewTask, Run};
use crate::world::{GuestKind, World};

/// What a new guest's maker asked for besides the guest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Afterwards {
    pub pool: Option<String>,
    pub start: bool,
    pub ha: bool,
}

impl Afterwards {
    /// Does it, in the worker that made the guest.
    pub fn follow(&self, run: &mut Run<'_>, kind: GuestKind, vmid: u32) {
        if let Some(pool) = &self.pool {
            run.world.add_to_pool(vmid, pool);
        }
        if self.start {
            if kind == GuestKind::Vm {
                run.log("Execute autostart");
            }
            run.spawn(start_task(kind, run.node, run.user, vmid));
        }
        if self.ha {
            run.log("Add as HA resource");
            run.world.add_to_ha(vmid, if self.start { "started" } else { "stopped" });
        }
    }
}

/// A start of its own task, as a worker begins it for a guest that was just made.
fn start_task(kind: GuestKind, node: &str, user: &str, vmid: u32) -> NewTask {
    let worker_type = if kind == GuestKind::Vm { "qmstart" } else { "vzstart" };
    NewTask::new(node, user, worker_type, &vmid.to_string()).lasts(Duration::from_secs(2)).finish(move |run| {
        let Some(guest) = run.world.guests.get(&vmid) else { return Ok(()) };
        if guest.template() {
            let text = if kind == GuestKind::Vm { "a vm if it's" } else { "a CT if it's" };
            return Err(format!("you can't start {text} a template"));
        }
        let pid = run.world.next_pid();
        let (now, _) = (run.now, run.world.apply_pending(run.now, vmid));
        switch_on(run.world, vmid, now, pid);
        Ok(())
    })
}

fn switch_on(world: &mut World, vmid: u32, now: i64, pid: u32) {
    if let Some(guest) = world.guests.get_mut(&vmid).filter(|guest| !guest.runs()) {
        guest.power_on(now, pid);
    }
}
