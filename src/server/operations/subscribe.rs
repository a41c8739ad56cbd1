//! Subscribing to changes, as far as somebody may see them.

use std::sync::Arc;

use super::Operations;
use crate::domain::{Fault, LockId, Sight, View};
use crate::server::access::Actor;
use crate::server::index::event::EventId;
use crate::server::index::{Subject, Subscription, Watched};

/// What somebody subscribes to.
pub struct SubscribeRequest {
    /// Only this group.
    pub group: Option<String>,
    /// A part of the board and locks that are followed wherever they stand, in place of every change.
    pub part: Option<(View, Vec<LockId>)>,
    /// The id of the last event that was seen.
    pub last_seen: Option<String>,
    /// How many have subscribed before.
    pub rank: u32,
    /// What pings say of the console's build.
    pub build: &'static str,
}

impl Operations {
    /// Begins to tell somebody of changes.
    pub async fn subscribe(
        &self,
        actor: &Actor,
        request: SubscribeRequest,
    ) -> Result<Subscription, Fault> {
        let mut sight = actor.rights().sight();
        if let Some(group) = &request.group {
            self.check_sight(actor, group)?;
            sight = Sight::of(group);
        }
        let place = request.last_seen.as_deref().and_then(EventId::parse);
        let subject = match request.part {
            Some((mut view, also)) => {
                view.filter.sight = actor.rights().sight();
                Subject::Window(Arc::new(Watched::new(view, also).after(place)))
            }
            None => Subject::Everything { sight, place },
        };
        Subscription::start(self.index().clone(), subject, request.rank, request.build).await
    }
}
