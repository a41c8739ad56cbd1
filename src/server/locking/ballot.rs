//! One try to take or extend a lock, as a vote of the nodes: their answers in, the decision out.
//!
//! No I/O and no clock, so that the same rules run on real nodes and in a simulation of everything that can happen to
//! them.

use crate::domain::{Lease, Owner, quorum};
use crate::server::nodes::trouble::Missed;

/// What one node answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Vote {
    /// It is ours there.
    Ours {
        /// It was ours before this try.
        again: bool,
        /// The fence that this node counted up to; nothing where fencing is off.
        fence: Option<u64>,
    },
    /// (To an extension only) it is not there.
    Absent,
    /// Somebody was there first: who and until when, as far as the node let us see.
    Theirs(Option<(Owner, Lease)>),
    /// The key is no lock of this layout.
    WrongType(String),
    /// No answer, or an error.
    Missed(Missed),
}

/// How a vote stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The nodes that have not answered decide.
    Open,
    /// On a quorum, whose nodes do not agree on the fence yet: these have to be raised to it first.
    Behind {
        /// The fence of this hold.
        fence: u64,
        /// The nodes that counted less, by their place in the configuration.
        nodes: Vec<usize>,
    },
    /// On a quorum.
    Carried {
        /// The fence of this hold; nothing where fencing is off.
        fence: Option<u64>,
    },
    /// Out of reach, whatever the others answer.
    Failed,
}

/// The votes of all configured nodes about one try.
#[derive(Clone, Debug)]
pub struct Ballot {
    votes: Vec<Option<Vote>>,
}

