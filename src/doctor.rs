//! `pvemcp doctor`: what stands between these settings and a cluster, one finding a line, each with what mends it.
//!
//! It only reads, through the same door as every tool. No secret is shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::config::{Access, Connection, Credentials, Settings, Tls};
use crate::error::Fault;
use crate::mcp::Handler;
use crate::policy::{Admission, Effect, Place, Policy, SshCommand};
use crate::pve::Client;
use crate::server::Server;
use crate::tools::Ctx;
use crate::tools::arguments::node;
use crate::tools::context::{Caller, Performed};
use crate::tools::local::LocalDir;

/// Clocks that differ by more than this many seconds make tickets and certificates fail.
const MOST_SECONDS: i64 = 30;

/// A `tools/list` of more KiB than this is worth a thought.
const MUCH: usize = 64;

/// How one thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// It works, but somebody should look at it.
    Warning,
    /// It does not work.
    Failed,
    /// Not looked at.
    Skipped,
}

/// One thing that was looked at.
#[derive(Debug, Clone)]
pub struct Finding {
    /// How it stands.
    pub verdict: Verdict,
    /// What it is, one word.
    pub subject: &'static str,
    /// What was seen.
    pub says: String,
    /// What to do about it.
    pub mend: Option<String>,
}

impl Finding {
    fn new(verdict: Verdict, subject: &'static str, says: impl Into<String>) -> Finding {
        Finding { verdict, subject, says: says.into(), mend: None }
    }

    fn ok(subject: &'static str, says: impl Into<String>) -> Finding {
        Finding::new(Verdict::Ok, subject, says)
    }

    fn mend(self, mend: impl Into<String>) -> Finding {
        Finding { mend: Some(mend.into()), ..self }
    }

    fn failed(subject: &'static str, fault: &Fault) -> Finding {
        let says = format!("{}: {}", fault.code.word(), fault.message);
        Finding { mend: fault.hint.clone(), ..Finding::new(Verdict::Failed, subject, says) }
    }
}

/// Looks at everything. Settings that cannot even be read are reported before this.
pub async fn examine(settings: Settings) -> Vec<Finding> {
    let connections: Vec<Connection> = settings.instances.iter().map(|instance| instance.connection.clone()).collect();
    let server = match Server::new(settings) {
        Ok(server) => server,
        Err(fault) => return vec![Finding::failed("settings", &fault)],
    };
    let mut findings = Vec::new();
    for (at, connection) in connections.iter().enumerate() {
        let ctx = Ctx::new(server.clone(), at, Caller::default());
        findings.extend(of_cluster(&ctx, connection).await);
    }
    findings.push(context(&server));
    findings
}

