//! User IDs and token IDs: `user@realm` and `user@realm!token`.

/// Splits a full token ID into user ID and token name; `None` when it is not one.
pub fn split_token(authid: &str) -> Option<(&str, &str)> {
    let (user, token) = authid.rsplit_once('!')?;
    let mut letters = token.bytes();
    let starts = letters.next().is_some_and(|first| first.is_ascii_alphabetic());
    let fits = token.len() >= 2 && letters.all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    (starts && fits && check_userid(user).is_ok()).then_some((user, token))
}

/// Splits a user ID into name and realm.
///
/// # Errors
/// Proxmox's sentence about it.
pub fn check_userid(userid: &str) -> Result<(&str, &str), String> {
    let length = userid.chars().count();
    if length < 3 {
        return Err(format!("user name '{userid}' is too short"));
    }
    if length > 64 {
        return Err(format!("user name '{userid}' is too long ({length} > 64)"));
    }
    let parts = userid.rsplit_once('@').filter(|(name, realm)| {
        let name_fits = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == ':' || c == '/');
        name_fits && is_realm(realm)
    });
    parts.ok_or_else(|| format!("value '{userid}' does not look like a valid user name"))
}

fn is_realm(realm: &str) -> bool {
    realm.len() >= 2
        && realm.starts_with(|c: char| c.is_ascii_alphabetic())
        && realm.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}
