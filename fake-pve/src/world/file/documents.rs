//! Section configurations that show documents, storages and realms.

use serde_json::{Map, Value, json};

use crate::world::World;
use crate::world::conf::encode_text;
use crate::world::section::{self, Writer};

/// Where objects of one type of section live.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    /// The type in the header; empty when the object's own `type` says it.
    pub kind: &'static str,
    /// The collection of the documents.
    pub collection: &'static str,
}

/// A file of sections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionFile {
    /// Beneath `/etc/pve`.
    pub name: &'static str,
    pub writer: Writer,
    /// Types with a home of their own come before the home of all others.
    pub homes: &'static [Home],
}

const fn home(kind: &'static str, collection: &'static str) -> Home {
    Home { kind, collection }
}

const fn perl(name: &'static str, homes: &'static [Home]) -> SectionFile {
    SectionFile { name, writer: Writer::Perl, homes }
}

/// Headers without a type (`mapping/*.cfg`) have this one in the table.
pub(crate) const UNTYPED: &str = "-";

/// Every file whose sections are documents.
pub(crate) const SECTION_FILES: [SectionFile; 17] = [
    perl("domains.cfg", &[]),
    perl("ha/resources.cfg", &[home("", "/cluster/ha/resources")]),
    perl("ha/rules.cfg", &[home("", "/cluster/ha/rules")]),
    perl("jobs.cfg", &[home("vzdump", "/cluster/backup"), home("realm-sync", "/cluster/jobs/realm-sync")]),
    perl("mapping/directory.cfg", &[home(UNTYPED, "/cluster/mapping/dir")]),
    perl("mapping/pci.cfg", &[home(UNTYPED, "/cluster/mapping/pci")]),
    perl("mapping/usb.cfg", &[home(UNTYPED, "/cluster/mapping/usb")]),
    SectionFile {
        name: "notifications.cfg",
        writer: Writer::Rust,
        homes: &[
            home("gotify", "/cluster/notifications/endpoints/gotify"),
            home("sendmail", "/cluster/notifications/endpoints/sendmail"),
            home("smtp", "/cluster/notifications/endpoints/smtp"),
            home("webhook", "/cluster/notifications/endpoints/webhook"),
            home("matcher", "/cluster/notifications/matchers"),
        ],
    },
    perl("replication.cfg", &[home("local", "/cluster/replication")]),
    perl("sdn/controllers.cfg", &[home("", "/cluster/sdn/controllers")]),
    perl("sdn/dns.cfg", &[home("", "/cluster/sdn/dns")]),
    perl("sdn/ipams.cfg", &[home("", "/cluster/sdn/ipams")]),
    perl("sdn/vnets.cfg", &[home("vnet", "/cluster/sdn/vnets")]),
    perl("sdn/zones.cfg", &[home("", "/cluster/sdn/zones")]),
    perl("status.cfg", &[home("", "/cluster/metrics/server")]),
    perl("storage.cfg", &[]),
    perl("virtual-guest/cpu-models.conf", &[home("cpu-model", "/cluster/qemu/custom-cpu-models")]),
];

/// The text of a file of sections; `None` when it has none.
pub(super) fn sections(world: &World, path: &str) -> Option<String> {
    let (writer, sections) = match path {
        "notifications.cfg" => (Writer::Rust, notifications(world)),
        "storage.cfg" => (Writer::Perl, storages(world)),
        "domains.cfg" => (Writer::Perl, realms(world)),
        "sdn/subnets.cfg" => (Writer::Perl, subnets(world)),
        "sdn/fabrics.cfg" => (Writer::Rust, fabrics(world)),
        _ => {
            let file = SECTION_FILES.iter().find(|file| file.name == path)?;
            let of_home = |home: &Home| objects(world, file.writer, home);
            (file.writer, file.homes.iter().flat_map(of_home).collect())
        }
    };
    (!sections.is_empty() || was_written(world, path)).then(|| section::file(writer, &sections))
}

/// Whether a file exists although nothing is in it any more.
fn was_written(world: &World, path: &str) -> bool {
    let file = SECTION_FILES.iter().find(|file| file.name == path);
    file.is_some_and(|file| file.homes.iter().any(|home| world.documents.collections.contains_key(home.collection)))
}

/// Collections whose comments are encoded as those of guests are.
pub(crate) const ENCODED: [&str; 3] = ["/cluster/backup", "/cluster/jobs/realm-sync", "/cluster/replication"];

fn objects(world: &World, writer: Writer, home: &Home) -> Vec<String> {
    let one = |(id, object): &(String, Map<String, Value>)| {
        let own = object.get("type").and_then(Value::as_str).unwrap_or_default();
        let (kind, id) = match (home.kind, home.collection) {
            (UNTYPED, _) => ("", id.as_str()),
            (_, "/cluster/ha/resources") => id.split_once(':').unwrap_or((own, id)),
            ("", _) => (own, id.as_str()),
            (kind, _) => (kind, id.as_str()),
        };
        let mut shown = without(object, &["type"]);
        if ENCODED.contains(&home.collection)
            && let Some(Value::String(comment)) = shown.get_mut("comment")
        {
            *comment = encode_text(comment);
        }
        section::section(writer, kind, id, &shown)
    };
    world.documents.list(home.collection).iter().map(one).collect()
}

