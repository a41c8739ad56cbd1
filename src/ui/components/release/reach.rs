//! On which nodes a release would take a lock from its owner, and on which nobody can tell. Pure rules.

use crate::domain::{Answer, Fingerprint, GroupView, Lock, quorum};
use crate::ui::format;
use crate::ui::words::act as words;
use crate::ui::words::{punctuation, verdicts};

/// What the nodes show of one owner's hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// How many nodes show it.
    on: usize,
    /// How many nodes there are for this lock.
    all: usize,
    /// The names of those that do not answer.
    away: Vec<String>,
}

impl Reach {
    /// By what the lock's nodes showed last.
    pub fn of(lock: &Lock, owner: &Fingerprint) -> Self {
        let nodes = || lock.nodes.iter();
        let shows = |answer: &Answer| answer.owners().any(|here| here.fingerprint == *owner);
        let away = nodes().filter(|node| !node.answer.is_answer());
        Self {
            on: nodes().filter(|node| shows(&node.answer)).count(),
            all: nodes().count(),
            away: away.map(|node| node.node.clone()).collect(),
        }
    }

    /// Where it would be released, as the end of the question whether to do so.
    pub fn whereabouts(&self, group: &GroupView) -> String {
        let environment = verdicts::environment(group.environment);
        if self.all <= 1 {
            return words::of_group(&group.name, environment);
        }
        let nodes = format::counted(self.all, "node");
        if self.on == self.all {
            words::on_nodes(&nodes, &group.name, environment)
        } else {
            words::on_some_nodes(self.on, &nodes, &group.name, environment)
        }
    }

    /// What nobody can tell at the moment, and whether that is enough for a quorum; nothing where each node answers.
    pub fn doubt(&self) -> Option<(String, bool)> {
        let first = !self.away.is_empty();
        first.then(|| {
            let names = self.away.join(punctuation::comma());
            let keeps_a_quorum = self.away.len() >= quorum::majority(self.all);
            (words::cannot_be_reached(&names), keeps_a_quorum)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::{NOW, lock, owner};
    use crate::domain::{Lease, NodeAnswer};

    /// A lock whose nodes show `h` the owner, `o` another one, `n` nothing, or do not answer.
    fn reach(nodes: &str) -> Reach {
        let answer = |word| match word {
            'h' => Answer::held_by(owner(1), Lease::Never),
            'o' => Answer::held_by(owner(5), Lease::Never),
            'n' => Answer::Absent,
            _ => Answer::Unreachable {
                reason: "no answer".into(),
            },
        };
        let names = ["a", "b", "c", "d", "e"].into_iter();
        let mut lock = lock(&[1], NOW, NOW);
        lock.nodes = names
            .zip(nodes.chars())
            .map(|(node, word)| NodeAnswer {
                node: node.into(),
                answer: answer(word),
            })
            .collect();
        Reach::of(&lock, &owner(1).fingerprint)
    }

    #[test]
    fn only_nodes_that_show_the_owner_are_counted_and_those_that_are_away_are_named() {
        for (nodes, on, doubt) in [
            ("hhhhh", 5, None),
            (
                "hhuhh",
                4,
                Some(("c cannot be reached and may still hold it.", false)),
            ),
            (
                "hnuuu",
                1,
                Some(("c, d, e cannot be reached and may still hold it.", true)),
            ),
            ("hhnho", 3, None),
        ] {
            let reach = reach(nodes);
            assert_eq!((reach.on, reach.all), (on, 5), "{nodes}");
            let told = doubt.map(|(text, keeps)| (text.to_owned(), keeps));
            assert_eq!(reach.doubt(), told, "{nodes}");
        }
    }
}
