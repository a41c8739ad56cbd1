//! A key as its nodes have it right now, for whoever does not believe what was made of it. Nothing that proves ownership leaves.

use super::{Operations, check_key};
use crate::domain::raw::RawNode;
use crate::domain::{Fault, LockId};
use crate::server::access::Actor;
use crate::server::formats::raw;

impl Operations {
    /// What each node has under this name.
    pub async fn raw(&self, actor: &Actor, id: &LockId) -> Result<Vec<RawNode>, Fault> {
        let group = self.group_to_see(actor, &id.group)?;
        check_key(&id.key)?;
        let look = group.look(std::slice::from_ref(&id.key)).await;
        let node = |node: crate::server::nodes::NodeLook| RawNode {
            node: node.node,
            shown: node
                .seen
                .map(|seen| seen.first().cloned().flatten().as_ref().map(raw::shown))
                .map_err(|missed| missed.reason().to_owned()),
        };
        Ok(look.nodes.into_iter().map(node).collect())
    }
}
