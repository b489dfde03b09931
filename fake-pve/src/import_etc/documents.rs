//! Section configurations, options and firewalls.

use pve_catalog::verify::parameter;
use pve_catalog::{Catalog, Kind, Verb};
use serde_json::{Map, Value, json};

use super::Import;
use crate::world::conf::decode_text;
use crate::world::file::{ENCODED, Home, SECTION_FILES, UNTYPED};
use crate::world::section::{self, Section};
use crate::world::{Storage, firewall};

/// Size of a storage whose size no file tells: one tebibyte.
const SIZE: u64 = 1 << 40;

impl Import<'_> {
    /// A storage `local` in its own place is always there.
    pub(super) fn storages(&mut self) {
        let (sections, warnings) = section::read(self.text("storage.cfg"));
        self.warn("storage.cfg", warnings);
        for section in sections {
            if let Err(text) = pve_catalog::format::check("pve-storage-id", &section.id) {
                let text = format!("line {} (skip section '{}'): {text}", section.line, section.id);
                self.warn("storage.cfg", [text]);
                continue;
            }
            let mut config = options_of(&section, "/storage");
            config.insert("type".into(), json!(section.kind));
            self.world.storages.insert(section.id, Storage { config, size: SIZE, ..Storage::default() });
        }
        let local = self.world.storages.get("local");
        let in_place =
            |local: &Storage| local.plugin() == "dir" && local.option("path").is_none_or(|path| path == "/var/lib/vz");
        if !local.is_some_and(in_place) {
            let config = json!({
                "type": "dir", "path": "/var/lib/vz", "content": "backup,images,iso,rootdir,snippets,vztmpl",
                "prune-backups": "keep-all=1",
            });
            let config = config.as_object().cloned().unwrap_or_default();
            self.world.storages.insert("local".into(), Storage { config, size: SIZE, ..Storage::default() });
        }
    }

    /// `datacenter.cfg`, `nodes/*/config`, `resolv.conf`.
    pub(super) fn options(&mut self) {
        let mut found = vec![("datacenter.cfg".to_string(), "/cluster/options".to_string())];
        found.extend(
            self.world.nodes.keys().map(|node| (format!("nodes/{node}/config"), format!("/nodes/{node}/config"))),
        );
        for (file, path) in found {
            let text = self.text(&file).to_string();
            if text.trim().is_empty() {
                continue;
            }
            let options = options_text(&text);
            self.world.documents.options.insert(path, options);
        }
        let resolver = self.text("/etc/resolv.conf").to_string();
        if !resolver.is_empty() {
            let path = format!("/nodes/{}/dns", self.world.entry);
            self.world.documents.options.insert(path, resolver_options(&resolver));
        }
        if let (Some(hosts), Some(node)) = (self.files.get("/etc/hosts"), self.world.nodes.get_mut(&self.world.entry)) {
            node.state.insert("hosts".into(), json!(hosts));
        }
    }

    pub(super) fn sections(&mut self) {
        for file in SECTION_FILES.iter().filter(|file| !file.homes.is_empty()) {
            let (sections, warnings) = section::read(self.text(file.name));
            self.warn(file.name, warnings);
            for section in sections {
                match file
                    .homes
                    .iter()
                    .find(|home| home.kind == section.kind || home.kind.is_empty() || home.kind == UNTYPED)
                {
                    Some(home) => self.object(home, &section),
                    None => self.warn(file.name, [format!("'{}: {}' is of no known type", section.kind, section.id)]),
                }
            }
        }
        self.subnets();
        self.fabrics();
    }

    fn object(&mut self, home: &Home, section: &Section) {
        let mut object = options_of(section, home.collection);
        if ENCODED.contains(&home.collection)
            && let Some(Value::String(comment)) = object.get_mut("comment")
        {
            *comment = decode_text(comment);
        }
        let of_resource = home.collection == "/cluster/ha/resources";
        let id = if of_resource { format!("{}:{}", section.kind, section.id) } else { section.id.clone() };
        if home.kind.is_empty() {
            object.insert("type".into(), json!(section.kind));
        }
        self.world.documents.put(home.collection, &id, object);
    }

    fn subnets(&mut self) {
        let (sections, warnings) = section::read(self.text("sdn/subnets.cfg"));
        self.warn("sdn/subnets.cfg", warnings);
        for section in sections {
            let mut subnet = options_of(&section, "/cluster/sdn/vnets/{vnet}/subnets");
            let vnet =
                subnet.shift_remove("vnet").and_then(|vnet| vnet.as_str().map(str::to_string)).unwrap_or_default();
            subnet.insert("type".into(), json!("subnet"));
            self.world.documents.put(&format!("/cluster/sdn/vnets/{vnet}/subnets"), &section.id, subnet);
        }
    }

    /// `openfabric_fabric: f1`, `openfabric_node: f1_pve1`.
    fn fabrics(&mut self) {
        let (sections, warnings) = section::read(self.text("sdn/fabrics.cfg"));
        self.warn("sdn/fabrics.cfg", warnings);
        for section in sections {
            let Some((protocol, kind)) = section.kind.rsplit_once('_') else { continue };
            let (path, id) = match (kind, section.id.split_once('_')) {
                ("node", Some((fabric, node))) => (format!("/cluster/sdn/fabrics/node/{fabric}"), node.to_string()),
                _ => ("/cluster/sdn/fabrics/fabric".to_string(), section.id.clone()),
            };
            let template =
                if kind == "node" { "/cluster/sdn/fabrics/node/{fabric_id}" } else { "/cluster/sdn/fabrics/fabric" };
            let mut object = options_of(&section, template);
            object.insert("protocol".into(), json!(protocol));
            self.world.documents.put(&path, &id, object);
        }
    }

    pub(super) fn firewalls(&mut self) {
        let names: Vec<String> = self.files.keys().filter(|name| name.ends_with(".fw")).cloned().collect();
        for name in names {
            let (firewall, warnings) = firewall::read(self.text(&name));
            self.warn(&name, warnings);
            self.world.firewalls.insert(name, firewall);
        }
    }
}

