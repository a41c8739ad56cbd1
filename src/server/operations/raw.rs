//! The raw value of a key on its nodes, to check how it was interpreted. Secret parts are removed.

use super::Operations;
use crate::domain::raw::RawNode;
use crate::domain::{LockId, OperationError, Permission};
use crate::server::access::Principal;

impl Operations {
    /// The value that each node has under this key.
    pub async fn raw(
        &self,
        principal: &Principal,
        id: &LockId,
    ) -> Result<Vec<RawNode>, OperationError> {
        let group = self.group_for_read(principal, Permission::ReadRaw, id)?;
        Ok(group.read_raw(&id.key).await)
    }
}
