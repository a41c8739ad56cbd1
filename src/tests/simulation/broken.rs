//! Assumptions that are broken and rules that are left out, one at a time: the checker finds it. The same schedules with
//! the assumption intact have nothing wrong with them.

use super::assumptions::Broken;
use super::checker::Violation;
use super::explore::{Asked, Limits, explore, story};
use super::schedule::Plan;

/// Within how many schedules it has to be found.
const ENOUGH: u64 = 5_000;
/// So many schedules, the last of them that in which it was found, are tried with the assumption intact.
const INTACT: u64 = 200;

fn is_found(broken: Broken, is_it: impl Fn(&Violation) -> bool) {
    if Asked::by_environment().seed.is_some() {
        return;
    }
    let explored = explore(&Limits::first(ENOUGH), |seed| Plan::new(seed, Some(broken)));
    let Some((last, _)) = explored.found.last() else {
        panic!("{broken:?} was not found:\n{}", explored.counts);
    };
    println!("{broken:?}: {:?}", explored.found);
    assert!(
        explored.found.iter().any(|(_, found)| is_it(found)),
        "{:?}",
        explored.found
    );

    let intact = |seed| Plan::aimed(seed, Some(broken), None);
    let limits = Limits {
        first: (last + 1).saturating_sub(INTACT),
        ..Limits::first(INTACT.min(last + 1))
    };
    let explored = explore(&limits, intact);
    if let Some((seed, _)) = explored.found.first() {
        panic!("{}", story(*seed, intact(*seed)).0);
    }
}

fn overlap(found: &Violation) -> bool {
    matches!(found, Violation::Overlap(_))
}

fn fence_fell(found: &Violation) -> bool {
    matches!(found, Violation::FenceFell(_))
}

fn left_behind(found: &Violation) -> bool {
    matches!(found, Violation::LeftBehind(_))
}

#[test]
fn a_clock_that_is_set_forward_by_more_than_the_drift() {
    is_found(Broken::ClocksJump, overlap);
}

#[test]
fn a_node_that_takes_locks_at_once_after_it_restarted_empty() {
    is_found(Broken::NoDelayedRestart, overlap);
}

#[test]
fn no_drift_although_clocks_run_at_different_rates() {
    is_found(Broken::NoDrift, overlap);
}

#[test]
fn programs_that_do_not_have_the_same_nodes() {
    is_found(Broken::DifferentNodes, overlap);
}

#[test]
fn a_release_that_does_not_look_whose_lock_it_is() {
    is_found(Broken::CarelessRelease, overlap);
}

#[test]
fn nodes_that_counted_less_and_are_not_raised() {
    is_found(Broken::NoRaise, fence_fell);
}

#[test]
fn counters_that_are_forgotten_while_clocks_are_far_apart() {
    is_found(Broken::ClocksBehind, fence_fell);
}

#[test]
fn a_try_with_a_token_that_is_still_being_released() {
    is_found(Broken::SameToken, overlap);
}

#[test]
fn a_lease_that_becomes_shorter_when_its_owner_asks_again() {
    is_found(Broken::LeasesAreSet, overlap);
}

#[test]
fn a_program_that_starts_when_too_many_nodes_restarted_lately() {
    is_found(Broken::Newcomers, overlap);
}

#[test]
fn a_program_that_does_not_look_since_when_nodes_run() {
    is_found(Broken::Strangers, overlap);
}

#[test]
fn a_token_that_is_brought_along_again_while_it_is_still_being_released() {
    is_found(Broken::BroughtAgain, overlap);
}

#[test]
fn a_fencing_token_that_is_relied_on_after_the_lock_was_lost_and_extended() {
    is_found(Broken::ExtendsTooLate, fence_fell);
}

#[test]
fn a_node_that_is_left_out_for_less_than_a_lease() {
    is_found(Broken::WaitCutShort, overlap);
}

#[test]
fn a_try_that_failed_and_releases_nothing() {
    is_found(Broken::NoRollback, left_behind);
}
