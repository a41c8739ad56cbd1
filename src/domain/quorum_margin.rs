//! How many more nodes a group may lose before its locks stop working, and what it has lost.

use super::quorum::majority;
use super::{GroupKind, GroupView, NodeState, NodeView, ReplicationRole};

/// The nodes that a group can still lose, or that it lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuorumMargin {
    /// Locks can be acquired and extended. This many more nodes may fail.
    Spare(usize),
    /// Too few nodes are up to acquire or extend a lock: this many more are required.
    Short(usize),
    /// Some primaries of a cluster are not up. Locks on their slots cannot be acquired or extended,
    /// locks on the others can.
    PartOfCluster {
        /// The number of nodes that are not up.
        unavailable: usize,
    },
}

impl QuorumMargin {
    /// Judges a group by the state of its nodes.
    ///
    /// - Redlock: the nodes that take part in acquires, against the quorum. A node in a restart
    ///   hazard is up but takes no part.
    /// - One server, a primary elected by Sentinel, `PostgreSQL`: no node may fail.
    /// - Cluster: each lock is on one primary, so every node is required by some locks.
    /// - `ZooKeeper`, etcd: the majority of the configured voters. A server is only up while its
    ///   majority has a leader, so locks work as long as one server is up, even if the console
    ///   reaches no majority itself.
    pub fn of(group: &GroupView) -> Self {
        let counted = group.nodes.iter().filter(|node| counts(node)).count();
        match group.kind {
            GroupKind::Redlock => {
                let quorum = usize::try_from(group.quorum).unwrap_or(usize::MAX);
                Self::from_counts(counted, quorum)
            }
            GroupKind::Standalone | GroupKind::Sentinel | GroupKind::Postgres => {
                Self::from_counts(group.nodes_up().min(1), 1)
            }
            GroupKind::Cluster => match group.nodes.len() - group.nodes_up() {
                0 => Self::Spare(0),
                unavailable if unavailable < group.nodes.len() => {
                    Self::PartOfCluster { unavailable }
                }
                unavailable => Self::Short(unavailable),
            },
            GroupKind::Zookeeper | GroupKind::Etcd => {
                let voters = group.nodes.iter().filter(|node| votes(node)).count();
                let required = majority(voters);
                match (group.nodes_up(), Self::from_counts(counted, required)) {
                    (1.., Self::Short(_)) => Self::Spare(0),
                    (_, margin) => margin,
                }
            }
        }
    }

    fn from_counts(counted: usize, required: usize) -> Self {
        match counted.checked_sub(required) {
            Some(spare) => Self::Spare(spare),
            None => Self::Short(required - counted),
        }
    }
}

/// Whether the node takes part in the group's decisions.
fn counts(node: &NodeView) -> bool {
    node.state == NodeState::Up && node.quorum_eligible && votes(node)
}

/// Whether the node counts towards a majority while it is up.
fn votes(node: &NodeView) -> bool {
    match node.role {
        Some(ReplicationRole::Replica | ReplicationRole::Observer | ReplicationRole::Learner) => {
            false
        }
        Some(ReplicationRole::Primary | ReplicationRole::Leader | ReplicationRole::Follower)
        | None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing;

    /// A group with one letter per node: `u` up, `d` down, `h` up in a restart hazard, `r` a
    /// replica, `o` an observer.
    fn group(kind: GroupKind, nodes: &str) -> GroupView {
        let mut group = testing::group("orders", u8::try_from(nodes.len()).unwrap());
        group.kind = kind;
        for (node, letter) in group.nodes.iter_mut().zip(nodes.chars()) {
            match letter {
                'd' => node.state = NodeState::Down,
                'h' => node.quorum_eligible = false,
                'r' => node.role = Some(ReplicationRole::Replica),
                'o' => node.role = Some(ReplicationRole::Observer),
                _ => {}
            }
        }
        group
    }

    #[test]
    fn the_margin_depends_on_the_kind_of_group_and_on_the_nodes_that_are_up() {
        use QuorumMargin::{PartOfCluster, Short, Spare};
        for (kind, nodes, expected) in [
            (GroupKind::Redlock, "uuuuu", Spare(2)),
            (GroupKind::Redlock, "uuduu", Spare(1)),
            (GroupKind::Redlock, "uuddu", Spare(0)),
            (GroupKind::Redlock, "udddu", Short(1)),
            (GroupKind::Redlock, "ddddd", Short(3)),
            (GroupKind::Redlock, "uuhdu", Spare(0)),
            (GroupKind::Redlock, "uur", Spare(0)),
            (GroupKind::Redlock, "u", Spare(0)),
            (GroupKind::Standalone, "u", Spare(0)),
            (GroupKind::Standalone, "d", Short(1)),
            (GroupKind::Sentinel, "u", Spare(0)),
            (GroupKind::Sentinel, "d", Short(1)),
            (GroupKind::Postgres, "d", Short(1)),
            (GroupKind::Cluster, "uuu", Spare(0)),
            (GroupKind::Cluster, "udu", PartOfCluster { unavailable: 1 }),
            (GroupKind::Cluster, "ddd", Short(3)),
            (GroupKind::Zookeeper, "uuu", Spare(1)),
            (GroupKind::Zookeeper, "uud", Spare(0)),
            // The server that is up has a leader, so the ensemble works.
            (GroupKind::Zookeeper, "udd", Spare(0)),
            (GroupKind::Zookeeper, "uuuo", Spare(1)),
            (GroupKind::Etcd, "ddd", Short(2)),
            (GroupKind::Etcd, "uuuuu", Spare(2)),
        ] {
            assert_eq!(
                QuorumMargin::of(&group(kind, nodes)),
                expected,
                "{kind:?} {nodes}"
            );
        }
    }
}
