//! The verdict rules: single cases, and properties that hold for all answers.

use super::*;
use crate::domain::{Fingerprint, Format, Timestamp};
use proptest::prelude::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn owner(n: u8) -> Owner {
    let fingerprint = Fingerprint::parse(&format!("{n:016x}")).unwrap();
    Owner {
        fingerprint,
        label: None,
        format: Format::Plain,
        holds: None,
    }
}

fn holds(n: u8, left_ms: i64) -> Answer {
    Answer::held_by(owner(n), Lease::until(NOW.plus_millis(left_ms), NOW))
}

fn down() -> Answer {
    Answer::Unreachable {
        reason: "connection refused".into(),
    }
}

fn judged(answers: &[Answer]) -> Judgement {
    judge(&answers.iter().collect::<Vec<_>>(), Mode::Exclusive)
}

fn verdict(answers: &[Answer]) -> Option<Verdict> {
    match judged(answers) {
        Judgement::Seen(seen) => Some(seen.verdict),
        Judgement::NotObserved | Judgement::CannotTell => None,
    }
}

#[test]
fn three_of_five_nodes_are_enough() {
    assert_eq!(
        verdict(&[
            holds(1, 9),
            holds(1, 9),
            holds(1, 9),
            Answer::Absent,
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
            Answer::Absent,
            Answer::Absent,
            Answer::Absent
        ]),
        Some(Verdict::Partial)
    );
}

#[test]
fn a_node_that_cannot_be_asked_could_make_the_third() {
    assert_eq!(
        verdict(&[
            holds(1, 9),
            holds(1, 9),
            down(),
            Answer::Absent,
            Answer::Absent
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
            Answer::Absent
        ]),
        Some(Verdict::Split)
    );
}

#[test]
fn two_owners_are_unknown_where_a_node_that_cannot_be_asked_could_give_one_the_quorum() {
    let could = [holds(1, 9), holds(1, 9), holds(2, 9), holds(2, 9), down()];
    assert_eq!(verdict(&could), Some(Verdict::Unknown));
    assert!(
        matches!(judged(&could), Judgement::Seen(seen) if seen.is_split && seen.owners.len() == 2)
    );
    let could_not = [holds(1, 9), holds(2, 9), holds(3, 9), holds(4, 9), down()];
    assert_eq!(verdict(&could_not), Some(Verdict::Split));
}

#[test]
fn an_owner_with_quorum_beside_another_is_held_with_a_flag() {
    let Judgement::Seen(seen) = judged(&[
        holds(1, 9),
        holds(1, 9),
        holds(1, 9),
        holds(2, 9),
        Answer::Absent,
    ]) else {
        panic!("it is seen");
    };
    assert_eq!(
        (seen.verdict, seen.is_split, seen.is_fragment),
        (Verdict::Held, true, false)
    );
    assert_eq!(seen.owner, Some(owner(1)));
}

#[test]
fn the_lease_is_the_moment_the_quorum_is_lost() {
    let Judgement::Seen(seen) = judged(&[
        holds(1, 500),
        holds(1, 100),
        holds(1, 300),
        holds(1, 400),
        holds(1, 200),
    ]) else {
        panic!("it is seen");
    };
    assert_eq!(seen.lease, Lease::until(NOW.plus_millis(300), NOW));
}

#[test]
fn nobody_seen_with_too_many_silent_nodes_tells_nothing() {
    assert_eq!(
        judged(&[down(), down(), Answer::Absent]),
        Judgement::CannotTell
    );
    assert_eq!(
        judged(&[down(), Answer::Absent, Answer::Absent]),
        Judgement::NotObserved
    );
}

/// A node that shows several owners of a shared lock.
fn shared(owners: &[u8], left_ms: i64) -> Answer {
    Answer::Holds {
        owner: owner(owners[0]),
        lease: Lease::until(NOW.plus_millis(left_ms), NOW),
        others: owners[1..].iter().copied().map(owner).collect(),
    }
}

fn judged_shared(answers: &[Answer]) -> Seen {
    match judge(&answers.iter().collect::<Vec<_>>(), Mode::Shared) {
        Judgement::Seen(seen) => seen,
        Judgement::NotObserved | Judgement::CannotTell => panic!("it is seen"),
    }
}

#[test]
fn readers_beside_one_another_are_no_split() {
    let seen = judged_shared(&[
        shared(&[1, 2, 3], 9),
        shared(&[3, 2], 9),
        shared(&[2, 1], 9),
    ]);
    assert_eq!((seen.verdict, seen.is_split), (Verdict::Held, false));
    assert_eq!(seen.owners, [owner(2), owner(1), owner(3)]);
    let apart = judged_shared(&[shared(&[1], 9), shared(&[2], 9), Answer::Absent]);
    assert_eq!((apart.verdict, apart.is_split), (Verdict::Partial, false));
}

