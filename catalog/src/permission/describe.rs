//! A permission in one line for people.

use super::{Check, Permission};
use crate::Method;

/// One line for people: which privileges on which path a method needs (`VM.PowerMgmt on /vms/{vmid}`); `None` where only
/// `root@pam` may, or anybody ([`Permission::of`] tells which).
pub fn describe(method: &Method) -> Option<String> {
    let permission = Permission::of(method);
    let check = permission.check.as_ref().filter(|_| !permission.anybody)?;
    Some(words(check))
}

fn words(check: &Check) -> String {
    match check {
        Check::And(parts) => parts.iter().map(within).collect::<Vec<_>>().join(" and "),
        Check::Or(parts) => either(parts),
        Check::Perm { path, privileges, any, require_param } => {
            let mut privileges = privileges.clone();
            privileges.dedup();
            let privileges = privileges.join(if *any { " or " } else { " and " });
            let required = require_param.as_ref().map(|name| format!(" (with '{name}' given)")).unwrap_or_default();
            format!("{privileges} on {path}{required}")
        }
        Check::UserSelf => "being that user".to_string(),
        Check::UserRealm(privilege) => format!("{privilege} on the user's /access/realm/{{realm}}"),
        Check::UserGroup { privileges, groups_param } => {
            let groups = match groups_param.as_deref() {
                Some("create") => "each of the groups given",
                Some(_) => "each of the groups given and one that the user is in",
                None => "a group that the user is in",
            };
            format!("{} on /access/groups or on {groups}", privileges.join(" or "))
        }
        Check::PermModify(path) => {
            format!(
                "Permissions.Modify on {path} (or Datastore.Allocate, VM.Allocate, Pool.Allocate on a storage, guest, pool)"
            )
        }
    }
}

/// Alternatives on one path are told once: `Mapping.Use or Mapping.Audit on /mapping/dir/{id}`.
fn either(parts: &[Check]) -> String {
    let on_one_path: Option<Vec<(&str, &str)>> = parts
        .iter()
        .map(|part| match part {
            Check::Perm { path, privileges, require_param: None, .. } if privileges.len() == 1 => {
                Some((path.as_str(), privileges[0].as_str()))
            }
            _ => None,
        })
        .collect();
    match on_one_path {
        Some(same) if !same.is_empty() && same.iter().all(|(path, _)| *path == same[0].0) => {
            let privileges: Vec<&str> = same.iter().map(|(_, privilege)| *privilege).collect();
            format!("{} on {}", privileges.join(" or "), same[0].0)
        }
        _ => parts.iter().map(within).collect::<Vec<_>>().join(", or "),
    }
}

/// A part of a longer line, in brackets where it could be misread.
fn within(check: &Check) -> String {
    match check {
        Check::And(_) | Check::Or(_) => format!("({})", words(check)),
        _ => words(check),
    }
}
