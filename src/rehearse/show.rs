//! What a person or a shell is shown about a rehearsal.

use fake_pve::FakePve;
use serde_json::json;

/// `AA:BB:…` -> bytes. The fake writes it, so it has the right form.
pub fn fingerprint_bytes(text: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(text.split(':')) {
        *byte = u8::from_str_radix(digits, 16).unwrap_or_default();
    }
    bytes
}

/// What to paste into an MCP client that speaks HTTP.
pub fn client_configuration(url: &str, token: &str) -> String {
    let config = json!({"mcpServers": {"proxmox-rehearsal": {
        "type": "http",
        "url": url,
        "headers": {"Authorization": format!("Bearer {token}")},
    }}});
    format!("{config:#}")
}

/// Lines for a shell: the names of this server (the small server's are among them), of proxmoxer, and the authority for
/// Node.js and Python clients.
pub fn exports(cluster: &FakePve, ca_file: &str) -> String {
    let credentials = cluster.credentials();
    let token_id = format!("root@pam!{}", credentials.token_name);
    let address = cluster.address();
    let lines = [
        ("PROXMOX_URL", cluster.url()),
        ("PROXMOX_HOST", cluster.url()),
        ("PROXMOX_TOKEN_ID", token_id),
        ("PROXMOX_TOKEN_SECRET", credentials.token_secret.clone()),
        ("PROXMOX_FINGERPRINT", cluster.fingerprint().to_string()),
        ("PROXMOXER_HOST", address.ip().to_string()),
        ("PROXMOXER_PORT", address.port().to_string()),
        ("PROXMOXER_USER", "root@pam".to_string()),
        ("PROXMOXER_PASSWORD", credentials.password.clone()),
        ("PROXMOXER_TOKEN_NAME", credentials.token_name.clone()),
        ("PROXMOXER_TOKEN_VALUE", credentials.token_secret.clone()),
        ("NODE_EXTRA_CA_CERTS", ca_file.to_string()),
        ("REQUESTS_CA_BUNDLE", ca_file.to_string()),
    ];
    lines.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect()
}

/// For a POSIX shell.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}
