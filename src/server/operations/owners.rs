//! Owners and their locks, aggregated from the index.

use std::sync::Arc;

use super::Operations;
use crate::domain::{OperationError, OwnerList, OwnerQuery};
use crate::server::access::Principal;

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
}