impl Ballot {
    /// A vote among this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            votes: vec![None; nodes],
        }
    }

    /// A node answered.
    pub fn hear(&mut self, node: usize, vote: Vote) {
        self.votes[node] = Some(vote);
    }

    /// A node raised its fence to this, for [`Standing::Behind`].
    pub fn raised(&mut self, node: usize, to: u64) {
        if let Some(Vote::Ours { fence, .. }) = &mut self.votes[node] {
            *fence = Some(to);
        }
    }

    /// What each node answered so far, in order.
    pub fn votes(&self) -> &[Option<Vote>] {
        &self.votes
    }

    /// Whether every node has answered.
    pub fn is_complete(&self) -> bool {
        self.votes.iter().all(Option::is_some)
    }

    /// How many nodes it takes.
    pub fn quorum(&self) -> usize {
        quorum::majority(self.votes.len())
    }

    /// How the vote stands.
    ///
    /// The fence of a hold is what *one* whole quorum has counted to. Two quorums share a node; that node counts further
    /// for the later hold than it had counted for the earlier one, so the later fence is larger. Where no quorum agrees,
    /// the one that counted least is raised to the largest it has.
    pub fn standing(&self) -> Standing {
        let quorum = self.quorum();
        let mut fences: Vec<(Option<u64>, usize)> = self
            .votes
            .iter()
            .enumerate()
            .filter_map(|(node, vote)| match vote {
                Some(Vote::Ours { fence, .. }) => Some((*fence, node)),
                _ => None,
            })
            .collect();
        let open = self.votes.iter().filter(|vote| vote.is_none()).count();
        if fences.len() < quorum {
            return if fences.len() + open < quorum {
                Standing::Failed
            } else {
                Standing::Open
            };
        }
        fences.sort_unstable();
        let mut quorums = fences.windows(quorum);
        if let Some(agreed) = quorums.find(|nodes| nodes[0].0 == nodes[quorum - 1].0) {
            return Standing::Carried { fence: agreed[0].0 };
        }
        let (fence, _) = fences[quorum - 1];
        let nodes = fences[..quorum]
            .iter()
            .filter(|(counted, _)| *counted < fence)
            .map(|(_, node)| *node)
            .collect();
        Standing::Behind {
            fence: fence.expect("without fences every quorum agrees"),
            nodes,
        }
    }

    /// The nodes where something of this try may be, by their place, once it has failed. `before` are those where an
    /// earlier try of the same token may have left something.
    pub fn doubtful(&self, before: &impl Fn(usize) -> bool) -> Vec<usize> {
        let may_be = |node: &usize| match &self.votes[*node] {
            Some(Vote::Ours { .. } | Vote::Missed(Missed::Unanswered { .. })) | None => true,
            // The node itself says that somebody else's is there, or nothing.
            Some(Vote::Absent | Vote::Theirs(_) | Vote::WrongType(_)) => false,
            // Nothing was sent or done this time.
            Some(Vote::Missed(Missed::NotAsked { .. } | Missed::Refused { .. })) => before(*node),
        };
        (0..self.votes.len()).filter(may_be).collect()
    }

    /// The nodes in whose queue the one who tried may stand, where the layout has one: a node that gave the lock took it
    /// out of its queue, one that did not put it in. `before` are those where an earlier try may have put it in.
    pub fn queued(&self, before: &impl Fn(usize) -> bool) -> Vec<usize> {
        let may_be = |node: &usize| match &self.votes[*node] {
            Some(Vote::Theirs(_) | Vote::Missed(Missed::Unanswered { .. })) | None => true,
            Some(Vote::Ours { .. } | Vote::Absent) => false,
            Some(
                Vote::WrongType(_) | Vote::Missed(Missed::NotAsked { .. } | Missed::Refused { .. }),
            ) => before(*node),
        };
        (0..self.votes.len()).filter(may_be).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(fence: u64) -> Vote {
        Vote::Ours {
            again: false,
            fence: Some(fence),
        }
    }

    fn standing(votes: &[Option<Vote>]) -> Standing {
        let mut ballot = Ballot::new(votes.len());
        for (node, vote) in votes.iter().enumerate() {
            if let Some(vote) = vote {
                ballot.hear(node, vote.clone());
            }
        }
        ballot.standing()
    }

    #[test]
    fn a_try_is_decided_as_soon_as_the_rest_cannot_change_it() {
        let theirs = || Some(Vote::Theirs(None));
        assert_eq!(standing(&[Some(ours(7)), None, None]), Standing::Open);
        assert_eq!(
            standing(&[Some(ours(7)), None, Some(ours(7))]),
            Standing::Carried { fence: Some(7) }
        );
        assert_eq!(standing(&[theirs(), Some(ours(7)), None]), Standing::Open);
        assert_eq!(standing(&[theirs(), None, theirs()]), Standing::Failed);
        let silent = Some(Vote::Missed(Missed::Unanswered {
            reason: String::new(),
        }));
        assert_eq!(
            standing(&[silent.clone(), theirs(), None]),
            Standing::Failed
        );
        assert_eq!(standing(&[silent]), Standing::Failed);
    }

    #[test]
    fn without_fences_a_quorum_is_enough() {
        let plain = Some(Vote::Ours {
            again: true,
            fence: None,
        });
        assert_eq!(
            standing(&[plain.clone(), None, plain]),
            Standing::Carried { fence: None }
        );
    }

    #[test]
    fn nodes_that_counted_less_are_raised_to_the_quorums_largest() {
        assert_eq!(
            standing(&[Some(ours(7)), Some(ours(9)), None]),
            Standing::Behind {
                fence: 9,
                nodes: vec![0]
            }
        );
        // One that counted further than a whole quorum decides nothing.
        assert_eq!(
            standing(&[Some(ours(9)), Some(ours(7)), Some(ours(7))]),
            Standing::Carried { fence: Some(7) }
        );
        let mut ballot = Ballot::new(3);
        ballot.hear(0, ours(7));
        ballot.hear(1, ours(9));
        ballot.raised(0, 9);
        assert_eq!(ballot.standing(), Standing::Carried { fence: Some(9) });
        ballot.hear(2, ours(8));
        assert_eq!(ballot.standing(), Standing::Carried { fence: Some(9) });
    }

    #[test]
    fn what_may_have_been_left_behind_is_everything_that_was_not_denied() {
        let mut ballot = Ballot::new(5);
        ballot.hear(0, ours(1));
        ballot.hear(1, Vote::Theirs(None));
        let reason = String::new;
        ballot.hear(2, Vote::Missed(Missed::Unanswered { reason: reason() }));
        ballot.hear(3, Vote::Missed(Missed::NotAsked { reason: reason() }));
        assert_eq!(ballot.doubtful(&|_| false), [0, 2, 4]);
        assert_eq!(ballot.doubtful(&|_| true), [0, 2, 3, 4]);
    }

    #[test]
    fn who_did_not_get_the_lock_may_stand_in_the_nodes_queue() {
        let mut ballot = Ballot::new(5);
        ballot.hear(0, ours(1));
        ballot.hear(1, Vote::Theirs(None));
        let reason = String::new;
        ballot.hear(2, Vote::Missed(Missed::Unanswered { reason: reason() }));
        ballot.hear(3, Vote::Missed(Missed::NotAsked { reason: reason() }));
        assert_eq!(ballot.queued(&|_| false), [1, 2, 4]);
        assert_eq!(ballot.queued(&|_| true), [1, 2, 3, 4]);
    }
}
