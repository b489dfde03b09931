//! Who there is: users, tokens, groups, roles, access rules and pools, as `user.cfg` holds them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The content of `user.cfg`. Plain data: whoever holds it may change it, nothing is checked on the way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessConfig {
    /// By user ID (`alice@pve`). `root@pam` holds every privilege whether it is listed or not.
    pub users: BTreeMap<String, User>,
    /// By group name.
    pub groups: BTreeMap<String, Group>,
    /// Custom roles only; the built-in ones are [`super::builtin_roles`].
    pub roles: BTreeMap<String, Role>,
    /// By normalised path (`/`, `/vms/100`).
    pub acl: BTreeMap<String, Acl>,
    /// By full pool name; a nested pool is `parent/child`.
    pub pools: BTreeMap<String, Pool>,
}

/// One user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct User {
    /// Whether it may log in. Judged at authentication only: rules on a disabled user stay.
    pub enable: bool,
    /// Seconds since 1970 after which it may not log in; 0 for never.
    pub expire: u64,
    /// First name.
    pub firstname: Option<String>,
    /// Last name.
    pub lastname: Option<String>,
    /// Mail address; Proxmox reads an empty one back as an empty text when a later field is set.
    pub email: Option<String>,
    /// Remark.
    pub comment: Option<String>,
    /// Second-factor keys of old: `x` where the second factors are in their own file.
    pub keys: Option<String>,
    /// By token name (the part after `!`).
    pub tokens: BTreeMap<String, Token>,
}

/// One API token, without its secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Token {
    /// Whether it holds only what both its own rules and its owner's give.
    pub privsep: bool,
    /// Seconds since 1970; 0 for never.
    pub expire: u64,
    /// Remark.
    pub comment: Option<String>,
}

/// One group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Group {
    /// Members, by user ID. Proxmox keeps names of users that are gone.
    pub users: BTreeSet<String>,
    /// Remark.
    pub comment: Option<String>,
}

/// One custom role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Role {
    /// What it holds.
    pub privileges: BTreeSet<String>,
}

/// The rules on one path: who has which role, and whether it holds below as well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Acl {
    /// By group name.
    pub groups: BTreeMap<String, Grants>,
    /// By user ID.
    pub users: BTreeMap<String, Grants>,
    /// By full token ID (`alice@pve!t1`).
    pub tokens: BTreeMap<String, Grants>,
}

/// Role -> whether it propagates.
pub type Grants = BTreeMap<String, bool>;

/// One pool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// Remark.
    pub comment: Option<String>,
    /// Guests; one is in one pool at most.
    pub vms: BTreeSet<u32>,
    /// Storages; one may be in several pools.
    pub storage: BTreeSet<String>,
}

impl Acl {
    /// Whether no rule is left.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.users.is_empty() && self.tokens.is_empty()
    }
}

impl AccessConfig {
    /// Whether the user is known; `root@pam` always is.
    pub fn has_user(&self, userid: &str) -> bool {
        userid == super::ROOT || self.users.contains_key(userid)
    }

    /// The token behind a full token ID.
    pub fn token(&self, authid: &str) -> Option<&Token> {
        let (user, token) = super::split_token(authid)?;
        self.users.get(user)?.tokens.get(token)
    }

    /// The groups that a user is in.
    pub fn groups_of<'a>(&'a self, userid: &'a str) -> impl Iterator<Item = &'a str> {
        self.groups.iter().filter(|(_, group)| group.users.contains(userid)).map(|(name, _)| name.as_str())
    }

    /// The pool that a guest is in.
    pub fn pool_of(&self, vmid: u32) -> Option<&str> {
        self.pools.iter().find(|(_, pool)| pool.vms.contains(&vmid)).map(|(name, _)| name.as_str())
    }

    /// Whether the role exists, built-in or custom.
    pub fn has_role(&self, role: &str) -> bool {
        super::builtin_roles().contains_key(role) || self.roles.contains_key(role)
    }

    /// What a role holds; `None` for an unknown one.
    pub fn role(&self, role: &str) -> Option<&BTreeSet<String>> {
        super::builtin_roles().get(role).or_else(|| self.roles.get(role).map(|role| &role.privileges))
    }
}
