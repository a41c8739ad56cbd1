//! On which nodes an owner holds the lock, and which nodes are unreachable.

use crate::domain::{Fingerprint, GroupView, Lock, Observation, quorum};
use crate::ui::format;
use crate::ui::i18n::operations as t;
use crate::ui::i18n::{punctuation, terms};

/// The nodes' replies about one owner's hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCoverage {
    /// The number of nodes that show the hold.
    holding: usize,
    /// The number of nodes of the lock.
    total: usize,
    /// The names of the nodes that did not reply.
    unreachable: Vec<String>,
}

impl NodeCoverage {
    /// Counts the last replies of the lock's nodes.
    pub fn of(lock: &Lock, owner: &Fingerprint) -> Self {
        let nodes = || lock.nodes.iter();
        let shows = |observation: &Observation| {
            observation
                .owners()
                .any(|owner_on_node| owner_on_node.fingerprint == *owner)
        };
        let unreachable = nodes().filter(|node| !node.observation.is_reachable());
        Self {
            holding: nodes().filter(|node| shows(&node.observation)).count(),
            total: nodes().count(),
            unreachable: unreachable.map(|node| node.node.clone()).collect(),
        }
    }

    /// Names the nodes and the group of the release, as the end of the dialog's title.
    pub fn location_suffix(&self, group: &GroupView) -> String {
        let environment = terms::environment(group.environment);
        if self.total <= 1 {
            return t::of_group(&group.name, environment);
        }
        let nodes = format::node_count(self.total);
        if self.holding == self.total {
            t::on_nodes(&nodes, &group.name, environment)
        } else {
            t::on_some_nodes(self.holding, &nodes, &group.name, environment)
        }
    }

    /// Returns a warning about unreachable nodes, and whether they are a quorum. `None` if every
    /// node replied.
    pub fn unreachable_warning(&self) -> Option<(String, bool)> {
        let has_unreachable = !self.unreachable.is_empty();
        has_unreachable.then(|| {
            let names = self.unreachable.join(punctuation::comma());
            let keeps_a_quorum = self.unreachable.len() >= quorum::majority(self.total);
            (t::cannot_be_reached(&names), keeps_a_quorum)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reason::Reason;
    use crate::domain::testing::{NOW, lock, owner};
    use crate::domain::{Lease, NodeObservation};

    /// A lock whose nodes show the owner (`h`), another owner (`o`) or no key (`n`), or are
    /// unreachable (`u`).
    fn coverage(nodes: &str) -> NodeCoverage {
        let observation = |letter| match letter {
            'h' => Observation::held_by(owner(1), Lease::Never),
            'o' => Observation::held_by(owner(5), Lease::Never),
            'n' => Observation::Absent,
            _ => Observation::Unreachable {
                reason: Reason::NoReply { timeout_ms: 500 },
            },
        };
        let names = ["a", "b", "c", "d", "e"].into_iter();
        let mut lock = lock(&[1], NOW, NOW);
        lock.nodes = names
            .zip(nodes.chars())
            .map(|(node, letter)| NodeObservation {
                node: node.into(),
                observation: observation(letter),
            })
            .collect();
        NodeCoverage::of(&lock, &owner(1).fingerprint)
    }

    #[test]
    fn nodes_that_show_the_owner_are_counted_and_unreachable_ones_are_named() {
        for (nodes, holding, unreachable_warning) in [
            ("hhhhh", 5, None),
            (
                "hhuhh",
                4,
                Some(("c cannot be reached and may still hold the lock.", false)),
            ),
            (
                "hnuuu",
                1,
                Some((
                    "c, d, e cannot be reached and may still hold the lock.",
                    true,
                )),
            ),
            ("hhnho", 3, None),
        ] {
            let coverage = coverage(nodes);
            assert_eq!((coverage.holding, coverage.total), (holding, 5), "{nodes}");
            let expected =
                unreachable_warning.map(|(text, keeps_a_quorum)| (text.to_owned(), keeps_a_quorum));
            assert_eq!(coverage.unreachable_warning(), expected, "{nodes}");
        }
    }
}
