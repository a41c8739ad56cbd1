//! The rules of a vote, one sentence each.

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
    let mut ballot = Ballot::new(3);
    assert_eq!(ballot.take_in(0, Heard::Vote(ours(7))), Next::Listen);
    let raise = Next::Raise {
        to: 9,
        nodes: vec![0],
    };
    assert_eq!(ballot.take_in(1, Heard::Vote(ours(9))), raise);
    assert_eq!(ballot.take_in(0, Heard::Raised(Ok(9))), Next::Settled);
    assert_eq!(ballot.standing(), Standing::Carried { fence: Some(9) });
}

#[test]
fn who_counted_further_than_a_quorum_decides_nothing() {
    let carried = Standing::Carried { fence: Some(7) };
    assert_eq!(
        standing(&[Some(ours(9)), Some(ours(7)), Some(ours(7))]),
        carried
    );
    // Two quorums share a node: it is enough that one counted no further, and another no less.
    assert_eq!(
        standing(&[Some(ours(5)), Some(ours(9)), Some(ours(7))]),
        carried
    );
}

#[test]
fn what_is_carried_is_not_lost_to_one_more_vote() {
    for late in 0..20 {
        let mut ballot = Ballot::new(3);
        ballot.take_in(0, Heard::Vote(ours(7)));
        assert_eq!(ballot.take_in(2, Heard::Vote(ours(7))), Next::Settled);
        assert_eq!(ballot.take_in(1, Heard::Vote(ours(late))), Next::Settled);
        assert!(matches!(ballot.standing(), Standing::Carried { .. }));
    }
}

#[test]
fn a_raise_that_is_not_answered_leaves_the_lock_where_it_is() {
    let reason = String::new();
    let mut ballot = Ballot::new(3);
    ballot.take_in(0, Heard::Vote(ours(7)));
    ballot.take_in(1, Heard::Vote(ours(9)));
    ballot.take_in(0, Heard::Raised(Err(Missed::NotAsked { reason })));
    assert!(matches!(ballot.standing(), Standing::Behind { .. }));
    let left = ballot.left_behind(false, &BTreeSet::new());
    assert_eq!(left, BTreeSet::from([0, 1, 2]), "to be released");
    // The third node may make up for it.
    assert_eq!(ballot.take_in(2, Heard::Vote(ours(8))), Next::Settled);
    assert_eq!(ballot.standing(), Standing::Carried { fence: Some(8) });
}

#[test]
fn a_node_that_lost_the_lock_before_it_was_raised_does_not_count() {
    let mut ballot = Ballot::new(3);
    ballot.take_in(0, Heard::Vote(ours(7)));
    ballot.take_in(1, Heard::Vote(ours(9)));
    assert_eq!(ballot.take_in(0, Heard::Raised(Ok(0))), Next::Listen);
    assert_eq!(ballot.standing(), Standing::Open);
}

#[test]
fn what_may_have_been_left_behind_is_everything_that_was_not_denied() {
    let mut ballot = Ballot::new(5);
    ballot.hear(0, ours(1));
    ballot.hear(1, Vote::Theirs(None));
    let reason = String::new;
    ballot.hear(2, Vote::Missed(Missed::Unanswered { reason: reason() }));
    ballot.hear(3, Vote::Missed(Missed::NotAsked { reason: reason() }));
    let left = |before: &[usize]| ballot.left_behind(false, &before.iter().copied().collect());
    assert_eq!(left(&[]), BTreeSet::from([0, 2, 4]));
    assert_eq!(left(&[1, 3]), BTreeSet::from([0, 2, 3, 4]));
}

#[test]
fn from_an_owner_that_may_rely_on_its_lock_nothing_is_taken_back() {
    let ours = |again| Vote::Ours { again, fence: None };
    let missed = || {
        let reason = String::new();
        Vote::Missed(Missed::Unanswered { reason })
    };
    let left = |votes: [Vote; 3]| {
        let mut ballot = Ballot::new(3);
        for (node, vote) in votes.into_iter().enumerate() {
            ballot.hear(node, vote);
        }
        ballot.left_behind(true, &BTreeSet::new())
    };
    assert_eq!(left([ours(true), missed(), ours(true)]), BTreeSet::new());
    // What this try brought to a node, its owner did not rely on.
    assert_eq!(
        left([ours(true), missed(), ours(false)]),
        BTreeSet::from([2])
    );
    assert_eq!(left([missed(), missed(), ours(false)]), BTreeSet::from([2]));
    // On fewer nodes than a quorum it was nobody's.
    let theirs = || Vote::Theirs(None);
    assert_eq!(left([theirs(), missed(), ours(false)]), BTreeSet::from([2]));
    assert_eq!(left([theirs(), theirs(), ours(true)]), BTreeSet::from([2]));
}

#[test]
fn what_an_earlier_try_brought_to_a_node_is_taken_back_though_too_few_nodes_answer_the_next() {
    let missed = || {
        let reason = String::new();
        Vote::Missed(Missed::NotAsked { reason })
    };
    let left = |first: Vote, before: &[usize]| {
        let mut ballot = Ballot::new(3);
        ballot.hear(0, first);
        ballot.hear(1, missed());
        ballot.hear(2, missed());
        ballot.left_behind(true, &before.iter().copied().collect())
    };
    assert_eq!(left(missed(), &[0]), BTreeSet::from([0]));
    let still_there = Vote::Ours {
        again: true,
        fence: None,
    };
    assert_eq!(left(still_there.clone(), &[0]), BTreeSet::from([0]));
    assert_eq!(left(still_there, &[]), BTreeSet::new(), "its owner's");
    assert_eq!(left(Vote::Absent, &[0]), BTreeSet::new());
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
