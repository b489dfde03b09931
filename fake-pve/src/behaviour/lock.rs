//! Changes under a lock of the cluster: refused without quorum, and told with the prefix of their API.

use super::{Answer, Call, Failure};

/// Acts under the lock of a file of the cluster (`user_cfg`). A failure becomes text behind the prefix: a refusal that
/// had a status of its own is a plain 500 then, as Proxmox's locks make it.
///
/// # Errors
/// Those of `act`, and that of a cluster without quorum.
pub(crate) fn under(
    call: &mut Call<'_>,
    file: &str,
    prefix: &str,
    act: impl FnOnce(&mut Call<'_>) -> Answer,
) -> Answer {
    let result = if call.world.no_quorum {
        Err(Failure::die(format!("cfs-lock 'file-{file}' error: no quorum!")))
    } else {
        act(call)
    };
    result.map_err(|failure| Failure::die(format!("{prefix}: {}", failure.into_text())))
}

/// [`under`] for APIs that hand failures on without a prefix and keep their status.
///
/// # Errors
/// As [`under`].
pub(crate) fn plain(call: &mut Call<'_>, file: &str, act: impl FnOnce(&mut Call<'_>) -> Answer) -> Answer {
    if call.world.no_quorum {
        return Err(Failure::die(format!("cfs-lock 'file-{file}' error: no quorum!")));
    }
    act(call)
}
