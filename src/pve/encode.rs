//! Arguments as callers write them to parameters as the wire wants them, and back where Proxmox keeps an encoded form.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use pve_catalog::{Format, Kind, Method, Schema, property};
use serde_json::{Map, Value};

use crate::error::{Code, Fault};

/// What `encodeURIComponent` leaves alone: Proxmox's format `urlencoded` accepts exactly the result.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// The values that go onto the wire under `name`: none for null, several for an array (the key is repeated). Booleans become
/// `1` and `0` whatever the caller wrote; SSH keys of a VM are encoded once.
///
/// # Errors
/// `bad_argument` when the value has no form that Proxmox could take.
pub fn wire_value(method: &Method, name: &str, value: &Value) -> Result<Vec<String>, Fault> {
    let schema = parameter(method.parameters(), name);
    if is_ssh_keys(name) {
        let keys = ssh_keys(name, value)?;
        let encoded = schema.is_some_and(is_urlencoded);
        return Ok(keys
            .map(|keys| if encoded { utf8_percent_encode(&keys, COMPONENT).to_string() } else { keys })
            .into_iter()
            .collect());
    }
    let any = Schema::default();
    let schema = schema.unwrap_or(&any);
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) if schema.kind == Kind::Array => {
            let item_schema = schema.items.as_deref().unwrap_or(&any);
            items.iter().filter(|item| !item.is_null()).map(|item| scalar(name, item_schema, item)).collect()
        }
        Value::Array(items) => {
            let texts: Result<Vec<String>, Fault> = items.iter().map(|item| scalar(name, &any, item)).collect();
            Ok(vec![texts?.join(",")])
        }
        one if schema.kind == Kind::Array => Ok(vec![scalar(name, schema.items.as_deref().unwrap_or(&any), one)?]),
        one => Ok(vec![scalar(name, schema, one)?]),
    }
}

fn scalar(name: &str, schema: &Schema, value: &Value) -> Result<String, Fault> {
    let text = match value {
        Value::Bool(true) => return Ok("1".into()),
        Value::Bool(false) => return Ok("0".into()),
        Value::Number(number) => return Ok(integral(number).unwrap_or_else(|| number.to_string())),
        Value::String(text) => text,
        Value::Object(map) => return property_string(name, schema, value, map),
        Value::Array(_) | Value::Null => {
            return Err(Fault::new(
                Code::BadArgument,
                format!("'{name}': a list or nothing cannot stand inside a list"),
            ));
        }
    };
    if schema.kind == Kind::Boolean || takes_bare_switch(schema) {
        return Ok(switch(text).map_or_else(|| text.clone(), str::to_string));
    }
    Ok(text.clone())
}

/// `2.0` -> `2`: JSON knows one kind of number, Proxmox wants digits.
fn integral(number: &serde_json::Number) -> Option<String> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() < 9e15).then(|| format!("{float:.0}"))
}

fn switch(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some("1"),
        "0" | "false" | "no" | "off" => Some("0"),
        _ => None,
    }
}

/// Whether a value without a key belongs to a boolean (`agent=1`).
fn takes_bare_switch(schema: &Schema) -> bool {
    property::keys(schema).is_some_and(|keys| keys.iter().any(|(_, key)| key.default_key && key.kind == Kind::Boolean))
}

/// `{"enabled": true, "type": "virtio"}` -> `1,type=virtio`; an object for anything else goes as JSON text.
fn property_string(name: &str, schema: &Schema, values: &Value, map: &Map<String, Value>) -> Result<String, Fault> {
    let Some(keys) = property::keys(schema) else { return Ok(values.to_string()) };
    property::print(keys, map).map_err(|error| {
        let message = error.to_string().replace('\n', "; ");
        Fault::new(Code::BadArgument, format!("'{name}': {message}")).hint("pve_api_describe shows the keys it takes")
    })
}

/// The schema of a parameter, wherever the method's parameters state it; `net0` is found under `net[n]`.
fn parameter<'s>(parameters: &'s Schema, name: &str) -> Option<&'s Schema> {
    let family = format!("{}[n]", name.trim_end_matches(|c: char| c.is_ascii_digit()));
    let own = parameters.properties.get(name).or_else(|| parameters.properties.get(&family));
    own.or_else(|| parameters.all_of.iter().chain(&parameters.one_of).find_map(|part| parameter(part, name)))
}

