//! Tools to guests, by their own SSH server.

use crate::tools::Tool;

/// All of them.
pub fn all() -> Vec<Tool> {
    Vec::new()
}
