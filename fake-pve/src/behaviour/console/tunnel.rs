//! The receiving end of a migration from another cluster: `mtunnel` makes an empty, locked guest and waits at a socket,
//! `mtunnelwebsocket` judges the ticket of who wants to speak there. No migration comes through: the wait ends in vain.

use serde_json::json;

use crate::behaviour::guest::check_unused;
use crate::behaviour::status::{Target, quorate, seconds};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::NewTask;
use crate::world::{Guest, GuestKind};

/// How long the socket waits, in seconds.
const WAIT: i64 = 300;

/// `POST …/mtunnel`.
pub(crate) fn open(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    here(call)?;
    let content = if target.kind == GuestKind::Vm { ("images", "vm images") } else { ("rootdir", "CT rootdirs") };
    for id in call.params.list("storages") {
        let holds = call.world.usable_storage(&target.node, &id)?.holds(content.0);
        call.require(&format!("/storage/{id}"), &["Datastore.AllocateSpace"])?;
        if !holds {
            return Err(Failure::die(format!("storage '{id}' does not support {}", content.1)));
        }
    }
    for bridge in call.params.list("bridges") {
        if !call.world.has_bridge(&target.node, &bridge) {
            return Err(Failure::die(format!("bridge '{bridge}' does not exist")));
        }
    }
    quorate(call)?;
    check_unused(call, target.vmid).map_err(|refused| {
        let text = format!("unable to create empty {} config - {}\n", target.kind.word(), refused.message);
        Failure::param("vmid", text)
    })?;
    let guest = Guest::new(target.kind, target.vmid, &target.node, json!({"lock": "create"}));
    call.world.guests.insert(target.vmid, guest);

    let socket = match target.kind {
        GuestKind::Vm => format!("/run/qemu-server/{}.mtunnel", target.vmid),
        GuestKind::Lxc => format!("/run/pve/ct-{}.mtunnel", target.vmid),
    };
    let ticket = call.keys.signed("PVETUNNEL", "", call.now(), &bound(&call.authid, &socket));
    let upid = call.start(wait(call, &target))?.value;
    Ok(json!({"ticket": ticket, "upid": upid, "socket": socket}).into())
}

/// The worker: nobody connects, and the guest that was made for it goes again.
fn wait(call: &Call<'_>, target: &Target) -> NewTask {
    let (vmid, word) = (target.vmid, target.kind.word());
    target
        .task(&call.authid, "qmtunnel", "vzmtunnel")
        .lasts(seconds(WAIT))
        .line("mtunnel started")
        .finish(move |run| {
            run.log("Failed to accept tunnel connection - got timeout");
            run.log("Removing tunnel socket..");
            run.log(format!("Removing temporary {word} config.."));
            run.world.guests.remove(&vmid);
            Err("Exiting mtunnel".into())
        })
        .undo(move |run| {
            run.world.guests.remove(&vmid);
            Ok(())
        })
}

/// `GET …/mtunnelwebsocket`: the ticket is judged.
pub(crate) fn websocket(call: &mut Call<'_>) -> Answer {
    here(call)?;
    Target::of(call).guest(call.world)?;
    let (ticket, socket) = (call.params.text("ticket"), call.params.text("socket"));
    let bound = bound(&call.authid, &socket);
    match call.keys.opened("PVETUNNEL", &ticket, &bound, call.now(), 40, 20) {
        Some(_) => Ok(json!({"socket": socket}).into()),
        None => Err(Failure::new(401, "permission denied - invalid PVETUNNEL ticket")),
    }
}

/// What a ticket of a socket is bound to.
fn bound(authid: &str, socket: &str) -> String {
    format!("{authid}:/socket/{socket}")
}

/// Only the node that is asked has the socket.
fn here(call: &Call<'_>) -> Result<(), Failure> {
    let entry = &call.world.entry;
    if call.node() == *entry {
        return Ok(());
    }
    Err(Failure::param("node", format!("node needs to be 'localhost' or local hostname '{entry}'")))
}
