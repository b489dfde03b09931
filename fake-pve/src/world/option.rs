//! Options of guests as the catalogue knows them: which there are, and how a configuration file types their values.

use std::sync::LazyLock;

use pve_catalog::{Catalog, Kind, Schema, Verb, verify};
use serde_json::Value;

use super::GuestKind;

/// Parameters of the configuration call that are no options.
const NOT_OPTIONS: [&str; 10] = [
    "background_delay",
    "cdrom",
    "delete",
    "digest",
    "force",
    "import-working-storage",
    "node",
    "revert",
    "skiplock",
    "vmid",
];

/// The parameters of `PUT …/config` of a kind.
fn parameters(kind: GuestKind) -> &'static Schema {
    static EMPTY: LazyLock<Schema> = LazyLock::new(Schema::default);
    let path = match kind {
        GuestKind::Vm => "/nodes/{node}/qemu/{vmid}/config",
        GuestKind::Lxc => "/nodes/{node}/lxc/{vmid}/config",
    };
    Catalog::embedded().get(Verb::Put, path).map_or(&EMPTY, |method| method.parameters())
}

/// The schema of an option (`scsi0`, `cores`).
pub fn schema(kind: GuestKind, key: &str) -> Option<&'static Schema> {
    verify::parameter(parameters(kind), key)
}

/// Whether there is such an option.
pub fn exists(kind: GuestKind, key: &str) -> bool {
    const INTERNAL: [&str; 5] = ["parent", "snaptime", "vmstate", "runningmachine", "runningcpu"];
    let internal = kind == GuestKind::Vm && (INTERNAL.contains(&key) || key == "meta");
    internal || (!NOT_OPTIONS.contains(&key) && schema(kind, key).is_some())
}

/// A value as a configuration file gives it back: numbers for integers and booleans, text for the rest.
///
/// # Errors
/// What Proxmox says when it writes the file: a line feed, or a value that is not of its type.
pub fn typed(kind: GuestKind, key: &str, text: &str) -> Result<Value, String> {
    if key != "description" && text.contains(['\n', '\r']) {
        return Err(match kind {
            GuestKind::Vm => format!("unable to parse value of '{key}' - property contains a line feed"),
            GuestKind::Lxc => format!("detected invalid newline inside property '{key}'"),
        });
    }
    let wrong = |word: &str| format!("unable to parse value of '{key}' - type check ('{word}') failed - got '{text}'");
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match schema(kind, key).map(|schema| schema.kind) {
        Some(Kind::Boolean) => match text.to_ascii_lowercase().as_str() {
            "1" | "on" | "yes" | "true" => Ok(1.into()),
            "0" | "off" | "no" | "false" => Ok(0.into()),
            _ => Err(wrong("boolean")),
        },
        Some(Kind::Integer) => {
            let number = text.parse::<i64>().ok().filter(|_| digits(text) || kind == GuestKind::Lxc);
            number.map(Value::from).ok_or_else(|| wrong("integer"))
        }
        Some(Kind::Number) if kind == GuestKind::Vm => {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
            if digits(whole) && digits(fraction) { Ok(text.into()) } else { Err(wrong("number")) }
        }
        _ => match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) if kind == GuestKind::Vm && key != "description" => Ok(inner.into()),
            _ => Ok(text.into()),
        },
    }
}

/// A stored value as text.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use GuestKind::{Lxc, Vm};
    use serde_json::json;

    #[test]
    fn values_get_the_types_of_a_file() {
        assert_eq!(typed(Vm, "cores", "2"), Ok(json!(2)));
        assert_eq!(typed(Vm, "memory", "2048"), Ok(json!("2048")));
        assert_eq!(typed(Lxc, "memory", "512"), Ok(json!(512)));
        assert_eq!(typed(Vm, "cpulimit", "1.5"), Ok(json!("1.5")));
        let refused = "unable to parse value of 'cores' - type check ('integer') failed - got '+1'";
        assert_eq!(typed(Vm, "cores", "+1"), Err(refused.into()));
        assert_eq!(
            typed(Vm, "args", "a\nb"),
            Err("unable to parse value of 'args' - property contains a line feed".into())
        );
        assert_eq!(typed(Lxc, "tty", "1\n"), Err("detected invalid newline inside property 'tty'".into()));
        assert!(exists(Vm, "scsi30") && !exists(Vm, "scsi31") && !exists(Vm, "delete") && exists(Lxc, "mp255"));
    }
}
