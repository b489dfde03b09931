//! DNS servers that get the names of guests.

use serde_json::{Map, Value};

use super::ipams::unreachable;
use super::section::{Options, Section};
use super::text;
use crate::behaviour::{Answer, Call, Failure};

const DNS: Section = Section {
    path: "/cluster/sdn/dns",
    id: "dns",
    noun: "sdn dns",
    types: &[Options {
        name: "powerdns",
        required: &["key", "url"],
        optional: &["fingerprint", "reversemaskv6", "ttl"],
    }],
};

/// `GET /cluster/sdn/dns`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    DNS.list(call, |id, _| format!("/sdn/dns/{id}"))
}

/// `GET /cluster/sdn/dns/{dns}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    DNS.get(call)
}

/// `POST /cluster/sdn/dns`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let kind = call.params.text("type");
    DNS.create(call, &kind, check)
}

/// `PUT /cluster/sdn/dns/{dns}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    DNS.update(call, check)
}

/// `DELETE /cluster/sdn/dns/{dns}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    DNS.delete(call, "delete sdn dns object failed", |_, _| Ok(()))
}

fn check(
    call: &mut Call<'_>,
    _id: &str,
    _old: Option<&Map<String, Value>>,
    object: &mut Map<String, Value>,
) -> Result<(), Failure> {
    match unreachable(call.world, &text(object, "url")) {
        Some(error) => Err(Failure::die(format!("dns api error: Invalid response from server: {error}"))),
        None => Ok(()),
    }
}
