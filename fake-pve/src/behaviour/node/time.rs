//! `/nodes/{node}/time`: the clock of a node.

use serde_json::json;

use crate::behaviour::{Answer, Call, Data, Failure};

/// Hours that some zones are ahead of UTC in winter. Summer time is not kept.
const AHEAD: [(&str, i64); 16] = [
    ("America/Chicago", -6),
    ("America/Los_Angeles", -8),
    ("America/New_York", -5),
    ("America/Sao_Paulo", -3),
    ("Asia/Kolkata", 5),
    ("Asia/Shanghai", 8),
    ("Asia/Singapore", 8),
    ("Asia/Tokyo", 9),
    ("Australia/Sydney", 10),
    ("Europe/Amsterdam", 1),
    ("Europe/Athens", 2),
    ("Europe/Berlin", 1),
    ("Europe/Madrid", 1),
    ("Europe/Paris", 1),
    ("Europe/Rome", 1),
    ("Europe/Vienna", 1),
];

/// Parts of the world that name zones.
const REGIONS: [&str; 11] = [
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Etc",
    "Europe",
    "Indian",
    "Pacific",
];

/// `GET /nodes/{node}/time`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    let timezone = call.world.nodes.get(&node).map(|node| node.timezone.clone()).unwrap_or_default();
    let ahead = AHEAD.iter().find(|(zone, _)| *zone == timezone).map_or(0, |(_, hours)| hours * 3600);
    let now = call.now();
    Ok(json!({"timezone": timezone, "time": now, "localtime": now + ahead}).into())
}

/// `PUT /nodes/{node}/time`.
pub(crate) fn put(call: &mut Call<'_>) -> Answer {
    let (name, timezone) = (call.node(), call.params.text("timezone"));
    if !is_zone(&timezone) {
        return Err(Failure::param("timezone", "No such timezone"));
    }
    if let Some(node) = call.world.nodes.get_mut(&name) {
        node.timezone = timezone;
    }
    Ok(Data::null())
}

fn is_zone(name: &str) -> bool {
    let word = |part: &str| part.len() > 1 && part.chars().all(|c| c.is_ascii_alphanumeric() || "_+-".contains(c));
    match name.split_once('/') {
        Some((region, place)) => REGIONS.contains(&region) && place.split('/').all(word),
        None => name == "UTC",
    }
}
