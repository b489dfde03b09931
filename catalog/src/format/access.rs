//! Access formats: users, tokens, groups, roles, realms, pools, privileges, second factors.

use super::{Check, expect};
use crate::pattern::whole;
use crate::permission::privileges;

pub(super) const FORMATS: &[(&str, Check)] = &[
    ("pve-realm", |v| expect(whole(r"[A-Za-z][A-Za-z0-9.\-_]+", v), "value does not look like a valid realm\n")),
    ("pve-userid", user),
    ("pve-tokenid", |v| {
        let fits = whole(r"[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+![A-Za-z][A-Za-z0-9.\-_]+", v);
        expect(fits, format!("value '{v}' does not look like a valid token ID\n"))
    }),
    ("pve-groupid", |v| expect(is_name(v), format!("group name '{v}' contains invalid characters\n"))),
    ("pve-roleid", |v| expect(is_name(v), format!("role name '{v}' contains invalid characters\n"))),
    ("pve-poolid", pool),
    ("pve-priv", |v| expect(privileges().iter().any(|known| known == v), format!("invalid privilege '{v}'\n"))),
    ("pve-tfa-secret", |v| {
        let fits = whole("v2-0x[0-9a-fA-F]{16,128}|v2-[A-Z2-7=]{16,128}|[A-Z2-7=]{16}|[A-Fa-f0-9]{40}", v);
        expect(fits, "unable to decode TFA secret\n")
    }),
    ("ldap-simple-attr", |v| {
        expect(whole("[a-zA-Z0-9]+", v), format!("value '{v}' does not look like a simple ldap attribute name\n"))
    }),
];

fn is_name(value: &str) -> bool {
    whole(r"[A-Za-z0-9.\-_]+", value)
}

fn user(value: &str) -> Result<(), String> {
    let value = if value == "0" { "" } else { value };
    let length = value.chars().count();
    expect(length >= 3, format!("user name '{value}' is too short\n"))?;
    expect(length <= 64, format!("user name '{value}' is too long ({length} > 64)\n"))?;
    let fits = whole(r"[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+", value);
    expect(fits, format!("value '{value}' does not look like a valid user name\n"))
}

fn pool(value: &str) -> Result<(), String> {
    let levels = value.trim_end_matches('/').split('/').count();
    expect(levels <= 3, format!("pool name '{value}' nested too deeply (max levels = 3)\n"))?;
    let fits = whole(r"[A-Za-z0-9.\-_]+(?:/[A-Za-z0-9.\-_]+){0,2}", value);
    expect(fits, format!("pool name '{value}' contains invalid characters\n"))
}
