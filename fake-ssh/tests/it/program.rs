//! The standalone program: it says how to reach its nodes, and they are there.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use russh::client;

use crate::client::{Connection, confined, program, trusting};

/// A program that does not outlive its test, even one that fails.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ended_before = self.0.kill();
        let _waited = self.0.wait();
    }
}

#[tokio::test]
async fn it_says_how_to_reach_its_nodes() {
    if !confined("the standalone program") {
        return;
    }
    // As a script starts what it puts into the background: deaf to Ctrl-C. What runs on the nodes must not be.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' INT QUIT HUP; exec \"$0\" \"$@\""])
        .arg(program())
        .args(["--bind", "127.0.0.1:0", "--port", "0", "--random-credentials"])
        .stdout(Stdio::piped())
        .spawn()
        .map(Started)
        .expect("it starts");
    let mut lines = BufReader::new(child.0.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut said = BTreeMap::new();
    for line in lines.by_ref() {
        let last = line.starts_with("ssh login ");
        let (name, rest) = line.split_once(' ').expect("a name and what belongs to it");
        said.insert(
            if name == "node" { rest.split(' ').next().unwrap_or("").to_string() } else { name.to_string() },
            line.clone(),
        );
        if last {
            break;
        }
    }
    let node = &said["pve2"];
    let words: Vec<&str> = node.split(' ').collect();
    let (address, fingerprint) = (words[3], words[6]);
    let password = said["ssh"].rsplit(' ').next().expect("a password").to_string();
    assert!(said["listening"].contains("https://127.0.0.1:"), "{said:?}");
    let config = Arc::new(client::Config { nodelay: true, ..client::Config::default() });
    let mut handle = client::connect(config, address, trusting(fingerprint)).await.expect("it listens");
    assert!(handle.authenticate_password("root", password).await.expect("an answer").success());
    let node = Connection(handle);
    assert_eq!(node.run("hostname").await.ok(), "pve2\n");
    // The lowest sixteen; what a C library does with signals of its own is its affair.
    let ignored = node.run("grep SigIgn /proc/self/status").await.ok();
    assert!(ignored.ends_with("0000\n"), "{ignored}");
    // Told to end, it takes its files with it.
    let told = Command::new("/bin/kill").arg(child.0.id().to_string()).status();
    assert!(told.expect("kill runs").success());
    assert!(child.0.wait().expect("it ends").success());
}
