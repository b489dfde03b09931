//! Guests protected by tag: who bears one is read before every write that names a guest, and a write whose tags were not read
//! is refused.
//!
//! Removing the tag is a write to a protected guest like any other, and so are a rollback, a restore and a move over it.

use pve_catalog::Verb;
use serde_json::Value;

use super::{ApiCall, Policy, SshCommand, protected};
use crate::error::{Code, Fault};

/// What the tags of the cluster's guests say, at the moment of one request.
#[derive(Debug, Clone, Default)]
pub struct Tagged {
    /// Guests that bear a protecting tag.
    protected: Vec<u32>,
    /// Guests whose tags were seen.
    seen: Vec<u32>,
}

impl Tagged {
    /// From the rows of `/cluster/resources`.
    pub fn of(rows: &Value, tags: &[String]) -> Tagged {
        let mut tagged = Tagged::default();
        for row in rows.as_array().into_iter().flatten() {
            let number = row.get("vmid").and_then(|vmid| vmid.as_u64().or_else(|| vmid.as_str()?.parse().ok()));
            let Some(vmid) = number.and_then(|number| u32::try_from(number).ok()) else { continue };
            let borne = row.get("tags").and_then(Value::as_str);
            // A guest of which nothing is known has no tags in the list whether it bears some or not.
            if borne.is_none() && row.get("status").and_then(Value::as_str) == Some("unknown") {
                continue;
            }
            tagged.seen.push(vmid);
            let mut borne = borne.unwrap_or_default().split([',', ';', ' ']);
            if borne.any(|tag| tags.iter().any(|protecting| protecting.eq_ignore_ascii_case(tag))) {
                tagged.protected.push(vmid);
            }
        }
        tagged
    }

    /// The first of these guests whose tags were not seen.
    fn unseen(&self, vmids: &[u32]) -> Option<u32> {
        vmids.iter().copied().find(|vmid| !self.seen.contains(vmid))
    }
}

impl Policy {
    /// Whether the tags of guests decide about this request.
    pub fn needs_tags(&self, call: &ApiCall) -> bool {
        // Whoever acts on all guests acts on any one.
        !self.access().protected_tags.is_empty() && !call.is_read() && protected::concerns_guests(call)
    }

    /// [`Policy::needs_tags`] for an action over SSH.
    pub fn needs_tags_ssh(&self, command: &SshCommand) -> bool {
        !self.access().protected_tags.is_empty() && !command.only_reads() && !command.guests().is_empty()
    }

    /// Refuses a request that touches a guest with a protecting tag, or one whose tags were not seen. Tags that were not read
    /// at all are looked for when the permit is made: [`Policy::tags_were_read`].
    pub(super) fn refuse_tagged(&self, call: &ApiCall) -> Result<(), Fault> {
        let Some(tagged) = call.tagged().filter(|_| self.needs_tags(call)) else { return Ok(()) };
        let what = format!("{} {}", call.verb(), call.path());
        if let Some(why) = protected::touches(call, &tagged.protected) {
            return Err(refused(&what, &why));
        }
        let named: Vec<u32> = protected::named(call).into_iter().filter(|vmid| !is_new(call, *vmid)).collect();
        tagged.unseen(&named).map_or(Ok(()), |vmid| Err(unreadable(&what, Some(vmid))))
    }

    /// The same for an action over SSH.
    pub(super) fn refuse_tagged_ssh(&self, command: &SshCommand) -> Result<(), Fault> {
        let Some(tagged) = command.tagged().filter(|_| self.needs_tags_ssh(command)) else { return Ok(()) };
        let guests = command.guests();
        if let Some(vmid) = guests.iter().find(|vmid| tagged.protected.contains(vmid)) {
            return Err(refused(command.name(), &format!("guest {vmid} is protected")));
        }
        tagged.unseen(&command.certain_guests()).map_or(Ok(()), |vmid| Err(unreadable(command.name(), Some(vmid))))
    }

    /// No permit without them.
    pub(super) fn tags_were_read(&self, call: &ApiCall) -> Result<(), Fault> {
        if self.needs_tags(call) && call.tagged().is_none() {
            return Err(unreadable(&format!("{} {}", call.verb(), call.path()), None));
        }
        Ok(())
    }

    /// No permit without them.
    pub(super) fn tags_were_read_ssh(&self, command: &SshCommand) -> Result<(), Fault> {
        if self.needs_tags_ssh(command) && command.tagged().is_none() {
            return Err(unreadable(command.name(), None));
        }
        Ok(())
    }
}

/// Whether the request makes the guest of this number: then it has no tags yet. Proxmox refuses a number that is taken, unless
/// it is told to restore over it.
fn is_new(call: &ApiCall, vmid: u32) -> bool {
    let is = |name: &str| call.param(name) == Some(vmid.to_string().as_str());
    let creates = call.verb() == Verb::Post
        && call.method().is_some_and(|method| matches!(method.path, "/nodes/{node}/qemu" | "/nodes/{node}/lxc"))
        && call.param("force").is_none_or(|force| force == "0");
    let named_in_path = call.all_values().any(|(name, value)| name == "vmid" && *value == vmid.to_string());
    !named_in_path && (is("newid") || (creates && is("vmid")))
}

/// What a person can do.
const HINT: &str = "PROXMOX_PROTECTED_TAGS names the tags of guests that are not to be changed; a person can change it, or the \
                    tags, without this server";

fn refused(what: &str, why: &str) -> Fault {
    Fault::new(Code::ProtectedGuest, format!("{what} is refused: {why} by its tags")).hint(HINT)
}

fn unreadable(what: &str, vmid: Option<u32>) -> Fault {
    let whose = vmid.map_or("the guests".to_string(), |vmid| format!("guest {vmid}"));
    Fault::new(Code::ProtectedGuest, format!("{what} is refused: the tags of {whose} could not be read"))
        .hint("does the guest exist, and may this account see it (VM.Audit)? PROXMOX_PROTECTED_TAGS needs its tags")
}

/// The fault for tags that could not be read at all.
pub fn not_read(why: &Fault) -> Fault {
    unreadable("the write", None).detail("because", why.message.clone())
}
