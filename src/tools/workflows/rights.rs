//! What the account may see. Proxmox shortens many lists to that without a word: an empty list is then no answer.

use super::reading::answer;
use super::report::Report;
use crate::error::{Code, Fault};
use crate::tools::Ctx;

/// Whether the account has one of these privileges on a path.
///
/// # Errors
/// As [`Ctx::api`].
pub async fn has_any(ctx: &Ctx, path: &str, privileges: &[&str]) -> Result<bool, Fault> {
    let told = answer(ctx, "/access/permissions", &[], &[("path", path)]).await?.data;
    // A path that the account has nothing on may be left out, or be an empty list.
    let Some(own) = told.get(path).filter(|own| own.is_object()) else { return Ok(false) };
    // The value says whether it propagates; that it is there says that it is granted.
    Ok(privileges.iter().any(|privilege| own.get(*privilege).is_some()))
}

/// Notes in the report that a list is shortened, unless the account has one of these privileges on a path.
///
/// # Errors
/// What ends the whole check.
pub async fn require(
    ctx: &Ctx,
    report: &mut Report,
    section: &'static str,
    path: &str,
    privileges: &[&str],
) -> Result<bool, Fault> {
    let has = has_any(ctx, path, privileges).await;
    let Some(has) = report.taken(section, path, has)? else { return Ok(false) };
    if !has {
        let needs = privileges.join(" or ");
        let fault = Fault::new(Code::Forbidden, format!("the account sees only a part: it has no {needs} on {path}"))
            .hint("a token with privilege separation needs the role on itself as well as on its user");
        report.taken::<()>(section, path, Err(fault))?;
    }
    Ok(has)
}
