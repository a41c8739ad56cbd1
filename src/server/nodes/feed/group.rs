//! The feeds of all nodes of a group.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::{Fed, Inbox, Interest};
use crate::domain::NodeState;
use crate::server::nodes::Group;
use crate::server::nodes::node::Node;

impl Group {
    /// Has the nodes tell of changes until nobody wants to hear of them, or the group's nodes are let go.
    pub fn feed(self: &Arc<Self>, stop: CancellationToken) {
        let interest = Arc::new(Interest::new(&self.config.keys));
        for node in self.each().iter() {
            node.feed().is_kept.store(true, Ordering::Relaxed);
        }
        let group = Arc::clone(self);
        tokio::spawn(async move {
            let keeping = group.with_each(|_, node| {
                node.feed().is_kept.store(true, Ordering::Relaxed);
                let (interest, choice) = (Arc::clone(&interest), group.config.feed);
                let keeping = tokio::spawn(async move { node.keep_feed(interest, choice).await });
                let keeping = AbortOnDropHandle::new(keeping);
                async move { drop(keeping.await) }
            });
            stop.run_until_cancelled(keeping).await;
        });
    }

    /// What the nodes told and nobody has taken yet.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// What the nodes that are up tell of. A node that is down tells nothing and shows nothing either.
    pub fn fed(&self) -> Fed {
        let is_up = |node: &&Arc<Node>| node.state() == NodeState::Up;
        let nodes = self.each();
        let each = nodes.iter().filter(is_up).map(|node| {
            let state = node.feed().locked();
            (state.covers.clone(), state.since)
        });
        Fed(each.collect())
    }
}
