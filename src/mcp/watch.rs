//! Changes of resources: `/cluster/resources` is polled once for all who listen, and not at all while nobody does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::resources;
use crate::server::Server;
use crate::tools::Ctx;
use crate::tools::arguments::value::plain_text;
use crate::tools::context::Caller;

/// Time between two looks.
pub const PERIOD: Duration = Duration::from_secs(10);

/// Changes that a slow listener may be behind; what it misses it hears of as one.
const BEHIND: usize = 64;

/// What changes all the time and is no news.
const RESTLESS: [&str; 10] =
    ["cpu", "mem", "memhost", "uptime", "netin", "netout", "diskread", "diskwrite", "disk", "pressure"];

/// Whoever watches the clusters of a server.
#[derive(Debug)]
pub struct Watch {
    feeds: Vec<Mutex<Weak<Feed>>>,
}

/// One cluster being watched; the watching ends when the last holder lets go.
#[derive(Debug)]
pub struct Feed {
    changes: broadcast::Sender<Arc<BTreeSet<String>>>,
    _polling: DropGuard,
}

/// Somebody who hears of changes.
#[derive(Debug)]
pub struct Listener {
    changes: broadcast::Receiver<Arc<BTreeSet<String>>>,
    _feed: Arc<Feed>,
}

impl Watch {
    /// Nothing is watched yet.
    pub fn new(clusters: usize) -> Watch {
        Watch { feeds: (0..clusters).map(|_| Mutex::default()).collect() }
    }

    /// Listens to one cluster, which is polled from now on if it was not.
    pub fn listen(&self, server: &Arc<Server>, instance: usize) -> Listener {
        let mut slot = self.feeds[instance].lock().unwrap_or_else(PoisonError::into_inner);
        let feed = slot.upgrade().unwrap_or_else(|| start(server.clone(), instance));
        *slot = Arc::downgrade(&feed);
        Listener { changes: feed.changes.subscribe(), _feed: feed }
    }
}

impl Listener {
    /// The addresses of what changed next; `None` when there will be no more.
    pub async fn next(&mut self) -> Option<Arc<BTreeSet<String>>> {
        loop {
            match self.changes.recv().await {
                Ok(changed) => return Some(changed),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

fn start(server: Arc<Server>, instance: usize) -> Arc<Feed> {
    let (changes, _) = broadcast::channel(BEHIND);
    let stop: CancellationToken = server.shutdown().child_token();
    let feed = Arc::new(Feed { changes: changes.clone(), _polling: stop.clone().drop_guard() });
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = poll(server, instance, changes) => {}
        }
    });
    feed
}

async fn poll(server: Arc<Server>, instance: usize, changes: broadcast::Sender<Arc<BTreeSet<String>>>) {
    let ctx = Ctx::new(server.clone(), instance, Caller::default());
    let cluster = &server.clusters()[instance];
    let mut before: Option<BTreeMap<String, Value>> = None;
    loop {
        // A cluster that does not answer has no news.
        if let Ok(answer) = ctx.get("/cluster/resources", &[]).await {
            let now = rows(&answer.data);
            let changed = before.as_ref().map(|before| changed(&cluster.name, before, &now)).unwrap_or_default();
            if !changed.is_empty() {
                // Fails when nobody listens any more; then this ends soon.
                let _ = changes.send(Arc::new(changed));
            }
            before = Some(now);
        }
        cluster.client.clock().sleep(PERIOD).await;
    }
}

/// The rows by id, without what is no news. Of a storage's usage, whole per cents are.
fn rows(data: &Value) -> BTreeMap<String, Value> {
    let rows = data.as_array().map(Vec::as_slice).unwrap_or_default();
    let calm = |row: &Value| {
        let id = plain_text(row.get("id")?);
        let mut kept = row.as_object()?.clone();
        let number = |key: &str| row.get(key).and_then(Value::as_f64);
        let used = number("disk").zip(number("maxdisk")).filter(|(_, most)| *most > 0.0);
        kept.retain(|key, _| !RESTLESS.contains(&key.as_str()) && !key.starts_with("pressure"));
        if let Some((used, most)) = used.filter(|_| id.starts_with("storage/")) {
            kept.insert("used".into(), ((used / most * 100.0) as i64).into());
        }
        Some((id, Value::Object(kept)))
    };
    rows.iter().filter_map(calm).collect()
}

/// The addresses of what is not as it was.
fn changed(instance: &str, before: &BTreeMap<String, Value>, now: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let ids = before.keys().chain(now.keys()).filter(|id| before.get(*id) != now.get(*id));
    let of = |id: &String| match id.split_once('/') {
        Some(("node", _)) => vec!["cluster".to_string(), "nodes".into()],
        Some(("qemu" | "lxc", vmid)) => vec!["guests".into(), format!("guests/{vmid}")],
        Some(("storage", _)) => vec!["storage".into()],
        _ => Vec::new(),
    };
    ids.flat_map(of).map(|name| resources::uri(instance, &name)).collect()
}
