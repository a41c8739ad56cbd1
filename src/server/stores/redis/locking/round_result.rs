//! Derives the result of an acquire or extend from the replies of all nodes.

use std::time::Duration;

use super::AcquireResult;
use super::quorum_round::{NodeReply, QuorumRound, RoundState};
use crate::domain::reason::Reason;
use crate::domain::{Lease, Mode, Observation, Owner, Timestamp, quorum};

/// Returns the result of an acquire: acquired with validity left, held by others, or no quorum.
pub fn acquire_result(
    round: &QuorumRound,
    validity: Option<Duration>,
    now: Timestamp,
) -> AcquireResult {
    if let (RoundState::Reached { .. }, Some(left)) = (round.state(), validity) {
        return AcquireResult::Acquired(left);
    }
    // Other owners did not prevent the quorum, so nodes were missing or the validity was used up.
    if !round.is_blocked_by_others() {
        return AcquireResult::NoQuorum;
    }
    let replies = round.replies();
    match leading_owner(replies) {
        Some((owner, lease)) => AcquireResult::HeldByOther {
            owner: Some(owner),
            lease_ms: lease.remaining_ms(now),
        },
        None => {
            let wrong_type = replies.iter().find_map(|reply| match reply {
                Some(NodeReply::WrongType(type_name)) => Some(type_name.clone()),
                _ => None,
            });
            wrong_type.map_or(
                AcquireResult::HeldByOther {
                    owner: None,
                    lease_ms: None,
                },
                AcquireResult::WrongType,
            )
        }
    }
}

/// Returns the result of an extend. It succeeds on a quorum with validity left. Otherwise it is
/// `HeldByOther` if any node reports another owner, `NotHeld` if too few nodes are left to hold the
/// lock, and `NoQuorum` if the missing nodes could decide.
pub fn extend_result(
    round: &QuorumRound,
    validity: Option<Duration>,
    now: Timestamp,
) -> AcquireResult {
    let undecided_result = match acquire_result(round, validity, now) {
        AcquireResult::NoQuorum => None,
        decided => Some(decided),
    };
    if let Some(decided) = undecided_result {
        return decided;
    }
    // A node that failed or has not replied may still hold the lock.
    let maybe_held = round
        .replies()
        .iter()
        .filter(|reply| {
            matches!(
                reply,
                Some(NodeReply::Ours { .. } | NodeReply::Failed(_)) | None
            )
        })
        .count();
    if maybe_held >= round.quorum() {
        return AcquireResult::NoQuorum;
    }
    // Another owner is reported even without a quorum of its own: it explains why the lock was
    // lost.
    let other = round.replies().iter().find_map(|reply| match reply {
        Some(NodeReply::HeldByOther(other)) => Some(other.clone()),
        _ => None,
    });
    match other {
        Some(other) => AcquireResult::HeldByOther {
            lease_ms: other
                .as_ref()
                .and_then(|(_, lease)| lease.remaining_ms(now)),
            owner: other.map(|(owner, _)| owner),
        },
        None => AcquireResult::NotHeld,
    }
}

