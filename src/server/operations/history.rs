//! A lock with its history and the advice before a forced release.

use serde::Serialize;
use utoipa::ToSchema;

use super::Operations;
use crate::domain::{History, Lock, LockId, OperationError, Permission, ReleaseAdvice};
use crate::server::access::Principal;

/// A lock and its previous holds.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Inspected)]
pub struct LockWithHistory {
    /// The lock as its nodes report it now.
    #[serde(flatten)]
    pub lock: Lock,
    /// The observed holds.
    pub history: History,
    /// What speaks for and against a forced release of the lock's first owner.
    pub release_advice: ReleaseAdvice,
}

impl Operations {
    /// Reads a lock from the nodes and returns it with its history.
    pub async fn inspect_with_history(
        &self,
        principal: &Principal,
        id: &LockId,
    ) -> Result<LockWithHistory, OperationError> {
        let lock = self.inspect(principal, id).await?;
        let release_advice = self.release_advice(principal, &lock, None).await?;
        let history = self.index().history(id);
        Ok(LockWithHistory {
            lock,
            history,
            release_advice,
        })
    }

    /// The observed holds of a lock, also of one that no longer exists. Sends no requests to the
    /// nodes.
    pub fn history(&self, principal: &Principal, id: &LockId) -> Result<History, OperationError> {
        self.group_for_read(principal, Permission::View, id)?;
        Ok(self.index().history(id))
    }
}
