//! The document about the API, fetched from a node for `pvemcp catalog import`.
//!
//! It is not the API: one fixed path outside `/api2`, which a node serves to anybody. That is why it needs no permit, and
//! why nothing else can be asked for in this way: an address and whom to trust are all that comes in here, no credential, no
//! path, no parameter.

use std::time::Duration;

use pve_catalog::import::MOST_BYTES;
use reqwest::{Method, Request};

use super::origin::Origin;
use super::reply::{Broken, Reply, too_large};
use super::transport;
use crate::config::Address;
use crate::error::{Code, Fault};

/// Where every node serves it.
const PATH: &str = "/pve-docs/api-viewer/apidoc.js";

/// Longest time for it.
const LONGEST: Duration = Duration::from_secs(120);

/// The document of a node, at most 32 MiB. No credentials are sent.
///
/// # Errors
/// The node does not answer, its certificate is not accepted, or it has no such document.
#[expect(clippy::disallowed_methods, reason = "a fixed path that is not the API, without credentials")]
pub async fn fetch_apidoc(address: &Address) -> Result<String, Fault> {
    let origin = Origin::of(&address.url, false)?;
    let http = origin.http(&address.tls, address.timeout.min(LONGEST))?;
    let mut url = origin.base.clone();
    url.set_path(PATH);
    let failed = |error: &reqwest::Error| transport::failure(error, &origin.host, false).fault;
    let response = http.execute(Request::new(Method::GET, url)).await.map_err(|error| failed(&error))?;
    let reply = Reply::read(response, MOST_BYTES).await.map_err(|broken| match broken {
        Broken::Transport(error) => failed(&error),
        Broken::TooLarge => too_large(MOST_BYTES).hint("this is no Proxmox node: its document has some 3 MB"),
    })?;
    if reply.status != 200 {
        let message = format!("{} has no document about its API: it answered {}", origin.host, reply.status);
        return Err(Fault::new(Code::NotFound, message)
            .hint(format!("is it a Proxmox VE node? There, {PATH} belongs to the package pve-docs"))
            .detail("status", reply.status));
    }
    String::from_utf8(reply.body)
        .map_err(|_| Fault::new(Code::Internal, format!("the document of {} is no text", origin.host)))
}
