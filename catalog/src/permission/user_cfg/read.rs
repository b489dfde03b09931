//! `user.cfg` read, record by record.

use std::collections::{BTreeMap, BTreeSet};

use crate::permission::effective::normalise;
use crate::permission::identity::{check_userid, split_token};
use crate::permission::{AccessConfig, Acl, Grants, ROOT, User, builtin_roles, privileges};

impl AccessConfig {
    /// Reads the text of `user.cfg`; what cannot be kept is skipped with a warning in Proxmox's words.
    pub fn parse(user_cfg: &str) -> (AccessConfig, Vec<String>) {
        let mut reader = Reader::default();
        for line in user_cfg.lines().filter(|line| !line.trim().is_empty()) {
            let mut fields: Vec<&str> = line.split(':').map(str::trim).collect();
            while fields.last().is_some_and(|field| field.is_empty()) {
                fields.pop();
            }
            let kind = if fields.is_empty() { "" } else { fields.remove(0) };
            match kind {
                "user" => reader.user(&fields),
                "group" => reader.group(&fields),
                "role" => reader.role(&fields),
                "acl" => reader.acl(&fields),
                "pool" => reader.pool(&fields),
                "token" => reader.token(&fields),
                _ => reader.warn(format!("ignore config line: {line}")),
            }
        }
        reader.access.users.entry(ROOT.into()).or_insert(User { enable: true, ..User::default() });
        (reader.access, reader.warnings)
    }
}

#[derive(Default)]
struct Reader {
    access: AccessConfig,
    warnings: Vec<String>,
}

impl Reader {
    fn warn(&mut self, what: String) {
        self.warnings.push(format!("user config - {what}\n"));
    }

    fn user(&mut self, fields: &[&str]) {
        let userid = at(fields, 0);
        if check_userid(userid).is_err() {
            return self.warn(format!("ignore user '{userid}' - invalid user name"));
        }
        let Some(expire) = expire(at(fields, 2)) else {
            return self.warn(format!("ignore user '{userid}' - (illegal characters in expire '{}')", at(fields, 2)));
        };
        let user = self.access.users.entry(userid.into()).or_default();
        user.enable = is_true(at(fields, 1));
        user.expire = expire;
        user.firstname = decoded(at(fields, 3));
        user.lastname = decoded(at(fields, 4));
        user.email = fields.get(5).map(|mail| mail.to_string());
        user.comment = decoded(at(fields, 6));
        user.keys = fields.get(7).map(|keys| keys.to_string());
    }

    fn group(&mut self, fields: &[&str]) {
        let name = at(fields, 0);
        if !is_word(name) {
            return self.warn(format!("ignore group '{name}' - invalid characters in group name"));
        }
        let mut users = BTreeSet::new();
        for userid in list(at(fields, 1)) {
            if !self.access.users.contains_key(userid) {
                self.warn(format!("ignore invalid group member '{userid}'"));
            }
            if check_userid(userid).is_ok() {
                users.insert(userid.to_string());
            }
        }
        let group = self.access.groups.entry(name.into()).or_default();
        group.users.append(&mut users);
        group.comment = decoded(at(fields, 2)).or(group.comment.take());
    }

    fn role(&mut self, fields: &[&str]) {
        let name = at(fields, 0);
        if !is_word(name) {
            return self.warn(format!("ignore role '{name}' - invalid characters in role name"));
        }
        let (known, unknown): (Vec<&str>, Vec<&str>) =
            list(at(fields, 1)).partition(|privilege| privileges().iter().any(|known| known == privilege));
        for privilege in unknown {
            self.warn(format!("ignore invalid privilege '{privilege}'"));
        }
        if !builtin_roles().contains_key(name) {
            let role = self.access.roles.entry(name.into()).or_default();
            role.privileges.extend(known.into_iter().map(str::to_string));
        }
    }

    fn acl(&mut self, fields: &[&str]) {
        let propagate = is_true(at(fields, 0));
        let Some(path) = normalise(at(fields, 1)) else {
            return self.warn(format!("ignore invalid path in acl '{}'", at(fields, 1)));
        };
        for role in list(at(fields, 3)) {
            if !is_word(role) {
                self.warn(format!("ignore invalid role name '{role}' in acl"));
            } else if !self.access.has_role(role) {
                self.warn(format!("ignore invalid acl role '{role}'"));
            } else {
                for member in list(at(fields, 2)) {
                    self.grant(&path, member, role, propagate);
                }
            }
        }
    }

