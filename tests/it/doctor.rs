//! `pvemcp doctor` as a person runs it, against the fake cluster.

use assert_cmd::Command;
use fake_pve::FakePve;

const WRONG: &str = "99999999-8888-7777-6666-555555555555";

struct Told {
    status: Option<i32>,
    text: String,
}

/// Runs it beside the cluster's own runtime.
async fn doctor(variables: Vec<(&'static str, String)>) -> Told {
    let run = move || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pvemcp"));
        command.env_clear().envs(variables).arg("doctor").output().expect("it runs")
    };
    let output = tokio::task::spawn_blocking(run).await.expect("it ends");
    let all = [output.stdout, output.stderr].concat();
    Told { status: output.status.code(), text: String::from_utf8(all).expect("UTF-8") }
}

fn pinned(fake: &FakePve, token: &str) -> Vec<(&'static str, String)> {
    vec![
        ("PROXMOX_URL", fake.url()),
        ("PROXMOX_TOKEN", token.into()),
        ("PROXMOX_FINGERPRINT", fake.fingerprint().into()),
        ("PROXMOX_TOOLSETS", "workflows,api".into()),
    ]
}

fn secret(token: &str) -> &str {
    token.rsplit_once('=').expect("id and secret").1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_cluster_is_called_so() {
    let fake = FakePve::builder().start().await.expect("a cluster");
    let told = doctor(pinned(&fake, &fake.token())).await;
    assert_eq!(told.status, Some(0), "{}", told.text);
    for part in ["ok       address", "ok       certificate", "ok       version", "ok       tools/list", "0 failed"] {
        assert!(told.text.contains(part), "{part}: {}", told.text);
    }
    assert!(told.text.contains("skipped  ssh") && !told.text.contains(secret(&fake.token())), "{}", told.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_fingerprint_shows_the_right_one() {
    let fake = FakePve::builder().start().await.expect("a cluster");
    let mut variables = pinned(&fake, &fake.token());
    variables[2].1 = ["AA"; 32].join(":");
    let told = doctor(variables).await;
    assert_eq!(told.status, Some(1), "{}", told.text);
    assert!(told.text.contains(&format!("PROXMOX_FINGERPRINT={}", fake.fingerprint())), "{}", told.text);
    assert!(told.text.contains("tls_fingerprint_mismatch") && !told.text.contains(secret(&fake.token())));
    // Nothing is pinned yet: the authority is unknown, and the fingerprint is told.
    let mut variables = pinned(&fake, &fake.token());
    variables.remove(2);
    let told = doctor(variables).await;
    assert_eq!(told.status, Some(1), "{}", told.text);
    assert!(told.text.contains("tls_untrusted") && told.text.contains(fake.fingerprint()), "{}", told.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_fails_and_is_not_shown() {
    let fake = FakePve::builder().start().await.expect("a cluster");
    let told = doctor(pinned(&fake, &format!("root@pam!ci={WRONG}"))).await;
    assert_eq!(told.status, Some(1), "{}", told.text);
    assert!(told.text.contains("failed   api          unauthenticated") && !told.text.contains(WRONG), "{}", told.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_privileges_are_named() {
    let fake = FakePve::builder().start().await.expect("a cluster");
    let secret = "33333333-4444-5555-6666-777777777777";
    fake.world(|world| {
        world.access.add_token("few@pve!none", secret, true);
        world.access.add_token("few@pve!some", secret, true);
        world.access.grant("/", "few@pve", "PVEVMUser");
        world.access.grant_token("/", "few@pve!some", "PVEVMUser");
    });
    let told = doctor(pinned(&fake, &format!("few@pve!none={secret}"))).await;
    assert_eq!(told.status, Some(1), "{}", told.text);
    assert!(
        told.text.contains("no privilege at all") && told.text.contains("to the user AND to the token"),
        "{}",
        told.text
    );
    let told = doctor(pinned(&fake, &format!("few@pve!some={secret}"))).await;
    assert_eq!(told.status, Some(1), "{}", told.text);
    assert!(told.text.contains("Sys.Audit") && !told.text.contains(secret), "{}", told.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_is_said() {
    let variables = vec![
        ("PROXMOX_URL", "https://127.0.0.1:1".to_string()),
        ("PROXMOX_TOKEN", format!("root@pam!ci={WRONG}")),
        ("PROXMOX_LOCAL_DIR", "/nowhere/at/all".into()),
    ];
    let told = doctor(variables).await;
    assert_eq!(told.status, Some(1), "{}", told.text);
    assert!(
        told.text.contains("unreachable") && told.text.contains("PROXMOX_URL") && !told.text.contains(WRONG),
        "{}",
        told.text
    );
    assert!(told.text.contains("failed   folder"), "{}", told.text);
    let told = doctor(Vec::new()).await;
    assert_eq!(told.status, Some(2), "{}", told.text);
}
