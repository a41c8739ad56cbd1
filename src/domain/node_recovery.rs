//! Nodes that came back after an outage, and the locks that they do not have.

use std::time::Duration;

use super::{GroupView, Lock, NodeState, Observation, Timestamp};

/// A shorter absence is one late reply: the default time limit of a command is half a second.
const MIN_OUTAGE: Duration = Duration::from_secs(1);

/// A node that is up again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecovery {
    /// The group of the node.
    pub group: String,
    /// The name of the node.
    pub node: String,
    /// When the node was no longer up.
    pub down_at: Timestamp,
    /// When the node was up again.
    pub up_at: Timestamp,
}

impl NodeRecovery {
    /// The nodes of a group that are up in `after` and were not up in `before`. A node that was up
    /// for the first time has not recovered.
    pub fn between<'a>(
        before: &'a GroupView,
        after: &'a GroupView,
    ) -> impl Iterator<Item = Self> + 'a {
        after.nodes.iter().filter_map(|node| {
            let known = before
                .nodes
                .iter()
                .find(|known| known.name == node.name && known.state != NodeState::Up)?;
            (node.state == NodeState::Up).then_some(())?;
            Some(Self {
                group: after.name.clone(),
                node: node.name.clone(),
                down_at: known.since?,
                up_at: node.since?,
            })
        })
    }

    /// Whether the node was away for at least a second. A single late reply is not an outage.
    pub fn is_outage(&self) -> bool {
        self.up_at.since(self.down_at) >= MIN_OUTAGE
    }

    /// Whether the node lacks a lock that other nodes of the group have.
    pub fn lacks(&self, lock: &Lock) -> bool {
        lock.id.group == self.group
            && lock.owner.is_some()
            && lock.nodes.iter().any(|node| {
                node.node == self.node && matches!(node.observation, Observation::Absent)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::NodeObservation;
    use crate::domain::testing::{NOW, group, lock, owner};

    #[test]
    fn a_node_recovers_from_the_time_it_was_down_until_it_is_up() {
        let mut before = group("orders", 3);
        before.nodes[1].state = NodeState::Down;
        before.nodes[2].state = NodeState::Down;
        // The first connection attempt to this node has not ended.
        before.nodes[2].since = None;
        let mut after = group("orders", 3);
        after.nodes[1].since = Some(NOW.plus_millis(26_000));
        let recovered: Vec<_> = NodeRecovery::between(&before, &after).collect();
        let expected = NodeRecovery {
            group: "orders".to_owned(),
            node: "b".to_owned(),
            down_at: NOW,
            up_at: NOW.plus_millis(26_000),
        };
        assert_eq!(recovered, [expected]);
        assert_eq!(NodeRecovery::between(&after, &after).count(), 0);
    }

    #[test]
    fn a_node_that_missed_one_reply_had_no_outage() {
        let recovery = |ms| NodeRecovery {
            group: "orders".to_owned(),
            node: "b".to_owned(),
            down_at: NOW,
            up_at: NOW.plus_millis(ms),
        };
        assert!(!recovery(261).is_outage());
        assert!(recovery(1_000).is_outage());
    }

    #[test]
    fn a_node_lacks_a_held_lock_that_it_does_not_show() {
        let recovery = NodeRecovery {
            group: "orders".to_owned(),
            node: "b".to_owned(),
            down_at: NOW,
            up_at: NOW,
        };
        let observed = |observation: Observation| {
            let mut lock = lock(&[1], NOW, NOW);
            lock.nodes = vec![NodeObservation {
                node: "b".to_owned(),
                observation,
            }];
            lock
        };
        assert!(recovery.lacks(&observed(Observation::Absent)));
        let mut other_group = observed(Observation::Absent);
        other_group.id.group = "jobs".to_owned();
        assert!(!recovery.lacks(&other_group));
        let mut partial = observed(Observation::Absent);
        partial.owner = None;
        assert!(!recovery.lacks(&partial), "{:?}", owner(1));
    }
}