    fn grant(&mut self, path: &str, member: &str, role: &str, propagate: bool) {
        let group = member.strip_prefix('@').filter(|group| is_word(group));
        let table: fn(&mut Acl) -> &mut BTreeMap<String, Grants> = if let Some(group) = group {
            if !self.access.groups.contains_key(group) {
                self.warn(format!("ignore invalid acl group '{group}'"));
            }
            |acl| &mut acl.groups
        } else if check_userid(member).is_ok() {
            if !self.access.users.contains_key(member) {
                self.warn(format!("ignore invalid acl member '{member}'"));
            }
            |acl| &mut acl.users
        } else if self.access.token(member).is_some() {
            |acl| &mut acl.tokens
        } else if member.contains('!') {
            return self.warn(format!("ignore invalid acl token '{member}'"));
        } else {
            return self.warn(format!("invalid user/group '{member}' in acl"));
        };
        let acl = self.access.acl.entry(path.into()).or_default();
        table(acl).entry(group.unwrap_or(member).into()).or_default().insert(role.into(), propagate);
    }

    fn pool(&mut self, fields: &[&str]) {
        let name = at(fields, 0);
        if name.is_empty() || name.split('/').count() > 3 || !name.split('/').all(is_word) {
            return self.warn(format!("ignore pool '{name}' - invalid characters in pool name"));
        }
        for (end, _) in name.match_indices('/') {
            self.access.pools.entry(name[..end].into()).or_default();
        }
        let mut pool = self.access.pools.remove(name).unwrap_or_default();
        pool.comment = decoded(at(fields, 1)).or(pool.comment);
        for text in list(at(fields, 2)) {
            match text.parse::<u32>() {
                Ok(vmid) if pool.vms.contains(&vmid) || self.access.pool_of(vmid).is_some() => {
                    self.warn(format!("ignore duplicate vmid '{vmid}' in pool '{name}'"));
                }
                Ok(vmid) => {
                    pool.vms.insert(vmid);
                }
                Err(_) => self.warn(format!("ignore invalid vmid '{text}' in pool '{name}'")),
            }
        }
        for storage in list(at(fields, 3)) {
            if is_storage(storage) {
                pool.storage.insert(storage.into());
            } else {
                self.warn(format!("ignore invalid storage '{storage}' in pool '{name}'"));
            }
        }
        self.access.pools.insert(name.into(), pool);
    }

    fn token(&mut self, fields: &[&str]) {
        let authid = at(fields, 0);
        let Some((userid, name)) = split_token(authid) else {
            return self.warn(format!("ignore invalid tokenid '{authid}'"));
        };
        let Some(expire) = expire(at(fields, 1)) else {
            return self.warn(format!("ignore token '{authid}' - (illegal characters in expire '{}')", at(fields, 1)));
        };
        let Some(user) = self.access.users.get_mut(userid) else {
            return self.warn(format!("ignore token '{authid}' - user does not exist"));
        };
        let token = user.tokens.entry(name.into()).or_default();
        token.expire = expire;
        token.privsep = is_true(at(fields, 2));
        token.comment = decoded(at(fields, 3));
    }
}

fn at<'a>(fields: &[&'a str], index: usize) -> &'a str {
    fields.get(index).copied().unwrap_or_default()
}

/// Perl's truth.
fn is_true(text: &str) -> bool {
    !matches!(text, "" | "0")
}

fn expire(text: &str) -> Option<u64> {
    if text.is_empty() { Some(0) } else { text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())? }
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ';', ' ', '\t', '\0']).filter(|part| !part.is_empty())
}

/// Names of groups, roles and the parts of a pool's name.
fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn is_storage(name: &str) -> bool {
    name.len() >= 2
        && is_word(name)
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// `None` for an empty field.
fn decoded(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| percent_decoded(text))
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let hex = text.get(index + 1..index + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match hex.filter(|_| bytes[index] == b'%') {
            Some(byte) => {
                out.push(byte);
                index += 3;
            }
            None => {
                out.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
