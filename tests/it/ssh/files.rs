//! Files by SFTP, to and from a real sshd.

use std::sync::Mutex;

use pvemcp::error::Code;
use pvemcp::policy::{Effect, Place, SshCommand};
use sha2::{Digest, Sha256};

use super::sshd::{Client, Sshd, node, permit};

fn upload(sshd: &Sshd, name: &str, overwrite: bool) -> SshCommand {
    SshCommand::upload("test", node(), sshd.file(name), Some(0o640), overwrite).expect("a whole path")
}

fn download(path: &str) -> SshCommand {
    SshCommand::download("test", node(), path, Effect::Changes).expect("a whole path")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn there_and_back_with_progress() {
    let Some(sshd) = Sshd::start() else { return };
    let client = sshd.client();
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n * 7) as u8).collect();
    let steps = Mutex::new(Vec::new());
    let progress = |done: u64, total: Option<u64>| steps.lock().expect("no panic").push((done, total));
    let size = Some(bytes.len() as u64);
    let mut from = &bytes[..];
    let command = permit(upload(&sshd, "a file; é", false));
    let sent = client.ssh.upload(command, client.cluster(), &mut from, size, &progress).await.expect("it was sent");
    assert_eq!((sent.bytes, &sent.sha256), (3_000_000, &sha256(&bytes)));
    assert_eq!(std::fs::read(sshd.path("a file; é")).expect("there"), bytes);
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(sshd.path("a file; é")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let told = std::mem::take(&mut *steps.lock().expect("no panic"));
    assert!(told.len() > 2 && told.is_sorted() && told.last() == Some(&(3_000_000, size)), "{told:?}");

    let mut back = Vec::new();
    let got = client.ssh.download(
        permit(download(&sshd.file("a file; é"))),
        client.cluster(),
        &mut back,
        3_000_000,
        &progress,
    );
    assert_eq!(got.await.expect("it came"), sent);
    assert_eq!(back, bytes);
    assert_eq!(steps.lock().expect("no panic").last(), Some(&(3_000_000, size)));
}

#[tokio::test]
async fn what_is_there_is_replaced_only_when_allowed() {
    let Some(sshd) = Sshd::start() else { return };
    let client = sshd.client();
    std::fs::write(sshd.path("file"), "the old and longer text").expect("written");
    let put = async |overwrite| {
        let command = permit(upload(&sshd, "file", overwrite));
        client.ssh.upload(command, client.cluster(), &mut &b"new"[..], None, &|_, _| {}).await
    };
    assert_eq!(put(false).await.expect_err("it is there").code, Code::Conflict);
    assert_eq!(std::fs::read_to_string(sshd.path("file")).expect("text"), "the old and longer text");
    put(true).await.expect("allowed");
    assert_eq!(std::fs::read_to_string(sshd.path("file")).expect("text"), "new");
}

#[tokio::test]
async fn what_goes_wrong_with_files_is_told() {
    let Some(sshd) = Sshd::start() else { return };
    let client = sshd.client();
    let put = async |name: &str| {
        let command = permit(upload(&sshd, name, true));
        client.ssh.upload(command, client.cluster(), &mut &b"x"[..], None, &|_, _| {}).await.expect_err("it cannot be")
    };
    assert_eq!(put("no/such/folder").await.code, Code::NotFound);
    assert_eq!(put("bin").await.code, Code::Internal, "a directory");
    let get = async |path: String, most| {
        let mut to = Vec::new();
        client.ssh.download(permit(download(&path)), client.cluster(), &mut to, most, &|_, _| {}).await
    };
    assert_eq!(get(sshd.file("nothing"), 10).await.expect_err("not there").code, Code::NotFound);
    std::fs::write(sshd.path("large"), vec![0; 1000]).expect("written");
    assert_eq!(get(sshd.file("large"), 999).await.expect_err("too large").code, Code::TooLarge);
    assert_eq!(get(sshd.file("large"), 1000).await.expect("just fits").bytes, 1000);
    // A size that is not told beforehand.
    assert_eq!(get("/dev/zero".into(), 1000).await.expect_err("endless").code, Code::TooLarge);
}

#[tokio::test]
async fn an_upload_that_breaks_leaves_nothing_new() {
    let Some(sshd) = Sshd::start() else { return };
    struct Broken(usize);
    impl tokio::io::AsyncRead for Broken {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buf: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            if self.0 == 0 {
                return std::task::Poll::Ready(Err(std::io::Error::other("the disk died")));
            }
            self.0 -= 1;
            buf.put_slice(&[b'x'; 1000]);
            std::task::Poll::Ready(Ok(()))
        }
    }
    let client = sshd.client();
    let put = async |overwrite| {
        let command = permit(upload(&sshd, "file", overwrite));
        client.ssh.upload(command, client.cluster(), &mut Broken(3), None, &|_, _| {}).await.expect_err("it broke")
    };
    let fault = put(false).await;
    assert!(fault.message.contains("the disk died") && fault.details.get("incomplete").is_none(), "{fault}");
    assert!(!sshd.path("file").exists());
    std::fs::write(sshd.path("file"), "old").expect("written");
    assert_eq!(put(true).await.details["incomplete"], sshd.file("file"), "what was there before is said to be spoilt");
}

#[tokio::test]
async fn a_server_without_sftp() {
    let Some(sshd) = Sshd::start() else { return };
    let config = std::fs::read_to_string(sshd.path("sshd_config")).expect("text");
    std::fs::write(sshd.path("sshd_config"), config.replace("Subsystem", "#")).expect("written");
    let client = Client::new(sshd.settings());
    let mut to = Vec::new();
    let got = client.ssh.download(permit(download("/etc/hostname")), client.cluster(), &mut to, 10, &|_, _| {});
    assert_eq!(got.await.expect_err("no SFTP").code, Code::NotSupported);
}

#[test]
fn paths_are_whole_and_containers_have_none() {
    for path in ["relative", "", "/folder/", "/nul\0"] {
        assert!(SshCommand::upload("test", node(), path, None, false).is_err(), "{path:?}");
    }
    let container = Place::Container { node: "pve1".into(), vmid: 101 };
    assert!(SshCommand::download("test", container, "/etc/hosts", Effect::Reads).is_err());
}
