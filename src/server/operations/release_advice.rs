//! The advice before a forced release: collects what `domain::release_advice` judges.

use std::sync::Arc;
use std::time::Duration;

use super::Operations;
use crate::domain::owners::host;
use crate::domain::release_advice::{AdviceFacts, NodeConnections, OwnerConnections};
use crate::domain::{
    AdviceLevel, Fingerprint, HolderState, Lock, LockId, OperationError, Permission, ReleaseAdvice,
    Timestamp,
};
use crate::server::access::Principal;
use crate::server::stores::Group;

/// How long the connections of the nodes are cached.
const MAX_CONNECTIONS_AGE: Duration = Duration::from_secs(5);

/// The connections of all nodes of a group, and when they were listed.
pub(super) type ListedConnections = (Timestamp, Arc<[NodeConnections]>);

impl Operations {
    /// The advice for one owner of a lock that was read from the nodes, or for its first owner.
    pub async fn release_advice(
        &self,
        principal: &Principal,
        lock: &Lock,
        owner: Option<&Fingerprint>,
    ) -> Result<ReleaseAdvice, OperationError> {
        let group = self.group_for_read(principal, Permission::View, &lock.id)?;
        let facts = self.read_advice_facts(&group, lock).await;
        let inputs = facts.inputs(lock, owner, self.index().now());
        Ok(ReleaseAdvice::assess(&inputs))
    }

    /// The inputs of the advice that are not part of the lock. Empty for a lock that is not in the
    /// index.
    pub async fn advice_facts(
        &self,
        principal: &Principal,
        id: &LockId,
    ) -> Result<AdviceFacts, OperationError> {
        let group = self.group_for_read(principal, Permission::View, id)?;
        match self.index().snapshot().lock(id).cloned() {
            Some(lock) => Ok(self.read_advice_facts(&group, &lock).await),
            None => Ok(AdviceFacts::default()),
        }
    }

    /// The level of the advice for one owner. Requires fewer requests than the whole advice, whose
    /// level does not depend on the wait queue.
    pub(super) async fn advice_level(
        &self,
        group: &Group,
        lock: &Lock,
        owner: &Fingerprint,
    ) -> AdviceLevel {
        let facts = AdviceFacts {
            hold_stats: self.index().history(&lock.id).hold_stats,
            queue: None,
            holder: self.state_of_holder(group, lock).await,
            connections: self.connections_of_owner(group, lock).await,
        };
        let inputs = facts.inputs(lock, Some(owner), self.index().now());
        ReleaseAdvice::assess(&inputs).level
    }

    async fn read_advice_facts(&self, group: &Group, lock: &Lock) -> AdviceFacts {
        let (queue, holder, connections) = tokio::join!(
            self.queue_of_lock(group, lock),
            self.state_of_holder(group, lock),
            self.connections_of_owner(group, lock)
        );
        AdviceFacts {
            hold_stats: self.index().history(&lock.id).hold_stats,
            queue,
            holder,
            connections,
        }
    }

    /// The connections to the nodes that match the label of the first owner; `None` if it has no
    /// label, or if this console holds the lock. The connections of all nodes are listed at most once
    /// in five seconds, whatever the number of locks and callers.
    async fn connections_of_owner(&self, group: &Group, lock: &Lock) -> Option<OwnerConnections> {
        if !group.lists_connections() {
            return None;
        }
        let owner = lock.owners.first()?;
        let client = host(owner.label.as_deref()?);
        let is_own = self
            .renewals
            .find_by_owner(&lock.id, &owner.fingerprint)
            .is_some()
            || self.has_console_lock(&lock.id, &owner.fingerprint);
        if is_own {
            return None;
        }
        let now = || self.index().now();
        let load = |at| async move {
            (
                at,
                Arc::<[NodeConnections]>::from(group.client_connections().await),
            )
        };
        let listing =
            self.client_connections
                .get_or_load(&group.config.name, now, MAX_CONNECTIONS_AGE, load);
        let (read_at, nodes) = listing.await;
        OwnerConnections::search(client, &nodes, read_at)
    }

    async fn state_of_holder(&self, group: &Group, lock: &Lock) -> Option<HolderState> {
        let owner = &lock.owners.first()?.fingerprint;
        if self.renewals.find_by_owner(&lock.id, owner).is_some() {
            return Some(HolderState::ConsoleHold { auto_renew: true });
        }
        if self.has_console_lock(&lock.id, owner) {
            return Some(HolderState::ConsoleHold { auto_renew: false });
        }
        group.holder_state(&lock.id.key, owner).await
    }
}
