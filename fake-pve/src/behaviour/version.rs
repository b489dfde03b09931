//! `/version` and a node's own.

use serde_json::json;

use super::{Answer, Call};

pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let release = &call.world.release;
    let mut version = json!({"version": release.version, "release": release.release, "repoid": release.repoid});
    let options = call.world.documents.options.get("/cluster/options");
    if let Some(console) = options.and_then(|options| options.get("console")) {
        version["console"] = console.clone();
    }
    Ok(version.into())
}
