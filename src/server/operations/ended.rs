//! The acts as doors call them: each is counted and told when it has ended, whatever came of it.

use std::sync::Arc;

use super::audited::told_by;
use super::{AcquireRequest, Acquired, Extended, ForceRelease, Operations};
use crate::domain::{ActKind, Fault, LockId, Released};
use crate::server::access::Actor;
use crate::server::locking::Token;
use crate::server::telemetry::traces;
use crate::server::webhooks::{Ended, Event};

impl Operations {
    /// Takes a lock as any client of its format would.
    pub async fn acquire(
        &self,
        actor: &Actor,
        id: &LockId,
        request: &AcquireRequest,
    ) -> Result<Acquired, Fault> {
        let under_way = self.telemetry.acts.begin(ActKind::Acquire, &id.group);
        let end = under_way.around(self.take(actor, id, request)).await;
        under_way.end(&end);
        self.tell(ActKind::Acquire, id, |act| {
            let done = end.as_ref().map(|acquired| &acquired.nodes[..]);
            let owner = end
                .as_ref()
                .ok()
                .map(|acquired| acquired.fingerprint.clone());
            Ended::new(act, told_by(actor), id, done).of(owner)
        });
        end
    }

    /// Renews a lease with the owner's token.
    pub async fn extend(
        &self,
        actor: &Actor,
        id: &LockId,
        token: &str,
        ttl_ms: u64,
    ) -> Result<Extended, Fault> {
        let under_way = self.telemetry.acts.begin(ActKind::Extend, &id.group);
        let end = under_way.around(self.renew(actor, id, token, ttl_ms)).await;
        under_way.end(&end);
        self.tell(ActKind::Extend, id, |act| {
            let done = end.as_ref().map(|extended| &extended.nodes[..]);
            Ended::new(act, told_by(actor), id, done).of(Some(owner_with(token)))
        });
        end
    }

    /// Releases a lock with the owner's token: once, where it may be held more often.
    pub async fn release(
        &self,
        actor: &Actor,
        id: &LockId,
        token: &str,
    ) -> Result<Released, Fault> {
        let under_way = self.telemetry.acts.begin(ActKind::Release, &id.group);
        let end = under_way.around(self.give_back(actor, id, token)).await;
        under_way.end(&end);
        self.tell(ActKind::Release, id, |act| {
            let done = end.as_ref().map(|released| &released.nodes[..]);
            Ended::new(act, told_by(actor), id, done).of(Some(owner_with(token)))
        });
        end
    }

    /// Releases somebody else's lock, if its owner is still the one that was seen.
    ///
    /// Asked for by name in production, and everywhere where a release of that format does harm: which one it is, the nodes
    /// tell. What was begun comes to its end, with everything that follows it, also when its caller is gone.
    pub async fn force_release(
        self: &Arc<Self>,
        actor: &Actor,
        id: &LockId,
        request: ForceRelease<'_>,
    ) -> Result<Released, Fault> {
        let (operations, actor, id) = (Arc::clone(self), actor.clone(), id.clone());
        let request = request.owned();
        let forcing = async move {
            let request = request.borrowed();
            operations.force_and_tell(&actor, &id, request).await
        };
        let forcing = tokio::spawn(traces::carried(forcing));
        forcing.await.unwrap_or_else(|why| {
            Err(Fault::Internal {
                detail: format!("it was cut off: {why}"),
            })
        })
    }

    async fn force_and_tell(
        self: &Arc<Self>,
        actor: &Actor,
        id: &LockId,
        request: ForceRelease<'_>,
    ) -> Result<Released, Fault> {
        let under_way = self.telemetry.acts.begin(ActKind::ForceRelease, &id.group);
        let end = under_way.around(self.free(actor, id, request)).await;
        under_way.end(&end);
        self.tell(ActKind::ForceRelease, id, |act| {
            let done = end.as_ref().map(|released| &released.nodes[..]);
            Ended::new(act, told_by(actor), id, done)
                .of(Some(request.fingerprint.clone()))
                .because(request.reason)
        });
        end
    }

    /// Tells of an act, if anybody wants to hear of it.
    pub(super) fn tell(&self, act: ActKind, id: &LockId, ended: impl FnOnce(ActKind) -> Ended) {
        if self.webhooks.hears_of(act, &id.group) {
            let event = Event::act(ended(act), self.index().now());
            self.webhooks.tell_of(act, &id.group, &event);
        }
    }
}

fn owner_with(token: &str) -> crate::domain::Fingerprint {
    Token::from_bytes(token.as_bytes()).fingerprint()
}
