//! Where a cluster is, and an HTTP client that goes there: no redirects, no proxies, the certificate verified as told.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::{Url, redirect};

use super::tls;
use crate::config::Tls;
use crate::error::{Code, Fault};

/// Longest time to a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// pveproxy closes an idle connection after five seconds; a write on one that is just closing would fail.
const IDLE: Duration = Duration::from_secs(4);

/// An address that was looked at.
#[derive(Debug)]
pub(super) struct Origin {
    /// `https://host:port/`.
    pub base: Url,
    /// `host:port`, for messages.
    pub host: String,
    only_loopback: bool,
}

impl Origin {
    /// `https://host:port` and nothing else; plain HTTP on this machine only, where tests listen. `only_loopback`: no other
    /// machine may be contacted.
    ///
    /// # Errors
    /// `bad_argument` for what is no such address; `blocked` for another machine in a rehearsal.
    pub fn of(url: &str, only_loopback: bool) -> Result<Origin, Fault> {
        let base = base(url, only_loopback)?;
        let host = match (base.host_str(), base.port_or_known_default()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            _ => url.to_string(),
        };
        Ok(Origin { base, host, only_loopback })
    }

    /// A client; nothing is contacted yet.
    ///
    /// # Errors
    /// `tls_untrusted` when a CA file cannot be read.
    pub fn http(&self, tls: &Tls, timeout: Duration) -> Result<reqwest::Client, Fault> {
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::config(tls)?)
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .user_agent(concat!("pvemcp/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT.min(timeout))
            .timeout(timeout)
            .pool_idle_timeout(IDLE);
        if self.only_loopback {
            // A name is not asked for either: a hosts file may send it elsewhere.
            let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
            let port = self.base.port_or_known_default().unwrap_or_default();
            let addresses = loopback.map(|address| SocketAddr::new(address, port));
            builder = builder.resolve_to_addrs("localhost", &addresses);
        }
        builder
            .build()
            .map_err(|error| Fault::new(Code::Internal, format!("no HTTP client can be made: {}", error.without_url())))
    }
}

fn base(address: &str, only_loopback: bool) -> Result<Url, Fault> {
    let bad = |why: &str| {
        Fault::new(Code::BadArgument, format!("PROXMOX_URL is not usable: {why}"))
            .hint("it looks like https://node:8006")
    };
    let url = Url::parse(address).map_err(|error| bad(&error.to_string()))?;
    let loopback = match url.host_str() {
        None => return Err(bad("it names no host")),
        Some("localhost" | "127.0.0.1" | "[::1]") => true,
        Some(_) => false,
    };
    if only_loopback && !loopback {
        return Err(Fault::new(
            Code::Blocked,
            format!("a rehearsal contacts this machine only, not {}", url.host_str().unwrap_or_default()),
        ));
    }
    match url.scheme() {
        "https" => {}
        "http" if loopback => {}
        "http" => return Err(bad("credentials do not go over plain HTTP")),
        _ => return Err(bad("it does not begin with https://")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it holds credentials; those have variables of their own"));
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(bad("it holds more than the host and the port"));
    }
    Ok(url)
}
