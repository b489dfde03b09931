//! `/cluster/ha`: resources, rules, status, and what nodes do for managed guests.

pub(crate) mod checks;
pub(crate) mod lrm;
pub(crate) mod resources;
pub(crate) mod rules;
pub(crate) mod status;

use serde_json::json;

use super::{Answer, Call, Failure};

/// `GET /cluster/ha`.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    Ok(json!([{"id": "status"}, {"id": "resources"}, {"id": "groups"}, {"id": "rules"}]).into())
}

/// `GET /cluster/ha/status`.
pub(crate) fn status_index(_call: &mut Call<'_>) -> Answer {
    Ok(json!([{"name": "current"}, {"name": "manager_status"}, {"name": "disarm-ha"}, {"name": "arm-ha"}]).into())
}

/// `GET /cluster/ha/groups`: groups became rules with release 9.
pub(crate) fn groups(_call: &mut Call<'_>) -> Answer {
    migrated("index groups")
}

/// `POST /cluster/ha/groups`.
pub(crate) fn create_group(_call: &mut Call<'_>) -> Answer {
    migrated("create group")
}

/// `GET /cluster/ha/groups/{group}`.
pub(crate) fn show_group(_call: &mut Call<'_>) -> Answer {
    migrated("read group")
}

/// `PUT /cluster/ha/groups/{group}`.
pub(crate) fn update_group(_call: &mut Call<'_>) -> Answer {
    migrated("update group")
}

/// `DELETE /cluster/ha/groups/{group}`.
pub(crate) fn delete_group(_call: &mut Call<'_>) -> Answer {
    migrated("delete group")
}

fn migrated(what: &str) -> Answer {
    Err(Failure::die(format!("cannot {what}: ha groups have been migrated to rules")))
}

/// Most writes ask for quorum before anything else.
fn quorum(call: &Call<'_>) -> Result<(), Failure> {
    match call.world.no_quorum {
        true => Err(Failure::die("cluster not ready - no quorum?")),
        false => Ok(()),
    }
}
