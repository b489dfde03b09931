//! Tools on nodes: seven that read by fixed commands, five that change.

mod delete_file;
mod download;
mod exec;
mod file;
mod guests;
mod host_diagnostics;
mod journal;
mod list_dir;
mod pct_list;
mod qm_list;
mod read_file;
mod test;
mod upload;
mod write_file;

use crate::error::Fault;
use crate::policy::Place;
use crate::tools::arguments::node;
use crate::tools::{Ctx, Given, Parameter, Tool};

/// The node; without it the default one, or the only one.
const NODE: Parameter = Parameter::text("node", "");

/// All of them.
pub fn all() -> Vec<Tool> {
    vec![
        delete_file::tool(),
        download::tool(),
        exec::tool(),
        host_diagnostics::tool(),
        journal::tool(),
        list_dir::tool(),
        pct_list::tool(),
        qm_list::tool(),
        read_file::tool(),
        test::tool(),
        upload::tool(),
        write_file::tool(),
    ]
}

/// The node that is meant, by name and as a place.
///
/// # Errors
/// `bad_argument` when none is named and there are several; what looking can cause.
async fn place(ctx: &Ctx, given: &Given) -> Result<(String, Place), Fault> {
    let node = match given.text("node") {
        Some(node) => node.to_string(),
        None => node::otherwise(ctx).await?,
    };
    Ok((node.clone(), Place::Node(node)))
}
