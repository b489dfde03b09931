//! `pve_find_guest`: guests by number, name, tag, status, node or address.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::guest::{self, Guest};
use super::network::{self, Address};
use super::reading::each;
use super::{MOST_VMID, reads};
use crate::error::{Code, Fault};
use crate::redact;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool, result};

const PARAMETERS: &[Parameter] = &[
    Parameter::integer("vmid", 100, MOST_VMID, ""),
    Parameter::text("name", "a part of it"),
    Parameter::text("tag", ""),
    Parameter::text("status", "running, stopped …"),
    Parameter::text("node", ""),
    Parameter::text("ip", "asks agents, containers and configurations"),
    Parameter::integer("limit", 1, 1000, "default 50"),
];

/// The tool.
pub fn tool() -> Tool {
    reads(
        "pve_find_guest",
        "Find VMs and containers by vmid, name, tag, status, node or IP address",
        PARAMETERS,
        output,
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

fn output() -> Value {
    let properties = json!({
        "guests": {"type": "array"},
        "matched": {"type": "integer"},
        "unavailable": {"type": "array"},
        "untrusted": {"type": "boolean"},
        "hint": {"type": "string"},
    });
    result::schema(properties).into()
}

/// One match, and how its address was found.
struct Match {
    guest: Guest,
    address: Option<(Address, &'static str)>,
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let ip = given.text("ip").map(address).transpose()?;
    let all = guest::all(ctx).await?;
    let seen = all.len();
    let fitting: Vec<Guest> = all.into_iter().filter(|guest| fits(guest, &given)).collect();
    let (matches, unavailable) = match ip {
        Some(ip) => by_address(ctx, fitting, ip).await?,
        None => (fitting.into_iter().map(|guest| Match { guest, address: None }).collect(), Vec::new()),
    };
    let limit = given.count("limit").unwrap_or(50);
    let mut told = Map::new();
    told.insert("matched".into(), matches.len().into());
    told.insert("untrusted".into(), true.into());
    told.insert("guests".into(), matches.iter().take(limit).map(Match::told).collect::<Vec<_>>().into());
    if let Some(hint) = hint(seen, matches.len(), limit, unavailable.len()) {
        told.insert("hint".into(), hint.into());
    }
    if !unavailable.is_empty() {
        told.insert("unavailable".into(), unavailable.into());
    }
    Ok(Reply::new(told))
}

fn address(text: &str) -> Result<IpAddr, Fault> {
    let plain = text.split('/').next().unwrap_or_default().trim();
    plain.parse().map_err(|_| Fault::argument("ip", "takes one IPv4 or IPv6 address, such as 192.0.2.7"))
}

fn fits(guest: &Guest, given: &Given) -> bool {
    let same = |wanted: Option<&str>, has: &str| wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(has));
    let has_part =
        |part: &str| guest.name.as_ref().is_some_and(|name| name.to_lowercase().contains(&part.to_lowercase()));
    given.integer("vmid").is_none_or(|vmid| vmid == i64::from(guest.vmid))
        && given.text("name").is_none_or(has_part)
        && given.text("tag").is_none_or(|tag| guest.tags.iter().any(|has| has.eq_ignore_ascii_case(tag)))
        && same(given.text("status"), &guest.status)
        && same(given.text("node"), &guest.node)
}

/// Looks into each guest; those that could not be looked into are told apart from those that do not have the address.
async fn by_address(ctx: &Ctx, guests: Vec<Guest>, ip: IpAddr) -> Result<(Vec<Match>, Vec<Value>), Fault> {
    let (mut matches, mut unavailable) = (Vec::new(), Vec::new());
    let guests: Vec<Guest> = guests.into_iter().filter(|guest| !guest.template).collect();
    let looked = each(&guests, |guest| look(ctx, guest, ip)).await;
    for (guest, found) in guests.into_iter().zip(looked) {
        match found {
            Ok(Some(address)) => matches.push(Match { guest, address: Some(address) }),
            Ok(None) => {}
            Err(fault) if matches!(fault.code, Code::Cancelled | Code::Unreachable | Code::Unauthenticated) => {
                return Err(fault);
            }
            Err(fault) => {
                let why = json!({"code": fault.code.word(), "reason": redact::text(&fault.message)});
                let mut missing = guest.named();
                if let (Some(missing), Some(why)) = (missing.as_object_mut(), why.as_object()) {
                    missing.extend(why.clone());
                }
                unavailable.push(missing);
            }
        }
    }
    Ok((matches, unavailable))
}

/// The address of a running guest as it says itself, else as its configuration fixes it.
async fn look(ctx: &Ctx, guest: &Guest, ip: IpAddr) -> Result<Option<(Address, &'static str)>, Fault> {
    let with_ip = |all: Vec<Address>| all.into_iter().find(|address| address.ip == ip);
    let live = if guest.runs() { network::live(ctx, guest).await } else { Ok(Vec::new()) };
    let source = if guest.kind == guest::Kind::Vm { "agent" } else { "interfaces" };
    let unknown = match live {
        Ok(all) if guest.runs() => return Ok(with_ip(all).map(|address| (address, source))),
        Ok(_) => None,
        Err(fault) => Some(fault),
    };
    let fixed = guest.read(ctx, "/config").await.map(|config| with_ip(network::configured(&config)));
    match (fixed, unknown) {
        (Ok(Some(address)), _) => Ok(Some((address, "configuration"))),
        (_, Some(fault)) | (Err(fault), None) => Err(fault),
        (Ok(None), None) => Ok(None),
    }
}

impl Match {
    fn told(&self) -> Value {
        let mut told = self.guest.told();
        if let Some((address, source)) = &self.address {
            told["ip"] = address.ip.to_string().into();
            told["interface"] = address.interface.clone().into();
            told["found_by"] = (*source).into();
        }
        told
    }
}

fn hint(seen: usize, matched: usize, limit: usize, unavailable: usize) -> Option<String> {
    if seen == 0 {
        return Some("the account sees no guest at all: without VM.Audit the list is empty, not refused".into());
    }
    if matched > limit {
        return Some(format!("{} more: raise limit, or narrow by name, tag, status or node", matched - limit));
    }
    (matched == 0 && unavailable > 0)
        .then(|| format!("not found, but {unavailable} guests could not be looked into: one of them may have it"))
}
