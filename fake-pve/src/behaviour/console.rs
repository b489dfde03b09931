//! Consoles of guests: `vncproxy`, `termproxy`, `spiceproxy`, `vncwebsocket`. They give tickets; no screen is behind them.

use std::time::Duration;

use serde_json::{Value, json};

use super::status::Target;
use super::{Answer, Call, Failure};
use crate::world::GuestKind;

/// First port of consoles.
const FIRST_PORT: u16 = 5900;

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
    let open = call.world.tasks.iter().filter(|task| task.running() && task.worker_type == "vncproxy").count();
    let port = FIRST_PORT + u16::try_from(open % 100).unwrap_or(0);
    let ticket = call.keys.vnc_ticket(&call.authid, &format!("/vms/{}", target.vmid), Some(port.into()), call.now());
    let serial = serial_wanted(call, target);
    let task = target
        .task(&call.authid, "vncproxy", "vncproxy")
        .lasts(PATIENCE)
        .begin(move |_| if serial { Ok(()) } else { Err("unable to find a serial interface".into()) })
        .finish(|_| Err("connection timed out".into()));
    let upid = call.start(task)?.value;
    Ok(Opened { port, ticket, upid })
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

/// `GET …/vncwebsocket`: the ticket is judged; the socket itself is not offered.
pub(crate) fn websocket(call: &mut Call<'_>) -> Answer {
    let (ticket, port) = (call.params.text("vncticket"), call.params.text("port"));
    let path = format!("/vms/{}", call.vmid());
    // A container's console password stands before its ticket.
    let bare = ticket.find("PVEVNC:").map_or(ticket.as_str(), |at| &ticket[at..]);
    if !call.keys.check_vnc_ticket(bare, &call.authid, &path, call.params.int("port"), call.now()) {
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
    let ticket = call.keys.vnc_ticket(&call.authid, &format!("/vms/{}", target.vmid), Some(61_000), call.now());
    let proxy = call.params.get("proxy").unwrap_or_else(|| call.node());
    let answer = json!({
        "type": "spice", "title": title, "host": format!("pvespiceproxy:{:08x}:{}:{}::61000", call.now(), target.vmid, target.node),
        "proxy": format!("http://{proxy}:3128"), "tls-port": 61_000, "password": ticket[ticket.len().saturating_sub(40)..],
        "ca": call.keys.ca.replace('\n', "\\n"), "delete-this-file": 1, "secure-attention": "Ctrl+Alt+Ins",
        "host-subject": format!("OU=PVE Cluster Node,O=Proxmox Virtual Environment,CN={}", target.node),
        "toggle-fullscreen": "Shift+F11", "release-cursor": "Ctrl+Alt+R",
    });
    if target.kind == GuestKind::Lxc {
        let task = target.task(&call.authid, "spiceproxy", "spiceproxy").lasts(PATIENCE);
        call.start(task.finish(|_| Err("connection timed out".into())))?;
    }
    Ok(answer.into())
}
