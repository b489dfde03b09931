//! Who may log in: `user.cfg` as [`AccessConfig`], and what it does not hold: secrets, realms, second factors.

use std::collections::BTreeMap;

use pve_catalog::permission::{AccessConfig, Token, User};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
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
    /// Realms by name as their configuration; `pam` and `pve` are always there and need no entry.
    pub realms: BTreeMap<String, Map<String, Value>>,
    /// Second factors by user, as the API keeps them, each with its secret part under `secret`.
    pub tfa: BTreeMap<String, Vec<Map<String, Value>>>,
}

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
            None if userid == pve_catalog::permission::ROOT => Ok(()),
            None => Err(format!("no such user ('{userid}')")),
            Some(user) if !user.enable => Err(format!("user '{userid}' is disabled")),
            Some(user) if expired(user.expire) => Err(format!("user '{userid}' access expired")),
            Some(_) => Ok(()),
        }
    }
}
