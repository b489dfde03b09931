//! How a method or a tool is told in the answers of the generic tools: its name, its gate, and whether it can be called.

use pve_catalog::json_schema::{self, Detail};
use pve_catalog::{Gate, Method, Verb};
use serde_json::{Map, Value, json};

use crate::server::Server;
use crate::tools::registry::{Standing, what_opens};
use crate::tools::{Run, Tool};

/// A method, told in a few fields: what it is and how it can be called.
pub fn of_method(server: &Server, method: &'static Method) -> Map<String, Value> {
    let mut told = Map::new();
    told.extend(method.tool.map(|tool| ("tool".to_string(), tool.into())));
    told.insert("method".into(), method.verb.word().into());
    told.insert("path".into(), method.path.into());
    told.insert("summary".into(), method.summary.into());
    told.insert("gate".into(), method.gate.word().into());
    told.insert("domain".into(), method.domains.first().copied().into());
    if method.destructive {
        told.insert("destructive".into(), true.into());
    }
    told.extend(reach(server, method));
    told
}

/// Whether it can be called now: `open`, and by what, or what would open it.
pub fn reach(server: &Server, method: &'static Method) -> Map<String, Value> {
    let mut told = Map::new();
    let open = server.policies().iter().any(|policy| policy.could_admit(method));
    told.insert("open".into(), open.into());
    let standing = method.tool.and_then(|tool| server.registry().find(tool)).map(|(_, standing)| standing);
    if !open {
        told.insert("opens_with".into(), opens_with(server, method));
    } else if standing != Some(&Standing::Offered) {
        let generic = if method.verb == Verb::Get { "pve_api_read" } else { "pve_api_write" };
        told.insert("call_with".into(), generic.into());
    }
    told
}

fn opens_with(server: &Server, method: &Method) -> Value {
    match (method.gate, method.verb) {
        (Gate::Blocked, Verb::Get) => "nothing: a blocked GET never opens".into(),
        (Gate::Blocked, verb) => {
            let listed = format!("'{verb} {}' in PROXMOX_UNBLOCK", method.path);
            let more = what_opens(&server.policies(), Gate::Elevated, verb);
            std::iter::once(listed).chain(more.into_iter().map(str::to_string)).collect::<Vec<_>>().join(" and ").into()
        }
        (gate, verb) => what_opens(&server.policies(), gate, verb).join(" and ").into(),
    }
}

/// A tool, told in a few fields.
pub fn of_tool(server: &Server, tool: &Tool, standing: &Standing) -> Map<String, Value> {
    if let Run::Generated(method) = tool.run {
        return of_method(server, method);
    }
    let told = json!({
        "tool": tool.name, "summary": tool.summary, "gate": tool.gate.word(), "domain": tool.domain(),
        "open": *standing == Standing::Offered,
    });
    let mut told = told.as_object().cloned().unwrap_or_default();
    if let Some(fault) = standing.fault(tool) {
        told.insert("opens_with".into(), fault.hint.unwrap_or(fault.message).into());
    }
    told
}

/// The arguments that every call must give; the node is found where it is left out.
pub fn required(method: &Method) -> Vec<String> {
    let schema = json_schema::input_schema(method, Detail::Compact);
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_string)).collect()
}
