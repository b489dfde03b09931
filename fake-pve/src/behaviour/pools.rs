//! `/pools`: in the spelling with a `poolid` parameter, which knows nested pools, and in the old one with it in the path.

use pve_catalog::permission::Pool;
use serde_json::{Map, Value, json};

use super::access::{acl, change, truth};
use super::{Answer, Call, Data, Failure, cluster};

/// `GET /pools`: pools that the caller may audit; with `poolid` the one pool with its members.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    if let Some(poolid) = truth(call.params.get("poolid")) {
        return Ok(Data::from(vec![with_members(call, &poolid)?]));
    }
    let pools = call.world.access.config.pools.iter();
    let seen = pools.filter(|(name, _)| call.may(&format!("/pool/{name}"), &["Pool.Audit"]));
    Ok(Data::from(seen.map(|(name, pool)| Value::Object(item(name, pool))).collect::<Vec<_>>()))
}

/// `GET /pools/{poolid}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let poolid = call.params.text("poolid");
    Ok(with_members(call, &poolid)?.into())
}

/// `POST /pools`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    change(call, "create pool failed", |call| {
        let (poolid, comment) = (call.params.text("poolid"), call.params.get("comment"));
        let pools = &mut call.world.access.config.pools;
        if pools.contains_key(&poolid) {
            return Err(Failure::die(format!("pool '{poolid}' already exists")));
        }
        if !poolid.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(Failure::die("pool name must start with a letter"));
        }
        if let Some((parent, _)) = poolid.rsplit_once('/').filter(|(parent, _)| !pools.contains_key(*parent)) {
            return Err(Failure::die(format!("parent '{parent}' of pool '{poolid}' does not exist")));
        }
        pools.insert(poolid, Pool { comment, ..Pool::default() });
        Ok(Data::null())
    })
}

/// `PUT /pools` and `PUT /pools/{poolid}`: comment and members; `delete` takes members out, `allow-move` takes guests
/// from another pool. Members need not exist.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    change(call, "update pools failed", |call| {
        let (poolid, comment) = (call.params.text("poolid"), call.params.get("comment"));
        let mut pool = known(call, &poolid)?.clone();
        pool.comment = comment.or(pool.comment);
        let delete = call.params.is_on("delete");
        let mut moved = Vec::new();
        for text in call.params.list("vms") {
            let vmid: u32 = text.parse().map_err(|_| format!("invalid VM ID '{text}'"))?;
            may_modify(call, &format!("/vms/{vmid}"))?;
            let member = pool.vms.contains(&vmid);
            match (delete, member) {
                (true, false) => return Err(Failure::die(format!("VM {vmid} is not a pool member"))),
                (false, true) => return Err(Failure::die(format!("VM {vmid} is already a pool member"))),
                (true, true) => {
                    pool.vms.remove(&vmid);
                }
                (false, false) => {
                    moved.extend(leave_other(call, vmid)?);
                    pool.vms.insert(vmid);
                }
            }
        }
        for storage in call.params.list("storage") {
            may_modify(call, &format!("/storage/{storage}"))?;
            let changed = if delete { pool.storage.remove(&storage) } else { pool.storage.insert(storage.clone()) };
            if !changed {
                let text = if delete { "is not" } else { "is already" };
                return Err(Failure::die(format!("Storage '{storage}' {text} a pool member")));
            }
        }
        let pools = &mut call.world.access.config.pools;
        for (other, vmid) in moved {
            pools.entry(other).or_default().vms.remove(&vmid);
        }
        pools.insert(poolid, pool);
        Ok(Data::null())
    })
}

/// `DELETE /pools` and `DELETE /pools/{poolid}`: an empty one only.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    change(call, "delete pool failed", |call| {
        let poolid = call.params.text("poolid");
        let pool = known(call, &poolid)?;
        let nested = call.world.access.config.pools.keys().find(|name| name.starts_with(&format!("{poolid}/")));
        let content = nested
            .map(|name| format!("pool '{name}'"))
            .or_else(|| pool.vms.first().map(|vmid| format!("VM {vmid}")))
            .or_else(|| pool.storage.first().map(|storage| format!("storage '{storage}'")));
        if let Some(content) = content {
            return Err(Failure::die(format!("pool '{poolid}' is not empty (contains {content})")));
        }
        call.world.access.config.pools.remove(&poolid);
        Ok(Data::null())
    })
}

fn known<'c>(call: &'c Call<'_>, poolid: &str) -> Result<&'c Pool, Failure> {
    let pool = call.world.access.config.pools.get(poolid);
    pool.ok_or_else(|| Failure::die(format!("pool '{poolid}' does not exist")))
}

fn item(poolid: &str, pool: &Pool) -> Map<String, Value> {
    let mut item = Map::new();
    item.insert("poolid".into(), json!(poolid));
    if let Some(comment) = &pool.comment {
        item.insert("comment".into(), json!(comment));
    }
    item
}

/// A pool with its guests and storages, as the resource list shows them, but without pool and tags.
fn with_members(call: &Call<'_>, poolid: &str) -> Result<Value, Failure> {
    let pool = known(call, poolid)?;
    let wanted = call.params.get("type");
    let wants = |kind: &str| wanted.as_deref().is_none_or(|wanted| wanted == kind);
    let mut members = Vec::new();
    for guest in pool.vms.iter().filter_map(|vmid| call.world.guests.get(vmid)) {
        if wants(guest.kind.noun()) {
            let mut member = cluster::guest_item(call, guest);
            for extra in ["pool", "tags", "lock", "hastate"] {
                member.shift_remove(extra);
            }
            members.push(Value::Object(member));
        }
    }
    if wants("storage") {
        members.extend(pool.storage.iter().filter_map(|name| cluster::storage_of_pool(call, name)));
    }
    let mut pool = item(poolid, pool);
    pool.insert("members".into(), json!(members));
    Ok(Value::Object(pool))
}

/// What the permission expression `perm-modify` asks, for one member.
fn may_modify(call: &Call<'_>, path: &str) -> Result<(), Failure> {
    let privileges = acl::modifiers(path);
    match call.may(path, &privileges) {
        true => Ok(()),
        false => Err(Failure::denied(&format!("{path}, {}", privileges.join("|")))),
    }
}

/// The pool that a guest has to leave to join another one.
fn leave_other(call: &Call<'_>, vmid: u32) -> Result<Option<(String, u32)>, Failure> {
    let Some(other) = call.world.pool_of(vmid) else { return Ok(None) };
    if !call.params.is_on("allow-move") {
        return Err(Failure::die(format!("VM {vmid} belongs already to pool '{other}' and 'allow-move' is not set")));
    }
    call.require(&format!("/pool/{other}"), &["Pool.Allocate"])?;
    Ok(Some((other.to_string(), vmid)))
}
