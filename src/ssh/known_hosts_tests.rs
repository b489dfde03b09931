//! What lines of known hosts mean, case by case.

use super::*;

const A: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
const B: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN+Wjn4+4Fcvl2JlKpggT+wCRxpSvtqqpVrQrKN1/A22";
const P256: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBHwf2HMM5TRXvo2SQJjsNkiDD5KqiiNjrGVv3UUh+mMT5RHxiRtOnlqvjhQtBq0VpmpCV/PwUdhOig4vkbqAcEc=";

fn key(text: &str) -> PublicKey {
    PublicKey::from_openssh(text).expect("a key")
}

fn standing(file: &str, host: &str, port: u16) -> Standing {
    KnownHosts::parse(file).standing(host, port, &key(A))
}

#[test]
fn names_ports_and_several_keys() {
    assert_eq!(standing(&format!("pve1 {A}\n"), "pve1", 22), Standing::Known);
    assert_eq!(standing(&format!("PVE1,10.0.0.11 {A} a comment\n"), "10.0.0.11", 22), Standing::Known);
    assert_eq!(standing(&format!("pve1 {A}\n"), "pve2", 22), Standing::Unknown);
    assert_eq!(standing(&format!("pve1 {A}\n"), "pve1", 2222), Standing::Unknown, "another port is another host");
    assert_eq!(standing(&format!("[pve1]:2222 {A}\n"), "pve1", 2222), Standing::Known);
    assert_eq!(standing(&format!("[pve1]:2222 {A}\n"), "pve1", 22), Standing::Unknown);
    assert_eq!(standing(&format!("# a note\n\npve1 {P256}\npve1\t  {B}\r\npve1 {A}\n"), "pve1", 22), Standing::Known);
    assert_eq!(standing(&format!("fe80::1 {A}\n"), "fe80::1", 22), Standing::Known);
}

#[test]
fn another_key_is_no_first_meeting() {
    assert_eq!(standing(&format!("pve1 {B}\n"), "pve1", 22), Standing::OtherKey(vec![1]));
    assert_eq!(standing(&format!("pve1 {P256}\n"), "pve1", 22), Standing::OtherKey(vec![1]), "another type of key");
    assert_eq!(standing("# x\npve1 ssh-new AAAA\n", "pve1", 22), Standing::OtherKey(vec![2]), "a key nobody can read");
}

#[test]
fn patterns_and_negation() {
    assert_eq!(standing(&format!("10.0.0.* {A}\n"), "10.0.0.11", 22), Standing::Known);
    assert_eq!(standing(&format!("10.0.0.*,!10.0.0.11 {A}\n"), "10.0.0.11", 22), Standing::Unknown);
    assert_eq!(standing(&format!("!10.0.0.11,* {A}\n"), "10.0.0.11", 22), Standing::Unknown);
    assert_eq!(standing(&format!("pve? {A}\n"), "pve1", 22), Standing::Known);
    assert_eq!(standing(&format!("pve? {A}\n"), "pve12", 22), Standing::Unknown);
    assert_eq!(standing(&format!("*.example {A}\n"), "pve1.lan.example", 22), Standing::Known);
    assert_eq!(standing(&format!("* {A}\n"), "pve1", 2222), Standing::Known);
    assert!(
        matches(b"a*b*c", b"axxbyybzc") && !matches(b"a*b*c", b"axxbyy") && matches(b"**", b"") && !matches(b"?", b"")
    );
}

#[test]
fn revoked_keys_and_authorities() {
    assert_eq!(standing(&format!("pve1 {A}\n@revoked * {A}\n"), "pve1", 22), Standing::Revoked(2));
    assert_eq!(standing(&format!("@revoked pve1 {A}\n"), "pve1", 2222), Standing::Revoked(1), "whatever the port");
    assert_eq!(standing(&format!("@revoked * {B}\npve1 {A}\n"), "pve1", 22), Standing::Known, "another key");
    assert_eq!(standing(&format!("@cert-authority *.lan {B}\n"), "pve1.lan", 22), Standing::Authority(1));
    assert_eq!(
        standing(&format!("@cert-authority *.lan {A}\n"), "pve1.lan", 22),
        Standing::Authority(1),
        "no host key"
    );
    assert_eq!(standing(&format!("@cert-authority * {B}\npve1 {A}\n"), "pve1", 22), Standing::Known);
    assert_eq!(standing(&format!("@unheard pve1 {A}\n"), "pve1", 22), Standing::Unknown);
}

#[test]
fn hashed_names() {
    // HMAC-SHA1 of the name, keyed with the salt.
    let salt = [7u8; 20];
    let hash = Hmac::<Sha1>::new_from_slice(&salt).expect("any length").chain_update("[pve1]:2222").finalize();
    let encode = |bytes: &[u8]| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes);
    let file = format!("|1|{}|{} {A}\n", encode(&salt), encode(&hash.into_bytes()));
    assert_eq!(standing(&file, "PVE1", 2222), Standing::Known);
    assert_eq!(standing(&file, "pve1", 22), Standing::Unknown);
    assert_eq!(KnownHosts::parse(&file).algorithms("pve1", 2222), vec![Algorithm::Ed25519]);
}

#[cfg(unix)]
#[test]
fn a_new_host_is_added_for_the_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("new").join("known_hosts");
    assert_eq!(add(&file, "pve1", 2222, &key(A)).expect("written"), Standing::Known);
    assert_eq!(std::fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(&file).expect("text"), format!("[pve1]:2222 {A}\n"));
    // The same again adds nothing, another key neither.
    assert_eq!(add(&file, "pve1", 2222, &key(A)).expect("read"), Standing::Known);
    assert_eq!(add(&file, "pve1", 2222, &key(B)).expect("read"), Standing::OtherKey(vec![1]));
    // A last line without its end stays a line of its own.
    std::fs::write(&file, format!("other {B}")).expect("written");
    assert_eq!(add(&file, "pve1", 22, &key(A)).expect("written"), Standing::Known);
    assert_eq!(std::fs::read_to_string(&file).expect("text"), format!("other {B}\npve1 {A}\n"));
}

#[cfg(unix)]
#[test]
fn a_link_or_a_pipe_is_not_written_to() {
    let dir = tempfile::tempdir().expect("a folder");
    let (target, link) = (dir.path().join("target"), dir.path().join("link"));
    std::fs::write(&target, "").expect("written");
    std::os::unix::fs::symlink(&target, &link).expect("a link");
    assert!(add(&link, "pve1", 22, &key(A)).is_err());
    assert_eq!(std::fs::read_to_string(&target).expect("text"), "");
    std::os::unix::fs::symlink(dir.path().join("nothing"), dir.path().join("dangling")).expect("a link");
    assert!(add(&dir.path().join("dangling"), "pve1", 22, &key(A)).is_err());
    assert!(!dir.path().join("nothing").exists());
    assert!(add(dir.path(), "pve1", 22, &key(A)).is_err(), "a directory");
}

#[cfg(unix)]
#[test]
fn many_writers_lose_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("known_hosts");
    std::thread::scope(|scope| {
        for at in 0..16 {
            let file = &file;
            scope.spawn(move || add(file, &format!("pve{at}"), 22, &key(A)).expect("written"));
        }
    });
    let known = KnownHosts::read(&file).expect("readable");
    assert!((0..16).all(|at| known.standing(&format!("pve{at}"), 22, &key(A)) == Standing::Known));
}
