//! Who holds what, added up from the board.

use std::sync::Arc;

use super::Operations;
use crate::domain::{Fault, Lock, Owners, OwnersAsked};
use crate::server::access::Actor;

impl Operations {
    /// Who holds what, in one group or all that may be seen. Nothing is asked of the nodes.
    pub fn owners(
        &self,
        actor: &Actor,
        group: Option<&str>,
        asked: &OwnersAsked,
    ) -> Result<Owners, Fault> {
        if let Some(group) = group {
            self.group_to_see(actor, group)?;
        }
        let sight = actor.rights().sight();
        let wanted = |lock: &&Arc<Lock>| {
            let theirs = lock.id.group.as_str();
            group.is_none_or(|group| group == theirs) && sight.shows(theirs)
        };
        // Only taken along while the board is held; adding up takes longer.
        let locks: Vec<Arc<Lock>> = self
            .index()
            .stream()
            .read(|board| board.locks.values().filter(wanted).cloned().collect());
        Ok(Owners::of(
            locks.iter().map(Arc::as_ref),
            asked,
            self.index().now(),
        ))
    }
}
