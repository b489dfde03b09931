//! `pvemcp catalog`: from a file, from a node, and what is told about catalogues.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;
use fake_pve::FakePve;
use pvemcp::config::{Address, Tls};
use pvemcp::error::Code;
use pvemcp::pve::fetch_apidoc;

use crate::scripted::{Act, Scripted, reply};

const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/apidoc.js");

fn pvemcp(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pvemcp"));
    command.env_clear().arg("catalog").args(arguments);
    command
}

async fn run(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().expect("it runs")).await.expect("no panic")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn file(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("UTF-8").to_string()
}

fn address(url: String) -> Address {
    Address { url, tls: Tls::Off, timeout: Duration::from_secs(20) }
}

#[tokio::test]
async fn a_document_is_imported_the_same_way_each_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = file(folder.path(), "facts.jsonl");
    let import = |more: &[&str]| run(pvemcp(&[&["import", "--from", SMALL, "--to", &to], more].concat()));
    assert!(import(&[]).await.status.success());
    let first = std::fs::read_to_string(&to).expect("facts");
    assert!(first.contains("\"/teapots\"") && !first.contains("teapots.\""), "{first}");
    assert!(import(&[]).await.status.success());
    assert_eq!(std::fs::read_to_string(&to).expect("facts"), first);
    assert!(import(&["--texts", "--pve-version", "9.9"]).await.status.success());
    let texts = std::fs::read_to_string(&to).expect("facts");
    assert!(texts.starts_with("{\"pve_version\":\"9.9\"}\n") && texts.contains("How strong."), "{texts}");
    assert_eq!(import(&["--pve-version", "soon"]).await.status.code(), Some(2));
}

#[tokio::test]
async fn what_is_no_document_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (file(folder.path(), "apidoc.js"), file(folder.path(), "facts.jsonl"));
    let small = std::fs::read_to_string(SMALL).expect("the document");
    for hostile in [
        "nothing",
        &small[..small.len() / 2],
        &"[".repeat(200_000),
        "const x = [{\"path\": \"/a b\", \"info\": {\"GET\": {}}}]",
    ] {
        std::fs::write(&from, hostile).expect("written");
        let output = run(pvemcp(&["import", "--from", &from, "--to", &to])).await;
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("apidoc.js: "), "{}", text(&output.stderr));
        assert!(!Path::new(&to).exists());
    }
}

#[tokio::test]
async fn a_node_gives_its_own_with_the_same_trust_as_for_the_api() {
    let fake = FakePve::builder().start().await.expect("a cluster");
    let folder = tempfile::tempdir().expect("a folder");
    let to = file(folder.path(), "facts.jsonl");
    let import = |fingerprint: &str| {
        let mut command = pvemcp(&["import", "--from", &fake.url(), "--to", &to]);
        command.env("PROXMOX_FINGERPRINT", fingerprint);
        run(command)
    };
    let refused = import(&"AA:".repeat(32)[..95]).await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("tls_fingerprint_mismatch"), "{}", text(&refused.stderr));
    let done = import(fake.fingerprint()).await;
    assert!(done.status.success(), "{}", text(&done.stderr));
    let same = run(pvemcp(&["diff", "embedded", &to])).await;
    assert!(text(&same.stdout).contains("no difference"), "{}", text(&same.stdout));
    assert_eq!(run(pvemcp(&["import", "--from", "http://pve:8006", "--to", &to])).await.status.code(), Some(2));
}

#[tokio::test]
async fn a_node_is_sent_nothing_but_one_path() {
    let small = std::fs::read(SMALL).expect("the document");
    let server = Scripted::start(move |_, _| reply("200 OK", "application/javascript", &small)).await;
    let document = fetch_apidoc(&address(server.connection().url)).await.expect("the document");
    assert!(document.starts_with("const apiSchema"));
    let [request] = &server.received()[..] else { panic!("one request") };
    assert_eq!((request.verb.as_str(), request.target.as_str()), ("GET", "/pve-docs/api-viewer/apidoc.js"));
    for name in ["authorization", "cookie", "csrfpreventiontoken"] {
        assert_eq!(request.header(name), None, "{name}");
    }
    assert!(request.body.is_empty());
}

#[tokio::test]
async fn a_node_that_has_none_or_too_much_is_an_error() {
    let code = |act: fn() -> Act| async move {
        let server = Scripted::start(move |_, _| act()).await;
        let fault = fetch_apidoc(&address(server.connection().url)).await.expect_err("no document");
        assert_eq!(server.received().len(), 1, "nothing is followed or tried again");
        fault.code
    };
    assert_eq!(code(|| reply("500 no such file", "text/plain", b"")).await, Code::NotFound);
    assert_eq!(
        code(|| Act::Bytes(b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n".to_vec())).await,
        Code::NotFound
    );
    assert_eq!(code(|| Act::Close).await, Code::Unreachable);
    let flood = || Act::Flood(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n".to_vec(), 100 << 20);
    assert_eq!(code(flood).await, Code::TooLarge);
}

#[tokio::test]
async fn an_upgrade_is_told_for_people() {
    let output = run(pvemcp(&["diff", SMALL, "embedded"])).await;
    let told = text(&output.stdout);
    for line in [
        "(4 methods) to Proxmox VE 9.2 (680 methods)",
        "  - POST /nodes/{node}/lxc/{vmid}/brew",
        "  + GET /version",
        "      - gently\n      + ",
    ] {
        let found = told.contains(line) || line.contains("gently") && told.contains("      - gently");
        assert!(found, "{line} is missing in {told}");
    }
    let back = text(&run(pvemcp(&["diff", "embedded", SMALL])).await.stdout);
    assert!(back.contains("+ gently (needs elevated: this server's own decisions do not know it)"), "{back}");
    assert_eq!(run(pvemcp(&["diff", "embedded", "/no/such/file"])).await.status.code(), Some(1));
}

#[tokio::test]
async fn a_method_is_shown_by_tool_by_verb_and_by_path() {
    let show = |arguments: &'static [&'static str]| async move {
        text(&run(pvemcp(&[&["show"], arguments].concat())).await.stdout)
    };
    insta::assert_snapshot!(show(&["pve_stop_vm"]).await);
    assert_eq!(show(&["POST", "/nodes/{node}/qemu/{vmid}/status/stop"]).await, show(&["pve_stop_vm"]).await);
    assert!(show(&["/pools"]).await.matches("\ntool ").count() == 4, "every verb of the path");
    let brew = show(&["pve_create_lxc_brew", "--catalog", SMALL]).await;
    assert!(brew.contains("do not know the method") && brew.contains("cup[n].size: How much fits in."), "{brew}");
    let unknown = run(pvemcp(&["show", "pve_stop_vmm"])).await;
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("'pve_stop_vm'"));
}
