//! Tools on nodes.

use crate::tools::Tool;

/// All of them.
pub fn all() -> Vec<Tool> {
    Vec::new()
}
