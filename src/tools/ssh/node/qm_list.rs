//! `pve_ssh_qm_list`: the VMs of a node as the node itself knows them, without the API.

use serde_json::{Value, json};

use super::super::shape::reads;
use super::NODE;
use super::guests::{list, members};
use crate::tools::{Parameter, Tool};

const NAME: &str = "pve_ssh_qm_list";
const PARAMETERS: &[Parameter] = &[NODE];

/// The tool.
pub fn tool() -> Tool {
    let summary = "The VMs of a node by qm list, also while the API is down";
    reads(NAME, summary, PARAMETERS, members, |ctx, given| {
        Box::pin(async move { list(ctx, &given, NAME, "qm", row).await })
    })
}

/// `VMID NAME STATUS MEM(MB) BOOTDISK(GB) PID`; the process is 0 while it is stopped. The heading has no number.
fn row(line: &str) -> Option<Value> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let vmid: u32 = words.first()?.parse().ok()?;
    let [name, status, memory, disk, pid] = words.get(1..)? else { return Some(json!({"vmid": vmid})) };
    let mut row = json!({
        "vmid": vmid, "name": name, "status": status, "memory_mb": memory.parse::<u64>().ok(),
        "bootdisk_gb": disk.parse::<f64>().ok(),
    });
    if let Ok(pid @ 1..) = pid.parse::<u32>() {
        row["pid"] = pid.into();
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_their_heading() {
        assert_eq!(row("      VMID NAME                 STATUS     MEM(MB)    BOOTDISK(GB) PID       "), None);
        let running = json!({
            "vmid": 100, "name": "web", "status": "running", "memory_mb": 2048, "bootdisk_gb": 32.0, "pid": 4242,
        });
        let line = "       100 web                  running    2048              32.00 4242      ";
        assert_eq!(row(line), Some(running));
    }
}
