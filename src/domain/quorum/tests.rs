//! Tests of the verdict rules: single cases and properties.

use super::*;
use crate::domain::reason::Reason;
use crate::domain::{Fingerprint, Format, Timestamp};
use proptest::prelude::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn owner(n: u8) -> Owner {
    let fingerprint = Fingerprint::parse(&format!("{n:016x}")).unwrap();
    Owner {
        fingerprint,
        label: None,
        format: Format::Plain,
        hold_count: None,
    }
}

fn holds(n: u8, left_ms: i64) -> Observation {
    Observation::held_by(owner(n), Lease::until(NOW.plus_millis(left_ms), NOW))
}

fn down() -> Observation {
    Observation::Unreachable {
        reason: Reason::ConnectionRefused,
    }
}

fn judge_exclusive(observations: &[Observation]) -> Judgement {
    judge(&observations.iter().collect::<Vec<_>>(), Mode::Exclusive)
}

fn verdict(observations: &[Observation]) -> Option<Verdict> {
    match judge_exclusive(observations) {
        Judgement::Observed(observed) => Some(observed.verdict),
        Judgement::NotObserved | Judgement::Undetermined => None,
    }
}

#[test]
fn three_of_five_nodes_are_enough() {
    assert_eq!(
        verdict(&[
            holds(1, 9),
            holds(1, 9),
            holds(1, 9),
            Observation::Absent,
            down()
        ]),
        Some(Verdict::Held)
    );
}

#[test]
fn a_lock_on_two_of_five_nodes_is_partial() {
    assert_eq!(
        verdict(&[
            holds(1, 9),
            holds(1, 9),
            Observation::Absent,
            Observation::Absent,
            Observation::Absent
        ]),
        Some(Verdict::Partial)
    );
}

#[test]
fn an_unreachable_node_that_could_complete_the_quorum_makes_it_unknown() {
    assert_eq!(
        verdict(&[
            holds(1, 9),
            holds(1, 9),
            down(),
            Observation::Absent,
            Observation::Absent
        ]),
        Some(Verdict::Unknown)
    );
}

#[test]
fn two_owners_without_quorum_are_a_split() {
    assert_eq!(
        verdict(&[
            holds(1, 9),
            holds(1, 9),
            holds(2, 9),
            holds(2, 9),
            Observation::Absent
        ]),
        Some(Verdict::Split)
    );
}

#[test]
fn two_owners_are_unknown_if_an_unreachable_node_could_complete_a_quorum() {
    let could = [holds(1, 9), holds(1, 9), holds(2, 9), holds(2, 9), down()];
    assert_eq!(verdict(&could), Some(Verdict::Unknown));
    assert!(
        matches!(judge_exclusive(&could), Judgement::Observed(observed) if observed.is_split && observed.owners.len() == 2)
    );
    let could_not = [holds(1, 9), holds(2, 9), holds(3, 9), holds(4, 9), down()];
    assert_eq!(verdict(&could_not), Some(Verdict::Split));
}

#[test]
fn a_quorum_with_a_second_owner_is_held_and_split() {
    let Judgement::Observed(observed) = judge_exclusive(&[
        holds(1, 9),
        holds(1, 9),
        holds(1, 9),
        holds(2, 9),
        Observation::Absent,
    ]) else {
        panic!("it is seen");
    };
    assert_eq!(
        (observed.verdict, observed.is_split, observed.is_fragment),
        (Verdict::Held, true, false)
    );
    assert_eq!(observed.owner, Some(owner(1)));
}

#[test]
fn the_lease_ends_when_the_quorum_is_lost() {
    let Judgement::Observed(observed) = judge_exclusive(&[
        holds(1, 500),
        holds(1, 100),
        holds(1, 300),
        holds(1, 400),
        holds(1, 200),
    ]) else {
        panic!("it is seen");
    };
    assert_eq!(observed.lease, Lease::until(NOW.plus_millis(300), NOW));
}

#[test]
fn no_owner_with_a_quorum_of_unreachable_nodes_is_undetermined() {
    assert_eq!(
        judge_exclusive(&[down(), down(), Observation::Absent]),
        Judgement::Undetermined
    );
    assert_eq!(
        judge_exclusive(&[down(), Observation::Absent, Observation::Absent]),
        Judgement::NotObserved
    );
}

/// A node that shows several owners of a shared lock.
fn shared(owners: &[u8], left_ms: i64) -> Observation {
    Observation::Holds {
        owner: owner(owners[0]),
        lease: Lease::until(NOW.plus_millis(left_ms), NOW),
        others: owners[1..].iter().copied().map(owner).collect(),
    }
}

fn judge_shared(observations: &[Observation]) -> ObservedLock {
    match judge(&observations.iter().collect::<Vec<_>>(), Mode::Shared) {
        Judgement::Observed(observed) => observed,
        Judgement::NotObserved | Judgement::Undetermined => panic!("it is seen"),
    }
}

