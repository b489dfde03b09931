//! Tools to guests, by their own SSH server.

mod exec;
mod reach;
mod test;

use crate::tools::Tool;

/// All of them.
pub fn all() -> Vec<Tool> {
    vec![exec::tool(), test::tool()]
}
