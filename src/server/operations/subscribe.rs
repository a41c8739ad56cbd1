//! Subscriptions to changes that the principal may see.

use std::sync::Arc;

use super::Operations;
use crate::domain::{LockId, OperationError, VisibleGroups, WindowQuery};
use crate::server::access::Principal;
use crate::server::index::event::EventId;
use crate::server::index::{SubscriberView, Subscription, Topic};

/// A subscription request.
pub struct SubscribeRequest {
    /// Restricts the subscription to this group.
    pub group: Option<String>,
    /// A view, and locks that are followed wherever they appear; instead of all changes.
    pub window: Option<(WindowQuery, Vec<LockId>)>,
    /// The id of the last received event.
    pub last_event_id: Option<String>,
    /// The number of subscribers before this one.
    pub rank: u32,
    /// The build of the console that pings contain.
    pub build: &'static str,
}

impl Operations {
    /// Starts a subscription.
    pub async fn subscribe(
        &self,
        principal: &Principal,
        request: SubscribeRequest,
    ) -> Result<Subscription, OperationError> {
        let mut visible_groups = principal.grant().visible_groups();
        if let Some(group) = &request.group {
            self.authorize_view(principal, group)?;
            visible_groups = VisibleGroups::only(group);
        }
        let last_event = request.last_event_id.as_deref().and_then(EventId::parse);
        let subject = match request.window {
            Some((mut view, followed)) => {
                view.filter.visible_groups = principal.grant().visible_groups();
                Topic::View(Arc::new(
                    SubscriberView::new(view, followed).resuming_from(last_event),
                ))
            }
            None => Topic::AllChanges {
                visible_groups,
                last_event_id: last_event,
            },
        };
        Subscription::start(self.index().clone(), subject, request.rank, request.build).await
    }
}
