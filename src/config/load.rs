//! The environment -> [`Settings`]: everything that is wrong is reported at once.

use std::path::PathBuf;
use std::time::Duration;

use pve_catalog::{Catalog, Gate};

use super::value::{ConfigError, Source};
use super::variables::{self, State, VARIABLES};
use super::{
    Access, Address, ConfirmFallback, Connection, Credentials, Instance, Offer, Settings, Tls, catalog, connection, ssh,
};

/// Toolsets that hold hand-written tools; the others are the catalogue's domains.
const HAND_WRITTEN: [&str; 3] = ["ssh", "workflows", "api"];
/// Domains that are loaded only when they are named.
const NOT_BY_DEFAULT: [&str; 5] = ["sdn", "ceph", "notifications", "acme", "mapping"];

/// What counts in a rehearsal: nothing that names another cluster, a credential or a local file.
const IN_REHEARSAL: [&str; 14] = [
    // The tools of a later Proxmox can be looked at; a method that the fake does not know is refused as such.
    "PROXMOX_CATALOG",
    "PROXMOX_TOOLSETS",
    "PROXMOX_TOOLS",
    "PROXMOX_EXCLUDE_TOOLS",
    "PROXMOX_SCHEMA_DETAIL",
    "PROXMOX_TIMEOUT_SECONDS",
    "PROXMOX_TASK_WAIT_SECONDS",
    "PROXMOX_MAX_RESPONSE_CHARS",
    "PROXMOX_DRY_RUN",
    "PROXMOX_DEFAULT_NODE",
    "PROXMOX_PROTECTED_VMIDS",
    "PROXMOX_PROTECTED_TAGS",
    "PROXMOX_CONFIRM_FALLBACK",
    "PROXMOX_ELICIT",
];

/// What the caller is going to do with the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Talk to a cluster: address and credentials must be there.
    Connect,
    /// Only look at what would be offered; a connection is not needed, and not read.
    List,
}

impl Settings {
    /// From this process's environment.
    ///
    /// # Errors
    /// Everything that is misspelt, malformed or missing.
    pub fn from_env(purpose: Purpose) -> Result<Settings, Vec<ConfigError>> {
        let (get, names) = Settings::environment();
        Settings::load(&get, &names, purpose)
    }

    /// The settings of a rehearsal on `connection`: of the environment only what cannot lead anywhere else counts, every
    /// gate but `blocked` is open unless `read_only`. Also gives the names of the variables that are set and do not count.
    ///
    /// # Errors
    /// As [`Settings::from_env`], about the variables that count.
    pub fn for_rehearsal(
        get: &dyn Fn(&str) -> Option<String>,
        names: &[String],
        connection: Connection,
        read_only: bool,
    ) -> Result<(Settings, Vec<String>), Vec<ConfigError>> {
        let counts = |name: &str| IN_REHEARSAL.contains(&name);
        let ours = |name: &&String| name.starts_with("PROXMOX_");
        let (taken, ignored): (Vec<String>, Vec<String>) =
            names.iter().filter(ours).cloned().partition(|name| counts(name) || variables::find(name).is_none());
        let filtered = |name: &str| get(name).filter(|_| counts(name));
        let mut settings = Settings::load(&filtered, &taken, Purpose::List)?;
        let instance = &mut settings.instances[0];
        instance.connection = connection;
        // The person's own known hosts are nobody's business here.
        (instance.ssh.known_hosts, instance.ssh.only_loopback) = (None, true);
        let open = !read_only;
        let access = &mut instance.access;
        (access.writes, access.elevated, access.guest_exec) = (open, open, open);
        (access.ssh, access.sensitive) = (open, open);
        Ok((settings, ignored))
    }

    /// The environment of this process, for [`Settings::for_rehearsal`].
    pub fn environment() -> (impl Fn(&str) -> Option<String>, Vec<String>) {
        #[expect(clippy::disallowed_methods, reason = "this is the one reader of the environment")]
        let names: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
        #[expect(clippy::disallowed_methods, reason = "this is the one reader of the environment")]
        let get = |name: &str| std::env::var(name).ok();
        (get, names)
    }

