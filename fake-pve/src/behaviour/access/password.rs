//! `PUT /access/password`, and who must confirm his own password to change an account.

use super::{known_user, realm_of};
use crate::behaviour::{Answer, Call, Data, Failure};
use pve_catalog::permission::ROOT;

/// `PUT /access/password`.
pub(crate) fn change(call: &mut Call<'_>) -> Answer {
    let userid = call.params.text("userid");
    known_user(call, &userid)?;
    if !call.is_root() {
        let others_system_account = call.authid != userid && realm_of(&userid) == "pam";
        if others_system_account {
            return Err(Failure::new(403, "Permission check failed"));
        }
        confirm(call, &userid, "confirmation-password")?;
    }
    let password = call.params.text("password");
    call.world.access.store_password(&userid, &password)?;
    Ok(Data::null())
}

/// Everybody but root must give his own password to change an account; nobody else changes root's.
pub(super) fn confirm(call: &Call<'_>, userid: &str, parameter: &str) -> Result<(), Failure> {
    known_user(call, userid)?;
    if call.is_root() {
        return Ok(());
    }
    if userid == ROOT {
        return Err(Failure::new(403, "Permission check failed"));
    }
    let Some(password) = call.params.get(parameter) else {
        return Err(Failure::param(parameter, "password is required to modify user"));
    };
    match call.world.access.is_password(&call.authid, &password) {
        true => Ok(()),
        false => Err(Failure::die("invalid credentials")),
    }
}
