//! Aliases: names for addresses. Case does not count in their names.

use serde_json::{Map, Value, json};

use super::{Scope, digest_of, version_of, with_digest};
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::Firewall;
use crate::world::firewall::Alias;

/// `GET …/aliases`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let items: Vec<_> = Scope::of(call)?.firewall.aliases.iter().map(shown).collect();
    let digest = digest_of(&items);
    Ok(Data::from(items.into_iter().map(|item| with_digest(item, &digest)).collect::<Vec<_>>()))
}

/// `GET …/aliases/{name}`: without a digest, as Proxmox does it.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let firewall = Scope::of(call)?.firewall;
    let alias = alias(&firewall, &call.params.text("name")).ok_or_else(unknown)?;
    Ok(Value::Object(shown(alias)).into())
}

/// `POST …/aliases`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    let name = call.params.text("name");
    refuse_double(&scope, &name)?;
    put(call, &mut scope, name);
    scope.save(call);
    Ok(Data::null())
}

/// `PUT …/aliases/{name}`: the whole alias is replaced, a comment that is not given is gone.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    check_digest(call, &scope)?;
    let name = call.params.text("name");
    let old = alias(&scope.firewall, &name).cloned().ok_or_else(unknown)?;
    let new = call.params.get("rename").unwrap_or_else(|| old.name.clone());
    if !new.eq_ignore_ascii_case(&name) {
        refuse_double(&scope, &new)?;
    }
    scope.firewall.aliases.retain(|other| *other != old);
    put(call, &mut scope, new);
    scope.save(call);
    Ok(Data::null())
}

/// `DELETE …/aliases/{name}`: no complaint when there is none.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    check_digest(call, &scope)?;
    let name = call.params.text("name");
    scope.firewall.aliases.retain(|alias| !alias.name.eq_ignore_ascii_case(&name));
    scope.save(call);
    Ok(Data::null())
}

/// An alias by its name.
pub(super) fn alias<'f>(firewall: &'f Firewall, name: &str) -> Option<&'f Alias> {
    firewall.aliases.iter().find(|alias| alias.name.eq_ignore_ascii_case(name))
}

/// An alias with the version of its address.
pub(super) fn shown(alias: &Alias) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("name".into(), json!(alias.name));
    shown.insert("cidr".into(), json!(alias.cidr));
    if let Some(version) = version_of(&alias.cidr) {
        shown.insert("ipversion".into(), json!(version));
    }
    if let Some(comment) = &alias.comment {
        shown.insert("comment".into(), json!(comment));
    }
    shown
}

fn check_digest(call: &Call<'_>, scope: &Scope) -> Result<(), Failure> {
    call.check_digest(&digest_of(&scope.firewall.aliases.iter().map(shown).collect::<Vec<_>>()))
}

fn put(call: &Call<'_>, scope: &mut Scope, name: String) {
    let comment = call.params.get("comment").filter(|comment| !comment.is_empty());
    let aliases = &mut scope.firewall.aliases;
    aliases.push(Alias { name, cidr: call.params.text("cidr"), comment });
    aliases.sort_by_key(|alias| alias.name.to_lowercase());
}

fn refuse_double(scope: &Scope, name: &str) -> Result<(), Failure> {
    match alias(&scope.firewall, name) {
        Some(_) => Err(Failure::param("name", format!("alias '{name}' already exists"))),
        None => Ok(()),
    }
}

fn unknown() -> Failure {
    Failure::param("name", "no such alias")
}
