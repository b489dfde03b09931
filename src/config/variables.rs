//! Every environment variable, once: its name, its default, what it takes and what it does.
//!
//! The README's table is written from this list, unknown names are compared with it, and only names that stand here can
//! be read.

/// One variable.
#[derive(Debug)]
pub struct Variable {
    /// `PROXMOX_…`.
    pub name: &'static str,
    /// What holds when it is not set; empty where there is no default.
    pub default: &'static str,
    /// What it is for, one sentence.
    pub meaning: &'static str,
    /// Whether its value is a secret: never shown, and `<NAME>_FILE` may name a file that holds it.
    pub secret: bool,
    /// Whether this version acts on it.
    pub state: State,
}

/// What this version does with a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It works.
    Works,
    /// It has no effect yet; that is said at the start.
    NoEffectYet,
    /// It promises safety that this version cannot give yet: setting it stops the start.
    NotYet,
}

const fn works(name: &'static str, default: &'static str, meaning: &'static str) -> Variable {
    Variable { name, default, meaning, secret: false, state: State::Works }
}

const fn secret(name: &'static str, meaning: &'static str) -> Variable {
    Variable { name, default: "", meaning, secret: true, state: State::Works }
}

const fn later(name: &'static str, state: State, meaning: &'static str) -> Variable {
    Variable { name, default: "", meaning, secret: false, state }
}

const fn later_secret(name: &'static str, meaning: &'static str) -> Variable {
    Variable { name, default: "", meaning, secret: true, state: State::NoEffectYet }
}

use State::{NoEffectYet, NotYet};

