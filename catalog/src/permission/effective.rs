//! From access rules to privileges: what somebody may do on a path.

use std::collections::{BTreeMap, BTreeSet};

use super::{AccessConfig, Acl, Grants, NO_ACCESS, ROOT, privileges, split_token};

/// A path in the form of the access rules: one leading `/`, none at the end, none doubled. `None` where a character is
/// not allowed in one, or the text is empty.
pub fn normalise(path: &str) -> Option<String> {
    if path.is_empty() || path.contains(|c: char| !(c.is_alphanumeric() || "._-/".contains(c))) {
        return None;
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    Some(format!("/{}", parts.join("/")))
}

impl AccessConfig {
    /// The privileges of a user or token on a path, each with whether it propagates. A path that cannot be normalised
    /// holds none, except for `root@pam`; one without its leading `/` misses what is given on `/`, as in Proxmox.
    pub fn effective(&self, authid: &str, path: &str) -> BTreeMap<String, bool> {
        if authid == ROOT {
            return privileges().iter().map(|privilege| (privilege.clone(), true)).collect();
        }
        let Some((owner, _)) = split_token(authid) else {
            return self.held(self.roles_with_pools(authid, path));
        };
        match self.token(authid) {
            None => BTreeMap::new(),
            Some(token) if !token.privsep => self.effective(owner, path),
            Some(_) => {
                let owners = self.effective(owner, path);
                let own = self.held(self.roles_with_pools(authid, path));
                own.into_iter()
                    .filter_map(|(privilege, propagates)| {
                        let owner_propagates = *owners.get(&privilege)?;
                        Some((privilege, propagates && owner_propagates))
                    })
                    .collect()
            }
        }
    }

    /// The roles of a user or token on a path, pools apart, each with whether it propagates. For `root@pam`, and for a
    /// token of it without privilege separation, `Administrator`.
    pub fn roles_on(&self, authid: &str, path: &str) -> Grants {
        if authid == ROOT {
            return Grants::from([("Administrator".to_string(), true)]);
        }
        let rooted = path.starts_with('/');
        let Some(path) = normalise(path) else { return Grants::new() };
        if let Some((owner, _)) = split_token(authid) {
            match self.token(authid) {
                None => return Grants::new(),
                Some(token) if !token.privsep => return self.roles_on(owner, &path),
                Some(_) => {}
            }
        }
        let mut roles = Grants::new();
        for level in levels(&path).filter(|level| rooted || *level != "/") {
            let counted = |acl: &Acl| self.granted_at(acl, authid, level == path);
            if let Some(granted) = self.acl.get(level).map(counted).filter(|granted| !granted.is_empty()) {
                roles = granted;
            }
        }
        match roles.get(NO_ACCESS) {
            Some(propagates) => Grants::from([(NO_ACCESS.to_string(), *propagates)]),
            None => roles,
        }
    }

    /// What one level of the path gives: the token's own rule, else the user's, else those of all groups of the user.
    fn granted_at(&self, acl: &Acl, authid: &str, last: bool) -> Grants {
        let counts = |grants: &Grants| -> Grants {
            let counting = grants.iter().filter(|(_, propagates)| last || **propagates);
            counting.map(|(role, propagates)| (role.clone(), *propagates)).collect()
        };
        for own in [&acl.tokens, &acl.users] {
            if let Some(granted) = own.get(authid).map(counts).filter(|granted| !granted.is_empty()) {
                return granted;
            }
        }
        let of_groups = acl
            .groups
            .iter()
            .filter(|(name, _)| self.groups.get(*name).is_some_and(|group| group.users.contains(authid)));
        of_groups.flat_map(|(_, grants)| counts(grants)).collect()
    }

    /// The roles on a path, with what the pools of a guest or a storage add.
    fn roles_with_pools(&self, authid: &str, path: &str) -> Grants {
        let mut roles = self.roles_on(authid, path);
        if roles.contains_key(NO_ACCESS) {
            return roles;
        }
        let from_pools: BTreeSet<String> =
            self.pools_of(path).flat_map(|pool| self.roles_on(authid, &format!("/pool/{pool}")).into_keys()).collect();
        if from_pools.contains(NO_ACCESS) {
            return Grants::from([(NO_ACCESS.to_string(), false)]);
        }
        for role in from_pools {
            roles.entry(role).or_insert(false);
        }
        roles
    }

    fn pools_of<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        let vmid = path.strip_prefix("/vms/").and_then(|id| id.parse().ok());
        let storage = path.strip_prefix("/storage/");
        let holds = move |pool: &super::Pool| {
            vmid.is_some_and(|vmid| pool.vms.contains(&vmid)) || storage.is_some_and(|name| pool.storage.contains(name))
        };
        self.pools.iter().filter(move |(_, pool)| holds(pool)).map(|(name, _)| name.as_str())
    }

    fn held(&self, roles: Grants) -> BTreeMap<String, bool> {
        let mut held = BTreeMap::new();
        for (role, propagates) in roles {
            for privilege in self.role(&role).into_iter().flatten() {
                *held.entry(privilege.clone()).or_insert(false) |= propagates;
            }
        }
        held
    }
}

/// `/vms/100` -> `/`, `/vms`, `/vms/100`.
fn levels(path: &str) -> impl Iterator<Item = &str> {
    let inner = path.match_indices('/').skip(1).map(|(at, _)| &path[..at]);
    let whole = (path != "/").then_some(path);
    std::iter::once("/").chain(inner).chain(whole)
}
