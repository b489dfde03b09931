//! Section configurations: objects of a type, and what each type allows.
//!
//! Realms, HA resources, mappings, metric servers and their like are kept by Proxmox in files of sections. All of them
//! treat properties alike: a type has required, optional and fixed ones, nothing else may be set, and an empty value
//! is gone when the file is read again.

use serde_json::{Map, Value};

/// What one type of section may hold.
#[derive(Clone, Copy, Debug)]
pub struct SectionType {
    /// The word before the colon: `ldap`, `graphite`.
    pub name: &'static str,
    /// Properties without which there is no such section.
    pub required: &'static [&'static str],
    /// Properties that may be absent.
    pub optional: &'static [&'static str],
    /// Those among both that cannot be changed later.
    pub fixed: &'static [&'static str],
}

impl SectionType {
    /// The type of a name among several.
    pub fn named<'t>(types: &'t [SectionType], name: &str) -> Option<&'t SectionType> {
        types.iter().find(|kind| kind.name == name)
    }

    /// Whether the type knows a property.
    pub fn knows(&self, property: &str) -> bool {
        self.required.contains(&property) || self.optional.contains(&property)
    }

    /// Judges the properties of a new section.
    ///
    /// # Errors
    /// An unexpected property, a line feed in a value, a missing one; in Proxmox's words.
    pub fn check_new(&self, given: &Map<String, Value>) -> Result<(), String> {
        self.check_values(given)?;
        match self.required.iter().find(|name| !given.contains_key(**name)) {
            Some(missing) => Err(format!("missing value for required option '{missing}'")),
            None => Ok(()),
        }
    }

    /// Judges changes.
    ///
    /// # Errors
    /// As [`SectionType::check_new`], and a fixed property.
    pub fn check_change(&self, given: &Map<String, Value>) -> Result<(), String> {
        match given.keys().find(|name| self.fixed.contains(&name.as_str())) {
            Some(fixed) => Err(format!("can't change value of fixed parameter '{fixed}'")),
            None => self.check_values(given),
        }
    }

    fn check_values(&self, given: &Map<String, Value>) -> Result<(), String> {
        if let Some(name) = given.keys().find(|name| !self.knows(name)) {
            return Err(format!("unexpected property '{name}'"));
        }
        let has_line_feed = |value: &Value| value.as_str().is_some_and(|text| text.contains('\n'));
        match given.values().any(has_line_feed) {
            true => Err("property contains a line feed".into()),
            false => Ok(()),
        }
    }

    /// Takes away what a call deletes.
    ///
    /// # Errors
    /// An unknown, required or fixed property, or one that is set in the same call.
    pub fn delete(
        &self,
        section: &mut Map<String, Value>,
        names: &[String],
        new: &Map<String, Value>,
    ) -> Result<(), String> {
        for name in names {
            if !self.knows(name) {
                return Err(format!("no such option '{name}'"));
            }
            if self.required.contains(&name.as_str()) {
                return Err(format!("unable to delete required option '{name}'"));
            }
            if self.fixed.contains(&name.as_str()) {
                return Err(format!("unable to delete fixed option '{name}'"));
            }
            if new.contains_key(name) {
                return Err(format!("cannot set and delete property '{name}' at the same time!"));
            }
            section.shift_remove(name);
        }
        Ok(())
    }
}

/// Drops values that a written file would not give back: empty texts.
pub fn forget_empty(section: &mut Map<String, Value>) {
    section.retain(|_, value| value.as_str() != Some(""));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KIND: SectionType = SectionType {
        name: "ad",
        required: &["domain", "server1"],
        optional: &["port", "comment"],
        fixed: &["domain"],
    };

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn properties_are_judged_by_type() {
        let text = |result: Result<(), String>| result.expect_err("a refusal");
        assert!(KIND.check_new(&object(json!({"domain": "d", "server1": "s", "port": 1}))).is_ok());
        assert_eq!(text(KIND.check_new(&object(json!({"domain": "d", "acr": "s"})))), "unexpected property 'acr'");
        let missing = "missing value for required option 'server1'";
        assert_eq!(text(KIND.check_new(&object(json!({"domain": "d"})))), missing);
        let feed = text(KIND.check_change(&object(json!({"comment": "a\nb"}))));
        assert_eq!(feed, "property contains a line feed");
        let fixed = "can't change value of fixed parameter 'domain'";
        assert_eq!(text(KIND.check_change(&object(json!({"domain": "a"})))), fixed);
    }

    #[test]
    fn deletions_are_judged_by_type() {
        let mut section = object(json!({"domain": "d", "port": 1}));
        let none = Map::new();
        let delete = |section: &mut _, name: &str, new: &_| KIND.delete(section, &[name.to_string()], new);
        assert_eq!(delete(&mut section, "x", &none), Err("no such option 'x'".into()));
        assert_eq!(delete(&mut section, "server1", &none), Err("unable to delete required option 'server1'".into()));
        let both = "cannot set and delete property 'port' at the same time!";
        assert_eq!(delete(&mut section, "port", &object(json!({"port": 2}))), Err(both.into()));
        assert_eq!(delete(&mut section, "port", &none), Ok(()));
        assert!(!section.contains_key("port"));
    }
}
