//! `/cluster/qemu`: custom models of processors, and the flags that machines may switch.

use serde_json::{Map, Value, json};

use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure, lock};
use crate::world::section_type::{SectionType, forget_empty};

const PATH: &str = "/cluster/qemu/custom-cpu-models";

const TYPE: SectionType = SectionType {
    name: "cpu-model",
    required: &[],
    optional: &["flags", "guest-phys-bits", "hidden", "hv-vendor-id", "level", "phys-bits", "reported-model"],
    fixed: &[],
};

/// Flags that a machine may switch on x86.
const FLAGS: [&str; 13] = [
    "nested-virt",
    "md-clear",
    "pcid",
    "spec-ctrl",
    "ssbd",
    "ibpb",
    "virt-ssbd",
    "amd-ssbd",
    "amd-no-ssb",
    "pdpe1gb",
    "hv-tlbflush",
    "hv-evmcs",
    "aes",
];

/// `GET /cluster/qemu`.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    Ok(json!([{"name": "cpu-flags"}, {"name": "custom-cpu-models"}]).into())
}

/// `GET /cluster/qemu/cpu-flags`.
pub(crate) fn flags(call: &mut Call<'_>) -> Answer {
    if call.params.get("arch").is_some_and(|arch| arch != "x86_64") {
        return Ok(json!([]).into());
    }
    let online = call.world.nodes.iter().filter(|(_, node)| node.online);
    let nodes: Vec<&String> = online.map(|(name, _)| name).collect();
    Ok(FLAGS.iter().map(|name| json!({"name": name, "supported-on": nodes})).collect::<Vec<_>>().into())
}

/// `GET /cluster/qemu/custom-cpu-models`: those that the caller may use.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let digest = call.world.documents.digest(PATH);
    let seen = call.world.documents.list(PATH).iter().filter(|(name, _)| {
        call.may(&format!("/mapping/cpu/{name}"), &["Mapping.Audit", "Mapping.Use", "Mapping.Modify"])
    });
    Ok(Data::from(seen.map(|(name, model)| shown(name, model, &digest)).collect::<Vec<_>>()))
}

/// `GET /cluster/qemu/custom-cpu-models/{cputype}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let name = name(call);
    let model = call.world.documents.get(PATH, &name);
    let model = model.ok_or_else(|| format!("Custom cputype '{name}' not found"))?;
    Ok(shown(&name, model, &call.world.documents.digest(PATH)).into())
}

/// `POST /cluster/qemu/custom-cpu-models`: with or without `custom-` before the name.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "virtual-guest_cpu-models_conf", |call| {
        let name = name(call);
        if call.world.documents.get(PATH, &name).is_some() {
            return Err(Failure::die(format!("custom CPU model '{name}' already exists")));
        }
        let mut model = given(call);
        TYPE.check_new(&model)?;
        forget_empty(&mut model);
        call.world.documents.put(PATH, &name, model);
        Ok(Data::null())
    })
}

/// `PUT /cluster/qemu/custom-cpu-models/{cputype}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "virtual-guest_cpu-models_conf", |call| {
        let name = name(call);
        call.check_digest(&call.world.documents.digest(PATH))?;
        let given = given(call);
        TYPE.check_change(&given)?;
        let model = call.world.documents.get(PATH, &name).cloned();
        let mut model = model.ok_or_else(|| format!("custom CPU model '{name}' does not exist"))?;
        if call.params.get("delete").as_deref() == Some("") {
            return Err(Failure::die(super::EMPTY_DELETE));
        }
        TYPE.delete(&mut model, &call.params.list("delete"), &given)?;
        model.extend(given);
        forget_empty(&mut model);
        call.world.documents.put(PATH, &name, model);
        Ok(Data::null())
    })
}

/// `DELETE /cluster/qemu/custom-cpu-models/{cputype}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "virtual-guest_cpu-models_conf", |call| {
        let name = name(call);
        match call.world.documents.remove(PATH, &name) {
            Some(_) => Ok(Data::null()),
            None => Err(Failure::die(format!("custom CPU model '{name}' does not exist"))),
        }
    })
}

fn name(call: &Call<'_>) -> String {
    let given = call.params.text("cputype");
    given.strip_prefix("custom-").unwrap_or(&given).to_string()
}

fn given(call: &Call<'_>) -> Map<String, Value> {
    stored(call.method, &call.params, &["cputype", "delete", "digest"].map(str::to_string))
}

fn shown(name: &str, model: &Map<String, Value>, digest: &str) -> Value {
    let mut item = model.clone();
    item.insert("cputype".into(), json!(format!("custom-{name}")));
    item.insert("digest".into(), json!(digest));
    Value::Object(item)
}
