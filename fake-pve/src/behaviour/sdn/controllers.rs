//! Controllers.

use serde_json::{Map, Value};

use super::section::{Options, Section};
use super::{ZONES, is_true, text};
use crate::behaviour::{Answer, Call, Failure};

const CONTROLLER: Section = Section {
    path: "/cluster/sdn/controllers",
    id: "controller",
    noun: "sdn controller",
    types: &[
        Options {
            name: "bgp",
            required: &["node", "peers", "asn"],
            optional: &[
                "bgp-mode",
                "bgp-multipath-as-path-relax",
                "ebgp",
                "ebgp-multihop",
                "loopback",
                "nodes",
                "peer-group-name",
                "route-map-in",
                "route-map-out",
            ],
        },
        Options {
            name: "evpn",
            required: &["asn"],
            optional: &["bgp-mode", "fabric", "nodes", "peer-group-name", "peers", "route-map-in", "route-map-out"],
        },
        Options { name: "faucet", required: &[], optional: &[] },
        Options {
            name: "isis",
            required: &["isis-domain", "isis-ifaces", "isis-net", "node"],
            optional: &["loopback"],
        },
    ],
};

const EVPN_PLUGIN: &str = "/usr/share/perl5/PVE/Network/SDN/Controllers/EvpnPlugin.pm";

/// `GET /cluster/sdn/controllers`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    CONTROLLER.list(call, |id, _| format!("/sdn/controllers/{id}"))
}

/// `GET /cluster/sdn/controllers/{controller}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    CONTROLLER.get(call)
}

/// `POST /cluster/sdn/controllers`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let kind = call.params.text("type");
    CONTROLLER.create(call, &kind, check)
}

/// `PUT /cluster/sdn/controllers/{controller}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    CONTROLLER.update(call, check)
}

/// `DELETE /cluster/sdn/controllers/{controller}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    CONTROLLER.delete(call, "delete sdn controller object failed", |call, controller| {
        let user = call.world.documents.list(ZONES).iter().find(|(_, zone)| text(zone, "controller") == controller);
        match user {
            Some((zone, _)) => {
                Err(Failure::die(format!("controller {controller} is used by {zone} at {EVPN_PLUGIN} line 476.")))
            }
            None => Ok(()),
        }
    })
}

/// There is one EVPN controller that is not bound to nodes; it finds its peers in one way.
fn check(
    call: &mut Call<'_>,
    id: &str,
    _old: Option<&Map<String, Value>>,
    object: &mut Map<String, Value>,
) -> Result<(), Failure> {
    if text(object, "type") != "evpn" {
        return Ok(());
    }
    let global = |object: &Map<String, Value>| text(object, "type") == "evpn" && !is_true(object, "nodes");
    let others = call.world.documents.list(CONTROLLER.path).iter();
    if global(object) && others.into_iter().any(|(other, object)| other != id && global(object)) {
        return Err(Failure::die(format!("only 1 global evpn controller can be defined at {EVPN_PLUGIN} line 491.")));
    }
    if is_true(object, "peers") == is_true(object, "fabric") {
        return Err(Failure::die(format!(
            "must have exactly one of peers / fabric defined at {EVPN_PLUGIN} line 498."
        )));
    }
    Ok(())
}
