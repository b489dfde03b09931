//! What calls do to the world.
//!
//! # Adding a behaviour
//! 1. Write `pub(crate) fn name(call: &mut Call<'_>) -> Answer` in the file of its API noun under `behaviour/`
//!    (`behaviour/qemu/config.rs` for `/nodes/{node}/qemu/{vmid}/config`), and declare the file below.
//! 2. Register it with one line in [`table`], which is sorted by path, then verb, as the catalogue is. A test checks
//!    the order, that each key exists in the catalogue, and that none is there twice.
//! 3. Test it through HTTPS in `tests/it`, in the smallest world that shows it.
//!
//! # What holds when a behaviour runs
//! The caller is authenticated and has passed the method's permission expression; the node is known and online; the
//! parameters are verified, unknown ones were refused. Values are as the client gave them (text from forms, JSON types
//! from JSON bodies): read them with [`Params`] only (`text`, `get`, `int`, `flag`, `list`). Defaults are *not* filled
//! in. The clock stands still during a call, and every task that is due has been finished before.
//!
//! # What it may do
//! - Read and change `call.world`, plain data (see [`crate::world`]). World functions answer `Result<_, String>`, and `?`
//!   turns such a text into what Proxmox makes of `die`: status 500 with that message.
//! - Refuse: `Err(Failure::die("…"))` (500), `Failure::param("vmid", "…")` (400 with per-parameter errors),
//!   `Failure::denied("/vms/100, VM.Audit")` (403), `Failure::new(status, "…")`. Texts are the wire's, without line end.
//! - Ask: [`Call::may`] (any of some privileges, for filtered lists), [`Call::require`] (all, else the 403),
//!   [`Call::is_root`], [`Call::node`], [`Call::vmid`], [`Call::now`].
//! - Answer: [`Data`] from a JSON value (`Ok(json!([…]).into())`), `Ok(Data::null())`, with `total` or `changes` beside it,
//!   or [`Data::raw`] for a download.
//! - Start a task and answer its UPID:
//!   ```text
//!   let task = call
//!       .task("qmstart", &vmid.to_string())          // on the call's node, as the caller, three seconds
//!       .lasts(Duration::from_secs(5))
//!       .line("a log line at the start")             // .line_after(duration, "…") for later ones
//!       .begin(move |run| { … })                     // now, in the worker: late checks; run.lock(vmid, "clone")
//!       .finish(move |run| { … })                    // when its time is over: the change itself
//!       .undo(move |run| { … });                     // when it is stopped or `finish` fails
//!   call.start(task)
//!   ```
//!   An `Err(text)` from `begin` or `finish` ends it `TASK ERROR: text`; `run.warn` makes `WARNINGS: n`; locks taken with
//!   `run.lock` are released however it ends; `run.spawn` starts a further task. Early refusals (what the client gets as an
//!   HTTP error instead of a UPID) belong before `call.start`.
//!
//! Never answer success for a change that is not made: leave the method out of the table, and the pipeline says 501.
//! What the catalogue alone can answer ([`crate::generic`]: indexes of children) needs no behaviour; registering one
//! replaces it.

pub(crate) mod access;
pub(crate) mod agent;
mod answer;
pub(crate) mod apt;
pub(crate) mod backup;
pub(crate) mod bulk;
pub(crate) mod call;
pub(crate) mod capabilities;
pub(crate) mod ceph;
pub(crate) mod certificates;
pub(crate) mod cluster;
pub(crate) mod console;
pub(crate) mod diff;
pub(crate) mod disks;
pub(crate) mod firewall;
pub(crate) mod guest;
pub(crate) mod ha;
pub(crate) mod hardware;
pub(crate) mod interfaces;
pub(crate) mod lock;
pub(crate) mod lxc;
pub(crate) mod migrate;
pub(crate) mod monitor;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod notifications;
pub(crate) mod params;
pub(crate) mod pools;
pub(crate) mod qemu;
pub(crate) mod replication;
pub(crate) mod rrd;
pub(crate) mod sdn;
pub(crate) mod services;
pub(crate) mod snapshot;
pub(crate) mod status;
pub(crate) mod storage;
pub(crate) mod table;
pub(crate) mod tasks;
pub(crate) mod version;
pub(crate) mod vzdump;

pub(crate) use answer::{Answer, Data, Failure, Raw};
pub(crate) use call::Call;
pub(crate) use params::Params;

/// What answers one method.
pub(crate) type Behaviour = fn(&mut Call<'_>) -> Answer;
