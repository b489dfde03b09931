//! Consoles of nodes: `/nodes/{node}/{termproxy,vncshell,spiceshell,vncwebsocket}`. As with guests, tickets and no screen.

use serde_json::json;

use super::{PATIENCE, admit, next_port, password, viewer};
use crate::behaviour::status::seconds;
use crate::behaviour::{Answer, Call, Failure};
use crate::work::NewTask;

/// `POST …/termproxy`.
pub(crate) fn terminal(call: &mut Call<'_>) -> Answer {
    let path = check(call)?;
    let port = next_port(call);
    let ticket = call.keys.vnc_ticket(&call.authid, &path, Some(port.into()), call.now());
    let command = format!("/usr/bin/termproxy {port} --path {path} --perm Sys.Console -- {}", shell(call));
    let upid = open(call, &command)?;
    Ok(json!({"user": call.authid, "ticket": ticket, "port": port, "upid": upid}).into())
}

/// `POST …/vncshell`.
pub(crate) fn vnc(call: &mut Call<'_>) -> Answer {
    let path = check(call)?;
    let port = next_port(call);
    let mut ticket = call.keys.vnc_ticket(&call.authid, &path, Some(port.into()), call.now());
    let websocket = call.params.is_on("websocket");
    let listens = if websocket { " -notls -listen localhost" } else { "" };
    let command = format!(
        "/usr/bin/vncterm -rfbport {port} -timeout 10 -authpath {path} -perm Sys.Console{listens} -c {}",
        shell(call)
    );
    let upid = open(call, &command)?;
    let mut answer = json!({"user": call.authid, "port": port, "upid": upid, "cert": call.keys.ca});
    if websocket {
        let password = password(call);
        ticket = format!("{password}:{ticket}");
        answer["password"] = json!(password);
    }
    answer["ticket"] = json!(ticket);
    Ok(answer.into())
}

/// `POST …/spiceshell`.
pub(crate) fn spice(call: &mut Call<'_>) -> Answer {
    let path = check(call)?;
    let title = format!("Shell on '{}'", call.node());
    let answer = viewer(call, &path, 0, &title);
    let task = call.task("spiceshell", "").lasts(seconds(40)).finish(|_| Err("connection timed out".into()));
    call.start(task)?;
    Ok(answer.into())
}

/// `GET …/vncwebsocket`.
pub(crate) fn websocket(call: &mut Call<'_>) -> Answer {
    let path = format!("/nodes/{}", call.node());
    admit(call, &path)
}

/// The path that tickets are for. Nodes are not asked, so an unknown one is found here; upgrades are for root alone.
fn check(call: &Call<'_>) -> Result<String, Failure> {
    if call.params.text("cmd") == "upgrade" && !call.is_root() {
        return Err(Failure::denied("user != root@pam"));
    }
    let node = call.node();
    if !call.world.nodes.contains_key(&node) {
        return Err(Failure::die(format!(
            "hostname lookup '{node}' failed - failed to get address info for: {node}: Name or service not known"
        )));
    }
    Ok(format!("/nodes/{node}"))
}

/// What runs in the console: only root needs no login.
fn shell(call: &Call<'_>) -> &'static str {
    match (call.is_root(), call.params.text("cmd").as_str()) {
        (false, _) => "/bin/login",
        (true, "upgrade") => "/usr/bin/pveupgrade --shell",
        (true, "ceph_install") => "/usr/bin/pveceph install",
        (true, _) => "/bin/login -f root",
    }
}

/// The worker that waits for its client, in vain.
fn open(call: &mut Call<'_>, command: &str) -> Result<serde_json::Value, Failure> {
    let failed = format!("command '{command}' failed: exit code 1");
    let task = NewTask::new(&call.world.entry, &call.authid, "vncshell", "").lasts(PATIENCE);
    Ok(call.start(task.finish(|_| Err(failed)))?.value)
}
