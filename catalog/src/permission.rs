//! Who may do what, with Proxmox's vocabulary: privileges, roles, access rules and the permission expression of a method.
//!
//! [`AccessConfig`] is the world's side of it (the content of `user.cfg`), [`Permission`] the method's side, and
//! [`authorize`] puts both together the way Proxmox does, down to the wording of the refusal.

mod access;
mod caller;
mod describe;
mod effective;
mod expression;
mod identity;
mod user_cfg;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, Value};

pub use access::{AccessConfig, Acl, Grants, Group, Pool, Role, Token, User};
pub use describe::describe;
pub use effective::normalise;
pub use expression::{Check, Permission};
pub use identity::{check_userid, split_token};

use crate::{Catalog, Method};

/// The one user whom no permission check stops. A token of this user is stopped like anybody.
pub const ROOT: &str = "root@pam";

/// The role that takes every other one away.
pub const NO_ACCESS: &str = "NoAccess";

static BUILTIN: LazyLock<BTreeMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    let tables = Catalog::tables();
    let held = |row: &crate::tables::RoleRow| match &row.all_but {
        Some(lacks) => tables.privileges.iter().filter(|privilege| !lacks.contains(privilege)).cloned().collect(),
        None => row.privileges.iter().flatten().cloned().collect(),
    };
    tables.roles.iter().map(|(name, row)| (name.clone(), held(row))).collect()
});

/// Every privilege, sorted.
pub fn privileges() -> &'static [String] {
    &Catalog::tables().privileges
}

/// The roles that Proxmox makes itself (`special: 1`), with what they hold.
pub fn builtin_roles() -> &'static BTreeMap<String, BTreeSet<String>> {
    &BUILTIN
}

/// Who asks, and with which parameters.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// User ID or full token ID; `None` without authentication.
    pub authid: Option<&'a str>,
    /// Raw parameters, not yet verified, values of the path included.
    pub params: &'a Map<String, Value>,
}

/// A refusal: what Proxmox answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denied {
    /// 403; or 500 where the check itself stumbles over a user that does not exist.
    pub status: u16,
    /// Without Proxmox's line end: `Permission check failed (/vms/100, VM.Audit)`.
    pub message: String,
}

impl Denied {
    /// `Permission check failed`, with what is missing in brackets when that is told.
    pub fn check_failed(what: Option<&str>) -> Denied {
        let message = match what {
            Some(what) => format!("Permission check failed ({what})"),
            None => "Permission check failed".to_string(),
        };
        Denied { status: 403, message }
    }

    /// What a token is told on a method that takes none (`Method::allow_token`); `path` is the requested one.
    /// The odd line end inside is Proxmox's.
    pub fn token_not_accepted(path: &str) -> Denied {
        Denied::check_failed(Some(&format!("URI '{path}' not available with API token, need proper ticket.\n")))
    }
}

/// Decides about one request. Whether a token may call the method at all is asked before, see
/// [`Denied::token_not_accepted`].
///
/// # Errors
/// [`Denied`] with Proxmox's status and wording.
pub fn authorize(method: &Method, access: &AccessConfig, request: &Request<'_>) -> Result<(), Denied> {
    let permission = Permission::of(method);
    let Some(authid) = request.authid else {
        return if permission.world { Ok(()) } else { Err(Denied::check_failed(Some("user != null"))) };
    };
    if authid == ROOT || permission.anybody {
        return Ok(());
    }
    match &permission.check {
        Some(check) => check.evaluate(access, authid, request.params),
        None if permission.stated => Err(Denied::check_failed(None)),
        None => Err(Denied::check_failed(Some("user != root@pam"))),
    }
}
