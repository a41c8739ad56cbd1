//! The rules of a quorum round, one test each.

use super::*;
use crate::domain::reason::Reason;

const NO_REPLY: Reason = Reason::NoReply { timeout_ms: 500 };

fn ours(fence: u64) -> NodeReply {
    NodeReply::Ours {
        already_held: false,
        fence: Some(fence),
    }
}

fn state_of(replies: &[Option<NodeReply>]) -> RoundState {
    let mut round = QuorumRound::new(replies.len());
    for (node, reply) in replies.iter().enumerate() {
        if let Some(reply) = reply {
            round.record_reply(node, reply.clone());
        }
    }
    round.state()
}

#[test]
fn a_round_is_decided_as_soon_as_outstanding_replies_cannot_change_it() {
    let held_by_other = || Some(NodeReply::HeldByOther(None));
    assert_eq!(
        state_of(&[Some(ours(7)), None, None]),
        RoundState::Undecided
    );
    assert_eq!(
        state_of(&[Some(ours(7)), None, Some(ours(7))]),
        RoundState::Reached { fence: Some(7) }
    );
    assert_eq!(
        state_of(&[held_by_other(), Some(ours(7)), None]),
        RoundState::Undecided
    );
    assert_eq!(
        state_of(&[held_by_other(), None, held_by_other()]),
        RoundState::Failed
    );
    let no_reply = Some(NodeReply::Failed(CallError::NoReply { reason: NO_REPLY }));
    assert_eq!(
        state_of(&[no_reply.clone(), held_by_other(), None]),
        RoundState::Failed
    );
    assert_eq!(state_of(&[no_reply]), RoundState::Failed);
}

#[test]
fn without_fencing_a_quorum_is_sufficient() {
    let plain = Some(NodeReply::Ours {
        already_held: true,
        fence: None,
    });
    assert_eq!(
        state_of(&[plain.clone(), None, plain]),
        RoundState::Reached { fence: None }
    );
}

#[test]
fn lower_fencing_counters_are_raised_to_the_largest_of_the_quorum() {
    let mut round = QuorumRound::new(3);
    assert_eq!(
        round.handle_event(0, NodeEvent::Reply(ours(7))),
        NextAction::Wait
    );
    let raise = NextAction::RaiseFence {
        to: 9,
        nodes: vec![0],
    };
    assert_eq!(round.handle_event(1, NodeEvent::Reply(ours(9))), raise);
    assert_eq!(
        round.handle_event(0, NodeEvent::FenceRaised(Ok(9))),
        NextAction::Finish
    );
    assert_eq!(round.state(), RoundState::Reached { fence: Some(9) });
}

#[test]
fn a_counter_ahead_of_the_quorum_does_not_change_the_token() {
    let carried = RoundState::Reached { fence: Some(7) };
    assert_eq!(
        state_of(&[Some(ours(9)), Some(ours(7)), Some(ours(7))]),
        carried
    );
    // Two quorums share a node. The token needs one node with a counter no larger and another with
    // one no smaller.
    assert_eq!(
        state_of(&[Some(ours(5)), Some(ours(9)), Some(ours(7))]),
        carried
    );
}

#[test]
fn a_reached_quorum_is_not_lost_by_one_more_reply() {
    for late in 0..20 {
        let mut round = QuorumRound::new(3);
        round.handle_event(0, NodeEvent::Reply(ours(7)));
        assert_eq!(
            round.handle_event(2, NodeEvent::Reply(ours(7))),
            NextAction::Finish
        );
        assert_eq!(
            round.handle_event(1, NodeEvent::Reply(ours(late))),
            NextAction::Finish
        );
        assert!(matches!(round.state(), RoundState::Reached { .. }));
    }
}

#[test]
fn a_fence_raise_without_reply_keeps_the_lock_on_that_node() {
    let reason = Reason::ConnectionRefused;
    let mut round = QuorumRound::new(3);
    round.handle_event(0, NodeEvent::Reply(ours(7)));
    round.handle_event(1, NodeEvent::Reply(ours(9)));
    round.handle_event(
        0,
        NodeEvent::FenceRaised(Err(CallError::NotSent { reason })),
    );
    assert!(matches!(round.state(), RoundState::FenceBehind { .. }));
    let left = round.nodes_to_release(false, &BTreeSet::new());
    assert_eq!(left, BTreeSet::from([0, 1, 2]), "must be released");
    // The third node can complete the quorum instead.
    assert_eq!(
        round.handle_event(2, NodeEvent::Reply(ours(8))),
        NextAction::Finish
    );
    assert_eq!(round.state(), RoundState::Reached { fence: Some(8) });
}

