//! What follows when a guest has been made: its first start, high availability, its pool.

use crate::behaviour::status::{Target, start_at_once};
use crate::work::Run;
use crate::world::GuestKind;

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
            let target = Target { kind, vmid, node: run.node.to_string() };
            run.spawn(start_at_once(&target, run.user));
        }
        if self.ha {
            run.log("Add as HA resource");
            run.world.add_to_ha(vmid, if self.start { "started" } else { "stopped" });
        }
    }
}
