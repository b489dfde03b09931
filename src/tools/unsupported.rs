//! A method that a cluster does not have: whose version is whose, and what does it instead.

use pve_catalog::{Catalog, Verb};

use crate::error::{Code, Fault};
use crate::tools::Ctx;

/// Whether a refusal may come from a difference of versions: Proxmox answers 501 to a method that it does not know, and
/// says of a parameter that it is not in the schema.
pub fn is_one(fault: &Fault) -> bool {
    let status = |wanted: u16| fault.details.get("status").is_some_and(|status| *status == wanted);
    fault.code == Code::NotSupported && status(501)
        || fault.code == Code::BadArgument && status(400) && fault.message.contains("not defined in schema")
}

/// The refusal with both versions and with advice. The cluster is asked for its version, through the same door.
pub async fn explained(ctx: &Ctx, verb: Verb, path: &str, fault: Fault) -> Fault {
    // Asking for a version that cannot be told would be asked about again.
    let version = if path == "/version" { None } else { cluster_version(ctx).await };
    let catalog = ctx.server().catalog();
    let mut fault = fault.detail("catalogue_version", catalog.version());
    let versions = match &version {
        Some(version) => {
            fault = fault.detail("cluster_version", version.clone());
            differ(catalog, version)
        }
        None => format!("the catalogue here is of {}, the cluster may be of another version", catalog.version_words()),
    };
    let known = catalog.find(verb, path).is_some();
    if fault.code == Code::BadArgument {
        return fault.hint(versions);
    }
    match ctx.server().registry().instead_of(verb, path) {
        Some(instead) => fault.hint(format!("{instead} ({versions})")),
        None if known => fault.hint(versions),
        None => fault.hint(format!("{versions}; or the path is wrong: pve_api_search finds the right one")),
    }
}

async fn cluster_version(ctx: &Ctx) -> Option<String> {
    // Boxed: the question goes through the very function that this explains for.
    let answer = Box::pin(ctx.get("/version", &[])).await.ok()?;
    answer.data.get("version")?.as_str().map(|version| version.chars().take(32).collect())
}

/// Both versions in words.
fn differ(catalog: &Catalog, version: &str) -> String {
    let words = catalog.version_words();
    match catalog.version() {
        Some(ours) if is_of(version, ours) => format!("catalogue and cluster are both of {words} ({version})"),
        _ => format!(
            "the catalogue here is of {words}, the cluster runs {version}: 'pvemcp catalog import' reads what that \
             version has, PROXMOX_CATALOG uses it"
        ),
    }
}

/// Whether a full version (`9.2.1`) is one of a release (`9.2`).
pub fn is_of(version: &str, release: &str) -> bool {
    version.strip_prefix(release).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '~']))
}

#[cfg(test)]
mod tests {
    use super::is_of;

    #[test]
    fn a_release_is_no_mere_prefix() {
        assert!(is_of("9.2.1", "9.2") && is_of("9.2", "9.2") && is_of("9.2-1", "9.2"));
        assert!(!is_of("9.20.1", "9.2") && !is_of("8.4", "9.2"));
    }
}
