//! Users, tokens, passwords and realms.

use pve_catalog::permission::AccessConfig;
use serde_json::{Map, Value, json};

use super::Import;
use super::documents::options_of;
use crate::world::access::Secret;
use crate::world::section;

impl Import<'_> {
    pub(super) fn access(&mut self) {
        let (config, warnings) = AccessConfig::parse(self.text("user.cfg"));
        self.world.access.config = config;
        self.warn("user.cfg", warnings);
        self.tokens();
        self.passwords();
        self.realms();
        self.second_factors();
    }

    fn tokens(&mut self) {
        let lines: Vec<String> = self.text("priv/token.cfg").lines().map(str::to_string).collect();
        for line in lines {
            if let Some((id, secret)) = line.trim().split_once(' ') {
                self.world.access.tokens.insert(id.into(), Secret::new(id, secret.trim()));
            }
        }
    }

    fn passwords(&mut self) {
        let lines: Vec<String> = self.text("priv/shadow.cfg").lines().map(str::to_string).collect();
        for line in lines {
            if let Some((name, hash)) = line.split_once(':') {
                let user = format!("{name}@pve");
                self.world.access.passwords.insert(user, Secret::crypted(hash.trim_end_matches(':')));
            }
        }
    }

    fn realms(&mut self) {
        let (sections, warnings) = section::read(self.text("domains.cfg"));
        self.warn("domains.cfg", warnings);
        for section in sections {
            let mut realm = options_of(&section, "/access/domains");
            realm.insert("type".into(), json!(section.kind));
            self.world.access.realms.insert(section.id, realm);
        }
    }

    /// `priv/tfa.cfg` is one JSON object; entries keep their form, their secrets under `secret`.
    fn second_factors(&mut self) {
        let text = self.text("priv/tfa.cfg");
        if text.trim().is_empty() {
            return;
        }
        let Ok(Value::Object(all)) = serde_json::from_str::<Value>(text) else {
            return self.warn("priv/tfa.cfg", ["is no JSON object".to_string()]);
        };
        for (user, kinds) in all.get("users").and_then(Value::as_object).into_iter().flatten() {
            for (kind, entries) in kinds.as_object().into_iter().flatten() {
                for entry in entries.as_array().into_iter().flatten() {
                    let mut kept: Map<String, Value> = entry["info"].as_object().cloned().unwrap_or_default();
                    kept.insert("type".into(), json!(kind));
                    kept.insert("secret".into(), entry["entry"].clone());
                    self.world.access.tfa.entry(user.clone()).or_default().push(kept);
                }
            }
        }
    }
}
