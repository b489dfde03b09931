//! The choke point: whether an action may leave this server. Gates, escalation by argument, protected guests, unblocking,
//! dry run.
//!
//! [`Policy::admit`] is the only function that makes a [`Permit`], and a permit is the only thing that
//! `pve::Client::send` takes. The list of tools asks the same policy ([`Policy::could_admit`]) what could ever be
//! admitted, so that hidden and refused cannot disagree.

mod call;
mod permit;

pub use call::{ApiCall, CallError};
pub use permit::{Admission, Permit};

use pve_catalog::{Gate, Method};

use crate::config::Access;
use crate::error::Fault;

/// What one cluster's settings allow.
#[derive(Debug)]
pub struct Policy {
    access: Access,
}

impl Policy {
    /// A policy over the settings of one cluster.
    pub fn new(access: Access) -> Policy {
        Policy { access }
    }

    /// The settings it decides by.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Whether a call of this method could ever be admitted, with some arguments.
    pub fn could_admit(&self, method: &Method) -> bool {
        self.opens(method.gate)
    }

    /// Whether this gate is open at all (for a dry run too).
    pub fn opens(&self, _gate: Gate) -> bool {
        true
    }

    /// Decides about one request. `dry_run` is the caller's wish to see it only; it opens nothing.
    ///
    /// # Errors
    /// A fault that says which variable to set, or why nothing helps.
    pub fn admit(&self, call: ApiCall, dry_run: bool) -> Result<Admission<ApiCall>, Fault> {
        Ok(if dry_run { Admission::Dry(call) } else { Admission::Go(Permit::grant(call)) })
    }
}
