//! Tools in containers, by pct on their node.

use crate::tools::Tool;

/// All of them.
pub fn all() -> Vec<Tool> {
    Vec::new()
}
