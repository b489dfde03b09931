//! SSH to nodes, containers and guests: the one type that talks, and it takes permits only.
//!
//! # How a tool uses it
//!
//! A tool describes what is to be done as a [`SshCommand`](crate::policy::SshCommand) and gives it to
//! [`Ctx::ssh`](crate::tools::Ctx::ssh); gates, protected guests, dry run, connection, host key, login and masking are
//! behind that call, as they are behind `Ctx::api` for the API.
//!
//! ```
//! use pvemcp::error::Fault;
//! use pvemcp::policy::{Effect, Place, SshCommand};
//! use pvemcp::tools::{Ctx, Reply};
//! use pvemcp::tools::context::Performed;
//!
//! async fn disk_usage(ctx: &Ctx, node: String, vmid: u32) -> Result<Reply, Fault> {
//!     let place = Place::Container { node, vmid };
//!     let command = SshCommand::run("pve_lxc_disk_usage", place, ["df", "-P"], Effect::Reads)?;
//!     match ctx.ssh(command, false).await? {
//!         Performed::Done(output) => Ok(Reply::new(output.to_json())),
//!         Performed::Dry(shown) => Ok(Reply::of(shown)),
//!     }
//! }
//! ```
//!
//! - **Arguments, not lines.** What a caller gave is one argument, whatever it holds; [`quote`] makes the line. A pipe or
//!   a redirection is a fixed script with the values as its parameters: `["sh", "-c", "ps | grep -- \"$1\"", "sh", word]`.
//! - **Secrets on stdin** ([`SshCommand::stdin`](crate::policy::SshCommand::stdin)), and named to
//!   [`hiding`](crate::policy::SshCommand::hiding) so that no output says them back.
//! - **A read that is part of a write** (which distribution is it?) is marked
//!   [`for_a_write`](crate::policy::SshCommand::for_a_write): a dry run sends no SSH command at all.
//! - **`Output`** holds what was printed as it came, for reading; `text()` and `to_json()` are for showing. A status that is
//!   not zero is no error. A container that is stopped, locked or elsewhere is a fault already.
//! - **Files**: `Ctx::upload` and `Ctx::download` by SFTP, on nodes and guests. **Terminals**: `Ctx::open_terminal`, then
//!   `ctx.cluster().ssh.terminals()`. **A test of the connection**: `Ctx::greet`.
//!
//! # Inside
//!
//! `client` keeps connections, `address` finds nodes, `connect` makes one, `hostkey` and `known_hosts` decide whom we
//! believe, `login` says who we are, `exec` runs a command, `running` ends one, `output` and `clean` make what it printed fit to be shown,
//! `container` knows what `pct` says and `sudo` what that says, `sftp` carries files, `terminal` keeps terminals.

mod address;
pub(crate) mod clean;
mod client;
mod connect;
mod container;
mod exec;
mod hostkey;
mod known_hosts;
mod login;
mod output;
pub mod quote;
mod running;
mod sftp;
mod sudo;
pub mod terminal;

pub use address::Resolver;
pub use clean::clean;
pub use client::{Greeting, Ssh};
pub use hostkey::SeenKey;
pub use output::{End, Output};
pub use sftp::{Progress, Transfer};
