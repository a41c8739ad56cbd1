//! Which nodes are excluded from new locks.

use super::*;

const NONE: [usize; 0] = [];
const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);
const POLICY: RestartPolicy = RestartPolicy {
    max_lease: HOUR,
    delayed_restart: true,
};

/// A node with an uptime of `minutes` at first contact.
fn running(minutes: u32, at: Instant) -> RestartState {
    let mut state = RestartState::unknown();
    state.record_first_contact(Some(MINUTE * minutes), false, at);
    state
}

fn persistent(minutes: u32, at: Instant) -> RestartState {
    let mut state = RestartState::unknown();
    state.record_first_contact(Some(MINUTE * minutes), true, at);
    state
}

fn unreachable() -> RestartState {
    let mut state = RestartState::unknown();
    state.record_unreachable();
    state
}

/// The indexes of the excluded nodes.
fn excluded(all: &[RestartState], now: Instant) -> Vec<usize> {
    (0..all.len())
        .filter(|index| exclusion(all, *index, POLICY, now).is_some())
        .collect()
}

#[test]
fn nodes_that_started_together_are_not_excluded() {
    let now = Instant::now();
    assert_eq!(excluded(&[running(0, now); 5], now), NONE);
    assert_eq!(
        excluded(&[running(3, now), running(0, now), running(1, now)], now),
        NONE
    );
    assert_eq!(excluded(&[running(0, now)], now), NONE, "a server alone");
    assert_eq!(
        excluded(&[running(0, now), unreachable(), unreachable()], now),
        NONE
    );
}

#[test]
fn a_node_that_started_after_a_majority_is_excluded_for_the_maximum_lease() {
    let met = Instant::now();
    let group = [running(600, met), running(10, met), running(700, met)];
    let remaining = |after| exclusion(&group, 1, POLICY, met + after);
    let a_second = Duration::from_secs(1);
    assert_eq!(remaining(Duration::ZERO), Some(MINUTE * 50 + a_second));
    assert_eq!(remaining(MINUTE * 50), Some(a_second));
    assert_eq!(remaining(MINUTE * 50 + a_second), None);
    assert_eq!(excluded(&group, met), [1]);
    let group = [58, 70, 57, 3, 80].map(|minutes| running(minutes, met));
    assert_eq!(excluded(&group, met), [3], "a group as young as it");
}

#[test]
fn the_majority_with_the_longest_uptime_is_never_excluded() {
    let now = Instant::now();
    for minutes in [
        [0, 20, 40, 50, 59],
        [0, 0, 0, 0, 90],
        [1, 10, 90, 90, 90],
        [5, 5, 20, 20, 20],
    ] {
        let group = minutes.map(|minutes| running(minutes, now));
        assert!(excluded(&group, now).len() <= 2, "{minutes:?}");
    }
    let rolling = [running(25, now), running(15, now), running(5, now)];
    assert_eq!(excluded(&rolling, now), [2]);
    let without_an_older_majority = [running(2, now), running(1, now), running(600, now)];
    assert_eq!(excluded(&without_an_older_majority, now), NONE);
}

#[test]
fn an_unreachable_node_may_have_run_before() {
    let now = Instant::now();
    assert_eq!(
        excluded(&[running(600, now), unreachable(), running(1, now)], now),
        [2]
    );
    let unknown_uptime = {
        let mut state = RestartState::unknown();
        state.record_first_contact(None, false, now);
        state
    };
    assert_eq!(
        excluded(&[running(600, now), unknown_uptime, running(1, now)], now),
        [2]
    );
    assert_eq!(
        excluded(&[unknown_uptime; 3], now),
        NONE,
        "no node reports its uptime"
    );
}

#[test]
fn a_persistent_node_is_trusted_and_counts_as_possibly_older_than_its_start() {
    let now = Instant::now();
    let group = [running(600, now), running(600, now), persistent(1, now)];
    assert_eq!(excluded(&group, now), NONE);
    let group = [running(600, now), persistent(1, now), running(1, now)];
    assert_eq!(excluded(&group, now), [2]);
}

#[test]
fn pending_nodes_delay_the_decision_only_if_it_depends_on_them() {
    let now = Instant::now();
    let pending = RestartState::unknown();
    let is_undecided = |group: &[RestartState]| depends_on_pending_nodes(group, 0, POLICY, now);
    let young = running(1, now);
    assert!(is_undecided(&[young, pending, pending]));
    assert!(is_undecided(&[young, running(600, now), pending]));
    assert!(
        !is_undecided(&[young, young, pending]),
        "it can be no majority"
    );
    assert!(!is_undecided(&[
        young,
        running(600, now),
        running(600, now),
        unreachable(),
        pending
    ]));
    assert!(
        !is_undecided(&[running(600, now), pending, pending]),
        "it is old"
    );
    assert!(!is_undecided(&[persistent(1, now), pending, pending]));

    let group = [young, pending, pending];
    assert_eq!(excluded(&group, now), [0], "the worst is assumed");
    assert_eq!(hazard(&group, 0, POLICY, now), None, "and not shown");
}

#[test]
fn the_first_contact_is_kept_after_later_restarts() {
    let met = Instant::now();
    let mut group = [running(600, met), running(10, met), running(700, met)];
    let later = met + MINUTE;
    group[0].record_first_contact(Some(Duration::ZERO), false, later);
    group[0].record_data_loss(later, HOUR);
    assert_eq!(excluded(&group, later), [0, 1]);
    assert_eq!(excluded(&group, met + MINUTE * 51), [0]);
    assert_eq!(excluded(&group, later + HOUR), NONE);
}

#[test]
fn without_delayed_restart_observed_hazards_are_shown_but_nodes_are_not_excluded() {
    let now = Instant::now();
    let policy = RestartPolicy {
        delayed_restart: false,
        ..POLICY
    };
    let mut group = [running(600, now), running(1, now), running(600, now)];
    assert_eq!(hazard(&group, 1, policy, now), None);
    group[0].record_data_loss(now, HOUR);
    assert_eq!(hazard(&group, 0, policy, now), Some(HOUR));
    assert_eq!(exclusion(&group, 0, policy, now), None);
}

#[test]
fn an_earlier_loss_counts_until_it_expires_or_is_cleared() {
    let now = Instant::now();
    let mut state = running(600, now);
    state.record_data_loss(now, MINUTE * 10);
    state.record_data_loss(now + MINUTE, MINUTE * 2);
    let remaining = |state: RestartState, after| hazard(&[state], 0, POLICY, now + after);
    assert_eq!(remaining(state, MINUTE * 2), Some(MINUTE * 8));
    assert_eq!(remaining(state, MINUTE * 10), None);
    state.clear_hazard();
    assert_eq!(remaining(state, MINUTE * 2), None);
}

#[test]
fn a_young_node_takes_part_once_its_hazard_is_cleared() {
    let now = Instant::now();
    let mut group = [running(600, now), running(1, now), running(700, now)];
    assert_eq!(excluded(&group, now), [1]);
    group[1].clear_hazard();
    assert_eq!(excluded(&group, now), NONE);
}
