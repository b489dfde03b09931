//! Consoles as tickets, and what a monitor says.

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::json;

use crate::client::Api;
use crate::raw::{Connection, Reply};
use crate::task::status;

async fn cluster(mode: Mode) -> (FakePve, Api) {
    let scenario = Scenario::one_vm().running(100).ct(200, "pve1", json!({}));
    let pve = FakePve::builder().scenario(scenario).clock(mode).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

#[tokio::test]
async fn a_ticket_opens_one_console_for_a_short_time() {
    let (pve, api) = cluster(Mode::Manual).await;
    let got = api.post("/nodes/pve1/qemu/100/vncproxy", json!({"websocket": 1})).await;
    let vnc = got.data();
    assert_eq!((&vnc["user"], &vnc["port"], &vnc["password"]), (&json!("root@pam"), &json!(5900), &json!(null)));
    assert_eq!(vnc["cert"].as_str(), Some(pve.ca_pem()));
    let ticket = vnc["ticket"].as_str().expect("a ticket").to_string();
    assert!(ticket.starts_with("PVEVNC:"), "{ticket}");
    let socket = async |vmid: u32, ticket: &str| {
        let request = api.http.get(api.at(&format!("/nodes/pve1/qemu/{vmid}/vncwebsocket")));
        api.send(request.query(&[("port", "5900"), ("vncticket", ticket)])).await
    };
    assert_eq!(socket(100, &ticket).await.data(), &json!({"port": "5900"}));
    let got = socket(101, &ticket).await;
    assert_eq!((got.status, got.reason.as_str()), (401, "permission denied - invalid PVEVNC ticket"));
    pve.advance(std::time::Duration::from_secs(41));
    assert_eq!(socket(100, &ticket).await.status, 401);
    assert_eq!(status(&api, vnc["upid"].as_str().expect("a UPID")).await, "connection timed out");
}

#[tokio::test]
async fn each_console_has_its_own_shape() {
    let (_pve, api) = cluster(Mode::Auto).await;
    let keys = |value: &serde_json::Value| {
        value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    let mut vm =
        keys(api.post("/nodes/pve1/qemu/100/vncproxy", json!({"websocket": 1, "generate-password": 1})).await.data());
    vm.sort_unstable();
    assert_eq!(vm, ["cert", "password", "port", "ticket", "upid", "user"]);
    let got = api.post("/nodes/pve1/lxc/200/vncproxy", json!({"websocket": 1})).await;
    let (password, ticket) =
        (got.data()["password"].as_str().unwrap_or_default(), got.data()["ticket"].as_str().unwrap_or_default());
    assert_eq!(password.len(), 8);
    assert!(ticket.starts_with(&format!("{password}:PVEVNC:")), "{ticket}");
    let got = api.post("/nodes/pve1/qemu/100/termproxy", json!({})).await;
    let upid = got.data()["upid"].as_str().expect("a UPID");
    assert_eq!(status(&api, upid).await, "unable to find a serial interface");
    let got = api.post("/nodes/pve1/lxc/200/spiceproxy", json!({})).await;
    assert_eq!(got.refusal().1, "CT 200 not running");
    let got = api.post("/nodes/pve1/qemu/100/spiceproxy", json!({})).await;
    assert_eq!(got.refusal().1, "no spice port");
    let got = api.post("/nodes/pve1/qemu/999/vncproxy", json!({})).await;
    assert_eq!(got.refusal().1, "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist");
}

#[tokio::test]
async fn a_monitor_answers_in_text() {
    let (pve, api) = cluster(Mode::Auto).await;
    let monitor = async |command: &str| {
        let got = api.post("/nodes/pve1/qemu/100/monitor", json!({"command": command})).await;
        got.data().as_str().unwrap_or_default().to_string()
    };
    assert_eq!(monitor("info version").await, "11.0.0pve-qemu-kvm_11.0.0-2\r\n");
    assert_eq!(monitor("info status").await, "VM status: running\r\n");
    assert_eq!(monitor("stop").await, "");
    assert_eq!(monitor("info status").await, "VM status: paused\r\n");
    assert_eq!(monitor("cont").await, "");
    assert_eq!(monitor("bogus").await, "unknown command: 'bogus'\r\n");
    let got = api.post("/nodes/pve1/qemu/100/monitor", json!({"command": ""})).await;
    assert_eq!(got.refusal().1, "no command specified");
    let token = Api::root_token(&pve);
    let got = token.post("/nodes/pve1/qemu/100/monitor", json!({"command": "bogus"})).await;
    assert_eq!(got.status, 403);
    assert_eq!(api.put("/nodes/pve1/qemu/100/sendkey", json!({"key": "ctrl-alt-delete"})).await.data(), &json!(null));
    // The monitor's line end is no text for a reason phrase.
    let got = api.put("/nodes/pve1/qemu/100/sendkey", json!({"key": "ctrl-nope"})).await;
    assert_eq!((got.status, got.body.as_str()), (400, ""));
    assert_eq!(api.post("/nodes/pve1/qemu/100/dbus-vmstate", json!({"action": "start"})).await.data(), &json!(null));
    assert_eq!(monitor("quit").await, "");
    assert_eq!(monitor("info status").await, "ERROR: VM 100 not running\n");
    assert_eq!(api.put("/nodes/pve1/qemu/100/sendkey", json!({"key": "a"})).await.refusal().1, "VM 100 not running");
    let got = api.post("/nodes/pve1/qemu/100/dbus-vmstate", json!({"action": "start"})).await;
    assert_eq!(got.refusal().2, &json!({"node": "VM 100 not running locally on node 'pve1'"}));
}

#[tokio::test]
async fn shells_of_nodes_have_tickets_too() {
    let (_pve, api) = cluster(Mode::Auto).await;
    let term = api.post("/nodes/pve1/termproxy", json!({})).await;
    let term = term.data();
    assert_eq!((&term["user"], &term["port"], term.get("cert")), (&json!("root@pam"), &json!(5900), None));
    let upid = term["upid"].as_str().expect("a UPID");
    assert!(upid.contains(":vncshell::root@pam:"), "{upid}");
    let socket = async |path: &str, ticket: &str| {
        let request = api.http.get(api.at(&format!("{path}/vncwebsocket")));
        api.send(request.query(&[("port", "5900"), ("vncticket", ticket)])).await
    };
    let ticket = term["ticket"].as_str().expect("a ticket");
    assert_eq!(socket("/nodes/pve1", ticket).await.data(), &json!({"port": "5900"}));
    let got = socket("/nodes/pve1/qemu/100", ticket).await;
    assert_eq!((got.status, got.reason.as_str()), (401, "permission denied - invalid PVEVNC ticket"));
    let ended = status(&api, upid).await;
    assert!(ended.starts_with("command '/usr/bin/termproxy 5900 --path /nodes/pve1 --perm Sys.Console"), "{ended}");

    let vnc = api.post("/nodes/pve1/vncshell", json!({"websocket": 1, "width": 800})).await;
    let (password, ticket) = (vnc.data()["password"].as_str().unwrap_or_default(), vnc.data()["ticket"].as_str());
    assert!(ticket.is_some_and(|ticket| ticket.starts_with(&format!("{password}:PVEVNC:"))), "{vnc:?}");
    assert_eq!(socket("/nodes/pve1", ticket.unwrap_or_default()).await.status, 200);
    assert_eq!(api.post("/nodes/pve1/vncshell", json!({})).await.data().get("password"), None);

    let spice = api.post("/nodes/pve1/spiceshell", json!({"proxy": "192.0.2.9"})).await;
    let (title, proxy) = (&spice.data()["title"], &spice.data()["proxy"]);
    assert_eq!((title, proxy), (&json!("Shell on 'pve1'"), &json!("http://192.0.2.9:3128")));
    let got = api.post("/nodes/nowhere/termproxy", json!({})).await;
    assert!(got.refusal().1.starts_with("hostname lookup 'nowhere' failed"), "{got:?}");
}

#[tokio::test]
async fn only_root_upgrades_in_a_shell() {
    let scenario = Scenario::one_vm().user("ann@pve", "secret-12", "/nodes", "PVESysAdmin");
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let ann = Api::login(&pve, "ann@pve", "secret-12").await;
    let got = ann.post("/nodes/pve1/termproxy", json!({"cmd": "upgrade"})).await;
    assert_eq!(got.refusal(), (403, "Permission check failed (user != root@pam)", &json!(null)));
    assert_eq!(ann.post("/nodes/pve1/termproxy", json!({"cmd": "login"})).await.status, 200);
}

#[tokio::test]
async fn a_tunnel_makes_a_guest_and_waits_in_vain() {
    let (pve, api) = cluster(Mode::Manual).await;
    let got = api.post("/nodes/pve1/qemu/300/mtunnel", json!({"storages": "local-lvm", "bridges": "vmbr0"})).await;
    let tunnel = got.data();
    assert_eq!(tunnel["socket"], "/run/qemu-server/300.mtunnel");
    assert_eq!(api.get("/nodes/pve1/qemu/300/config").await.data()["lock"], "create");
    let socket = async |ticket: &str| {
        let request = api.http.get(api.at("/nodes/pve1/qemu/300/mtunnelwebsocket"));
        api.send(request.query(&[("socket", "/run/qemu-server/300.mtunnel"), ("ticket", ticket)])).await
    };
    let ticket = tunnel["ticket"].as_str().expect("a ticket");
    assert_eq!(socket(ticket).await.data(), &json!({"socket": "/run/qemu-server/300.mtunnel"}));
    let got = socket("PVETUNNEL:x::y").await;
    assert_eq!((got.status, got.reason.as_str()), (401, "permission denied - invalid PVETUNNEL ticket"));
    let got = api.post("/nodes/pve1/qemu/300/mtunnel", json!({})).await;
    let taken = "unable to create empty VM config - VM 300 already exists on node 'pve1'\n";
    assert_eq!(got.refusal().2, &json!({"vmid": taken}));
    let got = api.post("/nodes/pve1/lxc/301/mtunnel", json!({"storages": "local"})).await;
    assert_eq!(got.refusal().1, "storage 'local' does not support CT rootdirs");
    let got = api.post("/nodes/pve1/qemu/301/mtunnel", json!({"bridges": "vmbr7"})).await;
    assert_eq!(got.refusal().1, "bridge 'vmbr7' does not exist");
    pve.advance(std::time::Duration::from_secs(301));
    assert_eq!(status(&api, tunnel["upid"].as_str().expect("a UPID")).await, "Exiting mtunnel");
    assert!(pve.world(|world| !world.guests.contains_key(&300)));
}

/// Asks for the socket of a node's terminal with some header fields.
async fn upgrade(pve: &FakePve, ticket: &str, fields: &str) -> (Connection, Reply) {
    let ticket = percent_encoding::utf8_percent_encode(ticket, percent_encoding::NON_ALPHANUMERIC);
    let path = format!("/api2/json/nodes/pve1/vncwebsocket?port=5900&vncticket={ticket}");
    let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: PVEAPIToken={}\r\n{fields}\r\n", pve.token());
    let mut connection = Connection::open(pve).await;
    let reply = connection.exchange(head.as_bytes()).await;
    (connection, reply)
}

/// A masked frame of text.
fn frame(text: &str) -> Vec<u8> {
    let mask = [1u8, 2, 3, 4];
    let mut frame = vec![0x81, 0x80 | 126];
    frame.extend(u16::try_from(text.len()).expect("short").to_be_bytes());
    frame.extend(mask);
    frame.extend(text.bytes().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

const SOCKET: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: binary\r\n";

#[tokio::test]
async fn a_console_becomes_a_socket_and_says_that_nothing_is_behind_it() {
    let pve = FakePve::builder().scenario(Scenario::empty()).clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    let term = api.post("/nodes/pve1/termproxy", json!({})).await;
    let ticket = term.data()["ticket"].as_str().expect("a ticket").to_string();
    let (mut socket, reply) = upgrade(&pve, &ticket, &format!("{SOCKET}{KEY}")).await;
    assert_eq!(reply.line, "HTTP/1.1 101 Switching Protocols");
    for (name, value) in [
        ("upgrade", "websocket"),
        ("connection", "upgrade"),
        ("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        ("sec-websocket-protocol", "binary"),
    ] {
        assert_eq!(reply.all(name), [value], "{name}");
    }
    let told = socket.say(&frame(&format!("root@pam!ci:{ticket}\n"))).await;
    assert!(told.starts_with(b"\x82\x02OK\x82"), "{told:?}");
    assert!(told.ends_with(b"\x88\x02\x03\xe8"), "{told:?}");
    let (mut socket, _reply) = upgrade(&pve, &ticket, &format!("{SOCKET}{KEY}")).await;
    assert_eq!(socket.say(&frame("root@pam!ci:wrong\n")).await, b"\x88\x02\x03\xe8");
    let (mut socket, _reply) = upgrade(&pve, &ticket, &format!("{SOCKET}{KEY}")).await;
    assert_eq!(socket.say(b"\x82\x02OK").await, b"\x88\x02\x03\xe8", "clients mask");
}

#[tokio::test]
async fn what_is_no_socket_is_refused_after_the_ticket() {
    let pve = FakePve::builder().scenario(Scenario::empty()).clock(Mode::Manual).start().await.expect("a cluster");
    let term = Api::root_token(&pve).post("/nodes/pve1/termproxy", json!({})).await;
    let ticket = term.data()["ticket"].as_str().expect("a ticket").to_string();
    let old = "Upgrade: websocket\r\nSec-WebSocket-Version: 8\r\n";
    for (ticket, fields, line) in [
        ("PVEVNC:x", SOCKET, "401 permission denied - invalid PVEVNC ticket"),
        (&ticket, "Upgrade: h2c\r\n", "500 unable to upgrade to protocol 'h2c'"),
        (&ticket, old, "500 unsupported websocket-version '8'"),
        (&ticket, SOCKET, "500 missing websocket-key"),
    ] {
        let (_connection, reply) = upgrade(&pve, ticket, fields).await;
        assert_eq!(reply.line, format!("HTTP/1.1 {line}"));
    }
}
