//! `user.cfg` written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::permission::{AccessConfig, ROOT, builtin_roles};

impl AccessConfig {
    /// The text of `user.cfg`, as Proxmox writes it.
    pub fn print(&self) -> String {
        let sections =
            [self.print_users(), self.print_groups(), self.print_pools(), self.print_roles(), self.print_acl()];
        sections.join("\n")
    }

    fn print_users(&self) -> String {
        let mut out = String::new();
        for (userid, user) in &self.users {
            let [first, last, comment] =
                [&user.firstname, &user.lastname, &user.comment].map(|text| encode(text.as_deref()));
            let [mail, keys] = [&user.email, &user.keys].map(|text| text.as_deref().unwrap_or_default());
            let (enable, expire) = (u8::from(user.enable), user.expire);
            line(&mut out, format_args!("user:{userid}:{enable}:{expire}:{first}:{last}:{mail}:{comment}:{keys}:"));
            for (name, token) in &user.tokens {
                let (expire, privsep) = (token.expire, u8::from(token.privsep));
                let comment = encode(token.comment.as_deref());
                line(&mut out, format_args!("token:{userid}!{name}:{expire}:{privsep}:{comment}:"));
            }
        }
        out
    }

    fn print_groups(&self) -> String {
        let mut out = String::new();
        for (name, group) in &self.groups {
            line(&mut out, format_args!("group:{name}:{}:{}:", join(&group.users), encode(group.comment.as_deref())));
        }
        out
    }

    fn print_pools(&self) -> String {
        let mut out = String::new();
        for (name, pool) in &self.pools {
            let comment = encode(pool.comment.as_deref());
            line(&mut out, format_args!("pool:{name}:{comment}:{}:{}:", join(&pool.vms), join(&pool.storage)));
        }
        out
    }

    fn print_roles(&self) -> String {
        let mut out = String::new();
        for (name, role) in self.roles.iter().filter(|(name, _)| !builtin_roles().contains_key(*name)) {
            line(&mut out, format_args!("role:{name}:{}:", join(&role.privileges)));
        }
        out
    }

    /// Those with the same roles on a path share a line; without propagation first. Rules on `root@pam` are not kept.
    fn print_acl(&self) -> String {
        let mut out = String::new();
        let mut paths: Vec<&String> = self.acl.keys().collect();
        paths.sort_by_key(|path| path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>());
        for path in paths {
            let acl = &self.acl[path];
            let groups = acl.groups.iter().map(|(name, grants)| (format!("@{name}"), grants));
            let users = acl.users.iter().filter(|(userid, _)| *userid != ROOT);
            let members = groups.chain(users.chain(&acl.tokens).map(|(name, grants)| (name.clone(), grants)));
            let mut lines: BTreeMap<(bool, String), BTreeSet<String>> = BTreeMap::new();
            for (member, grants) in members {
                for propagate in [false, true] {
                    let roles: Vec<&str> =
                        grants.iter().filter(|(_, flag)| **flag == propagate).map(|(role, _)| role.as_str()).collect();
                    if !roles.is_empty() {
                        lines.entry((propagate, roles.join(","))).or_default().insert(member.clone());
                    }
                }
            }
            for ((propagate, roles), members) in lines {
                line(&mut out, format_args!("acl:{}:{path}:{}:{roles}:", u8::from(propagate), join(&members)));
            }
        }
        out
    }
}

fn join<T: ToString>(items: &BTreeSet<T>) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string cannot fail");
}

/// `%` and two hex digits for whatever would break a line apart.
fn encode(text: Option<&str>) -> String {
    let mut out = String::new();
    for byte in text.unwrap_or_default().bytes() {
        if byte.is_ascii_control() || !byte.is_ascii() || b":%".contains(&byte) {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(byte as char);
        }
    }
    out
}
