//! `/access/groups`: groups of users.

use pve_catalog::permission::Group;
use serde_json::{Map, Value, json};

use super::change;
use crate::behaviour::{Answer, Call, Data, Failure};

/// `GET /access/groups`: those that the caller may do something with.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let groups = call.world.access.config.groups.iter().filter(|(name, _)| {
        call.may(&format!("/access/groups/{name}"), &["User.Modify", "Sys.Audit", "Group.Allocate"])
    });
    let items = groups.map(|(name, group)| {
        let users: Vec<&str> = group.users.iter().map(String::as_str).collect();
        let mut item = with_comment(group);
        item.insert("groupid".into(), json!(name));
        item.insert("users".into(), json!(users.join(",")));
        Value::Object(item)
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /access/groups/{groupid}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let groupid = call.params.text("groupid");
    let group = call.world.access.config.groups.get(&groupid);
    let group = group.ok_or_else(|| format!("group '{groupid}' does not exist"))?;
    let mut item = with_comment(group);
    item.insert("members".into(), json!(group.users));
    Ok(Value::Object(item).into())
}

/// `POST /access/groups`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    change(call, "create group failed", |call| {
        let groupid = call.params.text("groupid");
        if call.world.access.config.groups.contains_key(&groupid) {
            return Err(Failure::die(format!("group '{groupid}' already exists")));
        }
        let group = Group { comment: call.params.get("comment"), ..Group::default() };
        call.world.access.config.groups.insert(groupid, group);
        Ok(Data::null())
    })
}

/// `PUT /access/groups/{groupid}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    change(call, "update group failed", |call| {
        let (groupid, comment) = (call.params.text("groupid"), call.params.get("comment"));
        let group = call.world.access.config.groups.get_mut(&groupid);
        let group = group.ok_or_else(|| format!("group '{groupid}' does not exist"))?;
        group.comment = comment.or(group.comment.take());
        Ok(Data::null())
    })
}

/// `DELETE /access/groups/{groupid}`: with its rules; its users stay.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    change(call, "delete group failed", |call| {
        let groupid = call.params.text("groupid");
        call.world.access.config.acl.values_mut().for_each(|acl| {
            acl.groups.remove(&groupid);
        });
        match call.world.access.config.groups.remove(&groupid) {
            Some(_) => Ok(Data::null()),
            None => Err(Failure::die(format!("group '{groupid}' does not exist"))),
        }
    })
}

fn with_comment(group: &Group) -> Map<String, Value> {
    let mut item = Map::new();
    if let Some(comment) = &group.comment {
        item.insert("comment".into(), json!(comment));
    }
    item
}
