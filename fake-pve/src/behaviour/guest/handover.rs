//! A volume goes from one guest to another: what was asked for, and what must hold of both guests, whatever their kind.

use crate::behaviour::call::stale_digest;
use crate::behaviour::{Call, Failure};
use crate::world::{Guest, GuestKind, World};

/// What was asked for.
#[derive(Clone)]
pub(crate) struct Handover {
    /// The guest that gives.
    pub(crate) vmid: u32,
    /// Its option.
    pub(crate) key: String,
    /// The guest that takes.
    pub(crate) target: u32,
    /// The option there.
    pub(crate) target_key: String,
    digest: Option<String>,
    target_digest: Option<String>,
}

impl Handover {
    /// Of the parameters: `name` and `target-name` are options of the guests.
    pub(crate) fn asked(call: &Call<'_>, name: &str) -> Handover {
        let given = |name: &str| call.params.get(name).filter(|digest| !digest.is_empty());
        let key = call.params.text(name);
        Handover {
            vmid: call.vmid(),
            target: call.params.int("target-vmid").and_then(|id| u32::try_from(id).ok()).unwrap_or(0),
            target_key: call.params.get(&format!("target-{name}")).unwrap_or_else(|| key.clone()),
            key,
            digest: given("digest"),
            target_digest: given("target-digest"),
        }
    }

    /// The task's subject.
    pub(crate) fn id(&self) -> String {
        format!("{}-{}>{}-{}", self.vmid, self.key, self.target, self.target_key)
    }

    /// Both guests, unlocked, no templates (`template` says so) and as the caller saw them.
    pub(crate) fn guests<'w>(
        &self,
        world: &'w World,
        kind: GuestKind,
        node: &str,
        template: &str,
    ) -> Result<(&'w Guest, &'w Guest), Failure> {
        let from = world.guest(kind, node, self.vmid)?;
        from.check_lock()?;
        let to = world.guest(kind, node, self.target)?;
        to.check_lock()?;
        if from.template() || to.template() {
            return Err(Failure::die(template));
        }
        for (digest, guest) in [(&self.digest, from), (&self.target_digest, to)] {
            if digest.as_ref().is_some_and(|digest| *digest != guest.digest()) {
                return Err(stale_digest());
            }
        }
        Ok((from, to))
    }
}
