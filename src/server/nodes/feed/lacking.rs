//! What the user of a node may not do that watching takes: what the feed found out, or a try where nobody keeps a feed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::node::Node;
use super::super::trouble::Trouble;
use super::interest::Interest;
use super::session::Session;
use crate::domain::MissingPermission;

/// Nothing is written to a name that begins like this.
const NOBODYS_PREFIX: &[u8] = b"lockkeeper:probe";

impl Node {
    /// What its user may not do. Costs a connection of its own where nobody keeps a feed.
    pub(in super::super) async fn lacking(&self) -> Result<Vec<MissingPermission>, Trouble> {
        let feed = self.feed();
        if feed.is_kept.load(Ordering::Relaxed) {
            feed.settled(self.connect_timeout).await;
            return Ok(feed.state().missing);
        }
        let nothing = Arc::new(Interest::new(&[]));
        let mut session = Session::open(self, nothing).await?;
        let mut missing = session.introduce(&self.acl_user()).await?;
        let starts = [NOBODYS_PREFIX.to_vec()];
        // Why it is refused does not matter here; what is missing for it does.
        let _why_not = self
            .arm_tracking(&mut session, &starts, &mut missing)
            .await?;
        Ok(missing)
    }
}
