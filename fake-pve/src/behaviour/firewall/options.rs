//! Options of a firewall. What was not set is not shown: its default holds.

use serde_json::{Value, json};

use super::{Scope, digest_of};
use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure};

/// Parameters that are no options.
const OTHERS: [&str; 5] = ["node", "vmid", "vnet", "delete", "digest"];

/// `GET …/options`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let mut options = Scope::of(call)?.firewall.options;
    let digest = digest_of(std::slice::from_ref(&options));
    options.insert("digest".into(), json!(digest));
    Ok(Value::Object(options).into())
}

/// `PUT …/options`.
pub(crate) fn put(call: &mut Call<'_>) -> Answer {
    let mut scope = Scope::of(call)?;
    call.check_digest(&digest_of(std::slice::from_ref(&scope.firewall.options)))?;
    for name in call.params.list("delete") {
        let known = pve_catalog::verify::parameter(call.method.parameters(), &name);
        if known.is_none() || OTHERS.contains(&name.as_str()) {
            return Err(Failure::param("delete", format!("no such option '{name}'")));
        }
        scope.firewall.options.shift_remove(&name);
    }
    let without = OTHERS.map(String::from);
    scope.firewall.options.extend(stored(call.method, &call.params, &without));
    scope.save(call);
    Ok(Data::null())
}
