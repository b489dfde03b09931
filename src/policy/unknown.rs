//! Arguments that our decisions do not know: an imported catalogue may have them, and what they reach nobody has judged.

use pve_catalog::{Catalog, Method, property, verify};

use super::ApiCall;

const WHY: &str = "this server's own decisions do not know it";

/// The first parameter, or key of a property string, that the embedded catalogue does not have for this method, and why
/// it counts.
pub fn argument(method: &Method, call: &ApiCall) -> Option<String> {
    let parameters = Catalog::embedded().get(method.verb, method.path)?.parameters();
    call.params().iter().find_map(|(name, value)| {
        let Some(schema) = verify::parameter(parameters, name) else { return Some(format!("'{name}': {WHY}")) };
        let keys = property::keys(schema)?;
        let given = value.split(',').filter_map(|part| part.split_once('=')).map(|(key, _)| key.trim());
        let unknown = given.into_iter().find(|key| keys.get(key).is_none())?;
        Some(format!("'{name}' with '{unknown}': {WHY}"))
    })
}
