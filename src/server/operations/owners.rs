//! Who holds what, added up from the board.

use std::sync::Arc;

use super::Operations;
use crate::domain::{Fault, Owners, OwnersAsked};
use crate::server::access::Actor;

impl Operations {
    /// Who holds what, in one group or all that may be seen. Nothing is asked of the nodes.
    pub async fn owners(
        &self,
        actor: &Actor,
        group: Option<&str>,
        asked: OwnersAsked,
    ) -> Result<Owners, Fault> {
        if let Some(group) = group {
            self.group_to_see(actor, group)?;
        }
        let (sight, group) = (actor.rights().sight(), group.map(str::to_owned));
        let adding_up = self.index().query(move |index, now| {
            let locks = index.locks().map(Arc::as_ref).filter(|lock| {
                let theirs = &lock.id.group;
                group.as_ref().is_none_or(|group| group == theirs) && sight.shows(theirs)
            });
            Owners::of(locks, &asked, now)
        });
        adding_up.await
    }
}