#[test]
fn two_owners_of_an_exclusive_lock_on_one_node_are_a_split() {
    let Judgement::Seen(seen) = judged(&[shared(&[1, 2], 9)]) else {
        panic!("it is seen");
    };
    assert_eq!((seen.verdict, seen.is_split), (Verdict::Held, true));
}

#[test]
fn validity_subtracts_time_and_drift() {
    let ms = Duration::from_millis;
    assert_eq!(
        validity(ms(10_000), ms(20), Drift::default()),
        Some(ms(10_000 - 20 - 100 - 2))
    );
    assert_eq!(validity(ms(100), ms(97), Drift::default()), None);
    assert_eq!(validity(ms(100), ms(200), Drift::default()), None);
}

fn any_answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        3 => (1u8..4, 0i64..10_000).prop_map(|(n, left)| holds(n, left)),
        1 => (1u8..4).prop_map(|n| Answer::held_by(owner(n), Lease::Never)),
        2 => Just(Answer::Absent),
        2 => Just(down()),
    ]
}

/// How many nodes show the owner that is on most of them.
fn most(answers: &[Answer]) -> usize {
    (1..4)
        .map(|n| {
            answers
                .iter()
                .filter(|answer| answer.owner() == Some(&owner(n)))
                .count()
        })
        .max()
        .unwrap_or(0)
}

proptest! {
    #[test]
    fn never_held_without_a_quorum_of_all_nodes(answers in proptest::collection::vec(any_answer(), 1..8)) {
        let held = verdict(&answers) == Some(Verdict::Held);
        prop_assert_eq!(held, most(&answers) >= majority(answers.len()));
    }

    #[test]
    fn an_unreachable_node_never_makes_anything_more_certain(
        answers in proptest::collection::vec(any_answer(), 1..8), at in any::<prop::sample::Index>(),
    ) {
        let mut fewer = answers.clone();
        fewer[at.index(answers.len())] = down();
        let (before, after) = (judged(&answers), judged(&fewer));
        // What was open stays open; nothing that was not held becomes held; nothing becomes "not there".
        match before {
            Judgement::CannotTell => prop_assert_eq!(after, Judgement::CannotTell),
            Judgement::NotObserved => prop_assert!(matches!(after, Judgement::NotObserved | Judgement::CannotTell)),
            Judgement::Seen(before) => match after {
                Judgement::Seen(after) => {
                    prop_assert!(after.verdict != Verdict::Held || before.verdict == Verdict::Held);
                    prop_assert!(after.verdict != Verdict::Partial || before.verdict == Verdict::Partial
                        || before.verdict == Verdict::Split);
                    if before.verdict == Verdict::Unknown {
                        prop_assert_eq!(after.verdict, Verdict::Unknown);
                    }
                }
                // The only node that showed it is gone: if it could have counted, it still could.
                Judgement::NotObserved => prop_assert!(matches!(before.verdict, Verdict::Partial)),
                Judgement::CannotTell => {}
            },
        }
    }

    #[test]
    fn the_same_answers_in_any_order_give_the_same_verdict(
        answers in proptest::collection::vec(any_answer(), 1..8).prop_shuffle(), seed in any::<u64>(),
    ) {
        let mut other = answers.clone();
        let turn = usize::try_from(seed % answers.len() as u64).unwrap();
        other.rotate_left(turn);
        if seed % 2 == 0 { other.reverse(); }
        prop_assert_eq!(judged(&answers), judged(&other));
    }

    #[test]
    fn a_held_lock_keeps_its_quorum_until_its_lease_ends(answers in proptest::collection::vec(any_answer(), 1..8)) {
        if let Judgement::Seen(Seen { verdict: Verdict::Held, owner: Some(winner), lease, .. }) = judged(&answers) {
            let alive = |moment: Timestamp| answers.iter().filter(|answer| match answer {
                Answer::Holds { owner, lease, .. } =>
                    *owner == winner && lease.remaining_ms(moment).is_none_or(|left| left > 0),
                Answer::Absent | Answer::Unreachable { .. } => false,
            }).count();
            if let Some(end) = lease.expires_at() {
                prop_assert!(end == NOW || alive(end.plus_millis(-1)) >= majority(answers.len()));
                prop_assert!(alive(end) < majority(answers.len()));
            }
        }
    }
}
