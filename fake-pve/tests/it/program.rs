//! The standalone program.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn it_says_how_to_reach_it() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_fake-pve"))
        .args(["--bind", "127.0.0.1:0", "--scenario", "empty"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let lines: Vec<String> =
        BufReader::new(program.stdout.take().expect("piped")).lines().take(5).map_while(Result::ok).collect();
    program.kill().expect("it runs");
    program.wait().expect("it ends");
    let text = lines.join("\n");
    assert!(text.starts_with("listening on https://127.0.0.1:"), "{text}");
    assert!(text.contains("login root@pam / secret"), "{text}");
    assert!(text.contains("token root@pam!ci=12345678-1234-1234-1234-1234567890ab"), "{text}");
}

#[test]
fn it_refuses_known_credentials_in_public_and_unknown_scenarios() {
    for arguments in [["--bind", "0.0.0.0:0", "--scenario", "empty"], ["--bind", "127.0.0.1:0", "--scenario", "nosuch"]]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_fake-pve")).args(arguments).output().expect("the program runs");
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("fake-pve: "));
    }
}