/// The findings as lines for a person.
pub fn report(findings: &[Finding]) -> String {
    let mut lines = Vec::new();
    for finding in findings {
        let verdict = match finding.verdict {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Failed => "failed",
            Verdict::Skipped => "skipped",
        };
        lines.push(format!("{verdict:<9}{:<13}{}", finding.subject, finding.says));
        lines.extend(finding.mend.iter().map(|mend| format!("{:22}-> {mend}", "")));
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    lines.push(format!("{} failed, {} warnings", count(Verdict::Failed), count(Verdict::Warning)));
    lines.join("\n")
}

/// 1 when something failed, else 0.
pub fn status(findings: &[Finding]) -> u8 {
    u8::from(findings.iter().any(|finding| finding.verdict == Verdict::Failed))
}

async fn of_cluster(ctx: &Ctx, connection: &Connection) -> Vec<Finding> {
    let access = ctx.cluster().policy.access();
    let mut findings = vec![Finding::ok("address", format!("{}, {}", ctx.cluster().url, who(&connection.credentials)))];
    findings.push(certificate(connection).await);
    let answered = ctx.get("/version", &[]).await;
    findings.extend(folder(access));
    match answered {
        Err(fault) => {
            findings.push(Finding::failed("api", &fault));
            findings.push(Finding::new(
                Verdict::Skipped,
                "the rest",
                "rights, clock and SSH cannot be looked at before that works",
            ));
        }
        Ok(answer) => {
            findings.push(version(ctx, &answer.data));
            findings.push(rights(ctx).await);
            let nodes = online(ctx).await;
            findings.push(clock(ctx, &nodes).await);
            findings.extend(ssh(ctx, &nodes).await);
        }
    }
    findings
}

fn who(credentials: &Credentials) -> String {
    match credentials {
        Credentials::Token { id, .. } => format!("as the token {id}"),
        Credentials::Password { username, .. } => format!("as {username} with a password"),
    }
}

/// The certificate, with its fingerprint. It is seen by a connection that pins another one: that ends before anything is sent.
async fn certificate(connection: &Connection) -> Finding {
    const SUBJECT: &str = "certificate";
    let seen = match seen_fingerprint(connection).await {
        Ok(seen) => seen,
        Err(fault) => return Finding::failed(SUBJECT, &fault),
    };
    let pin = format!("PROXMOX_FINGERPRINT={seen}");
    match &connection.tls {
        Tls::Off => Finding::new(Verdict::Warning, SUBJECT, format!("not verified; its fingerprint is {seen}")).mend(
            format!("compare it with 'pvenode cert info' on the node, and set {pin} instead of switching it off"),
        ),
        Tls::Fingerprint(pinned) if crate::pve::fingerprint(pinned) == seen => {
            Finding::ok(SUBJECT, format!("pinned: {seen}"))
        }
        Tls::Fingerprint(pinned) => {
            let pinned = crate::pve::fingerprint(pinned);
            Finding::new(Verdict::Failed, SUBJECT, format!("its fingerprint is {seen}, pinned is {pinned}")).mend(format!(
                "was it renewed? compare with 'pvenode cert info' on the node, then set {pin}; otherwise somebody stands in between"
            ))
        }
        Tls::System | Tls::CaFile(_) => {
            Finding::ok(SUBJECT, format!("verified by its authority where 'api' is ok; to pin it: {pin}"))
        }
    }
}

async fn seen_fingerprint(connection: &Connection) -> Result<String, Fault> {
    let nobody = Credentials::Token { id: "nobody@pve!doctor".into(), secret: String::new().into() };
    let probe = Connection { credentials: nobody, tls: Tls::Fingerprint([0; 32]), ..connection.clone() };
    let policy = Policy::new(Access::default());
    let Admission::Go(permit) = policy.admit(node::listing("/version", &[]), false)? else {
        return Ok("not shown".into());
    };
    match Client::new(probe)?.send(permit).await {
        Ok(_) => Ok("none: the connection is not encrypted".into()),
        Err(fault) => match fault.details.get("fingerprint").and_then(Value::as_str) {
            Some(seen) => Ok(seen.to_string()),
            None => Err(fault),
        },
    }
}

fn version(ctx: &Ctx, data: &Value) -> Finding {
    const SUBJECT: &str = "version";
    let theirs = data.get("version").and_then(Value::as_str).unwrap_or("unknown");
    let catalog = ctx.server().catalog();
    let ours = catalog.version().unwrap_or("unknown");
    let same = theirs == ours || theirs.strip_prefix(ours).is_some_and(|rest| rest.starts_with(['.', '-']));
    if same {
        return Finding::ok(SUBJECT, format!("Proxmox VE {theirs}, as the catalogue ({ours})"));
    }
    Finding::new(Verdict::Warning, SUBJECT, format!("Proxmox VE {theirs}; the catalogue describes {ours}")).mend(
        format!("pvemcp catalog import --from {} --to pve.facts, then PROXMOX_CATALOG=pve.facts", ctx.cluster().url),
    )
}

/// What reads need; without one of them lists are empty rather than refused.
const TO_READ: [&str; 3] = ["Datastore.Audit", "Sys.Audit", "VM.Audit"];
/// What writes need, roughly: the usual ones.
const TO_WRITE: [&str; 5] =
    ["Datastore.AllocateSpace", "VM.Backup", "VM.Config.Options", "VM.PowerMgmt", "VM.Snapshot"];
/// What makes a token more than one that reads.
const POWERFUL: [&str; 4] = ["Permissions.Modify", "Sys.Modify", "Sys.PowerMgmt", "User.Modify"];

async fn rights(ctx: &Ctx) -> Finding {
    const SUBJECT: &str = "rights";
    const BOTH: &str = "give the role to the user AND to the token, a token with privilege separation has only what both have: \
                        pveum acl modify / --users USER --roles PVEAuditor; pveum acl modify / --tokens 'TOKEN' --roles PVEAuditor";
    let answer = match ctx.get("/access/permissions", &[]).await {
        Ok(answer) => answer,
        Err(fault) => return Finding::failed(SUBJECT, &fault),
    };
    let mut held: BTreeSet<&str> = BTreeSet::new();
    for privileges in answer.data.as_object().into_iter().flat_map(|paths| paths.values()).filter_map(Value::as_object)
    {
        held.extend(privileges.keys().map(String::as_str));
    }
    if held.is_empty() {
        return Finding::new(Verdict::Failed, SUBJECT, "it has no privilege at all: lists will be empty").mend(BOTH);
    }
    let missing = |wanted: &[&'static str]| -> Vec<&'static str> {
        wanted.iter().copied().filter(|privilege| !held.contains(privilege)).collect()
    };
    let access = ctx.cluster().policy.access();
    let unread = missing(&TO_READ);
    if !unread.is_empty() {
        return Finding::new(Verdict::Failed, SUBJECT, format!("too few to read: {} missing", unread.join(", ")))
            .mend(BOTH);
    }
    let unwritten = missing(&TO_WRITE);
    if access.writes && !unwritten.is_empty() {
        let says = format!("writes are open, but {} missing: those calls will be refused", unwritten.join(", "));
        return Finding::new(Verdict::Warning, SUBJECT, says).mend(
            "add a role such as PVEVMAdmin and PVEDatastoreUser to user and token, or close PROXMOX_ALLOW_WRITES",
        );
    }
    let powerful: Vec<&str> = POWERFUL.iter().copied().filter(|privilege| held.contains(privilege)).collect();
    if !powerful.is_empty() && !access.elevated {
        let says = format!("more than these gates need: {}", powerful.join(", "));
        return Finding::new(Verdict::Warning, SUBJECT, says)
            .mend("a token with PVEAuditor, or with the roles for what it is to do, protects where no gate can");
    }
    Finding::ok(
        SUBJECT,
        format!("{} privileges on {} paths", held.len(), answer.data.as_object().map_or(0, |map| map.len())),
    )
}

async fn online(ctx: &Ctx) -> Vec<String> {
    let rows = ctx.get("/nodes", &[]).await.map(|answer| answer.data).unwrap_or_default();
    let rows = rows.as_array().into_iter().flatten();
    let online = rows.filter(|row| row.get("status").and_then(Value::as_str) == Some("online"));
    online.filter_map(|row| Some(row.get("node")?.as_str()?.to_string())).collect()
}

async fn clock(ctx: &Ctx, nodes: &[String]) -> Finding {
    const SUBJECT: &str = "clock";
    let Some(node) = nodes.first() else {
        return Finding::new(Verdict::Skipped, SUBJECT, "no node that is online can be seen");
    };
    let call = crate::policy::ApiCall::at(pve_catalog::Verb::Get, &format!("/nodes/{node}/time"), Vec::new());
    let Ok(call) = call else { return Finding::new(Verdict::Skipped, SUBJECT, "the node's time cannot be asked for") };
    let theirs = match ctx.read(call).await {
        Ok(answer) => answer.data.get("time").and_then(Value::as_i64),
        Err(fault) => return Finding::failed(SUBJECT, &fault),
    };
    let Some(theirs) = theirs else {
        return Finding::new(Verdict::Skipped, SUBJECT, "the node does not tell its time");
    };
    let apart = theirs - jiff::Timestamp::now().as_second();
    if apart.abs() <= MOST_SECONDS {
        return Finding::ok(SUBJECT, format!("{node} is {apart} s apart"));
    }
    Finding::new(Verdict::Warning, SUBJECT, format!("{node} is {apart} s apart from this machine"))
        .mend("let both machines take the time from the network (chrony): tickets and certificates depend on it")
}

async fn ssh(ctx: &Ctx, nodes: &[String]) -> Vec<Finding> {
    const SUBJECT: &str = "ssh";
    if !ctx.cluster().policy.access().ssh {
        return vec![Finding::new(Verdict::Skipped, SUBJECT, "PROXMOX_ALLOW_SSH is not set")];
    }
    let mut findings = Vec::new();
    for node in nodes {
        let place = Place::Node(node.clone());
        let greeted = match SshCommand::run("doctor", place, ["true"], Effect::Reads) {
            Ok(command) => ctx.greet(command, false).await,
            Err(fault) => Err(fault),
        };
        findings.push(match greeted {
            Ok(Performed::Done(greeting)) => Finding::ok(
                SUBJECT,
                format!(
                    "{node}: {}@{}:{}, key {}",
                    greeting.user, greeting.host, greeting.port, greeting.key.fingerprint
                ),
            ),
            Ok(Performed::Dry(_)) => {
                Finding::new(Verdict::Skipped, SUBJECT, format!("{node}: a dry run connects to nothing"))
            }
            Err(fault) => Finding::failed(SUBJECT, &Fault { message: format!("{node}: {}", fault.message), ..fault }),
        });
    }
    findings
}

fn folder(access: &Access) -> Option<Finding> {
    let dir = access.local_dir.as_ref()?;
    Some(match LocalDir::of(access) {
        Ok(_) => Finding::ok("folder", format!("files go to and come from {}", dir.display())),
        Err(fault) => Finding::failed("folder", &fault),
    })
}

/// What `tools/list` costs a client on every exchange.
fn context(server: &Arc<Server>) -> Finding {
    const SUBJECT: &str = "tools/list";
    let handler = Handler::new(server.clone());
    let bytes = serde_json::to_vec(handler.tools()).map_or(0, |json| json.len());
    let says = format!("{} tools, {} KiB, about {} tokens", handler.tools().len(), bytes.div_ceil(1024), bytes / 4);
    if bytes <= MUCH << 10 {
        return Finding::ok(SUBJECT, says);
    }
    Finding::new(Verdict::Warning, SUBJECT, says)
        .mend("PROXMOX_TOOLSETS=workflows,api reaches everything for a twentieth of that")
}