#[test]
fn several_readers_are_not_a_split() {
    let observed = judge_shared(&[
        shared(&[1, 2, 3], 9),
        shared(&[3, 2], 9),
        shared(&[2, 1], 9),
    ]);
    assert_eq!(
        (observed.verdict, observed.is_split),
        (Verdict::Held, false)
    );
    assert_eq!(observed.owners, [owner(2), owner(1), owner(3)]);
    let apart = judge_shared(&[shared(&[1], 9), shared(&[2], 9), Observation::Absent]);
    assert_eq!((apart.verdict, apart.is_split), (Verdict::Partial, false));
}

#[test]
fn two_owners_of_an_exclusive_lock_on_one_node_are_a_split() {
    let Judgement::Observed(observed) = judge_exclusive(&[shared(&[1, 2], 9)]) else {
        panic!("it is seen");
    };
    assert_eq!((observed.verdict, observed.is_split), (Verdict::Held, true));
}

#[test]
fn validity_subtracts_time_and_drift() {
    let ms = Duration::from_millis;
    assert_eq!(
        validity(ms(10_000), ms(20), ClockDrift::default()),
        Some(ms(10_000 - 20 - 100 - 2))
    );
    assert_eq!(validity(ms(100), ms(97), ClockDrift::default()), None);
    assert_eq!(validity(ms(100), ms(200), ClockDrift::default()), None);
}

fn any_observation() -> impl Strategy<Value = Observation> {
    prop_oneof![
        3 => (1u8..4, 0i64..10_000).prop_map(|(n, left)| holds(n, left)),
        1 => (1u8..4).prop_map(|n| Observation::held_by(owner(n), Lease::Never)),
        2 => Just(Observation::Absent),
        2 => Just(down()),
    ]
}

/// The number of nodes of the owner that is on most nodes.
fn most(observations: &[Observation]) -> usize {
    (1..4)
        .map(|n| {
            observations
                .iter()
                .filter(|observation| observation.owner() == Some(&owner(n)))
                .count()
        })
        .max()
        .unwrap_or(0)
}

proptest! {
    #[test]
    fn never_held_without_a_quorum_of_all_nodes(observations in proptest::collection::vec(any_observation(), 1..8)) {
        let held = verdict(&observations) == Some(Verdict::Held);
        prop_assert_eq!(held, most(&observations) >= majority(observations.len()));
    }

    #[test]
    fn an_unreachable_node_never_makes_anything_more_certain(
        observations in proptest::collection::vec(any_observation(), 1..8), at in any::<prop::sample::Index>(),
    ) {
        let mut fewer = observations.clone();
        fewer[at.index(observations.len())] = down();
        let (before, after) = (judge_exclusive(&observations), judge_exclusive(&fewer));
        // An undetermined result stays undetermined, and nothing becomes held or absent.
        match before {
            Judgement::Undetermined => prop_assert_eq!(after, Judgement::Undetermined),
            Judgement::NotObserved => prop_assert!(matches!(after, Judgement::NotObserved | Judgement::Undetermined)),
            Judgement::Observed(before) => match after {
                Judgement::Observed(after) => {
                    prop_assert!(after.verdict != Verdict::Held || before.verdict == Verdict::Held);
                    prop_assert!(after.verdict != Verdict::Partial || before.verdict == Verdict::Partial
                        || before.verdict == Verdict::Split);
                    if before.verdict == Verdict::Unknown {
                        prop_assert_eq!(after.verdict, Verdict::Unknown);
                    }
                }
                // The only node that showed the lock is unreachable. If it could have counted, it
                // still can.
                Judgement::NotObserved => prop_assert!(matches!(before.verdict, Verdict::Partial)),
                Judgement::Undetermined => {}
            },
        }
    }

    #[test]
    fn the_same_answers_in_any_order_give_the_same_verdict(
        observations in proptest::collection::vec(any_observation(), 1..8).prop_shuffle(), seed in any::<u64>(),
    ) {
        let mut other = observations.clone();
        let turn = usize::try_from(seed % observations.len() as u64).unwrap();
        other.rotate_left(turn);
        if seed % 2 == 0 { other.reverse(); }
        prop_assert_eq!(judge_exclusive(&observations), judge_exclusive(&other));
    }

    #[test]
    fn a_held_lock_has_its_quorum_until_its_lease_ends(observations in proptest::collection::vec(any_observation(), 1..8)) {
        if let Judgement::Observed(ObservedLock { verdict: Verdict::Held, owner: Some(winner), lease, .. }) = judge_exclusive(&observations) {
            let alive = |moment: Timestamp| observations.iter().filter(|observation| match observation {
                Observation::Holds { owner, lease, .. } =>
                    *owner == winner && lease.remaining_ms(moment).is_none_or(|left| left > 0),
                Observation::Absent | Observation::Unreachable { .. } => false,
            }).count();
            if let Some(end) = lease.expires_at() {
                prop_assert!(end == NOW || alive(end.plus_millis(-1)) >= majority(observations.len()));
                prop_assert!(alive(end) < majority(observations.len()));
            }
        }
    }
}
