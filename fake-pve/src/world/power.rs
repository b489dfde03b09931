//! A guest goes on and off: pending changes, process, and the memory of when it ran.

use serde_json::{Value, json};

use super::{Guest, GuestStatus, World};

/// Key in [`Guest::state`]: `true` for a guest that hears no request to shut down (a scenario sets it).
pub const DEAF: &str = "ignores-shutdown";

/// Key in [`Guest::state`]: spans in which it ran, `[[from, to], …]` in seconds, oldest first.
const RAN: &str = "ran";

/// How many spans are remembered.
const SPANS: usize = 100;

/// Switches a guest on; its pending changes become the configuration first.
pub fn switch_on(world: &mut World, vmid: u32, now: i64) {
    let _stay_pending = world.apply_pending(now, vmid);
    power_on(world, vmid, now);
}

/// Switches a guest on as it is: for one that goes on from a saved state.
pub fn power_on(world: &mut World, vmid: u32, now: i64) {
    let pid = world.next_pid();
    if let Some(guest) = world.guests.get_mut(&vmid) {
        guest.power_on(now, pid);
    }
}

/// Switches a guest off. A machine's pending changes become the configuration.
pub fn switch_off(world: &mut World, vmid: u32, now: i64) {
    power_off(world, vmid, now);
    let _stay_pending = world.apply_pending(now, vmid);
}

/// Switches a guest off and leaves its configuration alone.
pub fn power_off(world: &mut World, vmid: u32, now: i64) {
    let Some(guest) = world.guests.get_mut(&vmid) else { return };
    if let Some(started) = guest.started.filter(|_| guest.runs()) {
        let mut spans = spans(guest);
        spans.push((started, now));
        let from = spans.len().saturating_sub(SPANS);
        let kept: Vec<Value> = spans[from..].iter().map(|(from, to)| json!([from, to])).collect();
        guest.state.insert(RAN.into(), Value::Array(kept));
    }
    guest.agent.processes.clear();
    guest.state.remove("dbus-vmstate");
    guest.state.remove("asleep");
    guest.power_off();
}

/// Halts or releases the processors.
pub fn pause(world: &mut World, vmid: u32, paused: bool) {
    if let Some(guest) = world.guests.get_mut(&vmid).filter(|guest| guest.runs()) {
        guest.status = if paused { GuestStatus::Paused } else { GuestStatus::Running };
        guest.state.remove("asleep");
    }
}

/// Whether it would shut down when it is asked to.
pub fn hears(guest: &Guest) -> bool {
    let deaf = guest.state.get(DEAF).and_then(Value::as_bool).unwrap_or(false);
    let acpi = guest.option("acpi").as_deref() != Some("0");
    let agent = guest.agent.running && guest.agent_enabled();
    !deaf && !guest.agent.frozen && (acpi || agent)
}

/// When it ran, in seconds, the present span last (it ends at `now`).
pub fn ran(guest: &Guest, now: i64) -> Vec<(i64, i64)> {
    let mut spans = spans(guest);
    if let Some(started) = guest.started.filter(|_| guest.runs()) {
        spans.push((started, now));
    }
    spans
}

fn spans(guest: &Guest) -> Vec<(i64, i64)> {
    let kept = guest.state.get(RAN).and_then(Value::as_array);
    let pair = |span: &Value| Some((span.get(0)?.as_i64()?, span.get(1)?.as_i64()?));
    kept.into_iter().flatten().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    #[test]
    fn the_past_is_remembered() {
        let mut world = Scenario::one_vm().world;
        switch_on(&mut world, 100, 1000);
        switch_off(&mut world, 100, 1600);
        switch_on(&mut world, 100, 2000);
        assert_eq!(ran(&world.guests[&100], 2500), [(1000, 1600), (2000, 2500)]);
    }

    #[test]
    fn acpi_off_needs_the_agent() {
        let mut world = Scenario::one_vm().world;
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.config.insert("acpi".into(), json!(0));
        assert!(!hears(guest));
        guest.config.insert("agent".into(), json!("1"));
        assert!(hears(guest));
        guest.state.insert(DEAF.into(), json!(true));
        assert!(!hears(guest));
    }

    #[test]
    fn disks_become_unused_and_forced_ones_are_freed() {
        let mut world = Scenario::one_vm().world;
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.pending.insert("memory".into(), json!("1024"));
        guest.pending_delete.insert("scsi0".into(), false);
        let _none = world.apply_pending(0, 100);
        let guest = &world.guests[&100];
        assert_eq!(guest.option("memory").as_deref(), Some("1024"));
        assert_eq!(guest.option("unused0").as_deref(), Some("local-lvm:vm-100-disk-0"));
        assert!(guest.pending.is_empty() && guest.pending_delete.is_empty());
        world.guests.get_mut(&100).expect("the guest").pending_delete.insert("unused0".into(), false);
        let _none = world.apply_pending(0, 100);
        assert!(world.volume("pve1", "local-lvm:vm-100-disk-0").is_none());
        assert_eq!(world.guests[&100].option("unused0"), None);
    }
}