/// All variables, in the order of the README.
pub const VARIABLES: &[Variable] = &[
    works("PROXMOX_URL", "", "Address of the API; port 8006 unless it names one"),
    works("PROXMOX_HOST", "", "Another name for `PROXMOX_URL`"),
    secret("PROXMOX_TOKEN", "Whole API token: `user@realm!id=secret`"),
    works("PROXMOX_TOKEN_ID", "", "Or the token in two parts: `user@realm!id`"),
    secret("PROXMOX_TOKEN_SECRET", "… and its secret"),
    works(
        "PROXMOX_CREDENTIALS_FILE",
        "",
        "Or a file with the token: one line as for `PROXMOX_TOKEN`, or lines `token_id=` and `token_secret=`",
    ),
    works("PROXMOX_USERNAME", "", "Or a login: `user@realm`"),
    secret("PROXMOX_PASSWORD", "… and its password"),
    works("PROXMOX_VERIFY_SSL", "true", "Whether the certificate is verified"),
    works("PROXMOX_TLS_INSECURE", "false", "`true` is `PROXMOX_VERIFY_SSL=false`"),
    works("PROXMOX_CA_FILE", "", "PEM file of the only authority to trust, such as `/etc/pve/pve-root-ca.pem`"),
    works("PROXMOX_FINGERPRINT", "", "SHA-256 fingerprint that the certificate must have (`AA:BB:…`)"),
    works("PROXMOX_ALLOW_WRITES", "false", "Opens the gate `write`"),
    works("PROXMOX_ALLOW_ELEVATED", "false", "With writes: opens the gate `elevated`"),
    works("PROXMOX_ALLOW_GUEST_EXEC", "false", "With writes: opens the gate `guest_exec`; alone, its reads"),
    works("PROXMOX_ALLOW_SSH", "false", "Opens the SSH gates (no SSH tools in this version yet)"),
    works("PROXMOX_ALLOW_SENSITIVE", "false", "Opens the gate `sensitive`, and shows secrets that an answer is about"),
    works("PROXMOX_DRY_RUN", "false", "Offers the write tools, sends no write, and shows what would be sent"),
    works(
        "PROXMOX_TOOLSETS",
        "all but sdn, ceph, notifications, acme, mapping",
        "Domains to load, separated by commas, or `all`",
    ),
    works("PROXMOX_TOOLS", "", "Offer only these tools: names or `*` patterns, within the open gates"),
    works("PROXMOX_EXCLUDE_TOOLS", "", "Do not offer these tools: names or `*` patterns"),
    works("PROXMOX_SCHEMA_DETAIL", "compact", "`compact` or `full` tool schemas"),
    works(
        "PROXMOX_CATALOG",
        "",
        "File with the API of another Proxmox version, made by `pvemcp catalog import`; it lowers no gate",
    ),
    works("PROXMOX_DEFAULT_NODE", "", "Node taken when a tool without `vmid` gets none; else the only node"),
    works("PROXMOX_PROTECTED_VMIDS", "", "Guests that are not to be changed: `100,101`"),
    works(
        "PROXMOX_PROTECTED_TAGS",
        "",
        "Guests with one of these tags are not to be changed: `prod,keep`; nothing is changed while tags cannot be read",
    ),
    works(
        "PROXMOX_LOCAL_DIR",
        "",
        "The only local folder that files are uploaded from and saved to; without it neither is done",
    ),
    works(
        "PROXMOX_UNBLOCK",
        "",
        "Blocked methods to open: `POST /nodes/{node}/execute`, or a path for all of its methods; GET never opens",
    ),
    works("PROXMOX_TIMEOUT_SECONDS", "30", "Longest time for one request (1 to 3600)"),
    works("PROXMOX_TASK_WAIT_SECONDS", "30", "How long a tool waits for a task (0 to 3600)"),
    works("PROXMOX_MAX_RESPONSE_CHARS", "120000", "Longest answer (2000 to 5000000)"),
    works(
        "PROXMOX_CONFIRM_FALLBACK",
        "allow",
        "What a destructive call does when the client cannot be asked: `allow`, `plan` (shown first, done when it comes \
         again with the `confirm` it was given) or `deny`",
    ),
    works(
        "PROXMOX_ELICIT",
        "true",
        "Whether a person is asked before a destructive call, where the client can do that",
    ),
    later("PROXMOX_AUDIT_LOG", NotYet, "File that records writes, SSH commands and refusals"),
    later("PROXMOX_AUDIT_KEY_FILE", NotYet, "Key that makes the audit log's chain an HMAC"),
    later("PROXMOX_CONFIG", NotYet, "File that describes several clusters"),
    later("PROXMOX_MODE", NoEffectYet, "`full` opens writes for the `essentials` tools"),
    later_secret("PROXMOX_MCP_TOKEN", "Bearer token of `--http`"),
    later("PROXMOX_MCP_ALLOWED_HOSTS", NoEffectYet, "More accepted values of `Host` for `--http`"),
    works("PROXMOX_SSH_USER", "root", "User on the nodes"),
    works("PROXMOX_SSH_PORT", "22", "Port of the nodes' sshd, where `PROXMOX_SSH_NODES` names no other"),
    works("PROXMOX_SSH_KEY_FILE", "", "Private key for the nodes (OpenSSH, PKCS#8, PEM or PuTTY form)"),
    secret("PROXMOX_SSH_KEY_PASSPHRASE", "… and its passphrase"),
    secret("PROXMOX_SSH_PASSWORD", "Or a password"),
    works(
        "PROXMOX_SSH_AGENT",
        "",
        "Or an agent: the path of its socket; on Windows `pageant` or a pipe (neither has been tried)",
    ),
    works(
        "PROXMOX_SSH_NODES",
        "",
        "Nodes and their addresses: `pve1=10.0.0.11,pve2=10.0.0.12:2222`, or the same as a JSON object; otherwise the \
         address in `/cluster/status`, or the API's own where there is only one node",
    ),
    works("PROXMOX_SSH_SUDO", "false", "Run commands with `sudo -n` where the user is not root"),
    works("PROXMOX_SSH_KNOWN_HOSTS", "~/.ssh/known_hosts", "File of known host keys"),
    works(
        "PROXMOX_SSH_HOST_KEY_POLICY",
        "strict",
        "`strict` refuses an unknown host, `accept-new` adds it to the file, `off` verifies no host",
    ),
    works(
        "PROXMOX_SSH_FINGERPRINTS",
        "",
        "Pinned host keys: `pve1=SHA256:…`, or a JSON object (a list pins several); they hold with `off` too",
    ),
    works("PROXMOX_SSH_TIMEOUT_SECONDS", "120", "Longest time for one command (1 to 3600)"),
    works("PROXMOX_SSH_MAX_OUTPUT_BYTES", "1048576", "Output kept of one command, per stream (1024 to 67108864)"),
    works("PROXMOX_GUEST_SSH_USER", "root", "User for SSH to a guest"),
    works("PROXMOX_GUEST_SSH_KEY_FILE", "", "Private key for guests, without a passphrase"),
    secret("PROXMOX_GUEST_SSH_PASSWORD", "Or a password for guests"),
];

/// The variable of that name; `<NAME>_FILE` finds the secret that the file holds.
pub fn find(name: &str) -> Option<&'static Variable> {
    let exact = VARIABLES.iter().find(|variable| variable.name == name);
    exact.or_else(|| {
        let base = name.strip_suffix("_FILE")?;
        VARIABLES.iter().find(|variable| variable.secret && variable.name == base)
    })
}

/// The known name that is most like `name`, when one is close enough to be meant.
pub fn nearest(name: &str) -> Option<&'static str> {
    (VARIABLES.iter().map(|variable| variable.name))
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .min()
        .filter(|(distance, _)| *distance <= 4)
        .map(|(_, known)| known)
}
