//! Breaks each assumption and leaves out each rule: the checker must find a violation. The same
//! schedules with the assumption intact must have no violation.

use super::assumptions::BrokenAssumption;
use super::checker::Violation;
use super::explore::{EnvOptions, Limits, explore, replay};
use super::schedule::Plan;

/// The number of schedules within which a violation must be found.
const MAX_SCHEDULES: u64 = 5_000;
/// The number of schedules that run with the assumption intact. The last one is that in which the
/// violation was found.
const INTACT_SCHEDULES: u64 = 200;

fn assert_detected(broken: BrokenAssumption, is_expected: impl Fn(&Violation) -> bool) {
    if EnvOptions::from_env().seed.is_some() {
        return;
    }
    let exploration = explore(&Limits::first_schedules(MAX_SCHEDULES), |seed| {
        Plan::new(seed, Some(broken))
    });
    let Some((last, _)) = exploration.violations.last() else {
        panic!("{broken:?} was not detected:\n{}", exploration.counters);
    };
    println!("{broken:?}: {:?}", exploration.violations);
    assert!(
        exploration
            .violations
            .iter()
            .any(|(_, violation)| is_expected(violation)),
        "{:?}",
        exploration.violations
    );

    let intact = |seed| Plan::targeted(seed, Some(broken), None);
    let limits = Limits {
        first_seed: (last + 1).saturating_sub(INTACT_SCHEDULES),
        ..Limits::first_schedules(INTACT_SCHEDULES.min(last + 1))
    };
    let exploration = explore(&limits, intact);
    if let Some((seed, _)) = exploration.violations.first() {
        panic!("{}", replay(*seed, intact(*seed)).0);
    }
}

fn is_overlap(violation: &Violation) -> bool {
    matches!(violation, Violation::Overlap(_))
}

fn is_fence_violation(violation: &Violation) -> bool {
    matches!(violation, Violation::FenceNotIncreasing(_))
}

fn is_leftover(violation: &Violation) -> bool {
    matches!(violation, Violation::LeftoverKey(_))
}

#[test]
fn a_clock_step_beyond_the_drift_is_detected() {
    assert_detected(BrokenAssumption::ClockJump, is_overlap);
}

#[test]
fn an_empty_node_that_accepts_locks_immediately_is_detected() {
    assert_detected(BrokenAssumption::NoDelayedRestart, is_overlap);
}

#[test]
fn a_validity_without_drift_allowance_is_detected() {
    assert_detected(BrokenAssumption::NoDriftAllowance, is_overlap);
}

#[test]
fn clients_with_different_nodes_are_detected() {
    assert_detected(BrokenAssumption::DifferentNodes, is_overlap);
}

#[test]
fn a_release_that_does_not_compare_the_token_is_detected() {
    assert_detected(BrokenAssumption::UncheckedRelease, is_overlap);
}

#[test]
fn a_missing_bump_of_lower_fence_counters_is_detected() {
    assert_detected(BrokenAssumption::NoFenceBump, is_fence_violation);
}

#[test]
fn lost_fence_counters_with_skewed_clocks_are_detected() {
    assert_detected(BrokenAssumption::SkewedClocks, is_fence_violation);
}

#[test]
fn reusing_a_token_during_its_rollback_is_detected() {
    assert_detected(BrokenAssumption::ReusedToken, is_overlap);
}

#[test]
fn a_lease_that_a_repeated_request_shortens_is_detected() {
    assert_detected(BrokenAssumption::ShortenedLeases, is_overlap);
}

#[test]
fn a_client_that_starts_too_early_after_restarts_is_detected() {
    assert_detected(BrokenAssumption::EarlyStart, is_overlap);
}

#[test]
fn a_client_that_ignores_the_uptime_of_nodes_is_detected() {
    assert_detected(BrokenAssumption::IgnoredUptime, is_overlap);
}

#[test]
fn reusing_a_caller_supplied_token_during_its_release_is_detected() {
    assert_detected(BrokenAssumption::ReusedSuppliedToken, is_overlap);
}

#[test]
fn relying_on_a_fencing_token_after_a_late_extend_is_detected() {
    assert_detected(BrokenAssumption::LateExtend, is_fence_violation);
}

#[test]
fn excluding_a_restarted_node_for_less_than_a_lease_is_detected() {
    assert_detected(BrokenAssumption::ShortRestartDelay, is_overlap);
}

#[test]
fn a_failed_acquire_without_rollback_is_detected() {
    assert_detected(BrokenAssumption::NoRollback, is_leftover);
}
