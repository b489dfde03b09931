//! Property strings: reading, writing, their grammar, and both ways together.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use pve_catalog::property::{grammar, keys, parse, print};
use pve_catalog::{Catalog, Kind, Properties, Schema, Verb, verify};
use serde_json::{Map, Value, json};

fn parameter(verb: Verb, path: &str, name: &str) -> &'static Properties {
    let method = Catalog::embedded().get(verb, path).expect("a method of the catalogue");
    let schema = verify::parameter(method.parameters(), name).expect("a parameter");
    keys(schema).expect("a property string")
}

fn vm(name: &str) -> &'static Properties {
    parameter(Verb::Put, "/nodes/{node}/qemu/{vmid}/config", name)
}

fn container(name: &str) -> &'static Properties {
    parameter(Verb::Put, "/nodes/{node}/lxc/{vmid}/config", name)
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

#[test]
fn aliases_and_words_are_resolved() {
    let net = parse(vm("net0"), "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=yes").unwrap();
    let expected = json!({"model": "virtio", "macaddr": "BC:24:11:00:00:01", "bridge": "vmbr0", "firewall": "1"});
    assert_eq!(Value::from(net.clone()), expected);
    assert_eq!(print(vm("net0"), &net).unwrap(), "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1");
    // F2: a bare boolean of the default key.
    assert_eq!(Value::from(parse(vm("agent"), "true").unwrap()), json!({"enabled": "1"}));
    assert_eq!(
        print(vm("agent"), &object(json!({"enabled": true, "fstrim_cloned_disks": true}))).unwrap(),
        "1,fstrim_cloned_disks=1"
    );
}

#[test]
fn printing_puts_required_keys_first_and_sizes_in_units() {
    let mount = object(json!({"volume": "local:100/a.raw", "size": 8_589_934_592u64, "mp": "/mnt", "backup": true}));
    assert_eq!(print(container("mp0"), &mount).unwrap(), "local:100/a.raw,mp=/mnt,backup=1,size=8G");
    let disk = object(json!({"file": "local:8", "size": "32G", "cache": "none"}));
    assert_eq!(print(vm("scsi0"), &disk).unwrap(), "local:8,cache=none,size=32G");
}

#[test]
fn printing_refuses_what_could_not_be_read_again() {
    let refused = |value| print(vm("scsi0"), &object(value)).unwrap_err().0;
    assert_eq!(refused(json!({"file": "local:8,cache=none"})), "illegal value with commas for file\n");
    assert!(refused(json!({"file": "local:8", "nonsense": "1"})).contains("nonsense: property is not defined"));
    assert!(refused(json!({"cache": "none"})).contains("file: property is missing"));
}

#[test]
fn errors_are_said_as_proxmox_does() {
    let said = |text| parse(vm("net0"), text).unwrap_err().0;
    assert_eq!(said("bridge=vmbr0"), "format error\nmodel: property is missing and it is not optional\n");
    assert_eq!(said("virtio,virtio"), "duplicate key in comma-separated list property: model\n");
    assert_eq!(said("virtio,bridge="), "missing key in comma-separated list property\n");
    assert_eq!(said("virtio,e1000=BC:24:11:00:00:01"), "key alias 'model' is already defined\n");
}

#[test]
fn named_objects_have_keys_too() {
    assert!(vm("ipconfig0").get("gw6").is_some());
    assert!(vm("cpu").get("flags").is_some());
    let method = Catalog::embedded().get(Verb::Put, "/nodes/{node}/qemu/{vmid}/config").unwrap();
    assert!(keys(verify::parameter(method.parameters(), "description").unwrap()).is_none());
}

