//! Network devices: reading, a MAC address where none is given, writing.

use pve_catalog::property;

use super::stage::Stage;
use crate::world::{GuestKind, World, option};

/// Whether a key is a network device.
pub(crate) fn is_net(key: &str) -> bool {
    numbered(key, "net")
}

/// Whether a key is a prefix with a number.
pub(crate) fn numbered(key: &str, prefix: &str) -> bool {
    key.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A network device as it is stored: with a MAC address, and `type=veth` for a container.
pub(crate) fn stored(stage: &mut dyn Stage, kind: GuestKind, key: &str, text: &str, fresh: bool) -> String {
    let Some(keys) = option::schema(kind, key).and_then(property::keys) else { return text.into() };
    let Ok(mut net) = property::parse(keys, text) else { return text.into() };
    let mac_key = if kind == GuestKind::Vm { "macaddr" } else { "hwaddr" };
    if fresh || !net.contains_key(mac_key) {
        net.insert(mac_key.into(), new_mac(stage.world_mut()).into());
    }
    if kind == GuestKind::Lxc && !net.contains_key("type") {
        net.insert("type".into(), "veth".into());
    }
    property::print(keys, &net).unwrap_or_else(|_| text.into())
}

/// A new MAC address beneath the datacenter's prefix.
pub(crate) fn new_mac(world: &mut World) -> String {
    let options = world.documents.options.get("/cluster/options");
    let prefix = options.and_then(|options| options.get("mac_prefix")).map(option::text);
    world.random.mac(&prefix.unwrap_or_else(|| "BC:24:11".into()))
}
