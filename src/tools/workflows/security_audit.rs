//! `pve_security_audit`: firewalls, privileged containers, accounts and tokens, updates, certificates. What it cannot see is part
//! of its answer.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::guest::{self, Guest, Kind};
use super::node::{self, Node};
use super::reading::{data, each, foreign, foreign_of, is_on, moment, rows, text, whole};
use super::reads;
use super::report::{self, Report, Severity};
use crate::error::{Code, Fault};
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const SECTIONS: [&str; 5] = ["firewall", "guests", "accounts", "updates", "certificates"];

const PARAMETERS: &[Parameter] = &[
    Parameter::integer("certificate_days", 1, 3650, "default 30"),
    Parameter::integer("max_updates", 0, 10_000, "default 0"),
];

const LIMITS: &[&str] = &[
    "no finding does not mean no problem, and this is no certification",
    "the inside of guests, SSH and the shells of nodes",
    "single firewall rules, and what stands before the cluster",
    "passwords, and second factors of other users than root@pam",
    "updates that a node has not looked for yet",
];

const ROOT: &str = "root@pam";
const DAY: i64 = 86_400;

/// The tool.
pub fn tool() -> Tool {
    reads(
        "pve_security_audit",
        "Firewalls, privileged containers, tokens, root's second factor, wide ACLs, updates, certificates; states its limits",
        PARAMETERS,
        || report::schema(json!({"limits": {"type": "array"}})),
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let days = given.integer("certificate_days").unwrap_or(30);
    let updates = given.integer("max_updates").unwrap_or(0);
    let thresholds = json!({"certificate_days": days, "max_updates": updates});
    let mut report = Report::new(&SECTIONS, thresholds, LIMITS);
    let read = node::all(ctx).await;
    let nodes = report.taken("certificates", "", read)?.unwrap_or_default();
    let (online, silent): (Vec<Node>, Vec<Node>) = nodes.into_iter().partition(|node| node.online);
    for node in &silent {
        for section in ["firewall", "updates", "certificates"] {
            let fault = Fault::new(Code::NodeUnreachable, format!("node {} is offline", node.name));
            report.taken::<()>(section, &node.name, Err(fault))?;
        }
    }
    let filters = cluster_firewall(ctx, &mut report).await?;
    node_firewalls(ctx, &mut report, &online).await?;
    guests(ctx, &mut report, filters).await?;
    accounts(ctx, &mut report).await?;
    waiting_updates(ctx, &mut report, &online, updates).await?;
    certificates(ctx, &mut report, &online, days).await?;
    Ok(report.reply(Map::new(), Vec::new()))
}

/// Whether the firewall is on at all: without it, no guest's own is.
async fn cluster_firewall(ctx: &Ctx, report: &mut Report) -> Result<bool, Fault> {
    let read = data(ctx, "/cluster/firewall/options", &[]).await;
    let Some(options) = report.taken("firewall", "cluster", read)? else { return Ok(true) };
    if !is_on(&options, "enable") {
        let says = "the firewall is off for the whole cluster, whatever nodes and guests say";
        report.found("firewall", Severity::Warning, "firewall_off", "cluster", says);
        return Ok(false);
    }
    if text(&options, "policy_in") == Some("ACCEPT") {
        report.found("firewall", Severity::Warning, "firewall_accepts_all", "cluster", "what no rule forbids comes in");
    }
    Ok(true)
}

async fn node_firewalls(ctx: &Ctx, report: &mut Report, online: &[Node]) -> Result<(), Fault> {
    let read = each(online, |node| node.read(ctx, "/firewall/options")).await;
    for (node, read) in online.iter().zip(read) {
        let Some(options) = report.taken("firewall", &node.name, read)? else { continue };
        if options.get("enable").is_some() && !is_on(&options, "enable") {
            report.found(
                "firewall",
                Severity::Warning,
                "node_firewall_off",
                &node.name,
                "its own firewall is switched off",
            );
        }
    }
    Ok(())
}

async fn guests(ctx: &Ctx, report: &mut Report, filters: bool) -> Result<(), Fault> {
    let mut guests = guest::seen(ctx, report, "guests").await?;
    guests.retain(|guest| !guest.template);
    let read = each(&guests, |guest| async move {
        let config = guest.read(ctx, "/config").await?;
        let options = guest.read(ctx, "/firewall/options").await?;
        Ok::<_, Fault>((config, options))
    })
    .await;
    for (guest, read) in guests.iter().zip(read) {
        let Some((config, options)) = report.taken("guests", &guest.to_string(), read)? else { continue };
        if guest.kind == Kind::Lxc && !is_on(&config, "unprivileged") {
            let says = "its root is root of the node";
            report.found("guests", Severity::Warning, "privileged_container", guest.to_string(), says);
        }
        if filters && let Some(says) = unfiltered(guest, &config, &options) {
            report.found("guests", Severity::Warning, "guest_without_firewall", guest.to_string(), says);
        }
    }
    Ok(())
}

/// Both are needed: the guest's firewall, and `firewall=1` on each network device.
fn unfiltered(guest: &Guest, config: &Value, options: &Value) -> Option<String> {
    let nets = config
        .as_object()?
        .iter()
        .filter(|(key, _)| key.strip_prefix("net").is_some_and(|number| number.parse::<u8>().is_ok()));
    let nets: Vec<(&str, &str)> = nets.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect();
    if nets.is_empty() {
        return None;
    }
    if !is_on(options, "enable") {
        return Some(format!("the firewall of the {} is off", guest.kind.noun()));
    }
    let open: Vec<&str> =
        nets.iter().filter(|(_, net)| !net.split(',').any(|part| part == "firewall=1")).map(|(key, _)| *key).collect();
    (!open.is_empty()).then(|| format!("without firewall=1: {}", open.join(", ")))
}

async fn accounts(ctx: &Ctx, report: &mut Report) -> Result<(), Fault> {
    let read = rows(ctx, "/access/users", &[], &[("full", "1")]).await;
    let Some(users) = report.taken("accounts", "users", read)? else { return Ok(()) };
    // The lists of users, factors and rules are shortened to what the account may see, without a word.
    if !users.iter().any(|user| text(user, "userid") == Some(ROOT)) {
        let fault = Fault::new(Code::Forbidden, "the account sees only a part of the users: not root@pam")
            .hint("it needs Sys.Audit on /access");
        report.taken::<()>("accounts", "users", Err(fault))?;
        return Ok(());
    }
    tokens(report, &users);
    second_factor(ctx, report).await?;
    rules(ctx, report).await
}

fn tokens(report: &mut Report, users: &[Value]) {
    for user in users {
        let userid = foreign_of(user, "userid").unwrap_or_default();
        for token in user["tokens"].as_array().into_iter().flatten() {
            let id = format!("{userid}!{}", foreign_of(token, "tokenid").unwrap_or_default());
            if whole(token, "expire").unwrap_or_default() == 0 {
                report.found("accounts", Severity::Info, "token_without_end", id.as_str(), "the token never expires");
            }
            if token.get("privsep").is_some() && !is_on(token, "privsep") {
                let says = format!("the token may do whatever {userid} may");
                report.found("accounts", Severity::Warning, "token_with_all_privileges", id, says);
            }
        }
    }
}

async fn second_factor(ctx: &Ctx, report: &mut Report) -> Result<(), Fault> {
    let read = rows(ctx, "/access/tfa", &[], &[]).await;
    let Some(users) = report.taken("accounts", "second factors", read)? else { return Ok(()) };
    let is_used = |entry: &Value| entry.get("enable").is_none_or(|_| is_on(entry, "enable"));
    let of_root = users.iter().filter(|user| text(user, "userid") == Some(ROOT));
    let entries = of_root.flat_map(|user| user["entries"].as_array().into_iter().flatten());
    if !entries.into_iter().any(is_used) {
        let says = "a password alone opens everything";
        report.found("accounts", Severity::Warning, "root_without_second_factor", ROOT, says);
    }
    Ok(())
}

/// Rules on the whole cluster with a role that gives rights away.
async fn rules(ctx: &Ctx, report: &mut Report) -> Result<(), Fault> {
    let read = rows(ctx, "/access/roles", &[], &[]).await;
    let Some(roles) = report.taken("accounts", "roles", read)? else { return Ok(()) };
    let gives = |role: &&Value| {
        text(role, "privs").is_some_and(|privs| privs.split(',').any(|one| one == "Permissions.Modify"))
    };
    let strong: BTreeSet<&str> = roles.iter().filter(gives).filter_map(|role| text(role, "roleid")).collect();
    let read = rows(ctx, "/access/acl", &[], &[]).await;
    let Some(acl) = report.taken("accounts", "rules", read)? else { return Ok(()) };
    for rule in acl.iter().filter(|rule| matches!(text(rule, "path"), Some("/" | "/access"))) {
        let (who, role) = (foreign_of(rule, "ugid").unwrap_or_default(), text(rule, "roleid").unwrap_or_default());
        if who != ROOT && strong.contains(role) {
            let subject = format!("{} {who}", text(rule, "type").unwrap_or("account"));
            let says =
                format!("{} on {} lets it change permissions", foreign(role), text(rule, "path").unwrap_or_default());
            report.found("accounts", Severity::Warning, "wide_acl", subject, says);
        }
    }
    Ok(())
}

async fn waiting_updates(ctx: &Ctx, report: &mut Report, online: &[Node], most: i64) -> Result<(), Fault> {
    let read = each(online, |node| node.rows(ctx, "/apt/update", &[])).await;
    for (node, read) in online.iter().zip(read) {
        let Some(waiting) = report.taken("updates", &node.name, read)? else { continue };
        if i64::try_from(waiting.len()).unwrap_or(i64::MAX) > most {
            let names: Vec<&str> = waiting.iter().filter_map(|package| text(package, "Package")).take(5).collect();
            let says = format!("{} updates wait: {}", waiting.len(), foreign(&names.join(", ")));
            report.found("updates", Severity::Warning, "updates_waiting", &node.name, says);
        }
    }
    Ok(())
}

async fn certificates(ctx: &Ctx, report: &mut Report, online: &[Node], days: i64) -> Result<(), Fault> {
    let now = node::time(ctx, online).await;
    let Some(now) = report.taken("certificates", "", now)? else { return Ok(()) };
    let read = each(online, |node| node.rows(ctx, "/certificates/info", &[])).await;
    for (node, read) in online.iter().zip(read) {
        for certificate in report.taken("certificates", &node.name, read)?.unwrap_or_default() {
            let Some(end) = whole(&certificate, "notafter") else { continue };
            let subject = format!("{}/{}", node.name, foreign_of(&certificate, "filename").unwrap_or_default());
            if end <= now {
                report.found(
                    "certificates",
                    Severity::Critical,
                    "certificate_expired",
                    subject,
                    format!("since {}", moment(end)),
                );
            } else if end - now < days * DAY {
                let says = format!("in {} days, {}", (end - now) / DAY, moment(end));
                report.found("certificates", Severity::Warning, "certificate_expires", subject, says);
            }
        }
    }
    Ok(())
}
