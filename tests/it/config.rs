//! Settings: strict parsing, everything wrong at once, secrets never shown.

use std::collections::HashMap;

use pvemcp::config::{ConfigError, Credentials, Purpose, Settings, Tls};
use secrecy::ExposeSecret;

const URL: (&str, &str) = ("PROXMOX_URL", "https://pve.example:8006");
const TOKEN: (&str, &str) = ("PROXMOX_TOKEN", "a@pam!b=canary-secret");

fn load(vars: &[(&str, &str)]) -> Result<Settings, Vec<ConfigError>> {
    let map: HashMap<&str, &str> = vars.iter().copied().collect();
    let names: Vec<String> = vars.iter().map(|(name, _)| name.to_string()).collect();
    Settings::load(&|name| map.get(name).map(|value| value.to_string()), &names, Purpose::Connect)
}

fn error(vars: &[(&str, &str)]) -> String {
    let errors = load(vars).expect_err("these settings are wrong");
    errors.iter().map(|error| error.to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_is_open_by_default() {
    let settings = load(&[URL, TOKEN]).expect("a connection is enough");
    let access = &settings.instances[0].access;
    assert!(
        ![access.writes, access.elevated, access.guest_exec, access.ssh, access.sensitive, access.dry_run]
            .contains(&true)
    );
    assert!(matches!(settings.instances[0].connection.tls, Tls::System));
    assert_eq!(settings.offer.toolsets.len(), 16);
    assert!(settings.warnings.is_empty());
}

#[test]
fn a_misspelt_security_option_stops_the_start() {
    insta::assert_snapshot!(error(&[URL, TOKEN, ("PROXMOX_ALLOW_WRITES", "ture")]), @"PROXMOX_ALLOW_WRITES=ture: expected true or false");
}

#[test]
fn everything_wrong_is_said_at_once() {
    let text = error(&[
        ("PROXMOX_URL", "http://pve:8006"),
        ("PROXMOX_TOKEN", "canary-secret"),
        ("PROXMOX_TIMEOUT_SECONDS", "0"),
        ("PROXMOX_PROTECTED_VMIDS", "100,abc"),
        ("PROXMOX_TOOLSETS", "vm,vms"),
        ("PROXMOX_UNBLOCK", "GET /access/ticket"),
        ("PROXMOX_FINGERPRINT", "AA:BB"),
        ("PROXMOX_AUDIT_LOG", "/tmp/audit"),
    ]);
    assert!(!text.contains("canary-secret"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn unknown_names_are_reported_with_the_nearest() {
    let settings = load(&[URL, TOKEN, ("PROXMOX_ALOW_WRITES", "true"), ("PROXMOX_XYZZY_PLUGH", "1")]).expect("starts");
    insta::assert_snapshot!(settings.warnings.join("\n"), @r"
    PROXMOX_ALOW_WRITES is not known and has no effect; did you mean PROXMOX_ALLOW_WRITES?
    PROXMOX_XYZZY_PLUGH is not known and has no effect
    ");
}

#[test]
fn addresses_are_completed_and_checked() {
    let url = |text: &str| load(&[("PROXMOX_URL", text), TOKEN]).map(|s| s.instances[0].connection.url.clone());
    assert_eq!(url("https://pve").expect("ok"), "https://pve:8006");
    assert_eq!(url("192.168.1.10").expect("ok"), "https://192.168.1.10:8006");
    assert_eq!(url("https://pve:443/").expect("ok"), "https://pve:443");
    assert_eq!(url("https://[::1]").expect("ok"), "https://[::1]:8006");
    assert_eq!(url("::1").expect("ok"), "https://[::1]:8006");
    assert_eq!(url("https://[::1]:1234").expect("ok"), "https://[::1]:1234");
    for wrong in ["https://pve/api2/json", "ftp://pve", "https://u:canary-secret@pve", "https://pve:99999", "https://"]
    {
        let text = url(wrong).expect_err(wrong).iter().map(|error| error.to_string()).collect::<String>();
        assert!(!text.contains("canary-secret"), "{text}");
    }
}

#[test]
fn a_token_comes_in_four_forms() {
    let dir = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let file = dir.path().join(name);
        std::fs::write(&file, text).expect("written");
        file.to_string_lossy().into_owned()
    };
    let one = write("one", "a@pam!b=canary-secret\n");
    let two = write("two", "# the token\ntoken_id = a@pam!b\ntoken_secret = canary-secret\n");
    let secret = write("secret", "canary-secret\n");
    let forms: [&[(&str, &str)]; 5] = [
        &[("PROXMOX_TOKEN", "a@pam!b=canary-secret")],
        &[("PROXMOX_TOKEN_ID", "a@pam!b"), ("PROXMOX_TOKEN_SECRET", "canary-secret")],
        &[("PROXMOX_TOKEN_ID", "a@pam!b"), ("PROXMOX_TOKEN_SECRET_FILE", &secret)],
        &[("PROXMOX_CREDENTIALS_FILE", &one)],
        &[("PROXMOX_CREDENTIALS_FILE", &two)],
    ];
    for form in forms {
        let settings = load(&[&[URL], form].concat()).unwrap_or_else(|errors| panic!("{form:?}: {errors:?}"));
        let Credentials::Token { id, secret } = &settings.instances[0].connection.credentials else {
            panic!("{form:?}")
        };
        assert_eq!((id.as_str(), secret.expose_secret()), ("a@pam!b", "canary-secret"));
        assert!(!format!("{settings:?}").contains("canary-secret"), "debug output shows the secret");
    }
}

#[test]
fn conflicts_are_errors() {
    let both = error(&[URL, TOKEN, ("PROXMOX_USERNAME", "root@pam"), ("PROXMOX_PASSWORD", "canary-secret")]);
    assert!(both.contains("PROXMOX_TOKEN, PROXMOX_USERNAME") && !both.contains("canary"), "{both}");
    let pin_off = error(&[URL, TOKEN, ("PROXMOX_FINGERPRINT", &"AA:".repeat(32)), ("PROXMOX_VERIFY_SSL", "false")]);
    assert!(pin_off.contains("verification switched off"), "{pin_off}");
}

#[test]
fn a_listing_needs_no_connection() {
    let settings = Settings::load(&|_| None, &[], Purpose::List).expect("nothing is needed");
    assert!(settings.instances[0].connection.only_loopback);
}
