//! What Proxmox means when it refuses: its status and its words to a code and to advice.

use pve_catalog::Method;
use serde_json::{Map, Value};

use super::reply::Reply;
use crate::error::{Code, Fault};
use crate::policy::ApiCall;

/// Longest message that is passed on, in characters.
const MOST_CHARS: usize = 2_000;

/// The fault for an answer that is no success.
pub(super) fn fault(reply: &Reply, call: &ApiCall, token: bool) -> Fault {
    if (300..400).contains(&reply.status) {
        return redirect(reply);
    }
    let said = Said::of(reply);
    let fault = match reply.status {
        401 => unauthenticated(&said, token),
        403 => forbidden(&said, call.method()),
        595..=599 => node_unreachable(&said, reply.status, call),
        502..=504 => Fault::new(Code::Unreachable, said.or("a proxy before the API got no answer from it"))
            .hint("try again; if it stays so, look at pveproxy and at what stands before it"),
        501 => not_supported(&said),
        404 => Fault::new(Code::NotFound, said.or("no such object")).hint(LIST_FIRST),
        status => by_words(&said, status),
    };
    let fault = fault.detail("status", reply.status);
    if said.errors.is_empty() { fault } else { fault.detail("errors", said.errors) }
}

/// The fault for a login that was refused: nothing was asked for yet.
pub(super) fn of_login(reply: &Reply) -> Fault {
    if (300..400).contains(&reply.status) {
        return redirect(reply);
    }
    let said = Said::of(reply);
    let fault = match reply.status {
        401 => unauthenticated(&said, false),
        502..=504 | 595..=599 => Fault::new(Code::Unreachable, said.or("nothing answers the login")).hint("try again"),
        400 => {
            Fault::new(Code::Unauthenticated, said.with_errors()).hint("the user is written with its realm: root@pam")
        }
        _ => Fault::new(
            Code::Internal,
            format!("the login was not answered as Proxmox does: {}", said.or("no reason given")),
        )
        .hint("does PROXMOX_URL lead to the API itself?"),
    };
    fault.detail("status", reply.status)
}

const LIST_FIRST: &str = "list what exists first";

/// What Proxmox said: its message, and its message for each parameter.
struct Said {
    message: String,
    errors: Map<String, Value>,
}

impl Said {
    /// The body's `message` is whole; the reason phrase is its first line, and on old versions there is nothing else.
    fn of(reply: &Reply) -> Said {
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let message = body.get("message").and_then(Value::as_str).map(str::trim).filter(|message| !message.is_empty());
        let plain = || {
            let text = reply.text();
            let usable =
                !reply.is_json() && !reply.content_type.contains("html") && !text.trim_start().starts_with('<');
            if usable { text.trim().to_string() } else { String::new() }
        };
        let message = match message {
            Some(message) => message.to_string(),
            None if !reply.reason.is_empty() => reply.reason.clone(),
            None => plain(),
        };
        let errors = body.get("errors").and_then(Value::as_object).cloned().unwrap_or_default();
        let errors = errors.into_iter().map(|(name, error)| (printable(&name), trimmed(error)));
        Said { message: printable(&message), errors: errors.collect() }
    }

    fn or(&self, fallback: &str) -> String {
        if self.message.is_empty() { fallback.into() } else { self.message.clone() }
    }

    /// Everything that was said, for looking at the words.
    fn words(&self) -> String {
        let errors = self.errors.iter().map(|(name, error)| format!("{name}: {}", error.as_str().unwrap_or_default()));
        std::iter::once(self.message.clone()).chain(errors).collect::<Vec<_>>().join("\n").to_lowercase()
    }

    /// The message with the errors of the parameters: the message alone often says "parameter verification failed" only.
    fn with_errors(&self) -> String {
        let errors: Vec<String> =
            self.errors.iter().take(8).map(|(name, error)| format!("{name}: {}", plain(error))).collect();
        match (self.message.is_empty(), errors.is_empty()) {
            (true, true) => "the request was refused without a reason".into(),
            (false, true) => self.message.clone(),
            (true, false) => errors.join("; "),
            (false, false) => format!("{}: {}", self.message.trim_end_matches('.'), errors.join("; ")),
        }
    }
}

fn plain(error: &Value) -> String {
    error.as_str().map_or_else(|| error.to_string(), str::to_string)
}

fn trimmed(error: Value) -> Value {
    match error {
        Value::String(text) => Value::from(printable(&text)),
        other => other,
    }
}

