//! The tags of guests, read for one request just before it is decided about: never kept, so never stale.

use crate::error::Fault;
use crate::policy::{Admission, ApiCall, SshCommand, Tagged, not_read};
use crate::tools::Ctx;
use crate::tools::arguments::node;

impl Ctx {
    /// The request with what the tags say now, where they decide about it. Nothing is read for a request that is refused anyway.
    pub(super) async fn tagged(&self, call: ApiCall, dry_run: bool) -> Result<ApiCall, Fault> {
        let policy = &self.cluster().policy;
        if !policy.needs_tags(&call) {
            return Ok(call);
        }
        policy.consider(&call, dry_run)?;
        Ok(call.with_tags(self.tags().await?))
    }

    /// The same for an action over SSH.
    pub(super) async fn tagged_ssh(&self, command: SshCommand, dry_run: bool) -> Result<SshCommand, Fault> {
        let policy = &self.cluster().policy;
        if !policy.needs_tags_ssh(&command) {
            return Ok(command);
        }
        policy.must_ask_ssh(&command, dry_run)?;
        Ok(command.with_tags(self.tags().await?))
    }

    async fn tags(&self) -> Result<Tagged, Fault> {
        let cluster = self.cluster();
        let listing = node::listing("/cluster/resources", &[("type", "vm")]);
        // Through the same door, but not through `Ctx::api`: that is where the question about tags comes from.
        let Admission::Go(permit) = cluster.policy.admit(listing, false)? else { return Ok(Tagged::default()) };
        let answer = cluster.client.send(permit).await.map_err(|fault| not_read(&fault))?;
        Ok(Tagged::of(&answer.data, &cluster.policy.access().protected_tags))
    }
}
