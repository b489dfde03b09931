//! Files to and from a cluster: only from and to `PROXMOX_LOCAL_DIR`, streamed, verified, never overwritten.

use std::path::Path;
use std::sync::Arc;

use fake_pve::{FakePve, Scenario};
use pve_catalog::{Catalog, Verb};
use pvemcp::config::{Access, Connection, Credentials, Tls};
use pvemcp::server::Server;
use pvemcp::tools::context::{Caller, Step};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::scripted::{self, Act, Scripted};
use crate::served::{self, done, everything, fails};

const UPLOAD: &str = "pve_upload_to_storage";
/// SHA-256 of `hello`.
const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

pub fn connection(fake: &FakePve) -> Connection {
    let given = fake.credentials();
    let id = format!("root@pam!{}", given.token_name);
    let credentials = Credentials::Token { id, secret: given.token_secret.clone().into() };
    Connection { url: fake.url(), credentials, tls: Tls::Off, ..served::nowhere() }
}

async fn fake() -> FakePve {
    FakePve::builder().scenario(Scenario::empty()).start().await.expect("a cluster")
}

fn folder() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("a.iso"), "hello").expect("written");
    std::fs::create_dir(dir.path().join("sub")).expect("made");
    dir
}

fn with(connection: Connection, dir: &Path) -> Arc<Server> {
    let access = Access { local_dir: Some(dir.into()), ..everything() };
    served::server(served::settings(connection, access))
}

fn iso(file: &str) -> Value {
    json!({"file": file, "storage": "local", "content": "iso", "node": "pve1"})
}

