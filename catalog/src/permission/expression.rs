//! The permission expression of a method: read from the catalogue once, evaluated per request.

use serde_json::{Map, Value};

use super::caller::{Caller, refuse};
use super::effective::normalise;
use super::{AccessConfig, Denied};
use crate::Method;

/// What a method asks of its caller.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Permission {
    /// Whether Proxmox states anything. It states nothing for methods that only `root@pam` may call.
    pub stated: bool,
    /// `user: world`: without authentication. Proxmox never authenticates a request for such a method; should one come
    /// with a caller all the same, it is refused unless `check` allows it.
    pub world: bool,
    /// `user: all`: every authenticated caller.
    pub anybody: bool,
    /// The expression; of no effect where `anybody` holds.
    pub check: Option<Check>,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// All of them. The first that fails speaks, inside `Or` too.
    And(Vec<Check>),
    /// One of them.
    Or(Vec<Check>),
    /// Privileges on a path.
    Perm {
        /// Template with `{parameter}`.
        path: String,
        /// Names.
        privileges: Vec<String>,
        /// One of them is enough.
        any: bool,
        /// Fails when this parameter is absent.
        require_param: Option<String>,
    },
    /// The parameter `userid` is the caller.
    UserSelf,
    /// A privilege on the realm of the parameter `userid`.
    UserRealm(String),
    /// Privileges on the groups of users.
    UserGroup {
        /// Names; one is enough.
        privileges: Vec<String>,
        /// Asked on every group of the parameter `groups`; `create` when the user does not exist yet.
        groups_param: Option<String>,
    },
    /// May change the access rules of a path.
    PermModify(String),
}

impl Permission {
    /// The permission of a method, read once.
    pub fn of(method: &Method) -> &Permission {
        method.permission()
    }

    /// Reads the JSON text of the catalogue.
    pub(crate) fn parse(text: &str) -> Permission {
        let Ok(value) = serde_json::from_str::<Value>(text) else { return Permission::default() };
        let user = value.get("user").and_then(Value::as_str);
        Permission {
            stated: true,
            world: user == Some("world"),
            anybody: user == Some("all"),
            check: value.get("check").map(Check::from_json),
        }
    }
}

impl Check {
    /// Reads one expression; what is not understood refuses everybody.
    fn from_json(value: &Value) -> Check {
        let never = || Check::Or(Vec::new());
        let Some([head, rest @ ..]) = value.as_array().map(Vec::as_slice) else { return never() };
        let text = |at: usize| rest.get(at).and_then(Value::as_str).map(str::to_string);
        let list = |at: usize| -> Option<Vec<String>> {
            rest.get(at)?.as_array()?.iter().map(|privilege| privilege.as_str().map(str::to_string)).collect()
        };
        let option = |name: &str| {
            let at = rest.iter().position(|word| word.as_str() == Some(name))?;
            rest.get(at + 1)
        };
        let read = match head.as_str() {
            Some("and") => Some(Check::And(rest.iter().map(Check::from_json).collect())),
            Some("or") => Some(Check::Or(rest.iter().map(Check::from_json).collect())),
            Some("perm") => text(0).zip(list(1)).map(|(path, privileges)| Check::Perm {
                path,
                privileges,
                any: option("any").is_some_and(|value| value != &Value::from(0)),
                require_param: option("require_param").and_then(Value::as_str).map(str::to_string),
            }),
            Some("userid-param") => text(0).map(|what| match what.as_str() {
                "self" => Check::UserSelf,
                _ => Check::UserRealm(what),
            }),
            Some("userid-group") => list(0).map(|privileges| Check::UserGroup {
                privileges,
                groups_param: option("groups_param").and_then(Value::as_str).map(str::to_string),
            }),
            Some("perm-modify") => text(0).map(Check::PermModify),
            _ => None,
        };
        read.unwrap_or_else(never)
    }

    /// Whether the caller passes. As in Proxmox only a refusal counts: `perm-modify` on a path that is none says nothing,
    /// the method itself refuses it later.
    pub(super) fn evaluate(
        &self,
        access: &AccessConfig,
        authid: &str,
        params: &Map<String, Value>,
    ) -> Result<(), Denied> {
        self.holds(&Caller { access, authid, params }, false).map(|_| ())
    }

    /// `quiet`: directly below an `Or`, where a failure is `false` and not told. As in Proxmox, `And` forgets it, and
    /// what `UserGroup` asks about groups never heeds it: such a refusal ends the whole check.
    fn holds(&self, caller: &Caller<'_>, quiet: bool) -> Result<bool, Denied> {
        match self {
            Check::And(parts) => {
                parts.iter().try_for_each(|part| part.holds(caller, false).map(|_| ()))?;
                Ok(true)
            }
            Check::Or(parts) => {
                for part in parts {
                    if part.holds(caller, true)? {
                        return Ok(true);
                    }
                }
                refuse(None, quiet)
            }
            Check::Perm { path, privileges, any, require_param } => {
                if require_param.as_ref().is_some_and(|name| caller.param(name).is_none()) {
                    return refuse(None, quiet);
                }
                let path = normalise(&caller.fill(path));
                caller.check(path.as_deref().unwrap_or(""), privileges, *any, quiet)
            }
            Check::UserSelf => {
                let userid = caller.userid()?;
                if !caller.exists(&userid, quiet)? {
                    return Ok(false);
                }
                if caller.authid == userid { Ok(true) } else { refuse(None, quiet) }
            }
            Check::UserRealm(privilege) => {
                let userid = caller.userid()?;
                let realm = userid.rsplit('@').next().unwrap_or_default();
                caller.check(&format!("/access/realm/{realm}"), std::slice::from_ref(privilege), false, quiet)
            }
            Check::UserGroup { privileges, groups_param } => {
                caller.user_group(privileges, groups_param.as_deref(), quiet)
            }
            Check::PermModify(path) => match normalise(&caller.fill(path)) {
                Some(path) => caller.check(&path, &modifiers(&path), true, quiet),
                None => Ok(false),
            },
        }
    }
}

/// Privileges of which one is enough to change the access rules of a path.
fn modifiers(path: &str) -> Vec<String> {
    let own = [("/storage/", "Datastore.Allocate"), ("/vms/", "VM.Allocate"), ("/pool/", "Pool.Allocate")];
    let own = own.iter().find(|(prefix, _)| path.starts_with(prefix)).map(|(_, privilege)| privilege.to_string());
    std::iter::once("Permissions.Modify".to_string()).chain(own).collect()
}
