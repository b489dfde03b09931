//! `/cluster/ha`: resources, rules, status, and what nodes do for managed guests.

pub(crate) mod checks;
pub(crate) mod groups;
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

/// Most writes ask for quorum before anything else.
fn quorum(call: &Call<'_>) -> Result<(), Failure> {
    match call.world.no_quorum {
        true => Err(Failure::die("cluster not ready - no quorum?")),
        false => Ok(()),
    }
}