async fn volumes(server: &Arc<Server>) -> Vec<Value> {
    let listed = done(server, "pve_api_read", json!({"path": "/nodes/pve1/storage/local/content"})).await;
    listed["data"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn a_file_is_sent_verified_and_told() {
    let (fake, dir) = (fake().await, folder());
    let server = with(connection(&fake), dir.path());
    let told = done(&server, UPLOAD, iso("a.iso")).await;
    assert_eq!((&told["volid"], &told["bytes"]), (&json!("local:iso/a.iso"), &json!(5)));
    assert_eq!((&told["task"]["status"], &told["checksum"]), (&json!("ok"), &json!(format!("sha256:{HELLO}"))));
    let stored = volumes(&server).await;
    assert_eq!((&stored[0]["volid"], &stored[0]["size"]), (&json!("local:iso/a.iso"), &json!(5)));
    let mut named = iso("a.iso");
    named["filename"] = "my disk.iso".into();
    named["checksum"] = HELLO.to_uppercase().into();
    assert_eq!(done(&server, UPLOAD, named).await["volid"], "local:iso/my_disk.iso");
}

#[tokio::test]
async fn a_large_file_is_streamed_with_progress() {
    let (fake, dir) = (fake().await, folder());
    let size = 64_u64 << 20;
    std::fs::File::create(dir.path().join("big.iso")).and_then(|file| file.set_len(size)).expect("made");
    let server = with(connection(&fake), dir.path());
    let (progress, mut steps) = tokio::sync::mpsc::unbounded_channel::<Step>();
    let caller = Caller { progress: Some(progress), ..Caller::default() };
    let reply = server.call(UPLOAD, iso("big.iso").as_object().cloned().expect("an object"), caller).await;
    assert!(!reply.is_error, "{}", reply.text);
    assert_eq!(reply.structured["bytes"], size);
    let mut seen = Vec::new();
    while let Ok(step) = steps.try_recv() {
        seen.push(step);
    }
    let sizes: Vec<f64> = seen.iter().filter(|step| step.total == Some(size as f64)).map(|step| step.done).collect();
    assert!(sizes.len() > 1 && sizes.is_sorted(), "{sizes:?}");
}

#[tokio::test]
async fn a_wrong_checksum_sends_nothing() {
    let (fake, dir) = (fake().await, folder());
    let server = with(connection(&fake), dir.path());
    let mut wrong = iso("a.iso");
    wrong["checksum"] = "00".into();
    let fault = fails(&server, UPLOAD, wrong, "bad_argument").await;
    assert!(fault["message"].as_str().is_some_and(|text| text.contains(HELLO)), "{fault}");
    assert!(volumes(&server).await.is_empty());
}

#[tokio::test]
async fn a_dry_run_and_a_closed_gate_send_nothing() {
    let (fake, dir) = (fake().await, folder());
    let server = with(connection(&fake), dir.path());
    let mut dry = iso("a.iso");
    dry["dry_run"] = true.into();
    let told = done(&server, UPLOAD, dry).await;
    assert_eq!((&told["dry_run"], &told["checksum"]), (&json!(true), &json!(HELLO)));
    assert!(volumes(&server).await.is_empty());
    let access = Access { local_dir: Some(dir.path().into()), ..Access::default() };
    let closed = served::server(served::settings(connection(&fake), access));
    fails(&closed, UPLOAD, iso("a.iso"), "gate_closed").await;
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_outside_of_the_folder_is_read() {
    let (fake, dir, outside) = (fake().await, folder(), folder());
    let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, dir.path().join(name)).expect("a link");
    link(&outside.path().join("a.iso"), "file.iso");
    link(outside.path(), "dir");
    link(&dir.path().join("a.iso"), "inside.iso");
    link(Path::new("/nowhere"), "broken.iso");
    let server = with(connection(&fake), dir.path());
    let absolute = outside.path().join("a.iso").display().to_string();
    for bad in [
        "file.iso",
        "dir/a.iso",
        "broken.iso",
        "../a.iso",
        "sub/../../a.iso",
        "sub/../a.iso",
        &absolute,
        "",
        ".",
        "sub",
        "./a.iso",
        "a.iso/",
        "C:\\a.iso",
        "sub\\a.iso",
        "a\n.iso",
        "missing.iso",
    ] {
        fails(&server, UPLOAD, iso(bad), "local_dir").await;
    }
    assert_eq!(done(&server, UPLOAD, iso("inside.iso")).await["bytes"], 5, "a link that stays inside is followed");
    let unset = served::server(served::settings(connection(&fake), everything()));
    let fault = fails(&unset, UPLOAD, iso("a.iso"), "local_dir").await;
    assert!(fault["hint"].as_str().is_some_and(|hint| hint.contains("PROXMOX_LOCAL_DIR")), "{fault}");
    let gone = with(connection(&fake), &dir.path().join("gone"));
    fails(&gone, UPLOAD, iso("a.iso"), "local_dir").await;
}

#[tokio::test]
async fn a_log_is_saved_once_and_never_overwritten() {
    let (fake, dir) = (fake().await, folder());
    let server = with(connection(&fake), dir.path());
    let upid = done(&server, UPLOAD, iso("a.iso")).await["upid"].clone();
    let log = Catalog::embedded().get(Verb::Get, "/nodes/{node}/tasks/{upid}/log").and_then(|method| method.tool);
    let log = log.expect("a tool");
    let saving = |name: &str| json!({"upid": upid, "node": "pve1", "save_as": name});
    let told = done(&server, log, saving("sub/task.log")).await;
    let text = std::fs::read_to_string(dir.path().join("sub/task.log")).expect("saved");
    assert_eq!(told["saved"]["bytes"], text.len());
    assert!(text.contains("TASK OK"), "{text}");
    for taken in ["sub/task.log", "a.iso", "../x.log", "none/x.log", "/tmp/x.log"] {
        fails(&server, log, saving(taken), "local_dir").await;
    }
    assert_eq!(std::fs::read_to_string(dir.path().join("a.iso")).expect("as it was"), "hello");
    let unknown = json!({"upid": upid.as_str().map(|upid| upid.replace("imgcopy", "imgdel")), "node": "pve1", "save_as": "no.log"});
    let reply = served::call(&server, log, unknown).await;
    assert!(reply.is_error || dir.path().join("no.log").exists());
    if reply.is_error {
        assert!(!dir.path().join("no.log").exists(), "nothing half is kept");
    }
}

#[tokio::test]
async fn a_file_that_breaks_off_is_not_kept() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 100\r\n\r\nonly this";
    let cluster = Scripted::start(move |_, _| Act::Bytes(cut.into())).await;
    let dir = folder();
    let server = with(cluster.connection(), dir.path());
    let wanted = json!({"node": "pve1", "storage": "pbs", "volume": "backup/vm/100/2026-01-01T00:00:00Z", "filepath": "Lw==",
        "save_as": "x.bin"});
    fails(&server, "pve_download_backup_file", wanted, "unreachable").await;
    assert!(!dir.path().join("x.bin").exists());
}

#[tokio::test]
async fn a_refused_or_broken_upload_says_so() {
    let dir = folder();
    let line = "403 Permission check failed (/storage/local, Datastore.AllocateTemplate)";
    let refusing = Scripted::start(move |_, _| scripted::status(line, "")).await;
    let server = with(refusing.connection(), dir.path());
    let fault = fails(&server, UPLOAD, iso("a.iso"), "forbidden").await;
    assert!(!fault.to_string().contains(scripted::TOKEN_SECRET));
    let closing = Scripted::start(|_, _| Act::Close).await;
    let server = with(closing.connection(), dir.path());
    let fault = fails(&server, UPLOAD, iso("a.iso"), "unreachable").await;
    assert!(fault["hint"].as_str().is_some_and(|hint| hint.contains("carried out all the same")), "{fault}");
}
