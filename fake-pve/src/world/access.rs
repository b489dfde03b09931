//! Who may log in: `user.cfg` as [`AccessConfig`], and what it does not hold: secrets, realms, second factors.

use std::collections::{BTreeMap, BTreeSet};

use pve_catalog::permission::{AccessConfig, ROOT, Token, User};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Users, groups, roles, ACL, tokens and pools, with the secrets that belong to them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Access {
    /// Users, groups, custom roles, ACL, pools.
    pub config: AccessConfig,
    /// Salted hashes of passwords by user.
    pub passwords: BTreeMap<String, Secret>,
    /// Hashes of token secrets by full token id.
    pub tokens: BTreeMap<String, Secret>,
    /// Realms by name as their configuration, with the `password` with which they bind to their servers; `pam` and `pve`
    /// are always there and need no entry.
    pub realms: BTreeMap<String, Map<String, Value>>,
    /// Second factors by user, as the API keeps them, each with its secret part under `secret`: the `otpauth:` URL of a
    /// `totp`, the hashes of the unused codes of `recovery`.
    pub tfa: BTreeMap<String, Vec<Map<String, Value>>>,
    /// Failed second factors by user.
    pub tfa_locks: BTreeMap<String, TfaLock>,
    /// What the LDAP or AD server of a realm holds, by realm; a server that is not here cannot be reached.
    pub directories: BTreeMap<String, Directory>,
}

/// How often somebody failed at the second factor, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TfaLock {
    /// Wrong one-time passwords in a row.
    pub totp_failures: u32,
    /// Whether one-time passwords are refused until somebody unlocks them or a recovery code is used.
    pub totp_locked: bool,
    /// Wrong answers of any kind in a row.
    pub failures: u32,
    /// Until when every second factor is refused, in seconds.
    pub locked_until: Option<i64>,
}

/// The content of a directory server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Directory {
    /// Users by name without realm, with `firstname`, `lastname`, `email`, `comment` as they are synchronised.
    pub users: BTreeMap<String, Map<String, Value>>,
    /// Members (user names) of groups by name.
    pub groups: BTreeMap<String, BTreeSet<String>>,
}

/// The two realms that always exist: name, which is the type too, and comment.
const BUILTIN_REALMS: [(&str, &str); 2] =
    [("pam", "Linux PAM standard authentication"), ("pve", "Proxmox VE authentication server")];

/// A salted hash: a world that is shown or saved gives no password away.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Secret {
    salt: String,
    hash: String,
}

impl Secret {
    /// Hides a secret; the salt may be public.
    pub fn new(salt: &str, secret: &str) -> Secret {
        Secret { salt: salt.into(), hash: hash(salt, secret) }
    }

    /// A password as `crypt` stores it: `$5$salt$…`.
    pub fn crypted(hash: &str) -> Secret {
        Secret { salt: String::new(), hash: hash.into() }
    }

    /// The form of a shadow file. Only a secret that came from one is in it truly; others show their own hash.
    pub fn crypt(&self) -> String {
        if self.hash.starts_with('$') { self.hash.clone() } else { format!("$5$fake-pve${}", &self.hash[..43]) }
    }

    /// Whether this is the secret, in constant time.
    pub fn is(&self, secret: &str) -> bool {
        if self.hash.starts_with('$') {
            return super::crypt::is(&self.hash, secret);
        }
        hash(&self.salt, secret).as_bytes().ct_eq(self.hash.as_bytes()).into()
    }
}

