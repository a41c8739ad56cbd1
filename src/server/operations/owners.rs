//! Owners and their locks, aggregated from the index.

use std::sync::Arc;

use futures::{StreamExt as _, stream};

use super::Operations;
use crate::domain::{
    Fingerprint, Lock, OperationError, OwnedLock, OwnedLocks, OwnerDetail, OwnerIdentity,
    OwnerList, OwnerQuery, Permission,
};
use crate::server::access::Principal;

/// The number of locks of one owner whose advice is computed at the same time. In PostgreSQL each
/// requires a request.
const MAX_CONCURRENT_ADVICE: usize = 8;

impl Operations {
    /// The owners and their locks, in one group or all visible ones. Sends no requests to the
    /// nodes.
    pub async fn owners(
        &self,
        principal: &Principal,
        group: Option<&str>,
        query: OwnerQuery,
    ) -> Result<OwnerList, OperationError> {
        if let Some(group) = group {
            self.visible_group(principal, group)?;
        }
        let (visible_groups, group) =
            (principal.grant().visible_groups(), group.map(str::to_owned));
        let aggregating = self.index().query(move |index, now| {
            let locks = index.locks().map(Arc::as_ref).filter(|lock| {
                let lock_group = &lock.id.group;
                group.as_ref().is_none_or(|group| group == lock_group)
                    && visible_groups.contains(lock_group)
            });
            OwnerList::from_locks(locks, &query, now)
        });
        aggregating.await
    }

    /// One owner in all visible groups: the locks that it holds, each with the level of the advice
    /// before a forced release, and the locks that it waits for. Nothing is known of an owner that
    /// holds no lock and waits for none.
    pub async fn owner_detail(
        &self,
        principal: &Principal,
        identity: OwnerIdentity,
    ) -> Result<OwnerDetail, OperationError> {
        let visible_groups = principal.grant().visible_groups();
        let requested = identity.clone();
        let collecting = self.index().query(move |index, _| {
            let locks = index.locks().map(Arc::as_ref);
            let visible = locks.filter(|lock| visible_groups.contains(&lock.id.group));
            OwnedLocks::of(&requested, visible)
        });
        let (owned, graph) = tokio::join!(collecting, self.waits(principal, None));
        let (owned, graph) = (owned?, graph?);
        let mut detail = OwnerDetail::unknown(&identity, self.index().now());
        detail.held_count = owned.total;
        detail.labels = owned.labels.into_iter().collect();
        detail.groups = owned.groups.into_iter().collect();
        let advised = owned
            .locks
            .into_iter()
            .map(|(lock, owner)| self.advised(principal, lock, owner));
        let advised = stream::iter(advised).buffered(MAX_CONCURRENT_ADVICE);
        // A group that was removed in the meantime has no locks any more.
        detail.held = advised.filter_map(async |lock| lock).collect().await;
        detail.add_waits(&identity, &graph);
        Ok(detail)
    }

    async fn advised(
        &self,
        principal: &Principal,
        lock: Lock,
        owner: Fingerprint,
    ) -> Option<OwnedLock> {
        let group = self
            .group_for_read(principal, Permission::View, &lock.id)
            .ok()?;
        let advice = self.advice_level(&group, &lock, &owner).await;
        Some(OwnedLock {
            lock,
            owner,
            advice,
        })
    }
}
