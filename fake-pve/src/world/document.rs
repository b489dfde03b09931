//! Objects of collections and option pairs that no hand-written behaviour keeps: by concrete path, then id.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha1::{Digest, Sha1};

/// Objects of one collection, in the order in which they were made.
pub type Collection = Vec<(String, Map<String, Value>)>;

/// All documents of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Documents {
    /// Objects by concrete collection path (`/cluster/ha/rules`), then id.
    pub collections: BTreeMap<String, Collection>,
    /// Options by concrete path (`/nodes/pve1/dns`).
    pub options: BTreeMap<String, Map<String, Value>>,
}

impl Documents {
    /// The objects of a collection.
    pub fn list(&self, path: &str) -> &[(String, Map<String, Value>)] {
        self.collections.get(path).map_or(&[], Vec::as_slice)
    }

    /// One object.
    pub fn get(&self, path: &str, id: &str) -> Option<&Map<String, Value>> {
        self.list(path).iter().find(|(key, _)| key == id).map(|(_, object)| object)
    }

    /// One object, to change it.
    pub fn get_mut(&mut self, path: &str, id: &str) -> Option<&mut Map<String, Value>> {
        self.collections.get_mut(path)?.iter_mut().find(|(key, _)| key == id).map(|(_, object)| object)
    }

    /// Puts an object, in the place of the one with that id or at the end.
    pub fn put(&mut self, path: &str, id: &str, object: Map<String, Value>) {
        match self.get_mut(path, id) {
            Some(found) => *found = object,
            None => self.collections.entry(path.into()).or_default().push((id.into(), object)),
        }
    }

    /// Takes an object away, and whatever is nested beneath it.
    pub fn remove(&mut self, path: &str, id: &str) -> Option<Map<String, Value>> {
        let collection = self.collections.get_mut(path)?;
        let at = collection.iter().position(|(key, _)| key == id)?;
        let (_, object) = collection.remove(at);
        self.forget_beneath(&format!("{path}/{id}"));
        Some(object)
    }

    /// Forgets collections and options at a path and beneath it.
    pub fn forget_beneath(&mut self, path: &str) {
        let beneath = |key: &str| key == path || key.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        self.collections.retain(|key, _| !beneath(key));
        self.options.retain(|key, _| !beneath(key));
    }

    /// The digest of a collection: of the file that would hold it.
    pub fn digest(&self, path: &str) -> String {
        digest(&serde_json::to_value(self.list(path)).unwrap_or_default())
    }
}

/// The digest of a configuration file: SHA-1 of its text, 40 hexadecimal digits.
pub fn digest_of(text: &str) -> String {
    Sha1::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of content that is no file.
pub fn digest(content: &Value) -> String {
    digest_of(&content.to_string())
}
