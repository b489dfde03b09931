//! `/nodes/{node}/netstat`: traffic of guests' network devices.

use serde_json::{Value, json};

use crate::behaviour::{Answer, Call, Data};

/// `GET /nodes/{node}/netstat`: of running guests, numbers as text.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    let mut items = Vec::new();
    for guest in call.world.guests.values().filter(|guest| guest.node == node && guest.runs()) {
        let devices = guest.config.keys().filter(|key| {
            key.strip_prefix("net")
                .is_some_and(|index| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()))
        });
        items.extend(
            devices.map(|dev| -> Value { json!({"vmid": guest.vmid.to_string(), "dev": dev, "in": "0", "out": "0"}) }),
        );
    }
    Ok(Data::from(items))
}