    /// From any environment: `get` reads a variable, `names` are those that are set.
    ///
    /// # Errors
    /// As [`Settings::from_env`].
    pub fn load(
        get: &dyn Fn(&str) -> Option<String>,
        names: &[String],
        purpose: Purpose,
    ) -> Result<Settings, Vec<ConfigError>> {
        let mut source = Source::new(get);
        let mut warnings = unknown_names(names);
        not_yet(&mut source, &mut warnings);
        let connection = match purpose {
            Purpose::Connect => connection::read(&mut source, &mut warnings),
            Purpose::List => Some(nowhere()),
        };
        let ssh = ssh::read(&mut source, &mut warnings, purpose == Purpose::Connect);
        let access = access(&mut source);
        let offer = offer(&mut source);
        let catalog = catalog::read(&mut source, &mut warnings);
        let default_node = default_node(&mut source);
        let task_wait = Duration::from_secs(source.number("PROXMOX_TASK_WAIT_SECONDS", 30, 0, 3600));
        let max_response_chars = source.number("PROXMOX_MAX_RESPONSE_CHARS", 120_000, 2_000, 5_000_000);
        warnings.extend(access_warnings(&access));
        match connection {
            Some(connection) if source.errors.is_empty() => {
                let instance = Instance { name: "default".into(), connection, ssh, access, default_node, task_wait };
                Ok(Settings { instances: vec![instance], offer, catalog, max_response_chars, warnings })
            }
            _ => Err(source.errors),
        }
    }
}

impl Address {
    /// The address of a node that somebody named, with the trust of this process's environment (`PROXMOX_FINGERPRINT` and
    /// its kin), and what to tell a person about it.
    ///
    /// # Errors
    /// Everything that is misspelt or malformed.
    pub fn from_env(url: &str) -> Result<(Address, Vec<String>), Vec<ConfigError>> {
        let (get, _) = Settings::environment();
        let mut source = Source::new(&get);
        let mut warnings = Vec::new();
        let address = connection::address(&mut source, &mut warnings, url);
        match address {
            Some(address) if source.errors.is_empty() => Ok((address, warnings)),
            _ => Err(source.errors),
        }
    }
}

/// The connection of a listing: it is never contacted.
fn nowhere() -> Connection {
    Connection {
        url: "https://not-configured.invalid:8006".into(),
        credentials: Credentials::Token { id: "nobody@pve!none".into(), secret: String::new().into() },
        tls: Tls::System,
        timeout: Duration::from_secs(1),
        only_loopback: true,
    }
}

fn unknown_names(names: &[String]) -> Vec<String> {
    let mut unknown: Vec<&String> =
        (names.iter()).filter(|name| name.starts_with("PROXMOX_") && variables::find(name).is_none()).collect();
    unknown.sort();
    let report = |name: &String| match variables::nearest(name) {
        Some(nearest) => format!("{name} is not known and has no effect; did you mean {nearest}?"),
        None => format!("{name} is not known and has no effect"),
    };
    unknown.into_iter().map(report).collect()
}

fn not_yet(source: &mut Source, warnings: &mut Vec<String>) {
    for variable in VARIABLES {
        if variable.state == State::Works || source.text(variable.name).is_none() {
            continue;
        }
        match variable.state {
            State::NotYet => source.problem(
                variable.name,
                "this version cannot do that yet, and starting without it would promise more than is kept: unset it",
            ),
            _ => warnings.push(format!("{} has no effect in this version yet", variable.name)),
        }
    }
}

fn access(source: &mut Source) -> Access {
    Access {
        writes: source.flag("PROXMOX_ALLOW_WRITES", false),
        elevated: source.flag("PROXMOX_ALLOW_ELEVATED", false),
        guest_exec: source.flag("PROXMOX_ALLOW_GUEST_EXEC", false),
        ssh: source.flag("PROXMOX_ALLOW_SSH", false),
        sensitive: source.flag("PROXMOX_ALLOW_SENSITIVE", false),
        dry_run: source.flag("PROXMOX_DRY_RUN", false),
        protected_vmids: protected_vmids(source),
        protected_tags: protected_tags(source),
        local_dir: local_dir(source),
        unblock: unblock(source),
        confirm_fallback: confirm_fallback(source),
        never_ask: !source.flag("PROXMOX_ELICIT", true),
    }
}

fn confirm_fallback(source: &mut Source) -> ConfirmFallback {
    match source.choice("PROXMOX_CONFIRM_FALLBACK", &["allow", "plan", "deny"]) {
        "deny" => ConfirmFallback::Deny,
        "plan" => ConfirmFallback::Plan,
        _ => ConfirmFallback::Allow,
    }
}

fn access_warnings(access: &Access) -> Vec<String> {
    let writes = access.writes || access.dry_run;
    let mut warnings = Vec::new();
    if access.elevated && !writes {
        warnings.push("PROXMOX_ALLOW_ELEVATED opens nothing without PROXMOX_ALLOW_WRITES or PROXMOX_DRY_RUN".into());
    }
    warnings
}

