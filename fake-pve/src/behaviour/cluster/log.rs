//! `/cluster/log`: what happened in the cluster, newest first.

use serde_json::json;

use crate::behaviour::{Answer, Call, Data};

/// Everything with `Sys.Syslog` on `/`, else the caller's own entries.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let max = call.params.int("max").and_then(|max| usize::try_from(max).ok()).unwrap_or(50);
    let all = call.may("/", &["Sys.Syslog"]);
    let seen = call.world.log.iter().rev().filter(|entry| all || entry.user == call.authid);
    let items = seen.take(max).map(|entry| {
        json!({
            "uid": entry.uid.to_string(), "id": format!("{}:{}", entry.uid, entry.node), "time": entry.time, "pri": entry.pri,
            "tag": entry.tag, "pid": entry.pid, "node": entry.node, "user": entry.user, "msg": entry.msg,
        })
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}
