//! What only the bytes show: which connections go on, packed bodies, malformed requests, the `html` login, uploads.

use std::io::Read as _;

use fake_pve::{FakePve, Scenario};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::raw::{Connection, Reply, parse};

async fn cluster() -> FakePve {
    FakePve::builder().scenario(Scenario::empty()).start().await.expect("a cluster")
}

fn get(pve: &FakePve, path: &str, more: &str) -> Vec<u8> {
    let token = pve.token();
    format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: PVEAPIToken={token}\r\n{more}\r\n").into_bytes()
}

#[tokio::test]
async fn a_connection_carries_a_hundred_requests() {
    let pve = cluster().await;
    let mut connection = Connection::open(&pve).await;
    let request = get(&pve, "/api2/json/version", "");
    for _ in 1..100 {
        assert_eq!(connection.exchange(&request).await.all("connection"), ["Keep-Alive"]);
    }
    assert_eq!(connection.exchange(&request).await.all("connection"), ["close"]);
    assert_eq!(connection.exchange(&request).await, Reply::default());
}

#[tokio::test]
async fn refusals_old_clients_and_wishes_end_a_connection() {
    let pve = cluster().await;
    let ends = [
        get(&pve, "/api2/json/nonexistent", ""),
        get(&pve, "/api2/json/version", "Connection: close\r\n"),
        b"GET /api2/json/access/ticket HTTP/1.0\r\n\r\n".to_vec(),
        b"HEAD /api2/json/version HTTP/1.1\r\n\r\n".to_vec(),
    ];
    for request in ends {
        let mut connection = Connection::open(&pve).await;
        let reply = connection.exchange(&request).await;
        assert_eq!(reply.all("connection"), ["close"], "{}", reply.line);
        assert_eq!(connection.exchange(&request).await, Reply::default());
    }
}

#[tokio::test]
async fn answers_of_another_process_say_so() {
    let pve = cluster().await;
    let reply = Connection::open(&pve).await.exchange(&get(&pve, "/api2/json/version", "")).await;
    assert_eq!(reply.all("connection").len(), 1, "not protected");
    let login = "username=root@pam&password=wrong";
    let request = format!("POST /api2/extjs/access/ticket HTTP/1.1\r\nContent-Length: {}\r\n\r\n{login}", login.len());
    let reply = Connection::open(&pve).await.exchange(request.as_bytes()).await;
    assert_eq!(reply.all("connection"), ["close", "Keep-Alive"]);
}

#[tokio::test]
async fn long_bodies_are_packed_for_who_takes_it() {
    let pve = cluster().await;
    let plain = Connection::open(&pve).await.exchange(&get(&pve, "/api2/json/nodes/pve1/services", "")).await;
    assert!(plain.body.len() > 1024);
    for (accepted, method) in [("gzip, deflate", "gzip"), ("deflate", "deflate")] {
        let request = get(&pve, "/api2/json/nodes/pve1/services", &format!("Accept-Encoding: {accepted}\r\n"));
        let packed = Connection::open(&pve).await.exchange(&request).await;
        assert_eq!(packed.all("content-encoding"), [method]);
        let mut body = Vec::new();
        match method {
            "gzip" => flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut body).expect("gzip"),
            _ => flate2::read::ZlibDecoder::new(&packed.body[..]).read_to_end(&mut body).expect("zlib"),
        };
        assert_eq!(body, plain.body);
    }
    let short =
        Connection::open(&pve).await.exchange(&get(&pve, "/api2/json/version", "Accept-Encoding: gzip\r\n")).await;
    assert!(short.all("content-encoding").is_empty());
}