fn protected_vmids(source: &mut Source) -> Vec<u32> {
    let mut vmids = Vec::new();
    for entry in source.list("PROXMOX_PROTECTED_VMIDS") {
        match entry.parse::<u32>() {
            Ok(vmid) if (100..=999_999_999).contains(&vmid) => vmids.push(vmid),
            _ => source.problem(
                "PROXMOX_PROTECTED_VMIDS",
                format!("'{entry}' is no guest number (100 to 999999999); expected numbers separated by commas"),
            ),
        }
    }
    vmids
}

fn protected_tags(source: &mut Source) -> Vec<String> {
    let tags = source.list("PROXMOX_PROTECTED_TAGS");
    for tag in &tags {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
        if !tag.chars().all(plain) || tag.starts_with(['-', '+', '.']) {
            source.problem("PROXMOX_PROTECTED_TAGS", format!("'{tag}' is no tag; expected tags separated by commas"));
        }
    }
    tags
}

/// The folder need not be there at the start: it may be on a disk that comes later, and every transfer looks again.
fn local_dir(source: &mut Source) -> Option<PathBuf> {
    let dir = PathBuf::from(source.text("PROXMOX_LOCAL_DIR")?);
    if !dir.is_absolute() || dir.parent().is_none() {
        source.problem("PROXMOX_LOCAL_DIR", "expected the absolute path of a folder, not of a whole disk");
    }
    Some(dir)
}

fn unblock(source: &mut Source) -> Vec<String> {
    let mut keys = Vec::new();
    for entry in source.list("PROXMOX_UNBLOCK") {
        let wanted = entry.split_whitespace().collect::<Vec<_>>().join(" ");
        let opened: Vec<String> = (Catalog::embedded().methods().iter())
            .filter(|method| method.gate == Gate::Blocked && method.verb != pve_catalog::Verb::Get)
            .filter(|method| method.path == wanted || method.key().eq_ignore_ascii_case(&wanted))
            .map(|method| method.key())
            .collect();
        if opened.is_empty() {
            source.problem(
                "PROXMOX_UNBLOCK",
                format!("'{entry}' is no blocked method that can be opened; expected for instance POST /nodes/{{node}}/execute"),
            );
        }
        keys.extend(opened);
    }
    keys
}

fn offer(source: &mut Source) -> Offer {
    Offer {
        toolsets: toolsets(source),
        only: patterns(source, "PROXMOX_TOOLS"),
        exclude: patterns(source, "PROXMOX_EXCLUDE_TOOLS"),
        full_schemas: source.choice("PROXMOX_SCHEMA_DETAIL", &["compact", "full"]) == "full",
    }
}

/// Every toolset there is, sorted.
pub fn all_toolsets() -> Vec<String> {
    let domains = Catalog::embedded().methods().iter().flat_map(|method| method.domains.iter().copied());
    let mut all: Vec<String> = domains.chain(HAND_WRITTEN).map(str::to_string).collect();
    all.sort();
    all.dedup();
    all
}

fn toolsets(source: &mut Source) -> Vec<String> {
    let all = all_toolsets();
    let named = source.list("PROXMOX_TOOLSETS");
    if named.is_empty() {
        return all.into_iter().filter(|domain| !NOT_BY_DEFAULT.contains(&domain.as_str())).collect();
    }
    if named.iter().any(|name| name.eq_ignore_ascii_case("all")) {
        return all;
    }
    let named: Vec<String> = named.into_iter().map(|name| name.to_ascii_lowercase()).collect();
    for name in &named {
        if !all.contains(name) {
            source.problem("PROXMOX_TOOLSETS", format!("'{name}' is no toolset; there are all, {}", all.join(", ")));
        }
    }
    named
}

fn patterns(source: &mut Source, name: &str) -> Vec<String> {
    let patterns = source.list(name);
    for pattern in &patterns {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '*';
        if !pattern.chars().all(plain) {
            source.problem(name, format!("'{pattern}' can match no tool; expected names, where * stands for anything"));
        }
    }
    patterns
}

fn default_node(source: &mut Source) -> Option<String> {
    let node = source.text("PROXMOX_DEFAULT_NODE")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !node.chars().all(plain) || node.starts_with('-') || node.ends_with('-') {
        source.problem("PROXMOX_DEFAULT_NODE", "expected the name of a node, such as pve1");
    }
    Some(node)
}
