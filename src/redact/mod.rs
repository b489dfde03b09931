//! What may be shown: the only way to make a tool result, an error text, a dry run or an audit line.
//!
//! Three nets, each catching what the others cannot:
//! - [`value`], [`View`], [`request`]: fields by name and path (`catalog/data/secrets.toml`);
//! - [`text`]: private keys, tokens, tickets, password hashes and credentials in URLs, wherever they stand;
//! - [`Scrubber`]: values known to be secret (our own credentials, the secret parameters of a call), even when a server
//!   says them back in another encoding. What verification says about arguments passes one too: [`secret_arguments`].

mod fields;
mod pattern;
mod request;
mod scrub;

use fields::messages;
pub use fields::{Shown, View, value};
pub use pattern::text;
pub use request::{refuse_masked, refuse_masked_command, request, secret_arguments, secret_params};
pub use scrub::Scrubber;

use crate::error::Fault;

/// What stands where a secret stood.
pub const MASK: &str = "[REDACTED]";

/// What Proxmox itself shows instead of a secret.
pub const PROXMOX_MASK: &str = "**********";

/// An error as it may be shown: message, hint and details masked. Errors are masked whatever gate is open.
pub fn fault(fault: Fault) -> Fault {
    let details = fault.details.into_iter().map(|(name, detail)| {
        let shown = if name == "errors" { messages(&detail) } else { value(None, &detail) };
        (name, shown)
    });
    Fault {
        code: fault.code,
        message: text(&fault.message).into_owned(),
        hint: fault.hint.map(|hint| text(&hint).into_owned()),
        details: details.collect(),
    }
}
