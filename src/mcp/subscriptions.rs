//! Who hears of changes of which resources: `resources/subscribe` in the older protocol, `subscriptions/listen` in the newer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Handler, resources};

/// Most addresses that one session may subscribe to.
const MOST: usize = 200;

/// What one client of the older protocol subscribed to. Dropped with its session, and with it all that forwards.
#[derive(Debug, Default)]
pub struct Subscriptions {
    by_uri: Mutex<HashMap<String, DropGuard>>,
}

impl Handler {
    /// Tells a client of the older protocol of changes from now on.
    ///
    /// # Errors
    /// When nothing with this address is watched, or the session has too many.
    pub(super) fn subscribe_to(&self, uri: String, peer: Peer<RoleServer>) -> Result<(), ErrorData> {
        let Some((instance, _)) = self.watched(&uri) else {
            let message = "changes are told of cluster, nodes, guests, storage and single guests only";
            return Err(ErrorData::invalid_params(message, Some(json!({"uri": uri}))));
        };
        let mut subscribed = self.subscriptions.by_uri.lock().unwrap_or_else(PoisonError::into_inner);
        if subscribed.contains_key(&uri) {
            return Ok(());
        }
        if subscribed.len() >= MOST {
            return Err(ErrorData::invalid_params(
                format!("a session may subscribe to {MOST} resources at most"),
                None,
            ));
        }
        let mut listener = self.watch.listen(self.server(), instance);
        let stop = CancellationToken::new();
        subscribed.insert(uri.clone(), stop.clone().drop_guard());
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            while let Some(changed) = listener.next().await {
                let notice = ResourceUpdatedNotificationParam::new(uri.clone());
                if changed.contains(&uri) && peer.notify_resource_updated(notice).await.is_err() {
                    break;
                }
            }
        }));
        Ok(())
    }

    /// Tells of this one no more.
    pub(super) fn unsubscribe_from(&self, uri: &str) {
        self.subscriptions.by_uri.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    /// Tells a client of the newer protocol until it goes.
    pub(super) async fn tell(&self, context: SubscriptionContext) {
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let mut instances: Vec<usize> = uris.iter().filter_map(|uri| Some(self.watched(uri)?.0)).collect();
        instances.sort_unstable();
        instances.dedup();
        let mut telling = JoinSet::new();
        for instance in instances {
            let mut listener = self.watch.listen(self.server(), instance);
            let (uris, sink) = (uris.clone(), context.sink().clone());
            telling.spawn(async move {
                while let Some(changed) = listener.next().await {
                    for uri in uris.iter().filter(|uri| changed.contains(*uri)) {
                        if sink.notify_resource_updated(uri.clone()).await.is_err() {
                            return;
                        }
                    }
                }
            });
        }
        tokio::select! {
            () = context.cancelled() => {}
            () = self.server().shutdown().cancelled() => {}
        }
    }

    fn watched(&self, uri: &str) -> Option<(usize, resources::What)> {
        resources::parse(self.server(), uri).filter(|_| resources::is_watched(self.server(), uri))
    }
}
