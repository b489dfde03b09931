//! The standalone program: it says how to reach its nodes, and they are there.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use russh::client;

use crate::client::{Connection, confined, program, trusting};

#[tokio::test]
async fn it_says_how_to_reach_its_nodes() {
    if !confined("the standalone program") {
        return;
    }
    let mut child = Command::new(program())
        .args(["--bind", "127.0.0.1:0", "--port", "0", "--random-credentials"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
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
    assert_eq!(Connection(handle).run("hostname").await.ok(), "pve2\n");
    // Told to end, it takes its files with it.
    let told = Command::new("/bin/kill").arg(child.id().to_string()).status();
    assert!(told.expect("kill runs").success());
    assert!(child.wait().expect("it ends").success());
}