/// Without control and direction characters, and not endless: it may hold what a guest or a stranger wrote.
fn printable(text: &str) -> String {
    let harmless = |c: &char| {
        *c == '\n'
            || !(c.is_control()
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
    };
    let text: String = text.trim().chars().filter(harmless).take(MOST_CHARS + 1).collect();
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn redirect(reply: &Reply) -> Fault {
    let target = reply.location.as_deref().map(printable).unwrap_or_else(|| "nowhere".into());
    Fault::new(Code::UnexpectedRedirect, format!("the server redirects to {target}; redirects are never followed"))
        .hint("PROXMOX_URL must lead to the API itself, with https and the right port")
        .detail("status", reply.status)
        .detail("location", target)
}

fn unauthenticated(said: &Said, token: bool) -> Fault {
    let hint = if token {
        "is the token's id complete (user@realm!name), its secret right, the token not expired, its user enabled?"
    } else {
        "is the user's realm right (root@pam), the password current, the user enabled? An API token is the better way"
    };
    Fault::new(Code::Unauthenticated, said.or("Proxmox does not accept these credentials")).hint(hint)
}

fn forbidden(said: &Said, method: Option<&Method>) -> Fault {
    let words = said.words();
    if words.contains("not available with api token") {
        return token_not_accepted(&method.map(Method::key).unwrap_or_else(|| "this method".into()));
    }
    let fault = Fault::new(Code::Forbidden, said.or("a privilege is missing"));
    if words.contains("root@pam") || words.contains("only root") {
        return fault.hint(ROOT_ONLY);
    }
    let needs = method.and_then(pve_catalog::permission::describe);
    let fault = match &needs {
        Some(needs) => fault.detail("needs", needs.clone()),
        None => fault,
    };
    match checked(&said.message) {
        Some((path, privileges)) => fault
            .hint(format!(
                "give the account {privileges} on {path} (a role in Datacenter > Permissions); a token with privilege \
                 separation needs the role on itself as well as on its user"
            ))
            .detail("path", path)
            .detail("privileges", privileges),
        None => fault.hint(format!(
            "the account needs {}; a token with privilege separation needs the role on itself as well as on its user",
            needs.as_deref().unwrap_or("another privilege")
        )),
    }
}

const ROOT_ONLY: &str =
    "only root@pam itself may do this, logged in with its password; no token and no other account can";

/// The fault for a method that takes no tokens, before or after asking.
pub(super) fn token_not_accepted(method: &str) -> Fault {
    Fault::new(Code::TokenNotAccepted, format!("{method} does not accept API tokens"))
        .hint("it needs a login: PROXMOX_USERNAME and PROXMOX_PASSWORD; or do it in Proxmox's own interface")
}

/// `Permission check failed (/vms/100, VM.Audit)` -> path and privileges.
fn checked(message: &str) -> Option<(String, String)> {
    let inside = message.split_once("check failed (")?.1.split(')').next()?;
    let (path, privileges) = inside.split_once(", ")?;
    path.starts_with('/').then(|| (path.into(), privileges.trim().into()))
}

fn node_unreachable(said: &Said, status: u16, call: &ApiCall) -> Fault {
    let node = call.value("node").unwrap_or("the node");
    let said_it = said.or("no answer");
    let fault = Fault::new(Code::NodeUnreachable, format!("node {node} does not answer: {said_it}"));
    let words = said.words();
    let tls = status == 596 && (words.contains("certificate") || words.contains("tls") || words.contains("ssl"));
    let hint = if tls {
        "the nodes do not trust each other's certificates, or the node's name is wrong: check it against the list of \
         nodes, then 'pvecm updatecerts' on that node. Verification on our side has nothing to do with it"
    } else if !call.is_read() && status != 595 {
        "it may have been carried out all the same: read the state before you repeat it"
    } else {
        "is that node up and in the cluster? The other nodes can still be asked"
    };
    fault.hint(hint).detail("node", node)
}

fn not_supported(said: &Said) -> Fault {
    let words = said.words();
    if words.contains("for data too large") {
        return Fault::new(Code::TooLarge, said.message.clone())
            .hint("Proxmox takes 512 KiB in one request; files go through the upload tool");
    }
    // Whose version is whose, and what stands in for the method, is said where both are known: `tools::unsupported`.
    Fault::new(Code::NotSupported, said.or("this cluster has no such method"))
        .hint("the cluster may be of another version, or the path is wrong")
}

/// Words on the wire, in lower case, to what they mean. The first that is found decides.
const WORDS: [(&[&str], Code, &str); 28] = [
    (&["/etc/pve/", "permission denied"], Code::Internal, NO_QUORUM),
    (
        &["ha groups have been migrated to rules"],
        Code::NotSupported,
        "HA groups are gone since Proxmox VE 9: use the methods under /cluster/ha/rules",
    ),
    (
        &["detected modified configuration"],
        Code::Conflict,
        "somebody changed it meanwhile: read it again, decide again, send the new digest",
    ),
    (
        &["checksum mismatch (file change"],
        Code::Conflict,
        "somebody changed it meanwhile: read it again, decide again, send the new digest",
    ),
    (
        &["no qemu guest agent configured"],
        Code::AgentOff,
        "switch it on in the VM's options (agent=1), then stop and start the VM",
    ),
    (
        &["qemu guest agent is not running"],
        Code::AgentNotRunning,
        "install and start qemu-guest-agent inside the guest, or wait until it has booted; if the agent was only just switched on, stop and start the VM",
    ),
    (
        &["qga command", "timeout"],
        Code::AgentTimeout,
        "the agent is there but did not answer in time: try again, or look at the load in the guest",
    ),
    (
        &["guest-", "got timeout"],
        Code::AgentTimeout,
        "the agent is there but did not answer in time: try again, or look at the load in the guest",
    ),
    (&["vm is locked"], Code::GuestLocked, LOCKED),
    (&["ct is locked"], Code::GuestLocked, LOCKED),
    (&["can't lock file"], Code::GuestLocked, LOCKED),
    (&["guest migration lock"], Code::GuestLocked, LOCKED),
    (&["vm ", "not running"], Code::GuestNotRunning, NOT_RUNNING),
    (&["ct ", "not running"], Code::GuestNotRunning, NOT_RUNNING),
    (&["container is not running"], Code::GuestNotRunning, NOT_RUNNING),
    (&["already exists"], Code::Conflict, EXISTS),
    (&["already defined"], Code::Conflict, EXISTS),
    (&["already used"], Code::Conflict, EXISTS),
    (&["already in use"], Code::Conflict, EXISTS),
    (&["already running"], Code::Conflict, "it runs already: nothing has to be done, or it must be stopped first"),
    (&["only root"], Code::Forbidden, ROOT_ONLY),
    (&["user != root@pam"], Code::Forbidden, ROOT_ONLY),
    (
        &["vm.monitor", "privilege"],
        Code::BadArgument,
        "VM.Monitor is no privilege since Proxmox VE 9: VM.GuestAgent.* took its place for the agent, Sys.Audit for the monitor",
    ),
    (&["hostname lookup", "failed"], Code::NotFound, "no node has this name: list the nodes"),
    (&["unable to find configuration file"], Code::NotFound, LIST_FIRST),
    (&["no such "], Code::NotFound, LIST_FIRST),
    (&["does not exist"], Code::NotFound, LIST_FIRST),
    (&["not found"], Code::NotFound, LIST_FIRST),
];

/// Its configuration file system takes no writes then, whoever writes.
const NO_QUORUM: &str =
    "the cluster has no majority of its nodes (quorum): it can be read, not changed, until nodes come back";
const LOCKED: &str =
    "another operation holds the guest: wait for it and try again; never unlock by hand while a task runs";
const NOT_RUNNING: &str = "start the guest first";
const EXISTS: &str = "choose another name or id, or change what exists; it was not touched";

/// What the words of a 400 or 500 mean, and what to do about it.
pub(super) fn meaning(words: &str) -> Option<(Code, &'static str)> {
    let found = WORDS.iter().find(|(needles, ..)| needles.iter().all(|needle| words.contains(needle)));
    found.map(|(_, code, hint)| (*code, *hint))
}

fn by_words(said: &Said, status: u16) -> Fault {
    let words = said.words();
    // A parameter that fits no pattern is a bad argument, even when its message has a familiar word in it.
    let verification = status == 400 && words.contains("parameter verification failed");
    let known = meaning(&words).filter(|(code, _)| {
        !verification
            || matches!(code, Code::Conflict | Code::NotFound | Code::Forbidden)
            || words.contains("privilege")
    });
    if let Some((code, hint)) = known {
        let fault = Fault::new(code, said.with_errors()).hint(hint);
        return if code == Code::GuestLocked { fault.detail("retryable", true) } else { fault };
    }
    match status {
        400 => Fault::new(Code::BadArgument, said.with_errors())
            .hint("the parameters' forms are shown by pve_api_describe"),
        _ if words.contains("no quorum") => Fault::new(Code::Internal, said.with_errors()).hint(NO_QUORUM),
        _ if words.contains("got timeout") => Fault::new(Code::Timeout, said.with_errors())
            .hint("Proxmox itself waited in vain: look at the state before you repeat it"),
        _ => Fault::new(Code::Internal, said.with_errors())
            .hint("this is Proxmox's own message; its task log or journal may say more"),
    }
}