#[test]
fn grammar_is_one_line_of_whole_keys() {
    assert_eq!(
        grammar(vm("ipconfig0"), 200),
        "[ip=<CIDR|dhcp|manual>][,gw=<IP>][,ip6=<CIDR|auto|dhcp|manual>][,gw6=<IP>]"
    );
    assert_eq!(grammar(container("net0"), 90), "name=<name>[,bridge=<bridge>][,ip=<CIDR|dhcp|manual>][,gw=<IP>]…");
    let disk = grammar(vm("scsi0"), 120);
    assert!(
        disk.starts_with(
            "[file=]<volume>[,size=<size>][,import-from=<volume>][,format=<raw|qcow|qed|qcow2|vmdk|cloop>]"
        ),
        "{disk}"
    );
    for most in 1..400 {
        let line = grammar(vm("net0"), most);
        assert!(line.chars().count() <= most && line.matches('[').count() == line.matches(']').count(), "{line}");
    }
}

/// Every property string of every method.
static PROPERTY_STRINGS: LazyLock<Vec<Properties>> = LazyLock::new(|| {
    let mut found = BTreeMap::new();
    for method in Catalog::embedded().methods() {
        for (_, schema) in method.parameters().properties.iter() {
            if let Some(keys) = keys(schema) {
                found.insert(grammar(keys, 10_000), keys.clone());
            }
        }
    }
    found.into_values().collect()
});

const TEXTS: [&str; 16] = [
    "local:8",
    "vmbr0",
    "10.0.0.2/24",
    "dhcp",
    "1",
    "0",
    "32G",
    "4096",
    "BC:24:11:00:00:01",
    "eth0",
    "/mnt/x",
    "abc",
    "1.5",
    "0000:01:00.0",
    "+aes;-pcid",
    "a=b",
];

/// Texts that the key alone accepts.
fn fitting(key: &str, schema: &Schema) -> Vec<String> {
    let alone = Schema { optional: true, requires: None, default_key: false, ..schema.clone() };
    let alone = Properties(vec![(key.to_string(), alone)]);
    let texts = TEXTS.iter().map(|text| text.to_string()).chain(schema.enumeration.iter().cloned());
    texts.filter(|text| parse(&alone, &format!("{key}={text}")).is_ok()).collect()
}

/// Some values of some property string.
fn values() -> impl Strategy<Value = (Properties, Map<String, Value>)> {
    proptest::sample::select(&**PROPERTY_STRINGS).prop_flat_map(|keys| {
        let own: Vec<(String, Vec<String>)> = keys
            .iter()
            .filter(|(_, schema)| schema.alias.is_none())
            .map(|(key, schema)| (key.to_string(), fitting(key, schema)))
            .filter(|(_, texts)| !texts.is_empty())
            .collect();
        let each: Vec<_> = own
            .into_iter()
            .map(|(key, texts)| {
                let needed = keys.get(&key).is_some_and(|schema| !schema.optional && schema.kind != Kind::Null);
                let weight = if needed { 0.99 } else { 0.3 };
                (Just(key), proptest::option::weighted(weight, proptest::sample::select(texts)))
            })
            .collect();
        (Just(keys), each).prop_map(|(keys, each)| {
            let given = each.into_iter().filter_map(|(key, text)| Some((key, Value::from(text?))));
            (keys, given.collect())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_is_read_again((keys, values) in values()) {
        // Keys that need each other, and formats with rules across keys, refuse some mixtures.
        let Ok(text) = print(&keys, &values) else { return Ok(()) };
        let read = parse(&keys, &text);
        prop_assert!(read.is_ok(), "{text}: {read:?}");
        let read = read.unwrap();
        prop_assert_eq!(print(&keys, &read).unwrap(), text);
        prop_assert_eq!(read.len(), values.len());
    }

    #[test]
    fn reading_anything_never_panics(at in any::<proptest::sample::Index>(), text in "(\\PC|[\n,=]){0,60}") {
        let keys = at.get(&PROPERTY_STRINGS);
        if let Ok(read) = parse(keys, &text) {
            // A bare value may hold line feeds, a printed one not.
            let Ok(printed) = print(keys, &read) else { return Ok(()) };
            let again = parse(keys, &printed).unwrap();
            prop_assert_eq!(print(keys, &again).unwrap(), printed);
        }
    }
}
