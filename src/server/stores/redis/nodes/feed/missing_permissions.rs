//! Finds the permissions for observing that a node's user lacks: from the running feed, or by
//! probing if no feed runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::node::Node;
use super::super::node_error::NodeError;
use super::key_filter::KeyFilter;
use super::session::FeedSession;
use crate::domain::MissingPermission;

/// No key has this prefix.
const PROBE_PREFIX: &[u8] = b"lockkeeper:probe";

impl Node {
    /// The permissions that the node's user lacks. Opens a connection if no feed runs.
    pub(in super::super) async fn find_missing_permissions(
        &self,
    ) -> Result<Vec<MissingPermission>, NodeError> {
        let feed = self.feed();
        if feed.is_running.load(Ordering::Relaxed) {
            feed.wait_until_settled(self.connect_timeout).await;
            return Ok(feed.state().missing_permissions);
        }
        let no_filter = Arc::new(KeyFilter::new(&[]));
        let mut session = FeedSession::open(self, no_filter).await?;
        let mut missing_permissions = session.probe_permissions(&self.acl_user()).await?;
        let prefixes = [PROBE_PREFIX.to_vec()];
        // Only the missing permissions matter here, not the reason of the rejection.
        let _rejection = self
            .start_tracking(&mut session, &prefixes, &mut missing_permissions)
            .await?;
        Ok(missing_permissions)
    }
}
