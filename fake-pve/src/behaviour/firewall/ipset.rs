//! Sets of addresses and their entries.

use serde_json::{Map, Value, json};

use super::aliases::alias;
use super::{CLUSTER_FILE, Scope, digest_of, of_file, with_digest};
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::firewall::{Entry, IpSet};

/// `GET …/ipset`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let sets: Vec<_> = Scope::of(call)?.firewall.ipsets.iter().map(shown_set).collect();
    let digest = digest_of(&sets);
    Ok(Data::from(sets.into_iter().map(|set| with_digest(set, &digest)).collect::<Vec<_>>()))
}

/// `POST …/ipset`: makes a set, or renames one (`rename` is the old name).
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    let sets = &mut scope.firewall.ipsets;
    let name = call.params.text("name");
    let there = sets.iter().any(|set| set.name == name);
    let refuse = |text: String| Err(Failure::param("name", text));
    let mut set = IpSet { name: name.clone(), ..IpSet::default() };
    if let Some(old) = call.params.get("rename") {
        let Some(at) = sets.iter().position(|set| set.name == old) else {
            return refuse(format!("IPSet '{old}' does not exist"));
        };
        if name != old && there {
            return refuse(format!("IPSet '{name}' does already exist"));
        }
        set = IpSet { name, ..sets.remove(at) };
    } else if there {
        return refuse(format!("IPSet '{name}' already exists"));
    }
    if let Some(comment) = call.params.get("comment") {
        set.comment = Some(comment).filter(|comment| !comment.is_empty());
    }
    sets.push(set);
    sets.sort_by(|a, b| a.name.cmp(&b.name));
    scope.save(call);
    Ok(Data::null())
}

/// `DELETE …/ipset/{name}`: only an empty one, unless forced.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    let at = position(call, &scope)?;
    if !scope.firewall.ipsets[at].entries.is_empty() && !call.params.is_on("force") {
        return Err(Failure::die(format!("IPSet '{}' is not empty", call.params.text("name"))));
    }
    scope.firewall.ipsets.remove(at);
    scope.save(call);
    Ok(Data::null())
}

/// `GET …/ipset/{name}`.
pub(crate) fn entries(call: &mut Call<'_>) -> Answer {
    let scope = Scope::of(call)?;
    let set = &scope.firewall.ipsets[position(call, &scope)?];
    let digest = digest_of_entries(set);
    let items = set.entries.iter().map(|entry| with_digest(shown(entry), &digest));
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `POST …/ipset/{name}`.
pub(crate) fn add(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    let at = position(call, &scope)?;
    let given = call.params.text("cidr");
    let cidr = clean(&given);
    if given.contains(['.', ':']) {
        if cidr.rsplit_once('/').is_some_and(|(_, length)| length.bytes().all(|byte| byte == b'0')) {
            return Err(Failure::param("cidr", "a zero prefix is not allowed in ipset entries"));
        }
    } else {
        known_alias(call, &scope, &given)?;
    }
    let set = &mut scope.firewall.ipsets[at];
    if set.entries.iter().any(|entry| entry.cidr == cidr) {
        return Err(Failure::param("cidr", format!("address '{cidr}' already exists")));
    }
    set.entries.push(entry(call, cidr));
    set.entries.sort_by(|a, b| a.cidr.cmp(&b.cidr));
    scope.save(call);
    Ok(Data::null())
}

/// `GET …/ipset/{name}/{cidr}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let scope = Scope::of(call)?;
    let set = &scope.firewall.ipsets[position(call, &scope)?];
    let cidr = call.params.text("cidr");
    let entry = set.entries.iter().find(|entry| entry.cidr == cidr).ok_or_else(no_such_network)?;
    Ok(with_digest(shown(entry), &digest_of_entries(set)).into())
}

/// `PUT …/ipset/{name}/{cidr}`: what is not given is gone.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    let at = position(call, &scope)?;
    let set = &mut scope.firewall.ipsets[at];
    call.check_digest(&digest_of_entries(set))?;
    let cidr = call.params.text("cidr");
    let found = set.entries.iter_mut().find(|entry| entry.cidr == cidr).ok_or_else(no_such_network)?;
    *found = entry(call, cidr);
    scope.save(call);
    Ok(Data::null())
}

/// `DELETE …/ipset/{name}/{cidr}`: no complaint when there is none.
pub(crate) fn remove(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    let at = position(call, &scope)?;
    let set = &mut scope.firewall.ipsets[at];
    call.check_digest(&digest_of_entries(set))?;
    let cidr = call.params.text("cidr");
    set.entries.retain(|entry| entry.cidr != cidr);
    scope.save(call);
    Ok(Data::null())
}

fn position(call: &Call<'_>, scope: &Scope) -> Result<usize, Failure> {
    let name = call.params.text("name");
    let at = scope.firewall.ipsets.iter().position(|set| set.name == name);
    at.ok_or_else(|| Failure::die(format!("no such IPSet '{name}'")))
}

/// A set as lists show it, without the digest.
pub(super) fn shown_set(set: &IpSet) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("name".into(), json!(set.name));
    if let Some(comment) = &set.comment {
        shown.insert("comment".into(), json!(comment));
    }
    shown
}

fn shown(entry: &Entry) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("cidr".into(), json!(entry.cidr));
    if entry.nomatch {
        shown.insert("nomatch".into(), json!(1));
    }
    if let Some(comment) = &entry.comment {
        shown.insert("comment".into(), json!(comment));
    }
    shown
}

fn digest_of_entries(set: &IpSet) -> String {
    digest_of(&set.entries.iter().map(shown).collect::<Vec<_>>())
}

fn entry(call: &Call<'_>, cidr: String) -> Entry {
    let comment = call.params.get("comment").filter(|comment| !comment.is_empty());
    Entry { cidr, nomatch: call.params.is_on("nomatch"), comment }
}

/// A whole-length prefix says nothing.
fn clean(cidr: &str) -> String {
    cidr.strip_suffix("/32").or_else(|| cidr.strip_suffix("/128")).unwrap_or(cidr).to_string()
}

fn known_alias(call: &Call<'_>, scope: &Scope, given: &str) -> Result<(), Failure> {
    let name = given.strip_prefix("dc/").or_else(|| given.strip_prefix("guest/")).unwrap_or(given);
    let cluster = of_file(call.world, CLUSTER_FILE);
    if alias(&scope.firewall, name).or_else(|| alias(&cluster, name)).is_some() {
        return Ok(());
    }
    Err(Failure::die(format!("no such alias '{name}'")))
}

fn no_such_network() -> Failure {
    Failure::param("cidr", "no such IP/Network")
}
