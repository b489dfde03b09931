//! Applying and rolling back, the lock of the configuration, and what applying would change on a node.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{ZONES, check_lock, check_quorum, text, wrapped};
use crate::behaviour::{Answer, Call, Data, Failure, diff, network};
use crate::world::World;
use crate::world::sdn::on_node;

/// `PUT /cluster/sdn`: applied at once, loaded by the nodes one after the other.
pub(crate) fn apply(call: &mut Call<'_>) -> Answer {
    check_quorum(call)?;
    wrapped("could not commit SDN config", check_lock(call))?;
    call.world.apply_sdn();
    release(call);
    let nodes: Vec<String> = call.world.nodes.keys().cloned().collect();
    let mut task = call.task("reloadnetworkall", "");
    for node in &nodes {
        task = task.line(format!("{node}: reloading network config"));
    }
    let task = task.begin(move |run| {
        for node in nodes {
            if run.world.nodes.get(&node).is_some_and(|node| node.online) {
                let reload = network::reload_task(&node, run.user).lasts(Duration::from_secs(2));
                run.spawn(reload);
            }
        }
        Ok(())
    });
    call.start(task)
}

/// `POST /cluster/sdn/rollback`.
pub(crate) fn rollback(call: &mut Call<'_>) -> Answer {
    wrapped("could not rollback SDN configuration", check_lock(call))?;
    call.world.roll_back_sdn();
    release(call);
    Ok(Data::null())
}

/// The lock goes with the work it was taken for, unless the caller wants to keep it.
fn release(call: &mut Call<'_>) {
    if call.params.has("lock-token") && call.params.flag("release-lock") != Some(false) {
        call.world.sdn.lock = None;
    }
}

/// `POST /cluster/sdn/lock`: answers the token.
pub(crate) fn lock(call: &mut Call<'_>) -> Answer {
    let judged = check_lock(call).and_then(|()| {
        if call.world.sdn_has_changes() && !call.params.is_on("allow-pending") {
            let place = "/usr/share/perl5/PVE/API2/Network/SDN.pm line 150.";
            return Err(Failure::die(format!("configuration has pending changes at {place}")));
        }
        Ok(())
    });
    wrapped("could not acquire lock for SDN config", judged)?;
    let token = call.world.random.uuid();
    call.world.sdn.lock = Some(token.clone());
    Ok(json!(token).into())
}

/// `DELETE /cluster/sdn/lock`.
pub(crate) fn unlock(call: &mut Call<'_>) -> Answer {
    if !call.params.is_on("force") {
        wrapped("could not release lock for SDN config", check_lock(call))?;
    }
    call.world.sdn.lock = None;
    Ok(Data::null())
}

/// `GET /cluster/sdn/dry-run`.
pub(crate) fn dry_run(call: &mut Call<'_>) -> Answer {
    let node = call.params.text("node");
    if !call.world.nodes.contains_key(&node) {
        return Err(Failure::die(format!("no such cluster node '{node}'")));
    }
    let mut planned = call.world.clone();
    planned.apply_sdn();
    let mut shown = Map::new();
    let files = [
        ("interfaces-diff", "/etc/network/interfaces.d/sdn", 5, interfaces as fn(&World, &str) -> String),
        ("frr-diff", "/etc/frr/frr.conf", 3, frr),
    ];
    for (key, file, number, text) in files {
        let (old, new) = (text(call.world, &node), text(&planned, &node));
        // Both are shown with their times, as `diff` does; what is not there is as old as time itself.
        let written = if old.is_empty() { 0 } else { call.now() };
        let names = (
            format!("{file}\t{}", moment(written)),
            format!("/proc/{}/fd/{number}\t{}", call.world.next_pid(), moment(call.now())),
        );
        let changes = diff::unified((&names.0, &old), (&names.1, &new));
        if !changes.is_empty() {
            shown.insert(key.into(), json!(changes));
        }
    }
    Ok(Value::Object(shown).into())
}

/// `2026-11-30 20:03:50.000000000 +0000`.
fn moment(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M:%S.000000000 +0000").to_string()
}

/// The interfaces that the applied configuration makes on a node; nothing before the first time.
fn interfaces(world: &World, node: &str) -> String {
    if world.sdn.version == 0 {
        return String::new();
    }
    let mut file = format!("#version:{}\n", world.sdn.version);
    for (id, vnet) in world.sdn.vnets_on(node) {
        let zone = world.sdn.get_running(ZONES, &text(vnet, "zone")).cloned().unwrap_or_default();
        let (bridge, tag) = (text(&zone, "bridge"), text(vnet, "tag"));
        let port = match text(&zone, "type").as_str() {
            "vlan" | "qinq" => format!("{bridge}.{tag}"),
            "vxlan" | "evpn" => format!("vxlan_{id}"),
            _ => "none".to_string(),
        };
        file.push_str(&format!("\nauto {id}\niface {id}\n\tbridge_ports {port}\n\tbridge_stp off\n\tbridge_fd 0\n"));
        if vnet.get("vlanaware").and_then(Value::as_i64) == Some(1) {
            file.push_str("\tbridge-vlan-aware yes\n\tbridge-vids 2-4094\n");
        }
        for (name, value) in [("mtu", text(&zone, "mtu")), ("alias", text(vnet, "alias"))] {
            if !value.is_empty() {
                file.push_str(&format!("\t{name} {value}\n"));
            }
        }
    }
    file
}

/// The routing configuration that controllers make on a node.
fn frr(world: &World, node: &str) -> String {
    if world.sdn.version == 0 {
        return String::new();
    }
    let mut file = format!(
        "frr version 10.4.1\nfrr defaults datacenter\nhostname {node}\nlog syslog informational\n\
         service integrated-vtysh-config\n!\n"
    );
    for (id, controller) in world.sdn.running("/cluster/sdn/controllers") {
        let bound = text(controller, "node");
        if on_node(controller, node) && (bound.is_empty() || bound == node) {
            let asn = text(controller, "asn");
            file.push_str(&format!("! {id}\nrouter {} {asn}\n", text(controller, "type")));
            for peer in text(controller, "peers").split(',').filter(|peer| !peer.is_empty()) {
                file.push_str(&format!(" neighbor {peer} remote-as {asn}\n"));
            }
            file.push_str("exit\n!\n");
        }
    }
    file + "line vty\n!\n"
}
