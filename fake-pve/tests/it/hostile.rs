//! Clients that mean no good: an answer as Proxmox gives it or a closed connection, and a world that stays as it was.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario, World};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::Api;
use crate::raw::{Connection, Reply};

async fn one_vm(idle: Duration) -> FakePve {
    let builder = FakePve::builder().scenario(Scenario::one_vm()).clock(Mode::Manual);
    builder.idle_timeout(idle).start().await.expect("a cluster")
}

fn world(pve: &FakePve) -> World {
    pve.world(|world| world.clone())
}

/// What comes until the server closes the connection.
async fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _reset = stream.read_to_end(&mut bytes).await;
    bytes
}

#[tokio::test]
async fn silent_connections_are_closed() {
    let pve = one_vm(Duration::from_millis(200)).await;
    let version = format!("GET /api2/json/version HTTP/1.1\r\nAuthorization: PVEAPIToken={}\r\n\r\n", pve.token());

    let mut kept = Connection::open(&pve).await;
    assert_eq!(kept.exchange(version.as_bytes()).await.all("connection"), ["Keep-Alive"]);
    assert_eq!(kept.exchange(b"").await, Reply::default(), "idle after a request");

    let mut half = Connection::open(&pve).await;
    assert_eq!(half.exchange(&version.as_bytes()[..40]).await, Reply::default(), "half a head");

    for start in [&b""[..], b"GET / HT", b"\x16\x03\x01"] {
        let mut stream = TcpStream::connect(pve.address()).await.expect("a connection");
        stream.write_all(start).await.expect("sent");
        assert_eq!(rest(stream).await, b"", "{start:?}");
    }

    let mut body = Connection::open(&pve).await;
    let head = version.replace("GET /api2/json/version", "PUT /api2/json/nodes/pve1/qemu/100/config");
    let request = head.replace("\r\n\r\n", "\r\nContent-Length: 100\r\n\r\nname=two");
    assert_eq!(body.exchange(request.as_bytes()).await.line, "HTTP/1.1 400 bad request");
    assert_eq!(pve.world(|world| world.guests[&100].name()), "one");
}

#[tokio::test]
async fn thousands_of_connections_disturb_nobody() {
    let pve = one_vm(Duration::from_secs(60)).await;
    let api = Api::root_token(&pve);
    let before = world(&pve);
    let mut held = Vec::new();
    for number in 0..2000 {
        let mut stream = TcpStream::connect(pve.address()).await.expect("a connection");
        let start: &[u8] = match number % 4 {
            0 => b"",
            1 => b"GET /api2/json/ver",
            2 => b"\x16\x03\x01\x02\x00\x01",
            _ => b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n",
        };
        stream.write_all(start).await.expect("sent");
        held.push(stream);
        if number % 400 == 0 {
            api.get("/version").await.data();
        }
    }
    for _ in 0..20 {
        Connection::open(&pve).await.exchange(b"GET / HTTP/1.1\r\n\r\n").await;
        api.get("/nodes/pve1/qemu/100/config").await.data();
    }
    drop(held);
    api.get("/version").await.data();
    assert_eq!(world(&pve), before);
}

#[tokio::test]
async fn too_much_is_refused_or_cut() {
    let pve = one_vm(Duration::from_secs(5)).await;
    let before = world(&pve);
    let token = pve.token();
    let put = |length: &str, more: &str, body: &str| {
        format!(
            "PUT /api2/json/nodes/pve1/qemu/100/config HTTP/1.1\r\nAuthorization: PVEAPIToken={token}\r\n\
             Content-Length: {length}\r\n{more}\r\n{body}"
        )
    };
    let long = "x".repeat(600_000);
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let cases = [
        (put("10000000000", "", "name=two"), "HTTP/1.1 501 for data too large"),
        (put(&(long.len() + 5).to_string(), "", &format!("name={long}")), "HTTP/1.1 501 for data too large"),
        (
            put("8", "Content-Type: image/png\r\n", "name=two"),
            "HTTP/1.1 506 upload 'Content-Type 'image/png' not implemented",
        ),
        (put(&deep.len().to_string(), "Content-Type: application/json\r\n", &deep), "HTTP/1.1 500 "),
        (put("0", "Transfer-Encoding: zip\r\n", ""), "HTTP/1.1 501 Unknown transfer encoding 'zip'"),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "a/".repeat(3000)), "HTTP/1.1 5"),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "a/".repeat(30_000)), ""),
        (
            format!("GET /api2/json{} HTTP/1.1\r\nAuthorization: PVEAPIToken={token}\r\n\r\n", "/a".repeat(3000)),
            "HTTP/1.1 501 ",
        ),
        (format!("GET /api2/json/version?{} HTTP/1.1\r\n\r\n", "a&".repeat(3000)), "HTTP/1.1 401 No ticket"),
        (format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(10_000)), ""),
        ("\r\n".repeat(50_000) + "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK"),
    ];
    for (request, line) in cases {
        let reply = Connection::open(&pve).await.exchange(request.as_bytes()).await;
        assert!(reply.line.starts_with(line) && (reply.line.is_empty() == line.is_empty()), "{line}: {}", reply.line);
    }
    assert_eq!(world(&pve), before);
}

#[tokio::test]
async fn nonsense_changes_nothing() {
    let pve = one_vm(Duration::from_millis(50)).await;
    let before = world(&pve);
    let token = pve.token();
    let pieces: [&[u8]; 24] = [
        b"GET ",
        b"POST ",
        b"DELETE ",
        b"PATCH ",
        b"/api2/json",
        b"/nodes/pve1/qemu/100",
        b"/..",
        b"/%00",
        b"%ff",
        b"%",
        b"?a=b",
        b"#",
        b" HTTP/1.1",
        b" HTTP/9",
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b"\xff\xfe",
        b": ",
        b"Content-Length: -1\r\n",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"\r\n\r\n",
    ];
    // A fixed sequence: the same nonsense each time.
    let mut seed = 1u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for _ in 0..150 {
        let mut request = Vec::new();
        if next(2) == 0 {
            request.extend_from_slice(format!("GET / HTTP/1.1\r\nAuthorization: PVEAPIToken={token}\r\n").as_bytes());
        }
        for _ in 0..next(12) {
            request.extend_from_slice(pieces[next(pieces.len())]);
        }
        let mut connection = Connection::open(&pve).await;
        connection.send(&request).await;
        let reply = connection.exchange(b"\r\n\r\n\r\n\r\n").await;
        assert!(reply.line.is_empty() || reply.line.starts_with("HTTP/1."), "{request:?}: {}", reply.line);
    }
    assert_eq!(world(&pve), before);
    Api::root_token(&pve).get("/version").await.data();
}
