//! The raw value of a key on its nodes, to check how it was interpreted. Secret parts are removed.

use super::Operations;
use crate::domain::raw::RawNode;
use crate::domain::{LockId, OperationError, Permission};
use crate::server::access::Principal;
use crate::server::stores::redis::formats::raw;

impl Operations {
    /// The value that each node has under this key.
    pub async fn raw(
        &self,
        principal: &Principal,
        id: &LockId,
    ) -> Result<Vec<RawNode>, OperationError> {
        let group = self.group_for_read(principal, Permission::ReadRaw, id)?;
        let excluded = group.prefixes().excluded();
        let key_patterns = group.key_patterns(&excluded);
        let inspection = group.inspect(std::slice::from_ref(&id.key)).await;
        let node = |node: crate::server::stores::redis::nodes::NodeInspection| RawNode {
            node: node.node,
            content: node
                .result
                .map(|states| {
                    let key_state = states.into_iter().next().flatten();
                    key_state.map(|key_state| raw::redact(&key_state, key_patterns))
                })
                .map_err(|error| error.reason().clone()),
        };
        Ok(inspection.nodes.into_iter().map(node).collect())
    }
}
