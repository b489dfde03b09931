//! Workflows: tools that put several requests together, each a straight line over the same door as every other tool.
//!
//! What they share has a file of its own: `reading` asks for data and says it in plain forms, `guest` and `node` are rows of
//! the lists, `report` is what a check found and what it could not see, `steps` is what a provisioning did and did not.

pub mod backup_coverage;
pub mod capacity_report;
pub mod find_guest;
pub mod get_task_log_tail;
mod growth;
pub(in crate::tools) mod guest;
pub mod guest_power;
pub mod health_check;
pub mod list_guest_snapshots;
pub(in crate::tools) mod network;
mod node;
pub mod overview;
pub mod provision_lxc;
pub mod provision_vm_from_template;
pub(in crate::tools) mod reading;
mod report;
mod rights;
pub mod security_audit;
pub mod snapshot_guest;
mod steps;
mod storage;
pub mod wait_task;

use std::borrow::Cow;

use pve_catalog::Gate;
use serde_json::Value;

use crate::tools::{Hand, Parameter, Run, Tool};

/// Their toolset.
pub const DOMAINS: &[&str] = &["workflows"];

/// Highest vmid that Proxmox gives.
const MOST_VMID: i64 = 999_999_999;

/// The longest wait that can be asked for, in seconds.
const LONGEST_WAIT: i64 = crate::tools::arguments::LONGEST_WAIT as i64;

/// All of them, in the order of their names.
pub fn all() -> Vec<Tool> {
    vec![
        backup_coverage::tool(),
        capacity_report::tool(),
        find_guest::tool(),
        get_task_log_tail::tool(),
        guest_power::tool(),
        health_check::tool(),
        list_guest_snapshots::tool(),
        overview::tool(),
        provision_lxc::tool(),
        provision_vm_from_template::tool(),
        security_audit::tool(),
        snapshot_guest::tool(),
        wait_task::tool(),
    ]
}

/// A workflow that only reads.
fn reads(
    name: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
    output: fn() -> Value,
    run: crate::tools::HandFn,
) -> Tool {
    Tool {
        name,
        title: None,
        summary: Cow::Borrowed(summary),
        gate: Gate::Read,
        domains: Cow::Borrowed(DOMAINS),
        reads: true,
        destructive: false,
        idempotent: true,
        run: Run::Hand(Hand { parameters, output, run }),
    }
}

/// A workflow that changes something. Whether it is destructive is said by whoever calls this.
fn changes(
    name: &'static str,
    summary: &'static str,
    destructive: bool,
    parameters: &'static [Parameter],
    output: fn() -> Value,
    run: crate::tools::HandFn,
) -> Tool {
    Tool {
        name,
        title: None,
        summary: Cow::Borrowed(summary),
        gate: Gate::Write,
        domains: Cow::Borrowed(DOMAINS),
        reads: false,
        destructive,
        idempotent: false,
        run: Run::Hand(Hand { parameters, output, run }),
    }
}
