//! The client against servers that answer well, badly and not at all.

use std::sync::Arc;
use std::time::Duration;

use pve_catalog::Verb;
use pvemcp::config::{Connection, Credentials};
use pvemcp::error::{Code, Fault};
use pvemcp::pve::Client;
use serde_json::json;

use crate::scripted::{Act, Scripted, StillClock, TOKEN_SECRET, call, get, ok, permit, reply, send, status};

async fn fault_of(line: &'static str, body: &'static str, verb: Verb, path: &str) -> Fault {
    let server = Scripted::start(move |_, _| status(line, body)).await;
    send(&server.client(), verb, path, &[]).await.expect_err("the server refuses")
}

#[tokio::test]
async fn get_and_delete_have_a_query_and_no_body() {
    let server = Scripted::start(|_, _| ok(r#"{"data":[]}"#)).await;
    let params = [("a", "x;y=z&+ é"), ("list", "1"), ("list", "2")];
    for verb in [Verb::Get, Verb::Delete] {
        send(&server.client(), verb, "/nodes/pve1/qemu/100", &params).await.expect("an answer");
    }
    for request in server.received() {
        assert_eq!(request.target, "/api2/json/nodes/pve1/qemu/100?a=x%3By%3Dz%26%2B+%C3%A9&list=1&list=2");
        assert_eq!(request.header("content-length"), None);
        assert_eq!(request.header("transfer-encoding"), None);
        assert_eq!(request.header("content-type"), None);
        assert_eq!(
            request.header("authorization"),
            Some("PVEAPIToken=mcp@pve!ci=01234567-89ab-cdef-0123-456789abcdef")
        );
        assert_eq!(request.header("cookie"), None);
    }
}

#[tokio::test]
async fn post_and_put_have_a_form() {
    let server = Scripted::start(|_, _| ok(r#"{"data":null}"#)).await;
    for verb in [Verb::Post, Verb::Put] {
        send(&server.client(), verb, "/nodes/pve1/qemu/100/config", &[("name", "a b"), ("delete", "x=y")])
            .await
            .expect("an answer");
    }
    send(&server.client(), Verb::Post, "/nodes/pve1/qemu/100/status/start", &[]).await.expect("an answer");
    let received = server.received();
    for request in &received[..2] {
        assert_eq!(request.target, "/api2/json/nodes/pve1/qemu/100/config");
        assert_eq!(request.body, "name=a+b&delete=x%3Dy");
        assert_eq!(request.header("content-type"), Some("application/x-www-form-urlencoded"));
        assert_eq!(request.header("transfer-encoding"), None);
    }
    assert_eq!(received[2].body, "");
}

#[tokio::test]
async fn path_values_arrive_as_they_were_decided_about() {
    let server = Scripted::start(|_, _| ok(r#"{"data":null}"#)).await;
    let paths = [
        ("/access/users/é@pve", "/access/users/%C3%A9%40pve"),
        ("/access/users/a?b#c@pve", "/access/users/a%3Fb%23c%40pve"),
        (
            "/nodes/pve1/storage/local/content/local:iso/a b.iso",
            "/nodes/pve1/storage/local/content/local:iso/a%20b.iso",
        ),
    ];
    for (path, _) in paths {
        let found = pve_catalog::Catalog::embedded().find(Verb::Get, path).expect("a method");
        let values = found.values.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let method = pve_catalog::Catalog::embedded().get(Verb::Get, found.method.path).expect("itself");
        let call = pvemcp::policy::ApiCall::of(method, values, Vec::new()).expect("harmless values");
        server.client().send(permit(call)).await.expect("an answer");
    }
    let seen: Vec<String> = server.received().iter().map(|request| request.path().to_string()).collect();
    assert_eq!(seen, paths.map(|(_, wanted)| wanted.to_string()));
}

#[tokio::test]
async fn envelope_total_and_changes() {
    let server = Scripted::start(|_, _| ok(r#"{"total":"7","data":[{"n":1}],"changes":"+x"}"#)).await;
    let answer = get(&server.client(), "/nodes/pve1/tasks").await.expect("an answer");
    assert_eq!((answer.data, answer.total, answer.changes), (json!([{"n": 1}]), Some(7), Some(json!("+x"))));
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn the_journal_comes_compressed_whether_asked_or_not() {
    let gzip = "1f8b0800000000000203ab564a492c4954b28a56cac9cc4b55c8cf4b55d281304bcaf3956275948a4b9393538b8b95ac0c6b013bce47072c000000";
    let bytes: Vec<u8> =
        (0..gzip.len()).step_by(2).map(|at| u8::from_str_radix(&gzip[at..at + 2], 16).expect("hex")).collect();
    let server = Scripted::start(move |_, _| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
        Act::Bytes([head.as_bytes(), &bytes].concat())
    })
    .await;
    let answer = get(&server.client(), "/nodes/pve1/journal").await.expect("an answer");
    assert_eq!(answer.data, json!(["line one", "line two"]));
}

#[tokio::test]
async fn downloads_are_no_envelopes() {
    let path = "/nodes/pve1/tasks/UPID:pve1:0000C0DE:00000001:65A0B1C2:qmstart:100:root@pam:/log";
    let server = Scripted::start(|_, _| reply("200 OK", "text/plain", b"starting\nTASK OK\n")).await;
    let answer = send(&server.client(), Verb::Get, path, &[("download", "1")]).await.expect("an answer");
    assert_eq!(answer.data, json!("starting\nTASK OK\n"));
}

#[tokio::test]
async fn a_method_without_tokens_is_refused_before_it_is_sent() {
    let server = Scripted::start(|_, _| ok(r#"{"data":null}"#)).await;
    let fault = send(&server.client(), Verb::Put, "/access/password", &[("userid", "a@pve"), ("password", "12345678")])
        .await
        .expect_err("tokens are not accepted");
    assert_eq!(fault.code, Code::TokenNotAccepted);
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = Scripted::start(|_, _| {
        Act::Bytes(b"HTTP/1.1 301 Moved\r\nLocation: https://evil.example/?t=x\r\nConnection: close\r\n\r\n".to_vec())
    })
    .await;
    let fault = get(&server.client(), "/version").await.expect_err("a redirect");
    assert_eq!(fault.code, Code::UnexpectedRedirect);
    assert_eq!(fault.details["location"], "https://evil.example/?t=x");
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn answers_that_are_not_proxmox() {
    let html = || reply("200 OK", "text/html", b"<html>login</html>");
    type Answer = fn() -> Act;
    let bodies: [(Answer, &str); 5] = [
        (html, "HTML"),
        (|| ok(r#"{"data":[1,2"#), "cut off"),
        (|| ok(""), "an empty body"),
        (|| ok("[]"), "without 'data'"),
        (|| ok("nonsense"), "no JSON"),
    ];
    for (act, words) in bodies {
        let server = Scripted::start(move |_, _| act()).await;
        let fault = get(&server.client(), "/version").await.expect_err("no answer of Proxmox");
        assert_eq!(fault.code, Code::Internal, "{fault}");
        assert!(fault.message.contains(words), "{fault}");
    }
}

#[tokio::test]
async fn an_answer_without_end_is_too_large() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n".to_vec();
    let server = Scripted::start(move |_, _| Act::Flood(head.clone(), 65 << 20)).await;
    let fault = get(&server.client(), "/version").await.expect_err("too much");
    assert_eq!(fault.code, Code::TooLarge);
}

#[tokio::test]
async fn a_get_is_tried_three_times_and_a_write_once() {
    let server = Scripted::start(|_, _| Act::Close).await;
    let clock = Arc::new(StillClock::default());
    let client = Client::with_clock(server.connection(), clock.clone()).expect("a client");
    assert_eq!(get(&client, "/version").await.expect_err("closed").code, Code::Unreachable);
    assert_eq!(server.received().len(), 3);
    assert_eq!(clock.slept(), [Duration::from_millis(250), Duration::from_secs(1)]);
    let fault = send(&client, Verb::Post, "/nodes/pve1/qemu/100/status/start", &[]).await.expect_err("closed");
    assert_eq!(fault.code, Code::Unreachable);
    assert!(fault.hint.expect("a hint").contains("may have been carried out"));
    assert_eq!(server.received().len(), 4, "a write is never repeated");
}

#[tokio::test]
async fn a_get_gets_through_when_the_connection_comes_back() {
    let cut = || Act::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"data\"".to_vec());
    let server = Scripted::start(move |before, _| if before < 2 { cut() } else { ok(r#"{"data":1}"#) }).await;
    assert_eq!(get(&server.client(), "/version").await.expect("the third attempt").data, json!(1));
}

#[tokio::test]
async fn nobody_listens() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = Scripted::start(|_, _| Act::Close).await;
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let clock = Arc::new(StillClock::default());
    let client = Client::with_clock(Connection { url, ..server.connection() }, clock.clone()).expect("a client");
    let fault = get(&client, "/version").await.expect_err("nobody");
    assert_eq!(fault.code, Code::Unreachable);
    assert!(fault.message.contains("refused"), "{fault}");
    assert_eq!(clock.slept().len(), 2);
}

#[tokio::test]
async fn no_answer_in_time() {
    let server = Scripted::start(|_, _| Act::Hang).await;
    let connection = Connection { timeout: Duration::from_millis(50), ..server.connection() };
    let client = Client::with_clock(connection, Arc::new(StillClock::default())).expect("a client");
    assert_eq!(get(&client, "/version").await.expect_err("late").code, Code::Timeout);
    let fault = send(&client, Verb::Delete, "/nodes/pve1/qemu/100", &[]).await.expect_err("late");
    assert!(fault.hint.expect("a hint").contains("may have been carried out"));
    assert_eq!(server.received().len(), 2, "a timeout is not tried again");
}

#[test]
fn what_a_url_may_be() {
    let connection = |url: &str, only_loopback| Connection {
        url: url.into(),
        credentials: Credentials::Token { id: "a@pve!b".into(), secret: TOKEN_SECRET.into() },
        tls: pvemcp::config::Tls::Off,
        timeout: Duration::from_secs(1),
        only_loopback,
    };
    let code = |url: &str, only_loopback| Client::new(connection(url, only_loopback)).err().map(|fault| fault.code);
    for url in ["https://pve1.example:8006", "https://192.0.2.1", "http://127.0.0.1:1", "https://[::1]:8006"] {
        assert_eq!(code(url, false), None, "{url}");
    }
    for url in ["http://pve1:8006", "https://u:p@pve1", "https://pve1/x", "https://pve1?x", "ftp://pve1", "pve1"] {
        assert_eq!(code(url, false), Some(Code::BadArgument), "{url}");
    }
    for url in ["https://127.0.0.1:1", "https://localhost:1", "https://[::1]:1"] {
        assert_eq!(code(url, true), None, "{url}");
    }
    for url in ["https://pve1:8006", "https://127.0.0.1.example", "https://10.0.0.1", "https://localhost.example"] {
        assert_eq!(code(url, true), Some(Code::Blocked), "{url}");
    }
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let locked = "VM is locked (backup)";
    let cases: [(&str, &str, Code); 34] = [
        ("401 No ticket", "", Code::Unauthenticated),
        ("401 Authentication failed!", "", Code::Unauthenticated),
        ("403 Permission check failed (/vms/100, VM.Audit)", "", Code::Forbidden),
        ("403 Permission check failed (user != root@pam)", "", Code::Forbidden),
        (
            "403 Permission check failed (URI '/access/tfa/x' not available with API token, need proper ticket.",
            "",
            Code::TokenNotAccepted,
        ),
        (
            "400 Parameter verification failed.",
            r#"{"data":null,"errors":{"vmid":"type check ('integer') failed - got 'x'"}}"#,
            Code::BadArgument,
        ),
        (
            "400 Parameter verification failed.",
            r#"{"data":null,"errors":{"tokenid":"Token already exists."}}"#,
            Code::Conflict,
        ),
        ("400 Parameter verification failed.", r#"{"data":null,"errors":{"upid":"no such task"}}"#, Code::NotFound),
        ("400 detected modified configuration - file changed by other user? Try again.", "", Code::Conflict),
        ("404 endpoint 'x' not found", "", Code::NotFound),
        ("501 Method 'GET /foo' not implemented", "", Code::NotSupported),
        ("501 for data too large", "", Code::TooLarge),
        ("595 No route to host", "", Code::NodeUnreachable),
        ("596 tls_process_server_certificate: certificate verify failed", "", Code::NodeUnreachable),
        ("599 Too many redirections", "", Code::NodeUnreachable),
        ("500 VM is locked (backup)", "", Code::GuestLocked),
        ("500 CT is locked (disk)", "", Code::GuestLocked),
        ("500 can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout", "", Code::GuestLocked),
        ("500 VM 100 not running", "", Code::GuestNotRunning),
        ("500 VM 100 is not running", "", Code::GuestNotRunning),
        ("500 CT 101 not running", "", Code::GuestNotRunning),
        ("500 No QEMU guest agent configured", "", Code::AgentOff),
        ("500 QEMU guest agent is not running", "", Code::AgentNotRunning),
        ("500 VM 100 qga command 'guest-exec' failed - got timeout", "", Code::AgentTimeout),
        ("500 detected modified configuration - file changed by other user? Try again.", "", Code::Conflict),
        ("500 unable to create VM 100 - VM 100 already exists on node 'pve1'", "", Code::Conflict),
        ("500 create storage failed: storage ID 'x' already defined", "", Code::Conflict),
        ("500 ha groups have been migrated to rules", "", Code::NotSupported),
        ("500 only root can set 'args' config", "", Code::Forbidden),
        ("500 Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist", "", Code::NotFound),
        ("500 no such user ('x@pve')", "", Code::NotFound),
        (
            "500 hostname lookup 'pve9' failed - failed to get address info for: pve9: Name or service not known",
            "",
            Code::NotFound,
        ),
        ("502 Bad Gateway", "", Code::Unreachable),
        ("500 something else at /usr/share/perl5/PVE/X.pm line 1.", "", Code::Internal),
    ];
    for (line, body, code) in cases {
        let fault = fault_of(line, body, Verb::Post, "/nodes/pve1/qemu/100/status/start").await;
        assert_eq!(fault.code, code, "{line}: {fault}");
        assert!(fault.hint.is_some(), "{line}: no advice");
        assert_eq!(fault.details["status"], line[..3].parse::<u64>().expect("a status"), "{line}");
    }
    let body = r#"{"data":null,"message":"VM is locked (backup)\n"}"#;
    let fault = fault_of("500 other", body, Verb::Post, "/nodes/pve1/qemu/100/status/start").await;
    assert_eq!((fault.message.as_str(), &fault.details["retryable"]), (locked, &json!(true)), "the body is preferred");
}

#[tokio::test]
async fn a_refusal_is_complete() {
    let line = "403 Permission check failed (/vms/100, VM.PowerMgmt)";
    let fault = fault_of(line, "", Verb::Post, "/nodes/pve1/qemu/100/status/start").await;
    assert_eq!(fault.details["path"], "/vms/100");
    assert_eq!(fault.details["privileges"], "VM.PowerMgmt");
    assert_eq!(fault.details["needs"], "VM.PowerMgmt on /vms/{vmid}");
    assert!(fault.hint.expect("a hint").contains("privilege separation"));

    let body = r#"{"data":null,"message":"Parameter verification failed.\n","errors":{"memory":"value must have a minimum value of 16\n","x":"property is not defined"}}"#;
    let fault = fault_of("400 Parameter verification failed.", body, Verb::Put, "/nodes/pve1/qemu/100/config").await;
    assert_eq!(fault.details["errors"]["memory"], "value must have a minimum value of 16");
    let wanted =
        "Parameter verification failed: memory: value must have a minimum value of 16; x: property is not defined";
    assert_eq!(fault.message, wanted);

    let fault = fault_of("596 tls: certificate verify failed", "", Verb::Get, "/nodes/pve2/qemu").await;
    assert_eq!(fault.details["node"], "pve2");
    assert!(fault.hint.expect("a hint").contains("do not trust each other"));

    let fault = fault_of("596 Connection timed out", "", Verb::Put, "/nodes/pve1/qemu/100/resize").await;
    assert!(fault.hint.expect("a hint").contains("may have been carried out"));

    let fault = fault_of(
        "501 Method 'POST /nodes/pve1/lxc/100/exec' not implemented",
        "",
        Verb::Post,
        "/nodes/pve1/lxc/100/exec",
    )
    .await;
    // What does it instead, and whose version is whose, is said where the tools are known.
    assert!(fault.hint.expect("a hint").contains("another version"));
}

#[tokio::test]
async fn control_and_direction_characters_do_not_come_through() {
    let body = r#"{"data":null,"message":"a\u001b[31mb\u202ec\n"}"#;
    let fault = fault_of("500 x", body, Verb::Get, "/version").await;
    assert_eq!(fault.message, "a[31mbc");
}

const LOGIN: &str = r#"{"data":{"username":"root@pam","ticket":"PVE:root@pam:65A0B1C2::c2lnbmF0dXJl+/=","CSRFPreventionToken":"65A0B1C2:abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG","cap":{}}}"#;

fn is_login(path: &str) -> bool {
    path == "/access/ticket"
}

#[tokio::test]
async fn a_password_becomes_a_ticket() {
    let server = Scripted::start(|_, request| ok(if is_login(request.path()) { LOGIN } else { r#"{"data":1}"# })).await;
    let (client, clock) = server.password_client("correct horse");
    let (one, two) = tokio::join!(get(&client, "/version"), get(&client, "/version"));
    one.and(two).expect("answers");
    send(&client, Verb::Put, "/access/password", &[("userid", "a@pve")]).await.expect("a ticket may do it");
    clock.advance(Duration::from_secs(89 * 60));
    get(&client, "/version").await.expect("an answer");
    assert_eq!(server.received().iter().filter(|request| is_login(request.path())).count(), 1, "one login for all");
    clock.advance(Duration::from_secs(60));
    get(&client, "/version").await.expect("an answer");
    let received = server.received();
    let logins: Vec<_> = received.iter().filter(|request| is_login(request.path())).collect();
    assert_eq!(logins.len(), 2, "renewed before it is two hours old");
    assert_eq!(logins[0].body, "username=root%40pam&password=correct+horse");
    assert_eq!(logins[0].header("cookie"), None);
    let write = received.iter().find(|request| request.verb == "PUT").expect("the write");
    assert_eq!(write.header("cookie"), Some("PVEAuthCookie=PVE%3Aroot%40pam%3A65A0B1C2%3A%3Ac2lnbmF0dXJl%2B%2F%3D"));
    assert_eq!(write.header("csrfpreventiontoken"), Some("65A0B1C2:abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"));
    assert_eq!(write.header("authorization"), None);
}

#[tokio::test]
async fn a_ticket_that_is_refused_is_renewed_once() {
    let server = Scripted::start(|before, request| match (is_login(request.path()), before) {
        (true, _) => ok(LOGIN),
        (false, 1 | 3) => ok(r#"{"data":1}"#),
        (false, 2) => status("401 No ticket", ""),
        (false, _) => ok(r#"{"data":2}"#),
    })
    .await;
    let (client, _) = server.password_client("correct horse");
    get(&client, "/version").await.expect("an answer");
    let answer = send(&client, Verb::Post, "/nodes/pve1/qemu/100/status/start", &[]).await.expect("the second ticket");
    assert_eq!(answer.data, json!(2));
    let paths: Vec<String> = server.received().iter().map(|request| request.path().to_string()).collect();
    let start = "/nodes/pve1/qemu/100/status/start";
    assert_eq!(paths, ["/access/ticket", "/version", start, "/access/ticket", start]);

    let server =
        Scripted::start(
            |_, request| {
                if is_login(request.path()) { ok(LOGIN) } else { status("401 Authentication failed!", "") }
            },
        )
        .await;
    let (client, _) = server.password_client("correct horse");
    assert_eq!(get(&client, "/version").await.expect_err("refused").code, Code::Unauthenticated);
    assert_eq!(server.received().len(), 2, "a ticket made just now is not made again");
    assert_eq!(get(&client, "/version").await.expect_err("refused").code, Code::Unauthenticated);
    assert_eq!(server.received().len(), 5, "an older one once");
}

#[tokio::test]
async fn logins_that_fail() {
    let tfa = r#"{"data":{"username":"root@pam","NeedTFA":1,"ticket":"PVE:!tfa!%7B%22totp%22%3Atrue%7D:65A0B1C2::c2ln","CSRFPreventionToken":"65A0B1C2:x"}}"#;
    let cases: [(&str, &str, Code); 5] = [
        ("200 OK", tfa, Code::TwoFactor),
        ("401 authentication failure", r#"{"data":null,"message":"authentication failure\n"}"#, Code::Unauthenticated),
        (
            "400 Parameter verification failed.",
            r#"{"data":null,"errors":{"username":"invalid"}}"#,
            Code::Unauthenticated,
        ),
        ("200 OK", r#"{"data":null}"#, Code::Internal),
        ("301 Moved", "", Code::UnexpectedRedirect),
    ];
    for (line, body, code) in cases {
        let server = Scripted::start(move |_, _| status(line, body)).await;
        let (client, _) = server.password_client("correct horse");
        let fault = get(&client, "/version").await.expect_err("no login");
        assert_eq!(fault.code, code, "{line}: {fault}");
        assert_eq!(server.received().len(), 1, "nothing else is sent");
        if code == Code::TwoFactor {
            assert!(fault.hint.expect("a hint").contains("API token"));
        }
    }
}

#[tokio::test]
async fn our_own_credentials_never_come_back() {
    let server = Scripted::start(|_, request| {
        let echo = format!("{:?} {}", request.headers, request.body);
        match request.path() {
            "/access/ticket" if request.body.contains("wrong") => status(&format!("500 {}", request.body), ""),
            "/access/ticket" => ok(LOGIN),
            "/version" => ok(&json!({"data": {"echo": echo, "list": [echo]}}).to_string()),
            _ => status(
                &format!("500 got {}", echo.replace(['\r', '\n'], " ")),
                &json!({"message": echo, "errors": {"x": echo}}).to_string(),
            ),
        }
    })
    .await;
    let secrets = [
        TOKEN_SECRET,
        "hunter+2 hunter",
        "hunter%2B2",
        "hunter+2",
        "c2lnbmF0dXJl",
        "abcdefghijklmnopqrstuvwxyz0123",
        "wrong-password",
    ];
    let clean = |text: String| {
        for secret in secrets {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    };
    for client in [server.client(), server.password_client("hunter+2 hunter").0] {
        clean(format!("{client:?}"));
        let answer = get(&client, "/version").await.expect("an answer");
        assert!(answer.data.to_string().contains("[REDACTED]"));
        clean(answer.data.to_string());
        let fault = get(&client, "/nodes").await.expect_err("refused");
        assert!(fault.message.contains("[REDACTED]"), "{fault}");
        clean(format!("{fault:?}"));
    }
    let fault = get(&server.password_client("wrong-password").0, "/version").await.expect_err("no login");
    clean(format!("{fault:?}"));
}

#[tokio::test]
async fn errors_never_show_the_query() {
    let server = Scripted::start(|_, _| Act::Close).await;
    let call = call(Verb::Get, "/nodes/pve1/scan/cifs", &[("server", "nas"), ("password", "open-sesame")]);
    let fault = server.client().send(permit(call)).await.expect_err("closed");
    assert!(!format!("{fault:?}").contains("sesame"), "{fault:?}");
}

#[tokio::test]
async fn ssh_keys_are_decoded_when_read() {
    let server = Scripted::start(|_, request| {
        ok(match request.path() {
            "/nodes/pve1/qemu/100/config" => r#"{"data":{"name":"x","sshkeys":"ssh-ed25519%20AAAA%20a%40b%0A"}}"#,
            _ => r#"{"data":[{"key":"sshkeys","value":"ssh-ed25519%20AAAA","pending":"ssh-rsa%20BBBB"},{"key":"name","value":"a%20b"}]}"#,
        })
    })
    .await;
    let config = get(&server.client(), "/nodes/pve1/qemu/100/config").await.expect("an answer");
    assert_eq!(config.data["sshkeys"], "ssh-ed25519 AAAA a@b");
    let pending = get(&server.client(), "/nodes/pve1/qemu/100/pending").await.expect("an answer");
    assert_eq!(pending.data[0]["value"], "ssh-ed25519 AAAA");
    assert_eq!(pending.data[0]["pending"], "ssh-rsa BBBB");
    assert_eq!(pending.data[1]["value"], "a%20b");
}