fn hash(salt: &str, secret: &str) -> String {
    Sha256::digest(format!("{salt}:{secret}").as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Access {
    /// Adds or replaces an enabled user with a password.
    pub fn add_user(&mut self, userid: &str, password: &str) {
        let user = self.config.users.entry(userid.into()).or_insert_with(|| User { enable: true, ..User::default() });
        user.enable = true;
        self.passwords.insert(userid.into(), Secret::new(userid, password));
    }

    /// Adds or replaces a token of a user (`root@pam!ci`).
    pub fn add_token(&mut self, full_id: &str, secret: &str, privsep: bool) {
        let Some((userid, name)) = full_id.split_once('!') else { return };
        let user = self.config.users.entry(userid.into()).or_insert_with(|| User { enable: true, ..User::default() });
        user.tokens.insert(name.into(), Token { privsep, ..Token::default() });
        self.tokens.insert(full_id.into(), Secret::new(full_id, secret));
    }

    /// Gives a role to a user on a path, propagating.
    pub fn grant(&mut self, path: &str, userid: &str, role: &str) {
        let acl = self.config.acl.entry(path.into()).or_default();
        acl.users.entry(userid.into()).or_default().insert(role.into(), true);
    }

    /// Gives a role to a token on a path, propagating.
    pub fn grant_token(&mut self, path: &str, full_id: &str, role: &str) {
        let acl = self.config.acl.entry(path.into()).or_default();
        acl.tokens.entry(full_id.into()).or_default().insert(role.into(), true);
    }

    /// Whether a user may log in at a moment.
    ///
    /// # Errors
    /// The text that goes to the log: unknown, disabled, expired.
    pub fn check_user(&self, userid: &str, now: i64) -> Result<(), String> {
        let expired = |until: u64| until != 0 && now >= i64::try_from(until).unwrap_or(i64::MAX);
        match self.config.users.get(userid) {
            None if userid == ROOT => Ok(()),
            None => Err(format!("no such user ('{userid}')")),
            Some(user) if !user.enable => Err(format!("user '{userid}' is disabled")),
            Some(user) if expired(user.expire) => Err(format!("user '{userid}' access expired")),
            Some(_) => Ok(()),
        }
    }

    /// The configuration of a realm, `type` included.
    pub fn realm(&self, name: &str) -> Option<Map<String, Value>> {
        self.all_realms().remove(name)
    }

    /// Every realm by name; the built-in ones are always among them.
    pub fn all_realms(&self) -> BTreeMap<String, Map<String, Value>> {
        let mut realms = self.realms.clone();
        for (name, comment) in BUILTIN_REALMS {
            let realm = realms.entry(name.into()).or_default();
            realm.insert("type".into(), json!(name));
            realm.entry("comment").or_insert(json!(comment));
        }
        realms
    }

    /// Sets a password, where the realm keeps passwords.
    ///
    /// # Errors
    /// An unknown realm, or one whose passwords are somewhere else.
    pub fn store_password(&mut self, userid: &str, password: &str) -> Result<(), String> {
        let realm = userid.rsplit_once('@').map_or("", |(_, realm)| realm);
        let config = self.realm(realm).ok_or_else(|| format!("auth domain '{realm}' does not exist"))?;
        match config["type"].as_str().unwrap_or_default() {
            "pam" | "pve" => {
                self.passwords.insert(userid.into(), Secret::new(userid, password));
                Ok(())
            }
            other => Err(format!("can't set password on auth type '{other}'")),
        }
    }

    /// Whether this is the password of a user.
    pub fn is_password(&self, userid: &str, password: &str) -> bool {
        self.passwords.get(userid).is_some_and(|secret| secret.is(password))
    }

    /// Removes a user with password, second factors, memberships and his own rules. His tokens go with him; their rules
    /// stay until [`Access::read_again`].
    pub fn remove_user(&mut self, userid: &str) {
        self.config.users.remove(userid);
        self.passwords.retain(|owner, _| owner != userid || userid == ROOT);
        self.tfa.remove(userid);
        self.tfa_locks.remove(userid);
        self.config.groups.values_mut().for_each(|group| {
            group.users.remove(userid);
        });
        self.config.acl.values_mut().for_each(|acl| {
            acl.users.remove(userid);
        });
    }

    /// What reading the file again does before a change: rules for roles, groups, users and tokens that are gone vanish,
    /// and `root@pam` exists.
    pub fn read_again(&mut self) {
        let root = self.config.users.entry(ROOT.into()).or_insert_with(|| User { enable: true, ..User::default() });
        root.enable = true;
        let mut acl = std::mem::take(&mut self.config.acl);
        for rules in acl.values_mut() {
            rules.groups.retain(|group, _| self.config.groups.contains_key(group));
            rules.users.retain(|userid, _| self.config.has_user(userid));
            rules.tokens.retain(|full_id, _| self.config.token(full_id).is_some());
            for table in [&mut rules.groups, &mut rules.users, &mut rules.tokens] {
                table.values_mut().for_each(|grants| grants.retain(|role, _| self.config.has_role(role)));
                table.retain(|_, grants| !grants.is_empty());
            }
        }
        acl.retain(|_, rules| !rules.is_empty());
        self.config.acl = acl;
    }

    /// What writing the file does to texts: empty ones are gone, but an empty mail address before a later field is read
    /// back as an empty text.
    pub fn forget_empty(&mut self) {
        for user in self.config.users.values_mut() {
            for text in [&mut user.firstname, &mut user.lastname, &mut user.comment, &mut user.keys] {
                *text = text.take().filter(|text| !text.is_empty());
            }
            let later = user.comment.is_some() || user.keys.is_some();
            user.email = match user.email.take().filter(|email| !email.is_empty()) {
                None if later => Some(String::new()),
                email => email,
            };
        }
        let empty = |comment: &Option<String>| comment.as_deref() == Some("");
        self.config.groups.values_mut().filter(|group| empty(&group.comment)).for_each(|group| group.comment = None);
        self.config.pools.values_mut().filter(|pool| empty(&pool.comment)).for_each(|pool| pool.comment = None);
    }
}
