//! Whom the client trusts: authorities, one authority, one certificate, anybody. And what it says when it does not.

use std::io::Write;
use std::sync::Arc;

use pvemcp::config::{Connection, Tls};
use pvemcp::error::{Code, Fault};
use pvemcp::pve::{Client, fingerprint};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;

use crate::scripted::{Scripted, StillClock, get, ok};

/// An authority like a cluster's own.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: tempfile::NamedTempFile,
}

fn authority(usages: &[KeyUsagePurpose]) -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = usages.to_vec();
    params.distinguished_name = name("Proxmox Virtual Environment");
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(issuer.pem().as_bytes()).expect("written");
    Authority { issuer, file }
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

/// A server certificate for these names and addresses.
fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    let mut params = CertificateParams::new(names).expect("names");
    params.distinguished_name = name("pve1.example");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}

/// A running server with that certificate, and the certificate's fingerprint.
async fn server(authority: &Authority, params: CertificateParams) -> (Scripted, [u8; 32]) {
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, &authority.issuer).expect("signed");
    serve(certificate.der().clone(), key).await
}

async fn serve(certificate: CertificateDer<'static>, key: KeyPair) -> (Scripted, [u8; 32]) {
    let seen = Sha256::digest(&certificate).into();
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a certificate and its key");
    (Scripted::tls(config, |_, _| ok(r#"{"data":"hello"}"#)).await, seen)
}

async fn ask(server: &Scripted, tls: Tls) -> Result<(), Fault> {
    let connection = Connection { tls, ..server.connection() };
    let clock = Arc::new(StillClock::default());
    let client = Client::with_clock(connection, clock.clone())?;
    let answer = get(&client, "/version").await.map(|answer| assert_eq!(answer.data, "hello"));
    assert!(clock.slept().is_empty(), "distrust is not tried again");
    answer
}

async fn untrusted(server: &Scripted, seen: &[u8; 32], tls: Tls) -> Fault {
    let fault = ask(server, tls).await.expect_err("not to be trusted");
    assert_eq!(fault.code, Code::TlsUntrusted, "{fault}");
    let shown = fingerprint(seen);
    assert_eq!(fault.details["fingerprint"], shown);
    assert!(fault.hint.as_ref().expect("a hint").contains(&format!("PROXMOX_FINGERPRINT={shown}")), "{fault}");
    assert!(server.received().is_empty(), "no credentials before trust");
    fault
}

fn ca(authority: &Authority) -> Tls {
    Tls::CaFile(authority.file.path().into())
}

#[tokio::test]
async fn four_ways_to_trust() {
    let authority = authority(&[KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign]);
    let (server, seen) = server(&authority, params(&["127.0.0.1", "localhost"])).await;
    ask(&server, ca(&authority)).await.expect("its authority");
    ask(&server, Tls::Fingerprint(seen)).await.expect("its fingerprint");
    ask(&server, Tls::Off).await.expect("anybody");
    assert_eq!(server.received().len(), 3);
}

#[tokio::test]
async fn another_authority_does_not_count() {
    let (own, other) = (authority(&[]), authority(&[]));
    let (server, seen) = server(&own, params(&["127.0.0.1"])).await;
    let fault = untrusted(&server, &seen, ca(&other)).await;
    assert!(fault.message.contains("issuer") || fault.message.contains("signature"), "{fault}");
    let fault = ask(&server, Tls::System).await.expect_err("no authority of this system");
    assert_eq!(fault.code, Code::TlsUntrusted);
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn an_authority_without_key_usage_is_enough() {
    let authority = authority(&[]);
    let (server, _) = server(&authority, params(&["127.0.0.1"])).await;
    ask(&server, ca(&authority)).await.expect("Proxmox's own authority states no key usage");
}

#[tokio::test]
async fn another_fingerprint_is_a_mismatch_with_both_shown() {
    let authority = authority(&[]);
    let (server, seen) = server(&authority, params(&["127.0.0.1"])).await;
    let fault = ask(&server, Tls::Fingerprint([0xAB; 32])).await.expect_err("another one is pinned");
    assert_eq!(fault.code, Code::TlsFingerprintMismatch);
    assert_eq!(fault.details["fingerprint"], fingerprint(&seen));
    assert_eq!(fault.details["pinned"], fingerprint(&[0xAB; 32]));
    assert!(fault.message.contains(&fingerprint(&seen)));
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn what_is_wrong_with_the_certificate() {
    let authority = authority(&[]);
    let mut old = params(&["127.0.0.1"]);
    old.not_before = date_time_ymd(2019, 1, 1);
    old.not_after = date_time_ymd(2020, 1, 1);
    let mut early = params(&["127.0.0.1"]);
    early.not_before = date_time_ymd(4000, 1, 1);
    let mut client_only = params(&["127.0.0.1"]);
    client_only.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let mut self_made = params(&["127.0.0.1"]);
    self_made.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let cases = [
        (old, "expired"),
        (early, "not valid yet"),
        (client_only, "not meant for servers"),
        (params(&[]), "common name only"),
        (params(&["pve1.example", "10.0.0.1"]), "the address 127.0.0.1"),
        (self_made, "an authority's own certificate"),
    ];
    for (params, words) in cases {
        let (server, seen) = server(&authority, params).await;
        let fault = untrusted(&server, &seen, ca(&authority)).await;
        assert!(fault.message.contains(words), "{words}: {fault}");
    }
}

#[tokio::test]
async fn a_pinned_certificate_may_be_expired_and_made_out_to_anybody() {
    let mut params = params(&["elsewhere.example"]);
    params.not_after = date_time_ymd(2020, 1, 1);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("signed");
    let (server, seen) = serve(certificate.der().clone(), key).await;
    ask(&server, Tls::Fingerprint(seen)).await.expect("the pin is what counts");
}

#[tokio::test]
async fn a_port_without_tls() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.ok();
        }
    });
    let connection = Connection { url, ..Scripted::start(|_, _| ok("{}")).await.connection() };
    let client = Client::with_clock(connection, Arc::new(StillClock::default())).expect("a client");
    let fault = get(&client, "/version").await.expect_err("no TLS");
    assert_eq!(fault.code, Code::Unreachable, "{fault}");
}

#[test]
fn a_ca_file_that_cannot_be_used() {
    let connection = |path: &std::path::Path| Connection {
        url: "https://127.0.0.1:8006".into(),
        credentials: pvemcp::config::Credentials::Token { id: "a@pve!b".into(), secret: "x".into() },
        tls: Tls::CaFile(path.into()),
        timeout: std::time::Duration::from_secs(1),
        only_loopback: false,
    };
    let empty = tempfile::NamedTempFile::new().expect("a file");
    for path in [empty.path(), std::path::Path::new("/nowhere/ca.pem")] {
        let fault = Client::new(connection(path)).expect_err("unusable");
        assert_eq!(fault.code, Code::TlsUntrusted);
        assert!(fault.message.contains(&path.display().to_string()), "{fault}");
    }
}
