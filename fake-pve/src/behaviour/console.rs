//! Consoles of guests: `vncproxy`, `termproxy`, `spiceproxy`, `vncwebsocket`. They give tickets; no screen is behind them.
//! [`shell`] has those of nodes, [`tunnel`] the receiving end of a migration from another cluster.

pub(crate) mod shell;
pub(crate) mod tunnel;

use std::time::Duration;

use serde_json::{Value, json};

use super::status::Target;
use super::{Answer, Call, Failure};
use crate::work::NewTask;
use crate::world::GuestKind;

/// First port of consoles.
const FIRST_PORT: u16 = 5900;

/// Port of SPICE consoles.
const SPICE_PORT: i64 = 61_000;

/// How long a proxy waits for its client.
const PATIENCE: Duration = Duration::from_secs(10);

/// Letters of a generated password.
const LETTERS: &[u8] = b"!#$%()*+-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`";

/// A console that was opened: its port, ticket and task.
struct Opened {
    port: u16,
    ticket: String,
    upid: Value,
}

/// `POST …/vncproxy`.
pub(crate) fn vnc(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    target.guest(call.world)?;
    let websocket = call.params.is_on("websocket");
    let wanted = match target.kind {
        GuestKind::Vm => call.params.is_on("generate-password"),
        GuestKind::Lxc => websocket,
    };
    if target.kind == GuestKind::Vm && wanted && !websocket {
        return Err(Failure::param("websocket", "missing property required by 'generate-password'"));
    }
    let opened = open(call, &target)?;
    let mut ticket = opened.ticket;
    let mut answer = json!({
        "user": call.authid, "port": opened.port, "upid": opened.upid, "cert": call.keys.ca,
    });
    if wanted {
        let password = password(call);
        if target.kind == GuestKind::Lxc {
            ticket = format!("{password}:{ticket}");
        }
        answer["password"] = json!(password);
    }
    answer["ticket"] = json!(ticket);
    Ok(answer.into())
}

/// `POST …/termproxy`.
pub(crate) fn terminal(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    target.guest(call.world)?;
    let opened = open(call, &target)?;
    let answer = json!({"user": call.authid, "ticket": opened.ticket, "port": opened.port, "upid": opened.upid});
    Ok(answer.into())
}

/// The worker that waits for its client, in vain: nobody can speak to it here.
fn open(call: &mut Call<'_>, target: &Target) -> Result<Opened, Failure> {
    let port = next_port(call);
    let ticket = call.keys.vnc_ticket(&call.authid, &format!("/vms/{}", target.vmid), Some(port.into()), call.now());
    let serial = serial_wanted(call, target);
    // No other node is asked: the worker runs where the call came in, and reaches for the guest from there.
    let task = NewTask::new(&call.world.entry, &call.authid, "vncproxy", &target.vmid.to_string())
        .lasts(PATIENCE)
        .begin(move |_| if serial { Ok(()) } else { Err("unable to find a serial interface".into()) })
        .finish(|_| Err("connection timed out".into()));
    let upid = call.start(task)?.value;
    Ok(Opened { port, ticket, upid })
}

/// The first port that no console of the cluster waits on.
fn next_port(call: &Call<'_>) -> u16 {
    let waits = |worker: &str| matches!(worker, "vncproxy" | "vncshell");
    let open = call.world.tasks.iter().filter(|task| task.running() && waits(&task.worker_type)).count();
    FIRST_PORT + u16::try_from(open % 100).unwrap_or(0)
}

/// Whether the serial port that a terminal needs is there; always for other consoles.
fn serial_wanted(call: &Call<'_>, target: &Target) -> bool {
    let Ok(guest) = target.guest(call.world) else { return true };
    if target.kind == GuestKind::Lxc || !call.method.path.ends_with("/termproxy") {
        return true;
    }
    match call.params.get("serial") {
        Some(port) => guest.option(&port).is_some(),
        None => (0..4).any(|number| guest.option(&format!("serial{number}")).is_some()),
    }
}

fn password(call: &mut Call<'_>) -> String {
    let letter = |_| char::from(LETTERS[call.world.random.below(LETTERS.len() as u64) as usize]);
    (0..8).map(letter).collect()
}

/// `GET …/vncwebsocket`: the ticket is judged. The socket that it may become is the engine's business.
pub(crate) fn websocket(call: &mut Call<'_>) -> Answer {
    let path = format!("/vms/{}", call.vmid());
    admit(call, &path)
}

/// Judges the ticket of a `vncwebsocket` for a path (`/vms/100`, `/nodes/pve1`).
fn admit(call: &Call<'_>, path: &str) -> Answer {
    let (ticket, port) = (call.params.text("vncticket"), call.params.text("port"));
    // A container's console password stands before its ticket.
    let bare = ticket.find("PVEVNC:").map_or(ticket.as_str(), |at| &ticket[at..]);
    if !call.keys.check_vnc_ticket(bare, &call.authid, path, call.params.int("port"), call.now()) {
        return Err(Failure::new(401, "permission denied - invalid PVEVNC ticket"));
    }
    Ok(json!({"port": port}).into())
}

/// `POST …/spiceproxy`: a connection file for remote-viewer.
pub(crate) fn spice(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let guest = target.guest(call.world)?;
    if !guest.runs() {
        return Err(Failure::die(format!("{} not running", target.word())));
    }
    let title = match guest.option("name").or_else(|| guest.option("hostname")) {
        Some(name) => format!("{} - {name}", target.word()),
        None => target.word(),
    };
    let vga = guest.option("vga").unwrap_or_default();
    let screen = vga.trim_start_matches("type=");
    if target.kind == GuestKind::Vm && !screen.starts_with("qxl") && !screen.starts_with("virtio") {
        return Err(Failure::die("no spice port"));
    }
    let answer = viewer(call, &format!("/vms/{}", target.vmid), target.vmid, &title);
    if target.kind == GuestKind::Lxc {
        let task = target.task(&call.authid, "spiceproxy", "spiceproxy").lasts(PATIENCE);
        call.start(task.finish(|_| Err("connection timed out".into())))?;
    }
    Ok(answer.into())
}

/// The connection file of remote-viewer. The id of a node's shell is 0.
fn viewer(call: &Call<'_>, path: &str, vmid: u32, title: &str) -> Value {
    let ticket = call.keys.vnc_ticket(&call.authid, path, Some(SPICE_PORT), call.now());
    let node = call.node();
    let proxy = call.params.get("proxy").unwrap_or_else(|| node.clone());
    json!({
        "type": "spice", "title": title, "host": format!("pvespiceproxy:{:08x}:{vmid}:{node}::{SPICE_PORT}", call.now()),
        "proxy": format!("http://{proxy}:3128"), "tls-port": SPICE_PORT,
        "password": ticket[ticket.len().saturating_sub(40)..], "ca": call.keys.ca.replace('\n', "\\n"),
        "delete-this-file": 1, "secure-attention": "Ctrl+Alt+Ins",
        "host-subject": format!("OU=PVE Cluster Node,O=Proxmox Virtual Environment,CN={node}"),
        "toggle-fullscreen": "Shift+F11", "release-cursor": "Ctrl+Alt+R",
    })
}
