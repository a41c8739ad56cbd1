//! A key as its nodes have it right now, for whoever does not believe what was made of it. Nothing that proves ownership leaves.

use super::Operations;
use crate::domain::raw::RawNode;
use crate::domain::{Fault, LockId, Verb};
use crate::server::access::Actor;
use crate::server::formats::raw;

impl Operations {
    /// What each node has under this name.
    pub async fn raw(&self, actor: &Actor, id: &LockId) -> Result<Vec<RawNode>, Fault> {
        let group = self.group_to_read_in(actor, Verb::ReadRaw, id)?;
        let naming = group.config.naming();
        let look = group.look(std::slice::from_ref(&id.key)).await;
        let node = |node: crate::server::nodes::NodeLook| RawNode {
            node: node.node,
            shown: node
                .seen
                .map(|seen| {
                    let sighting = seen.into_iter().next().flatten();
                    sighting.map(|sighting| raw::shown(&sighting, naming))
                })
                .map_err(|missed| missed.reason().to_owned()),
        };
        Ok(look.nodes.into_iter().map(node).collect())
    }
}
