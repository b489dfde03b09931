//! Progress: from a tool's steps to notifications, when the caller asked for them.

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::tools::context::Step;

/// Forwards steps to a client. The task ends when the sender is dropped, so that no notification follows the result.
pub fn forward(peer: Peer<RoleServer>, token: ProgressToken) -> (UnboundedSender<Step>, JoinHandle<()>) {
    let (sender, mut steps) = unbounded_channel::<Step>();
    let forwarding = tokio::spawn(async move {
        while let Some(step) = steps.recv().await {
            let mut notice = ProgressNotificationParam::new(token.clone(), step.done).with_message(step.message);
            if let Some(total) = step.total {
                notice = notice.with_total(total);
            }
            if peer.notify_progress(notice).await.is_err() {
                break;
            }
        }
    });
    (sender, forwarding)
}