/// The options of a section, typed as the parameters of the call that would make it.
pub(super) fn options_of(section: &Section, template: &str) -> Map<String, Value> {
    let catalog = Catalog::embedded();
    let beneath = || {
        let mut templates = catalog.templates();
        let child = templates.find(|child| child.strip_prefix(template).is_some_and(|rest| rest.starts_with("/{")))?;
        catalog.get(Verb::Post, child)
    };
    let parameters = catalog.get(Verb::Post, template).or_else(beneath).map(pve_catalog::Method::parameters);
    let mut options = Map::new();
    for (key, value) in &section.lines {
        let schema = parameters.and_then(|parameters| parameter(parameters, key));
        let value = if value.is_empty() { "1" } else { value.as_str() };
        match schema.map(|schema| schema.kind) {
            Some(Kind::Array) => {
                let list = options.entry(key.clone()).or_insert_with(|| json!([]));
                list.as_array_mut().into_iter().for_each(|list| list.push(json!(value)));
            }
            Some(Kind::Integer | Kind::Boolean) => {
                let number = match value {
                    "true" => Ok(1),
                    "false" => Ok(0),
                    _ => value.parse::<i64>(),
                };
                options.insert(key.clone(), number.map_or_else(|_| json!(value), Value::from));
            }
            _ => drop(options.insert(key.clone(), json!(value))),
        }
    }
    options
}

/// `key: value` lines; comment lines are the description.
fn options_text(text: &str) -> Map<String, Value> {
    let (mut options, mut description) = (Map::new(), String::new());
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            description.push_str(&percent_encoding::percent_decode_str(comment).decode_utf8_lossy());
            description.push('\n');
        } else if let Some((key, value)) = line.split_once(':') {
            options.insert(key.trim().into(), json!(value.trim()));
        }
    }
    if !description.is_empty() {
        options.insert("description".into(), json!(description));
    }
    options
}

fn resolver_options(text: &str) -> Map<String, Value> {
    let mut options = Map::new();
    let mut servers = 0;
    for line in text.lines() {
        match line.split_once(char::is_whitespace) {
            Some(("search" | "domain", domain)) => drop(options.insert("search".into(), json!(domain.trim()))),
            Some(("nameserver", address)) if servers < 3 => {
                servers += 1;
                options.insert(format!("dns{servers}"), json!(address.trim()));
            }
            _ => {}
        }
    }
    options
}
