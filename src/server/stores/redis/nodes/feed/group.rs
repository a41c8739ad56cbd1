//! The change feeds of all nodes of a group.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::{ChangeBuffer, KeyFilter};
use crate::domain::NodeState;
use crate::server::stores::redis::nodes::Group;
use crate::server::stores::redis::nodes::node::Node;
use crate::server::stores::{GroupFeedCoverage, LockNames, NodeFeedCoverage};

impl Group {
    /// Runs the change feeds of all nodes until `stop` is cancelled or the group is stopped.
    pub fn start_feeds(self: &Arc<Self>, names: Arc<LockNames>, stop: CancellationToken) {
        let (keys, follows_names) = (&self.config.keys, self.config.considers_every_key());
        let filter = Arc::new(KeyFilter::with_names(keys, names, follows_names));
        for node in self.nodes().iter() {
            node.feed().is_running.store(true, Ordering::Relaxed);
        }
        let group = Arc::clone(self);
        tokio::spawn(async move {
            let feed_task = group.for_each_node(|_, node| {
                node.feed().is_running.store(true, Ordering::Relaxed);
                let (filter, mode) = (Arc::clone(&filter), group.config.change_detection);
                let feed_task = tokio::spawn(async move { node.run_feed(filter, mode).await });
                let feed_task = AbortOnDropHandle::new(feed_task);
                async move { drop(feed_task.await) }
            });
            stop.run_until_cancelled(feed_task).await;
        });
    }

    /// The changes that were received and not processed yet.
    pub fn changes(&self) -> &ChangeBuffer {
        &self.changes
    }

    /// The feed coverage of the nodes that are up. A node that is down returns no state, so it does
    /// not limit the coverage.
    pub fn feed_coverage(&self) -> GroupFeedCoverage {
        let is_up = |node: &&Arc<Node>| node.state() == NodeState::Up;
        let nodes = self.nodes();
        let coverages = nodes.iter().filter(is_up).map(|node| {
            let state = node.feed().lock_state();
            NodeFeedCoverage {
                coverage: state.coverage.clone(),
                complete_since: state.complete_since,
                needs_prefixes: state.needs_prefixes,
            }
        });
        GroupFeedCoverage::new(coverages.collect())
    }
}