/// What is always there, and is written with the rest once something is changed: kind, name, comment, a key more.
const BUILT_IN: [(&str, &str, &str, &str, &str); 2] = [
    ("matcher", "default-matcher", "Route all notifications to mail-to-root", "target", "mail-to-root"),
    ("sendmail", "mail-to-root", "Send mails to root@pam's email address", "mailto-user", "root@pam"),
];

/// Keys of endpoints that stand in `priv/notifications.cfg`.
const SECRETS: [(&str, &str); 3] = [("gotify", "token"), ("smtp", "password"), ("webhook", "secret")];

fn notification_homes() -> &'static [Home] {
    SECTION_FILES.iter().find(|file| file.name == "notifications.cfg").map_or(&[], |file| file.homes)
}

/// Endpoints and matchers without their secrets.
fn notifications(world: &World) -> Vec<String> {
    let mut sections = Vec::new();
    for home in notification_homes() {
        let secret = SECRETS.iter().find(|(kind, _)| *kind == home.kind).map_or("", |(_, key)| key);
        for (id, object) in world.documents.list(home.collection) {
            let shown = without(object, &["type", "origin", secret]);
            sections.push(section::section(Writer::Rust, home.kind, id, &shown));
        }
    }
    if sections.is_empty() {
        return sections;
    }
    for (kind, id, comment, key, value) in BUILT_IN {
        let home = notification_homes().iter().find(|home| home.kind == kind);
        if home.is_some_and(|home| world.documents.get(home.collection, id).is_none()) {
            let mut object = Map::from_iter([("comment".into(), json!(comment)), (key.into(), json!(value))]);
            if kind == "matcher" {
                object.insert("mode".into(), json!("all"));
            }
            sections.push(section::section(Writer::Rust, kind, id, &object));
        }
    }
    sections
}

/// `priv/notifications.cfg`: the secret of each endpoint that has one.
pub(super) fn secrets(world: &World) -> Option<String> {
    let mut sections = Vec::new();
    for (kind, key) in SECRETS {
        let Some(home) = notification_homes().iter().find(|home| home.kind == kind) else { continue };
        for (id, object) in world.documents.list(home.collection) {
            if let Some(secret) = object.get(key) {
                let object = Map::from_iter([(key.to_string(), secret.clone())]);
                sections.push(section::section(Writer::Rust, kind, id, &object));
            }
        }
    }
    (!sections.is_empty()).then(|| section::file(Writer::Rust, &sections))
}

fn storages(world: &World) -> Vec<String> {
    let one = |(id, storage): (&String, &crate::world::Storage)| {
        section::section(Writer::Perl, &storage.plugin(), id, &without(&storage.config, &["type"]))
    };
    world.storages.iter().filter(|(_, storage)| !storage.implicit).map(one).collect()
}

/// Realms without their passwords, which stand in files of their own.
fn realms(world: &World) -> Vec<String> {
    let one = |(id, realm): (&String, &Map<String, Value>)| {
        let kind = realm.get("type").and_then(Value::as_str).unwrap_or_default();
        section::section(Writer::Perl, kind, id, &without(realm, &["type", "password"]))
    };
    world.access.realms.iter().map(one).collect()
}

/// Subnets hang on their virtual network.
fn subnets(world: &World) -> Vec<String> {
    let mut sections = Vec::new();
    for (path, subnets) in &world.documents.collections {
        let vnet = path.strip_prefix("/cluster/sdn/vnets/").and_then(|rest| rest.strip_suffix("/subnets"));
        for (id, subnet) in subnets.iter().filter(|_| vnet.is_some()) {
            let mut subnet = without(subnet, &["type", "subnet"]);
            subnet.insert("vnet".into(), json!(vnet));
            sections.push(section::section(Writer::Perl, "subnet", id, &subnet));
        }
    }
    sections
}

/// Fabrics, and the nodes that take part in each.
fn fabrics(world: &World) -> Vec<String> {
    let protocol = |object: &Map<String, Value>| {
        object.get("protocol").and_then(Value::as_str).unwrap_or("openfabric").to_string()
    };
    let mut sections = Vec::new();
    for (id, fabric) in world.documents.list("/cluster/sdn/fabrics/fabric") {
        let kind = format!("{}_fabric", protocol(fabric));
        sections.push(section::section(Writer::Rust, &kind, id, &without(fabric, &["protocol", "id"])));
        for (node, member) in world.documents.list(&format!("/cluster/sdn/fabrics/node/{id}")) {
            let kind = format!("{}_node", protocol(fabric));
            let member = without(member, &["protocol", "node_id", "fabric_id"]);
            sections.push(section::section(Writer::Rust, &kind, &format!("{id}_{node}"), &member));
        }
    }
    sections
}

fn without(object: &Map<String, Value>, keys: &[&str]) -> Map<String, Value> {
    object
        .iter()
        .filter(|(key, _)| !keys.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