#[tokio::test]
async fn malformed_requests_are_refused_or_cut() {
    let pve = cluster().await;
    let said = |request: String| {
        let pve = &pve;
        async move { Connection::open(pve).await.exchange(request.as_bytes()).await.line }
    };
    assert_eq!(said("GET / HTTP/2.0\r\n\r\n".into()).await, "HTTP/1.0 506 http protocol version 2.0 not supported");
    assert_eq!(said("GET me@host/x HTTP/1.1\r\n\r\n".into()).await, "HTTP/1.0 400 invalid url");
    assert_eq!(said("GET / HTTP/1.1\r\nno field\r\n\r\n".into()).await, "HTTP/1.1 506 unable to parse request header");
    let unknown = "POST / HTTP/1.1\r\nTransfer-Encoding: zip\r\n\r\n";
    assert_eq!(said(unknown.into()).await, "HTTP/1.1 501 Unknown transfer encoding 'zip'");
    let head = |lines: usize| format!("GET /api2/json/version HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(lines));
    assert_eq!(said(head(62)).await, "HTTP/1.1 401 No ticket");
    assert_eq!(said(head(64)).await, "");
    assert_eq!(said(format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(9000))).await, "");
}

#[tokio::test]
async fn plain_http_is_sent_to_the_right_scheme() {
    let pve = cluster().await;
    for (request, line, location) in [
        ("GET /a?b=c HTTP/1.1\r\nHost: h:1\r\n\r\n", "HTTP/1.1 301 Moved Permanently", vec!["https://h:1/a?b=c"]),
        ("POST /a HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 308 Permanent Redirect", vec!["https://h/a"]),
        ("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 501 method 'HEAD' not available", vec![]),
        ("GET /a HTTP/1.1\r\n\r\n", "", vec![]),
    ] {
        let mut stream = TcpStream::connect(pve.address()).await.expect("a connection");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.expect("an end");
        let reply = parse(&bytes);
        assert_eq!((reply.line.as_str(), reply.all("location")), (line, location), "{request}");
    }
}

#[tokio::test]
async fn the_html_login_sets_the_only_cookie() {
    let pve = cluster().await;
    let login = format!("username=root@pam&password={}", pve.credentials().password);
    let request = format!("POST /api2/html/access/ticket HTTP/1.1\r\nContent-Length: {}\r\n\r\n{login}", login.len());
    let reply = Connection::open(&pve).await.exchange(request.as_bytes()).await;
    assert_eq!((reply.line.as_str(), reply.all("location")), ("HTTP/1.1 301 Moved", vec!["/api2/html"]));
    let cookie = reply.all("set-cookie")[0].split(';').next().expect("a cookie").to_string();
    let request = format!("GET /api2/json/version HTTP/1.1\r\nCookie: {cookie}\r\n\r\n");
    assert_eq!(Connection::open(&pve).await.exchange(request.as_bytes()).await.line, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn an_upload_needs_its_permission_before_the_file_is_taken() {
    let scenario = Scenario::empty().user("reader@pve", "reader-secret", "/", "PVEAuditor");
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    pve.world(|world| world.access.add_token("reader@pve!tok", "s", false));
    let form = "--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n--B\r\n\
        Content-Disposition: form-data; name=\"file\"; filename=\"a.iso\"\r\n\r\nx\r\n--B--\r\n";
    let request = |token: &str| {
        format!(
            "POST /api2/json/nodes/pve1/storage/local/upload HTTP/1.1\r\nAuthorization: PVEAPIToken={token}\r\n\
             Content-Type: multipart/form-data; boundary=B\r\nContent-Length: {}\r\n\r\n{form}",
            form.len()
        )
    };
    let reply = Connection::open(&pve).await.exchange(request("reader@pve!tok=s").as_bytes()).await;
    assert_eq!(reply.line, "HTTP/1.1 403 Permission check failed (/storage/local, Datastore.AllocateTemplate)");
    assert!(reply.body.is_empty());
    let reply = Connection::open(&pve).await.exchange(request(&pve.token()).as_bytes()).await;
    assert!(
        reply.line.starts_with("HTTP/1.1 500 wrong field name 'file' for file upload, expected 'filename'"),
        "{}",
        reply.line
    );
}
