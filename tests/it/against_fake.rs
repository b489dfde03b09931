//! The client against the fake cluster, over real TLS: token, password, tasks, refusals.

use std::io::Write;
use std::time::Duration;

use fake_pve::FakePve;
use pve_catalog::Verb;
use pvemcp::config::{Connection, Credentials, Tls};
use pvemcp::error::Code;
use pvemcp::pve::Client;
use pvemcp::pve::task::{TaskEnd, Wait, wait};
use tokio_util::sync::CancellationToken;

use crate::scripted::{get, open_policy, send};

async fn fake() -> FakePve {
    FakePve::builder().start().await.expect("a cluster")
}

/// `AA:BB:…` -> bytes.
fn pin(fingerprint: &str) -> [u8; 32] {
    let bytes: Vec<u8> = fingerprint.split(':').map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect();
    bytes.try_into().expect("32 bytes")
}

fn client(fake: &FakePve, credentials: Credentials) -> Client {
    let connection = Connection {
        url: fake.url(),
        credentials,
        tls: Tls::Fingerprint(pin(fake.fingerprint())),
        timeout: Duration::from_secs(20),
        only_loopback: true,
    };
    Client::new(connection).expect("a client")
}

fn token(fake: &FakePve) -> Client {
    let whole = fake.token();
    let (id, secret) = whole.rsplit_once('=').expect("id and secret");
    client(fake, Credentials::Token { id: id.into(), secret: secret.into() })
}

#[tokio::test]
async fn its_authority_and_its_fingerprint_are_trusted() {
    let fake = fake().await;
    get(&token(&fake), "/version").await.expect("the pin");
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(fake.ca_pem().as_bytes()).expect("written");
    let credentials =
        Credentials::Password { username: "root@pam".into(), password: fake.credentials().password.clone().into() };
    let connection = Connection {
        url: fake.url(),
        credentials,
        tls: Tls::CaFile(file.path().into()),
        timeout: Duration::from_secs(20),
        only_loopback: true,
    };
    let client = Client::new(connection).expect("a client");
    let nodes = get(&client, "/nodes").await.expect("a password and an authority");
    assert_eq!(nodes.data.as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_write_is_a_task_that_ends() {
    let fake = fake().await;
    let client = token(&fake);
    let limit = Wait { limit: Duration::from_secs(60) };
    // On another node than the one that is asked: the UPID says which.
    let started = send(&client, Verb::Post, "/nodes/pve2/services/cron/restart", &[]).await.expect("a UPID");
    let upid = started.data.as_str().expect("a UPID");
    assert_eq!(wait(&client, &open_policy(), upid, limit, &(), CancellationToken::new()).await, Ok(TaskEnd::Ok));

    let refused = send(&client, Verb::Post, "/nodes/pve1/services/pveproxy/stop", &[]).await.expect("a UPID");
    let upid = refused.data.as_str().expect("a UPID");
    let fault = wait(&client, &open_policy(), upid, limit, &(), CancellationToken::new()).await.expect_err("essential");
    assert_eq!(fault.code, Code::TaskFailed);
    assert!(fault.message.contains("refusing to stop essential service"), "{fault}");
    let log = fault.details["log"].as_array().expect("a log");
    assert!(
        log.last().is_some_and(|line| line.as_str().is_some_and(|line| line.starts_with("TASK ERROR: "))),
        "{log:?}"
    );
}

#[tokio::test]
async fn refusals_of_a_cluster() {
    let fake = fake().await;
    let client = token(&fake);
    let unknown_task = "/nodes/pve1/tasks/UPID:pve1:0000C0DE:0ABCDEF0:65A0B1C2:qmstart:100:root@pam:/status";
    let cases: [(Verb, &str, Code); 3] = [
        (Verb::Get, "/nodes/pve9/services", Code::NotFound),
        (Verb::Get, unknown_task, Code::NotFound),
        (Verb::Get, "/nodes/pve1/nonsense", Code::NotSupported),
    ];
    for (verb, path, code) in cases {
        let fault = send(&client, verb, path, &[]).await.expect_err("refused");
        assert_eq!(fault.code, code, "{verb} {path}: {fault}");
    }
    let fault =
        send(&client, Verb::Put, "/nodes/pve1/qemu/101/config", &[("memory", "1")]).await.expect_err("too little");
    assert_eq!(fault.code, Code::BadArgument);
    assert!(fault.details["errors"]["memory"].is_string(), "{fault:?}");

    let reader =
        Credentials::Token { id: "reader@pve!ro".into(), secret: "11111111-2222-3333-4444-555555555555".into() };
    let reader = self::client(&fake, reader);
    let fault =
        send(&reader, Verb::Post, "/nodes/pve1/qemu/101/status/start", &[]).await.expect_err("it may only read");
    assert_eq!((fault.code, &fault.details["privileges"]), (Code::Forbidden, &"VM.PowerMgmt".into()));

    let wrong = Credentials::Token { id: "root@pam!ci".into(), secret: "00000000-0000-0000-0000-000000000000".into() };
    let fault = get(&self::client(&fake, wrong), "/version").await.expect_err("nobody");
    assert_eq!(fault.code, Code::Unauthenticated);
    let wrong = Credentials::Password { username: "root@pam".into(), password: "wrong".into() };
    let fault = get(&self::client(&fake, wrong), "/version").await.expect_err("nobody");
    assert_eq!((fault.code, fault.message.as_str()), (Code::Unauthenticated, "authentication failure"));
}
