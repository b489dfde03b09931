//! HTTP to a Proxmox cluster: the one type that talks, and it takes permits only.
//!
//! `client` sends, `auth` is who we are, `origin` where the cluster is, `tls` whom we trust, `reply` and `envelope` read
//! answers, `refusal` and `transport` say what went wrong, `encode` turns arguments into parameters, `task` waits for
//! tasks. `apidoc` fetches the document about the API, which is not the API.

mod apidoc;
mod auth;
mod client;
mod clock;
mod encode;
mod envelope;
mod files;
mod origin;
mod refusal;
mod reply;
pub mod task;
mod tls;
mod transport;

pub use apidoc::fetch_apidoc;
pub use client::Client;
pub use clock::{Clock, WallClock};
pub use encode::wire_value;
pub use envelope::Answer;
pub use files::Source;
pub use tls::fingerprint;
