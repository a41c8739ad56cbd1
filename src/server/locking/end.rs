//! What all nodes' answers to an acquire or extend add up to.

use std::time::Duration;

use super::End;
use super::ballot::{Ballot, Standing, Vote};
use crate::domain::{Answer, Lease, Mode, Owner, Timestamp, quorum};

/// How an acquire ended: won with validity left, kept from us by others, or short of nodes.
pub fn end(ballot: &Ballot, validity: Option<Duration>, now: Timestamp) -> End {
    if let (Standing::Carried { .. }, Some(left)) = (ballot.standing(), validity) {
        return End::Won(left);
    }
    // Otherwise it failed for want of nodes or of time.
    if !ballot.is_kept_from_us() {
        return End::NoQuorum;
    }
    let votes = ballot.votes();
    match first_owner(votes) {
        Some((owner, lease)) => End::Taken {
            owner: Some(owner),
            lease_ms: lease.remaining_ms(now),
        },
        None => {
            let wrong_type = votes.iter().find_map(|vote| match vote {
                Some(Vote::WrongType(type_name)) => Some(type_name.clone()),
                _ => None,
            });
            wrong_type.map_or(
                End::Taken {
                    owner: None,
                    lease_ms: None,
                },
                End::WrongType,
            )
        }
    }
}

/// How an extension ended: won on a quorum in time. Otherwise somebody else's if any node says so, not held if too few
/// nodes are left to hold it, and open if the missing nodes decide.
pub fn end_of_extend(ballot: &Ballot, validity: Option<Duration>, now: Timestamp) -> End {
    let otherwise = match end(ballot, validity, now) {
        End::NoQuorum => None,
        decided => Some(decided),
    };
    if let Some(decided) = otherwise {
        return decided;
    }
    let may_still_have_it = ballot
        .votes()
        .iter()
        .filter(|vote| matches!(vote, Some(Vote::Ours { .. } | Vote::Missed(_)) | None))
        .count();
    if may_still_have_it >= ballot.quorum() {
        return End::NoQuorum;
    }
    // Too few for a quorum of theirs, and yet somebody else is there: the caller has to hear that first.
    let theirs = ballot.votes().iter().find_map(|vote| match vote {
        Some(Vote::Theirs(seen)) => Some(seen.clone()),
        _ => None,
    });
    match theirs {
        Some(seen) => End::Taken {
            lease_ms: seen.as_ref().and_then(|(_, lease)| lease.remaining_ms(now)),
            owner: seen.map(|(owner, _)| owner),
        },
        None => End::NotHeld,
    }
}

/// The owner on most nodes, and the lease as [`quorum::judge`] sees it.
fn first_owner(votes: &[Option<Vote>]) -> Option<(Owner, Lease)> {
    let answers: Vec<Answer> = votes
        .iter()
        .map(|vote| match vote {
            Some(Vote::Theirs(Some((owner, lease)))) => Answer::held_by(owner.clone(), *lease),
            Some(Vote::Missed(_)) | None => Answer::Unreachable {
                reason: String::new(),
            },
            Some(Vote::Ours { .. } | Vote::Absent | Vote::Theirs(None) | Vote::WrongType(_)) => {
                Answer::Absent
            }
        })
        .collect();
    match quorum::judge(&answers.iter().collect::<Vec<_>>(), Mode::Exclusive) {
        quorum::Judgement::Seen(seen) => seen
            .owners
            .into_iter()
            .next()
            .map(|owner| (owner, seen.lease)),
        quorum::Judgement::NotObserved | quorum::Judgement::CannotTell => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Fingerprint, Format};
    use crate::server::nodes::trouble::Missed;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);
    const LEFT: Option<Duration> = Some(Duration::from_secs(9));

    fn theirs(n: u8) -> Vote {
        let fingerprint = Fingerprint::parse(&format!("{n:016x}")).unwrap();
        let owner = Owner {
            fingerprint,
            label: None,
            format: Format::Plain,
            holds: None,
        };
        Vote::Theirs(Some((owner, Lease::until(NOW.plus_millis(500), NOW))))
    }

    fn ours() -> Vote {
        Vote::Ours {
            again: false,
            fence: None,
        }
    }

    fn ballot(votes: &[Vote]) -> Ballot {
        let mut ballot = Ballot::new(votes.len());
        for (node, vote) in votes.iter().enumerate() {
            ballot.hear(node, vote.clone());
        }
        ballot
    }

    fn ended(votes: &[Vote], validity: Option<Duration>) -> End {
        end(&ballot(votes), validity, NOW)
    }

    fn extended(votes: &[Vote]) -> End {
        end_of_extend(&ballot(votes), LEFT, NOW)
    }

    fn silent() -> Vote {
        Vote::Missed(Missed::Unanswered {
            reason: "no answer within 500 ms".to_owned(),
        })
    }

    #[test]
    fn a_quorum_with_validity_left_wins() {
        assert_eq!(
            ended(&[ours(), ours(), silent()], LEFT),
            End::Won(Duration::from_secs(9))
        );
        assert_eq!(
            ended(&[ours(), ours(), theirs(1)], LEFT),
            End::Won(Duration::from_secs(9))
        );
    }

    #[test]
    fn a_quorum_that_came_too_late_is_none() {
        assert_eq!(ended(&[ours(), ours(), ours()], None), End::NoQuorum);
    }

    #[test]
    fn it_is_taken_only_when_no_other_node_could_have_helped() {
        assert!(matches!(
            ended(&[theirs(1), theirs(1), ours()], LEFT),
            End::Taken {
                owner: Some(_),
                lease_ms: Some(500)
            }
        ));
        assert!(matches!(
            ended(&[theirs(1), theirs(2), ours()], LEFT),
            End::Taken { .. }
        ));
        assert_eq!(ended(&[theirs(1), ours(), silent()], LEFT), End::NoQuorum);
        assert_eq!(ended(&[theirs(1), silent(), silent()], LEFT), End::NoQuorum);
        assert!(matches!(ended(&[theirs(1)], LEFT), End::Taken { .. }));
    }

    #[test]
    fn a_key_that_is_no_lock_is_named_unless_somebody_holds_it() {
        assert_eq!(
            ended(&[Vote::WrongType("list".to_owned())], LEFT),
            End::WrongType("list".to_owned())
        );
        assert_eq!(
            ended(&[Vote::Theirs(None)], LEFT),
            End::Taken {
                owner: None,
                lease_ms: None
            }
        );
    }

    #[test]
    fn an_extension_needs_a_quorum_of_its_own() {
        assert_eq!(
            extended(&[ours(), ours(), silent()]),
            End::Won(Duration::from_secs(9))
        );
        assert_eq!(extended(&[ours(), silent(), silent()]), End::NoQuorum);
        assert_eq!(extended(&[ours(), Vote::Absent, silent()]), End::NoQuorum);
    }

    #[test]
    fn what_is_on_too_few_nodes_is_not_held() {
        assert_eq!(extended(&[Vote::Absent]), End::NotHeld);
        assert_eq!(
            extended(&[ours(), Vote::Absent, Vote::Absent]),
            End::NotHeld
        );
    }

    #[test]
    fn another_owner_is_told_first() {
        assert!(matches!(
            extended(&[theirs(1)]),
            End::Taken {
                owner: Some(_),
                lease_ms: Some(500)
            }
        ));
        assert!(matches!(
            extended(&[theirs(1), Vote::Absent, Vote::Absent]),
            End::Taken { .. }
        ));
        assert_eq!(
            extended(&[theirs(1), ours(), ours()]),
            End::Won(Duration::from_secs(9))
        );
    }
}
