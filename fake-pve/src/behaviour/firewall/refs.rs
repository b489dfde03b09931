//! What rules can name (aliases, sets, macros), and the log of dropped packets.

use serde_json::{Map, Value, json};

use super::{CLUSTER_FILE, Scope, aliases, ipset, macros, of_file, text};
use crate::behaviour::{Answer, Call, Data};
use crate::world::Firewall;

/// `GET …/refs`: those of the cluster, and a guest's own.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let scope = Scope::of(call)?;
    let wanted = call.params.get("type");
    let mut refs = of(&of_file(call.world, CLUSTER_FILE), "dc", wanted.as_deref());
    if scope.file != CLUSTER_FILE {
        refs.extend(of(&scope.firewall, "guest", wanted.as_deref()));
    }
    Ok(Data::from(refs))
}

fn of(firewall: &Firewall, scope: &str, wanted: Option<&str>) -> Vec<Value> {
    let reference = |kind: &str, name: &str, sign: &str, object: &Map<String, Value>| {
        let mut item = json!({"type": kind, "name": name, "ref": format!("{sign}{scope}/{name}"), "scope": scope});
        if let Some(comment) = object.get("comment") {
            item["comment"] = comment.clone();
        }
        item
    };
    let mut refs = Vec::new();
    if wanted.is_none_or(|wanted| wanted == "ipset") {
        let sets = firewall.ipsets.iter().map(ipset::shown_set);
        refs.extend(sets.map(|set| reference("ipset", &text(&set, "name"), "+", &set)));
    }
    if wanted.is_none_or(|wanted| wanted == "alias") {
        let names = firewall.aliases.iter().map(aliases::shown);
        refs.extend(names.map(|alias| reference("alias", &text(&alias, "name"), "", &alias)));
    }
    refs
}

/// `GET /cluster/firewall/macros`.
pub(crate) fn macros(_call: &mut Call<'_>) -> Answer {
    let items = macros::all().map(|known| json!({"macro": known.name, "descr": known.descr}));
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /nodes/{node}/firewall/log`: the logger says when it began; nothing was dropped.
pub(crate) fn log_of_node(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    let booted = call.world.nodes.get(&node).and_then(|node| node.booted).unwrap_or_default();
    let within = |name: &str, bound: i64| call.params.int(name).unwrap_or(bound);
    let inside = (within("since", 0)..=within("until", i64::MAX)).contains(&booted);
    let at = jiff::Timestamp::from_second(booted).unwrap_or_default();
    let line = format!("0 5 - {} starting pvefw logger", at.strftime("%d/%b/%Y:%H:%M:%S +0000"));
    Ok(lines(call, if inside { vec![line] } else { Vec::new() }))
}

/// `GET …/{vmid}/firewall/log`.
pub(crate) fn log_of_guest(call: &mut Call<'_>) -> Answer {
    Ok(lines(call, Vec::new()))
}

/// A part of a log, as Proxmox dumps it: an empty one says so, unless a time was asked for.
fn lines(call: &Call<'_>, mut lines: Vec<String>) -> Data {
    let by_time = call.params.has("since") || call.params.has("until");
    if lines.is_empty() && !by_time {
        lines.push("no content".into());
    }
    let start = call.params.int("start").and_then(|start| usize::try_from(start).ok()).unwrap_or(0);
    let limit = call.params.int("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(50);
    let total = lines.len();
    let part = lines.into_iter().enumerate().skip(start).take(limit);
    let part: Vec<Value> = part.map(|(at, text)| json!({"n": at + 1, "t": text})).collect();
    Data::from(part).with_total(total)
}
