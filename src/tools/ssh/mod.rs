//! Tools that reach nodes, containers and guests over SSH: one folder per place where they act, one file per tool.

mod container;
mod guest;
mod node;
mod refused;
mod shape;
mod terminal;

use super::Tool;

/// All of them.
pub fn all() -> Vec<Tool> {
    [node::all(), container::all(), guest::all(), terminal::all()].into_iter().flatten().collect()
}