#[test]
fn a_node_that_lost_the_lock_before_its_fence_was_raised_does_not_count() {
    let mut round = QuorumRound::new(3);
    round.handle_event(0, NodeEvent::Reply(ours(7)));
    round.handle_event(1, NodeEvent::Reply(ours(9)));
    assert_eq!(
        round.handle_event(0, NodeEvent::FenceRaised(Ok(0))),
        NextAction::Wait
    );
    assert_eq!(round.state(), RoundState::Undecided);
}

#[test]
fn every_node_that_did_not_deny_the_lock_is_released() {
    let mut round = QuorumRound::new(5);
    round.record_reply(0, ours(1));
    round.record_reply(1, NodeReply::HeldByOther(None));
    round.record_reply(
        2,
        NodeReply::Failed(CallError::NoReply { reason: NO_REPLY }),
    );
    round.record_reply(
        3,
        NodeReply::Failed(CallError::NotSent {
            reason: Reason::ConnectionRefused,
        }),
    );
    let left = |before: &[usize]| round.nodes_to_release(false, &before.iter().copied().collect());
    assert_eq!(left(&[]), BTreeSet::from([0, 2, 4]));
    assert_eq!(left(&[1, 3]), BTreeSet::from([0, 2, 3, 4]));
}

#[test]
fn nothing_is_released_that_an_owner_may_rely_on() {
    let ours = |already_held| NodeReply::Ours {
        already_held,
        fence: None,
    };
    let failed = || NodeReply::Failed(CallError::NoReply { reason: NO_REPLY });
    let left = |replies: [NodeReply; 3]| {
        let mut round = QuorumRound::new(3);
        for (node, reply) in replies.into_iter().enumerate() {
            round.record_reply(node, reply);
        }
        round.nodes_to_release(true, &BTreeSet::new())
    };
    assert_eq!(left([ours(true), failed(), ours(true)]), BTreeSet::new());
    // The owner did not rely on what this attempt wrote.
    assert_eq!(
        left([ours(true), failed(), ours(false)]),
        BTreeSet::from([2])
    );
    assert_eq!(left([failed(), failed(), ours(false)]), BTreeSet::from([2]));
    // On fewer nodes than a quorum it was not a valid hold.
    let held_by_other = || NodeReply::HeldByOther(None);
    assert_eq!(
        left([held_by_other(), failed(), ours(false)]),
        BTreeSet::from([2])
    );
    assert_eq!(
        left([held_by_other(), held_by_other(), ours(true)]),
        BTreeSet::from([2])
    );
}

#[test]
fn locks_of_an_earlier_attempt_are_released_even_if_too_few_nodes_reply_to_the_next() {
    let failed = || {
        NodeReply::Failed(CallError::NotSent {
            reason: Reason::ConnectionRefused,
        })
    };
    let left = |first: NodeReply, before: &[usize]| {
        let mut round = QuorumRound::new(3);
        round.record_reply(0, first);
        round.record_reply(1, failed());
        round.record_reply(2, failed());
        round.nodes_to_release(true, &before.iter().copied().collect())
    };
    assert_eq!(left(failed(), &[0]), BTreeSet::from([0]));
    let still_there = NodeReply::Ours {
        already_held: true,
        fence: None,
    };
    assert_eq!(left(still_there.clone(), &[0]), BTreeSet::from([0]));
    assert_eq!(left(still_there, &[]), BTreeSet::new(), "an earlier hold");
    assert_eq!(left(NodeReply::Absent, &[0]), BTreeSet::new());
}

#[test]
fn a_failed_acquire_may_be_in_the_queues_of_the_nodes() {
    let mut round = QuorumRound::new(5);
    round.record_reply(0, ours(1));
    round.record_reply(1, NodeReply::HeldByOther(None));
    round.record_reply(
        2,
        NodeReply::Failed(CallError::NoReply { reason: NO_REPLY }),
    );
    round.record_reply(
        3,
        NodeReply::Failed(CallError::NotSent {
            reason: Reason::ConnectionRefused,
        }),
    );
    assert_eq!(round.nodes_maybe_queued(&|_| false), [1, 2, 4]);
    assert_eq!(round.nodes_maybe_queued(&|_| true), [1, 2, 3, 4]);
}
