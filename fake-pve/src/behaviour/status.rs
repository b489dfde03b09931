//! `/nodes/{node}/{qemu,lxc}/{vmid}/status`: what a guest is doing, and going on and off.

mod boot;
mod ct;
mod ha;
mod halt;
mod power;
mod queue;
mod suspend;
mod vm;

use std::time::Duration;

use serde_json::{Value, json};

use super::{Answer, Call, Data, Failure};
use crate::work::NewTask;
use crate::world::ha::{guest_status, managed};
use crate::world::{Guest, GuestKind, World};

pub(crate) use boot::{Start, of_the_run, start, start_at_once, without_mtu};
pub(crate) use ct::fields as ct_fields;
pub(crate) use ha::{Request, request};
pub(crate) use halt::{Shutdown, shutdown, stop};
pub(crate) use power::{reboot, reset, shutdown as shut_down, start as switch_on, stop as switch_off};
pub(crate) use suspend::{formatting, halt as pause, park, resume, suspend};
pub(crate) use vm::{QEMU, fields as vm_fields, machine};

/// A guest as calls name it, whether it is there or not.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub kind: GuestKind,
    pub vmid: u32,
    pub node: String,
}

impl Target {
    /// The guest of a call's path.
    pub fn of(call: &Call<'_>) -> Target {
        let kind = if call.method.path.contains("/lxc/{vmid}") { GuestKind::Lxc } else { GuestKind::Vm };
        Target { kind, vmid: call.vmid(), node: call.node() }
    }

    /// A guest that is there.
    pub fn at(guest: &Guest) -> Target {
        Target { kind: guest.kind, vmid: guest.vmid, node: guest.node.clone() }
    }

    /// The guest.
    ///
    /// # Errors
    /// `Configuration file 'nodes/…' does not exist`.
    pub fn guest<'w>(&self, world: &'w World) -> Result<&'w Guest, String> {
        world.guest(self.kind, &self.node, self.vmid)
    }

    /// [`Target::guest`], to change it.
    ///
    /// # Errors
    /// As [`Target::guest`].
    pub fn guest_mut<'w>(&self, world: &'w mut World) -> Result<&'w mut Guest, String> {
        world.guest_mut(self.kind, &self.node, self.vmid)
    }

    /// Whether it runs. A container that is not there does not run; a machine that is not there is an error.
    ///
    /// # Errors
    /// `unable to find configuration file for VM … on node '…'`.
    pub fn runs(&self, world: &World) -> Result<bool, String> {
        match (self.guest(world), self.kind) {
            (Ok(guest), _) => Ok(guest.runs()),
            (Err(_), GuestKind::Lxc) => Ok(false),
            (Err(_), GuestKind::Vm) => {
                Err(format!("unable to find configuration file for VM {} on node '{}'", self.vmid, self.node))
            }
        }
    }

    /// A task on it.
    pub fn task(&self, user: &str, of_vm: &str, of_ct: &str) -> NewTask {
        let worker_type = if self.kind == GuestKind::Vm { of_vm } else { of_ct };
        NewTask::new(&self.node, user, worker_type, &self.vmid.to_string())
    }

    /// `VM 100`, `CT 200`.
    pub fn word(&self) -> String {
        format!("{} {}", self.kind.word(), self.vmid)
    }
}

/// Refuses options that only `root@pam` itself may use, when they say anything.
pub(crate) fn root_only(call: &Call<'_>, names: &[&str]) -> Result<(), Failure> {
    let said = |name: &&&str| call.params.get(name).is_some_and(|value| !matches!(value.as_str(), "" | "0"));
    match names.iter().find(said) {
        Some(name) if !call.is_root() => Err(Failure::param(name, "Only root may use this option.")),
        _ => Ok(()),
    }
}

/// Refuses while the cluster has no quorum.
pub(crate) fn quorate(call: &Call<'_>) -> Result<(), Failure> {
    if call.world.no_quorum { Err(Failure::die("cluster not ready - no quorum?")) } else { Ok(()) }
}

/// A span of time in seconds.
pub(crate) fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// `GET …/status`: what can be asked and done.
pub(crate) fn index(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    target.guest(call.world)?;
    let names: &[&str] = match target.kind {
        GuestKind::Vm => &["current", "start", "stop", "reset", "shutdown", "suspend", "reboot"],
        GuestKind::Lxc => &["current", "start", "stop", "shutdown", "reboot", "migrate"],
    };
    Ok(Data::from(names.iter().map(|name| json!({"subdir": name})).collect::<Vec<_>>()))
}

/// `GET …/status/current`.
pub(crate) fn current(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    target.guest(call.world)?;
    if managed(call.world, target.vmid).is_some() {
        call.let_ha_rest();
    }
    let guest = target.guest(call.world)?;
    let mut fields = match target.kind {
        GuestKind::Vm => vm::current(call.world, guest, call.now()),
        GuestKind::Lxc => ct::fields(call.world, guest, call.now()),
    };
    fields.insert("ha".into(), guest_status(call.world, target.vmid));
    Ok(Value::Object(fields).into())
}
