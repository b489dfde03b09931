//! What can go wrong before there is an answer: no connection, no trust, no time.

use std::error::Error;

use super::tls::Untrusted;
use crate::error::{Code, Fault};

/// An exchange that brought no answer.
#[derive(Debug)]
pub(super) struct Failure {
    /// What the caller is told.
    pub fault: Fault,
    /// Whether the connection itself failed, so that a GET may be tried again.
    pub connection: bool,
}

/// Reads an error of the HTTP client. Its own text may name the URL with its query, so none of it is used as it stands.
pub(super) fn failure(error: &reqwest::Error, host: &str, write: bool) -> Failure {
    if let Some(fault) = tls(error, host) {
        return Failure { fault, connection: false };
    }
    if error.is_timeout() && !error.is_connect() {
        let fault = Fault::new(Code::Timeout, format!("{host} did not answer in time"));
        return Failure { fault: if write { doubt(fault) } else { fault.hint(SLOW) }, connection: false };
    }
    let cause = innermost(error);
    if error.is_connect() {
        let fault = Fault::new(Code::Unreachable, format!("no connection to {host}: {cause}"))
            .hint("is the node up, is PROXMOX_URL right (port 8006), does a firewall stand in between?");
        return Failure { fault, connection: true };
    }
    let fault = Fault::new(Code::Unreachable, format!("the connection to {host} broke: {cause}"));
    Failure { fault: if write { doubt(fault) } else { fault.hint("try again") }, connection: true }
}

const SLOW: &str = "raise PROXMOX_TIMEOUT_SECONDS if the cluster is slow";

/// Nobody knows whether a write that got no answer was carried out.
fn doubt(fault: Fault) -> Fault {
    fault.hint("it may have been carried out all the same: read the state before you repeat it")
}

fn tls(error: &reqwest::Error, host: &str) -> Option<Fault> {
    let tls = causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>())?;
    if let rustls::Error::InvalidCertificate(rustls::CertificateError::Other(other)) = tls
        && let Some(untrusted) = other.0.downcast_ref::<Untrusted>()
    {
        return Some(untrusted.fault(host));
    }
    let message = format!("no TLS connection to {host}: {tls}");
    Some(Fault::new(Code::Unreachable, message).hint("does this port speak TLS 1.2 or 1.3?"))
}

/// Every error in the chain. An [`std::io::Error`] hides what it wraps from `source()`.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'e (dyn Error + 'static)| {
        let error: &'e (dyn Error + 'static) = *error;
        match error.downcast_ref::<std::io::Error>() {
            Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}

fn innermost(error: &reqwest::Error) -> String {
    let cause = causes(error).filter(|cause| !cause.is::<reqwest::Error>()).last();
    cause.map_or_else(|| "no further reason".into(), |cause| cause.to_string())
}
