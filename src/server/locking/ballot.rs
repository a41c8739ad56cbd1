//! One try to take or extend a lock, as a vote of the nodes: their answers in, the decision out.
//!
//! No I/O and no clock: nothing but the answers decides.

use std::collections::BTreeSet;

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
    /// On a quorum, but too few nodes have counted as far as the fence: these have to be raised to it first.
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

/// What comes back from a node during a try.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// Its vote.
    Vote(Vote),
    /// What became of raising its fence: how far it counts now, or 0 if the lock is not ours there any more.
    Raised(Result<u64, Missed>),
}

/// What a try does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// It hears on.
    Listen,
    /// It asks these nodes to raise their fence, and hears on.
    Raise {
        /// To this.
        to: u64,
        /// The nodes, by their place in the configuration. None is asked twice.
        nodes: Vec<usize>,
    },
    /// The others change nothing: nobody waits for them.
    Settled,
}

/// The votes of all configured nodes about one try.
#[derive(Clone, Debug)]
pub struct Ballot {
    votes: Vec<Option<Vote>>,
    /// How far nodes have raised their fence since they voted.
    raised: Vec<u64>,
    /// The nodes that were asked to raise their fence.
    raising: BTreeSet<usize>,
}

impl Ballot {
    /// A vote among this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            votes: vec![None; nodes],
            raised: vec![0; nodes],
            raising: BTreeSet::new(),
        }
    }

    /// A node of an acquire answered: what now.
    ///
    /// A try that fails for want of nodes hears them all, so that what was taken is known and released before anybody
    /// is told.
    pub fn take_in(&mut self, node: usize, heard: Heard) -> Next {
        match heard {
            Heard::Vote(vote) => self.hear(node, vote),
            Heard::Raised(Ok(0)) => self.hear(node, Vote::Absent),
            Heard::Raised(Ok(to)) => self.raised[node] = to,
            // It is still ours there, as far as we know, and has not counted further.
            Heard::Raised(Err(_)) => {}
        }
        match self.standing() {
            Standing::Carried { .. } => Next::Settled,
            Standing::Failed if self.is_kept_from_us() => Next::Settled,
            Standing::Open | Standing::Failed => Next::Listen,
            Standing::Behind { fence: to, nodes } => {
                let nodes: Vec<usize> = nodes
                    .into_iter()
                    .filter(|node| self.raising.insert(*node))
                    .collect();
                if nodes.is_empty() {
                    Next::Listen
                } else {
                    Next::Raise { to, nodes }
                }
            }
        }
    }

    /// A node answered.
    pub fn hear(&mut self, node: usize, vote: Vote) {
        self.votes[node] = Some(vote);
    }

    /// What each node answered so far, in order.
    pub fn votes(&self) -> &[Option<Vote>] {
        &self.votes
    }

    /// How many nodes it takes.
    pub fn quorum(&self) -> usize {
        quorum::majority(self.votes.len())
    }

    /// Whether others are in the way on so many nodes that all the rest could not have helped.
    pub fn is_kept_from_us(&self) -> bool {
        let in_the_way =
            |vote: &&Option<Vote>| matches!(vote, Some(Vote::Theirs(_) | Vote::WrongType(_)));
        self.votes.iter().filter(in_the_way).count() > self.votes.len() - self.quorum()
    }

    /// How the vote stands.
    ///
    /// The fence of a hold is at least what every node of *some* quorum counted when it gave the lock, and every node of
    /// *some* quorum, the same or another, has counted at least that far before the lock counts as taken. A later hold's
    /// first quorum shares a node with this one's second; that node counts further for the later hold than it had
    /// counted for this one, so the later fence is larger. Of all numbers that will do, the smallest is chosen: the
    /// fewest nodes have to be raised to it, none at all once every node has given the lock. Another vote can only lower
    /// it, so what is carried stays carried unless a node lost the lock meanwhile.
    pub fn standing(&self) -> Standing {
        let quorum = self.quorum();
        let ours: Vec<(usize, Option<u64>)> = self
            .votes
            .iter()
            .enumerate()
            .filter_map(|(node, vote)| match vote {
                Some(Vote::Ours { fence, .. }) => Some((node, *fence)),
                _ => None,
            })
            .collect();
        let open = self.votes.iter().filter(|vote| vote.is_none()).count();
        if ours.len() < quorum {
            return if ours.len() + open < quorum {
                Standing::Failed
            } else {
                Standing::Open
            };
        }
        let mut given: Vec<Option<u64>> = ours.iter().map(|(_, given)| *given).collect();
        given.sort_unstable();
        let Some(fence) = given[quorum - 1] else {
            return Standing::Carried { fence: None };
        };
        let is_behind = |(node, given): &(usize, Option<u64>)| {
            given.is_none_or(|given| given.max(self.raised[*node]) < fence)
        };
        let nodes: Vec<usize> = ours
            .iter()
            .filter(|vote| is_behind(vote))
            .map(|(node, _)| *node)
            .collect();
        if ours.len() - nodes.len() >= quorum {
            Standing::Carried { fence: Some(fence) }
        } else {
            Standing::Behind { fence, nodes }
        }
    }

    /// The nodes where something has to be taken back, by their place, once the try has failed. `before` are those where
    /// an earlier try of the same token may have left something.
    ///
    /// With a token that was brought along, its owner may rely on what it had before: unless that cannot have been a
    /// quorum, nothing is taken back but what this try or one of the earlier ones brought to a node.
    pub fn left_behind(&self, brought: bool, before: &BTreeSet<usize>) -> BTreeSet<usize> {
        if brought && self.may_have_been_held() {
            let is_new = |node: &usize| match &self.votes[*node] {
                Some(Vote::Ours { again, .. }) => !again || before.contains(node),
                Some(Vote::Missed(_)) | None => before.contains(node),
                Some(Vote::Absent | Vote::Theirs(_) | Vote::WrongType(_)) => false,
            };
            return (0..self.votes.len()).filter(is_new).collect();
        }
        let may_be = |node: &usize| match &self.votes[*node] {
            Some(Vote::Ours { .. }) => true,
            Some(Vote::Missed(Missed::Unanswered { .. })) | None => !brought,
            // The node itself says that somebody else's is there, or nothing.
            Some(Vote::Absent | Vote::Theirs(_) | Vote::WrongType(_)) => false,
            // Nothing was sent or done this time.
            Some(Vote::Missed(Missed::NotAsked { .. } | Missed::Refused { .. })) => {
                before.contains(node)
            }
        };
        (0..self.votes.len()).filter(may_be).collect()
    }

    /// Whether nothing of this owner can have been held before this try, although the token was brought along: no node had it,
    /// and those that did not answer are too few to have held it.
    pub fn was_new(&self) -> bool {
        let had_it = |vote: &Option<Vote>| matches!(vote, Some(Vote::Ours { again: true, .. }));
        !self.may_have_been_held() && !self.votes.iter().any(had_it)
    }

    /// Whether this try may have come upon a lock that was its owner's already.
    fn may_have_been_held(&self) -> bool {
        let may_be = |vote: &&Option<Vote>| match vote {
            Some(Vote::Ours { again, .. }) => *again,
            Some(Vote::Missed(_)) | None => true,
            Some(Vote::Absent | Vote::Theirs(_) | Vote::WrongType(_)) => false,
        };
        self.votes.iter().filter(may_be).count() >= self.quorum()
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
#[path = "ballot_tests.rs"]
mod tests;