fn is_ssh_keys(name: &str) -> bool {
    name == "sshkeys" || name == "ssh-public-keys"
}

fn is_urlencoded(schema: &Schema) -> bool {
    schema.format == Some(Format::Named("urlencoded".into()))
}

/// Plain keys, one a line. Callers give text or a list; what is percent-encoded already (once or twice) is decoded first.
fn ssh_keys(name: &str, value: &Value) -> Result<Option<String>, Fault> {
    let given = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.clone(),
        Value::Array(keys) if keys.iter().all(Value::is_string) => {
            keys.iter().filter_map(Value::as_str).map(str::trim).collect::<Vec<_>>().join("\n")
        }
        _ => {
            return Err(Fault::new(
                Code::BadArgument,
                format!("'{name}' takes public keys as text, one a line, or a list of them"),
            ));
        }
    };
    let plain = plain_keys(&given);
    for line in plain.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        check_key(name, line)?;
    }
    Ok(Some(plain))
}

fn plain_keys(given: &str) -> String {
    let mut text = given.trim().to_string();
    // A key always holds a space between its type and its data; encoded keys hold none.
    for _ in 0..3 {
        if text.contains(' ') || !text.contains('%') {
            break;
        }
        text = percent_decode_str(&text).decode_utf8_lossy().trim().to_string();
    }
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

fn check_key(name: &str, line: &str) -> Result<(), Fault> {
    let refuse = |message: String, hint: &str| Err(Fault::new(Code::BadArgument, message).hint(hint));
    if line.contains("PRIVATE KEY") {
        return refuse(
            format!("'{name}' holds a private key"),
            "give the public half: the content of the file ending in .pub",
        );
    }
    const TYPES: [&str; 5] = ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-", "cert-authority"];
    // Options such as `from="…"` may stand before the type.
    let is_key =
        line.split_whitespace().any(|word| TYPES.iter().any(|kind| word.starts_with(kind))) && line.contains(' ');
    if is_key {
        return Ok(());
    }
    let path = line.starts_with(['/', '~', '.']) || line.ends_with(".pub") || line.contains('\\');
    if path {
        return refuse(
            format!("'{name}' takes the keys themselves, not the path of a file"),
            "read the file and give its content: ssh-ed25519 AAAA… comment",
        );
    }
    refuse(
        format!("'{name}' holds a line that is no SSH public key"),
        "one key a line, as in authorized_keys: ssh-ed25519 AAAA… comment",
    )
}

/// Decodes what Proxmox keeps encoded: the SSH keys of a VM, in its configuration and in the rows about pending changes.
pub(super) fn read(method: &Method, data: &mut Value) {
    if method.path.starts_with("/nodes/{node}/qemu/{vmid}/") {
        decode(data);
    }
}

fn decode(data: &mut Value) {
    match data {
        Value::Array(rows) => rows.iter_mut().for_each(decode),
        Value::Object(map) if map.get("key").and_then(Value::as_str) == Some("sshkeys") => {
            for name in ["value", "pending", "old", "new"] {
                map.get_mut(name).into_iter().for_each(decode_keys);
            }
        }
        Value::Object(map) => map.get_mut("sshkeys").into_iter().for_each(decode_keys),
        _ => {}
    }
}

fn decode_keys(value: &mut Value) {
    if let Value::String(text) = value {
        *text = plain_keys(text);
    }
}

#[cfg(test)]
mod tests {
    use pve_catalog::{Catalog, Method, Verb};
    use serde_json::{Value, json};

    use super::{plain_keys, wire_value};
    use crate::error::{Code, Fault};

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA+/b== me@host:1";
    const ENCODED: &str = "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIA%2B%2Fb%3D%3D%20me%40host%3A1";

    fn method(verb: Verb, path: &str) -> &'static Method {
        Catalog::embedded().get(verb, path).expect("a method of the catalogue")
    }

    fn vm(name: &str, value: Value) -> Result<Vec<String>, Fault> {
        wire_value(method(Verb::Post, "/nodes/{node}/qemu"), name, &value)
    }

    #[test]
    fn booleans_are_digits_whatever_the_caller_wrote() {
        for yes in [json!(true), json!(1), json!("1"), json!("true"), json!("True"), json!("yes"), json!("on")] {
            assert_eq!(vm("onboot", yes.clone()), Ok(vec!["1".into()]), "{yes}");
        }
        for no in [json!(false), json!(0), json!("0"), json!("FALSE"), json!("no"), json!("off")] {
            assert_eq!(vm("onboot", no.clone()), Ok(vec!["0".into()]), "{no}");
        }
        assert_eq!(vm("onboot", json!("maybe")), Ok(vec!["maybe".into()]), "verification will say so");
        assert_eq!(vm("agent", json!("true")), Ok(vec!["1".into()]), "a bare value of a boolean key");
        assert_eq!(vm("agent", json!(true)), Ok(vec!["1".into()]));
        assert_eq!(vm("name", json!("true")), Ok(vec!["true".into()]), "a name is a name");
    }

    #[test]
    fn numbers_nothing_lists_and_property_strings() {
        assert_eq!(vm("memory", json!(2048)), Ok(vec!["2048".into()]));
        assert_eq!(vm("memory", json!(2048.0)), Ok(vec!["2048".into()]));
        assert_eq!(vm("cpulimit", json!(0.5)), Ok(vec!["0.5".into()]));
        assert_eq!(vm("memory", Value::Null), Ok(vec![]), "what was not given is not sent");
        assert_eq!(vm("tags", json!(["a", "b"])), Ok(vec!["a,b".into()]));
        assert_eq!(
            vm("agent", json!({"enabled": true, "type": "virtio", "freeze-fs-on-backup": null})),
            Ok(vec!["1,type=virtio".into()])
        );
        assert_eq!(vm("agent", json!({"enabld": true})).expect_err("no such key").code, Code::BadArgument);
        assert_eq!(vm("net0", json!("virtio,bridge=vmbr0")), Ok(vec!["virtio,bridge=vmbr0".into()]));
        let exec = method(Verb::Post, "/nodes/{node}/qemu/{vmid}/agent/exec");
        assert_eq!(wire_value(exec, "command", &json!(["ls", "-l a"])), Ok(vec!["ls".into(), "-l a".into()]));
        assert_eq!(wire_value(exec, "command", &json!("ls -l a")), Ok(vec!["ls -l a".into()]), "never split");
    }

    #[test]
    fn ssh_keys_are_encoded_once() {
        let twice = ENCODED.replace('%', "%25");
        for given in [json!(KEY), json!([KEY]), json!(format!("{KEY}\n")), json!(ENCODED), json!(twice)] {
            assert_eq!(vm("sshkeys", given.clone()), Ok(vec![ENCODED.into()]), "{given}");
        }
        assert_eq!(vm("sshkeys", json!([KEY, KEY])), Ok(vec![format!("{ENCODED}%0A{ENCODED}")]));
        assert_eq!(plain_keys(ENCODED), KEY);
        let container = method(Verb::Post, "/nodes/{node}/lxc");
        let plain = wire_value(container, "ssh-public-keys", &json!([KEY, KEY]));
        assert_eq!(plain, Ok(vec![format!("{KEY}\n{KEY}")]), "containers take plain text");
    }

    #[test]
    fn what_is_no_public_key_is_refused_with_advice() {
        let cases = [
            ("~/.ssh/id_ed25519.pub", "the path of a file"),
            ("/root/.ssh/authorized_keys", "the path of a file"),
            ("C:\\Users\\me\\id_rsa.pub", "the path of a file"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----", "a private key"),
            ("hello", "no SSH public key"),
        ];
        for (given, words) in cases {
            let fault = vm("sshkeys", json!(given)).expect_err("no key");
            assert_eq!(fault.code, Code::BadArgument);
            assert!(fault.message.contains(words), "{given}: {fault}");
            assert!(fault.hint.is_some());
        }
    }
}
