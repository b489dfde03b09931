//! `pve_ssh_pct_list`: the containers of a node as the node itself knows them, without the API.

use serde_json::{Value, json};

use super::super::shape::reads;
use super::NODE;
use super::guests::{list, members};
use crate::tools::{Parameter, Tool};

const NAME: &str = "pve_ssh_pct_list";
const PARAMETERS: &[Parameter] = &[NODE];

/// The tool.
pub fn tool() -> Tool {
    let summary = "The containers of a node by pct list, also while the API is down";
    reads(NAME, summary, PARAMETERS, members, |ctx, given| {
        Box::pin(async move { list(ctx, &given, NAME, "pct", row).await })
    })
}

/// `VMID Status Lock Name`; the lock is mostly empty. The heading has no number.
fn row(line: &str) -> Option<Value> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let vmid: u32 = words.first()?.parse().ok()?;
    let mut row = json!({"vmid": vmid, "status": words.get(1)});
    match words.get(2..) {
        Some([lock, name]) => (row["lock"], row["name"]) = ((*lock).into(), (*name).into()),
        Some([name]) => row["name"] = (*name).into(),
        _ => {}
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_and_without_a_lock() {
        assert_eq!(row("VMID       Status     Lock         Name                "), None);
        assert_eq!(
            row("101        running                 db                  "),
            Some(json!({"vmid": 101, "status": "running", "name": "db"}))
        );
        let locked = json!({"vmid": 102, "status": "stopped", "lock": "backup", "name": "mail"});
        assert_eq!(row("102        stopped    backup       mail                "), Some(locked));
    }
}