/// The owner on most nodes, with the lease that [`quorum::judge`] computes for it.
fn leading_owner(replies: &[Option<NodeReply>]) -> Option<(Owner, Lease)> {
    let states: Vec<Observation> = replies
        .iter()
        .map(|reply| match reply {
            Some(NodeReply::HeldByOther(Some((owner, lease)))) => {
                Observation::held_by(owner.clone(), *lease)
            }
            Some(NodeReply::Failed(error)) => Observation::Unreachable {
                reason: error.reason().clone(),
            },
            None => Observation::Unreachable {
                reason: Reason::NotChecked,
            },
            Some(
                NodeReply::Ours { .. }
                | NodeReply::Absent
                | NodeReply::HeldByOther(None)
                | NodeReply::WrongType(_),
            ) => Observation::Absent,
        })
        .collect();
    match quorum::judge(&states.iter().collect::<Vec<_>>(), Mode::Exclusive) {
        quorum::Judgement::Observed(other) => other
            .owners
            .into_iter()
            .next()
            .map(|owner| (owner, other.lease)),
        quorum::Judgement::NotObserved | quorum::Judgement::Undetermined => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Fingerprint, Format};
    use crate::server::stores::redis::nodes::node_error::CallError;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);
    const LEFT: Option<Duration> = Some(Duration::from_secs(9));

    fn held_by_other(n: u8) -> NodeReply {
        let fingerprint = Fingerprint::parse(&format!("{n:016x}")).unwrap();
        let owner = Owner {
            fingerprint,
            label: None,
            format: Format::Plain,
            hold_count: None,
        };
        NodeReply::HeldByOther(Some((owner, Lease::until(NOW.plus_millis(500), NOW))))
    }

    fn ours() -> NodeReply {
        NodeReply::Ours {
            already_held: false,
            fence: None,
        }
    }

    fn round(replies: &[NodeReply]) -> QuorumRound {
        let mut round = QuorumRound::new(replies.len());
        for (node, reply) in replies.iter().enumerate() {
            round.record_reply(node, reply.clone());
        }
        round
    }

    fn acquired(replies: &[NodeReply], validity: Option<Duration>) -> AcquireResult {
        acquire_result(&round(replies), validity, NOW)
    }

    fn extended(replies: &[NodeReply]) -> AcquireResult {
        extend_result(&round(replies), LEFT, NOW)
    }

    fn no_reply() -> NodeReply {
        NodeReply::Failed(CallError::NoReply {
            reason: Reason::NoReply { timeout_ms: 500 },
        })
    }

    #[test]
    fn a_quorum_with_validity_left_acquires_the_lock() {
        assert_eq!(
            acquired(&[ours(), ours(), no_reply()], LEFT),
            AcquireResult::Acquired(Duration::from_secs(9))
        );
        assert_eq!(
            acquired(&[ours(), ours(), held_by_other(1)], LEFT),
            AcquireResult::Acquired(Duration::from_secs(9))
        );
    }

    #[test]
    fn a_quorum_without_validity_left_is_no_quorum() {
        assert_eq!(
            acquired(&[ours(), ours(), ours()], None),
            AcquireResult::NoQuorum
        );
    }

    #[test]
    fn a_lock_is_held_by_others_only_if_the_remaining_nodes_cannot_form_a_quorum() {
        assert!(matches!(
            acquired(&[held_by_other(1), held_by_other(1), ours()], LEFT),
            AcquireResult::HeldByOther {
                owner: Some(_),
                lease_ms: Some(500)
            }
        ));
        assert!(matches!(
            acquired(&[held_by_other(1), held_by_other(2), ours()], LEFT),
            AcquireResult::HeldByOther { .. }
        ));
        assert_eq!(
            acquired(&[held_by_other(1), ours(), no_reply()], LEFT),
            AcquireResult::NoQuorum
        );
        assert_eq!(
            acquired(&[held_by_other(1), no_reply(), no_reply()], LEFT),
            AcquireResult::NoQuorum
        );
        assert!(matches!(
            acquired(&[held_by_other(1)], LEFT),
            AcquireResult::HeldByOther { .. }
        ));
    }

    #[test]
    fn a_wrong_type_is_reported_unless_another_owner_holds_the_lock() {
        assert_eq!(
            acquired(&[NodeReply::WrongType("list".to_owned())], LEFT),
            AcquireResult::WrongType("list".to_owned())
        );
        assert_eq!(
            acquired(&[NodeReply::HeldByOther(None)], LEFT),
            AcquireResult::HeldByOther {
                owner: None,
                lease_ms: None
            }
        );
    }

    #[test]
    fn an_extend_needs_its_own_quorum() {
        assert_eq!(
            extended(&[ours(), ours(), no_reply()]),
            AcquireResult::Acquired(Duration::from_secs(9))
        );
        assert_eq!(
            extended(&[ours(), no_reply(), no_reply()]),
            AcquireResult::NoQuorum
        );
        assert_eq!(
            extended(&[ours(), NodeReply::Absent, no_reply()]),
            AcquireResult::NoQuorum
        );
    }

    #[test]
    fn a_lock_on_too_few_nodes_is_not_held() {
        assert_eq!(extended(&[NodeReply::Absent]), AcquireResult::NotHeld);
        assert_eq!(
            extended(&[ours(), NodeReply::Absent, NodeReply::Absent]),
            AcquireResult::NotHeld
        );
    }

    #[test]
    fn an_extend_reports_another_owner_before_anything_else() {
        assert!(matches!(
            extended(&[held_by_other(1)]),
            AcquireResult::HeldByOther {
                owner: Some(_),
                lease_ms: Some(500)
            }
        ));
        assert!(matches!(
            extended(&[held_by_other(1), NodeReply::Absent, NodeReply::Absent]),
            AcquireResult::HeldByOther { .. }
        ));
        assert_eq!(
            extended(&[held_by_other(1), ours(), ours()]),
            AcquireResult::Acquired(Duration::from_secs(9))
        );
    }
}
