//! The keys that end with the lease of a lock in etcd.

use super::{Operations, check_key_allowed};
use crate::domain::{LeaseKeys, LockId, OperationError, Permission, Scope};
use crate::server::access::Principal;
use crate::server::stores::Group;

impl Operations {
    /// Reads the keys of the lease that a lock is held with. Empty for a lock without a lease.
    pub async fn lease_keys(
        &self,
        principal: &Principal,
        id: &LockId,
    ) -> Result<LeaseKeys, OperationError> {
        let group = self.group_for_read(principal, Permission::ReadRaw, id)?;
        read_lease_keys(&group, id).await
    }

    /// Checks that the principal may release every key of the lease of a lock.
    pub(super) async fn authorize_lease_keys(
        &self,
        principal: &Principal,
        group: &Group,
        id: &LockId,
    ) -> Result<(), OperationError> {
        for key in read_lease_keys(group, id).await?.keys {
            check_key_allowed(group, &key.key)?;
            let id = LockId {
                group: id.group.clone(),
                key: key.key,
            };
            let scope = Scope::lock(&id).with_read_only(group.config.read_only);
            principal.authorize(Permission::ForceRelease, scope)?;
        }
        Ok(())
    }
}

async fn read_lease_keys(group: &Group, id: &LockId) -> Result<LeaseKeys, OperationError> {
    match group.lease_keys(&id.key).await {
        Ok(Some(keys)) => Ok(keys),
        Ok(None) => Err(OperationError::NotObserved { nodes: Vec::new() }),
        Err(reason) => {
            let lock = id.key.text();
            tracing::debug!(key = %lock, %reason, "the keys of a lease cannot be read");
            let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            Err(OperationError::Unreachable {
                nodes_reached: 0,
                nodes_total: count(group.node_views().len()),
                quorum: count(group.quorum()),
                nodes: Vec::new(),
            })
        }
    }
}
