//! The caller of a method, as a permission expression asks about it.

use serde_json::{Map, Value};

use super::{AccessConfig, Denied, identity};

/// A failure: told, or just `false` where it counts as a "no".
pub(super) fn refuse(what: Option<&str>, quiet: bool) -> Result<bool, Denied> {
    if quiet { Ok(false) } else { Err(Denied::check_failed(what)) }
}

/// Who asks, with what.
pub(super) struct Caller<'a> {
    pub(super) access: &'a AccessConfig,
    pub(super) authid: &'a str,
    pub(super) params: &'a Map<String, Value>,
}

impl Caller<'_> {
    /// A parameter as Proxmox's text; `None` when absent. A list or an object has a text that fits no path.
    pub(super) fn param(&self, name: &str) -> Option<String> {
        match self.params.get(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            Value::Bool(flag) => Some(u8::from(*flag).to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::Array(_) => Some("ARRAY()".into()),
            Value::Object(_) => Some("HASH()".into()),
        }
    }

    /// Fills `{parameter}` in a template; absent, empty and `0` become `-`.
    pub(super) fn fill(&self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            let value = self.param(name).filter(|value| !value.is_empty() && value != "0");
            out.push_str(before);
            out.push_str(value.as_deref().unwrap_or("-"));
            rest = after;
        }
        out + rest
    }

    /// The parameter `userid`, which must look like one: Proxmox stumbles over it otherwise.
    pub(super) fn userid(&self) -> Result<String, Denied> {
        let userid = self.param("userid").unwrap_or_default();
        match identity::check_userid(&userid) {
            Ok(_) => Ok(userid),
            Err(message) => Err(Denied { status: 500, message }),
        }
    }

    pub(super) fn exists(&self, userid: &str, quiet: bool) -> Result<bool, Denied> {
        match self.access.has_user(userid) {
            true => Ok(true),
            false if quiet => Ok(false),
            false => Err(Denied { status: 500, message: format!("no such user ('{userid}')") }),
        }
    }

    /// All of the privileges on a normalised path (empty: none is held there), or one of them.
    pub(super) fn check(&self, path: &str, privileges: &[String], any: bool, quiet: bool) -> Result<bool, Denied> {
        let held = self.access.effective(self.authid, path);
        let missing = match any {
            true if privileges.iter().any(|privilege| held.contains_key(privilege)) => None,
            true => Some(privileges.join("|")),
            false => privileges.iter().find(|privilege| !held.contains_key(*privilege)).cloned(),
        };
        missing.map_or(Ok(true), |missing| refuse(Some(&format!("{path}, {missing}")), quiet))
    }

    /// Whether the caller may act on the user `userid`: for all groups, else for those concerned.
    pub(super) fn user_group(
        &self,
        privileges: &[String],
        groups_param: Option<&str>,
        quiet: bool,
    ) -> Result<bool, Denied> {
        let existing = groups_param != Some("create");
        let userid = self.param("userid").unwrap_or_default();
        if existing {
            let well_formed = identity::check_userid(&userid);
            match well_formed {
                Err(_) if quiet => return Ok(false),
                Err(message) => return Err(Denied { status: 500, message }),
                Ok(_) if !self.exists(&userid, quiet)? => return Ok(false),
                Ok(_) => {}
            }
        }
        if self.check("/access/groups", privileges, true, true)? {
            return Ok(true);
        }
        if groups_param.is_some() {
            let groups = self.param("groups").unwrap_or_default();
            let groups = groups.split([',', ';', ' ', '\t', '\n', '\0']).filter(|group| !group.is_empty());
            let mut none = true;
            for group in groups {
                none = false;
                self.on_group(group, privileges, false)?;
            }
            if none {
                self.check("/access/groups", privileges, true, false)?;
            }
        }
        let mut own = self.access.groups_of(&userid);
        if existing && !own.any(|group| self.on_group(group, privileges, true) == Ok(true)) {
            return refuse(None, quiet);
        }
        Ok(true)
    }

    /// A group that does not exist is refused whatever the caller holds.
    fn on_group(&self, group: &str, privileges: &[String], quiet: bool) -> Result<bool, Denied> {
        let path = format!("/access/groups/{group}");
        match self.access.groups.contains_key(group) {
            true => self.check(&path, privileges, true, quiet),
            false => refuse(Some(&format!("{path}, {}", privileges.join("|"))), quiet),
        }
    }
}
