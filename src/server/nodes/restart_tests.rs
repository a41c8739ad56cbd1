//! Which nodes are left out, one sentence each.

use super::*;

const NOBODY: [usize; 0] = [];
const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);
const RULES: Rules = Rules {
    longest_lease: HOUR,
    delayed_restart: true,
};

/// A node that had run for so many minutes when it was met.
fn ran(minutes: u32, at: Instant) -> Past {
    let mut past = Past::unknown();
    past.met(Some(MINUTE * minutes), false, at);
    past
}

fn keeps(minutes: u32, at: Instant) -> Past {
    let mut past = Past::unknown();
    past.met(Some(MINUTE * minutes), true, at);
    past
}

fn down() -> Past {
    let mut past = Past::unknown();
    past.missed();
    past
}

/// The places of the nodes that are left out.
fn left_out(all: &[Past], now: Instant) -> Vec<usize> {
    (0..all.len())
        .filter(|place| abstains(all, *place, RULES, now).is_some())
        .collect()
}

#[test]
fn of_nodes_that_started_together_none_is_left_out() {
    let now = Instant::now();
    assert_eq!(left_out(&[ran(0, now); 5], now), NOBODY);
    assert_eq!(
        left_out(&[ran(3, now), ran(0, now), ran(1, now)], now),
        NOBODY
    );
    assert_eq!(left_out(&[ran(0, now)], now), NOBODY, "a server alone");
    assert_eq!(left_out(&[ran(0, now), down(), down()], now), NOBODY);
}

#[test]
fn a_node_that_started_after_a_majority_is_left_out_until_it_has_run_for_the_longest_lease() {
    let met = Instant::now();
    let group = [ran(600, met), ran(10, met), ran(700, met)];
    let left = |after| abstains(&group, 1, RULES, met + after);
    let a_second = Duration::from_secs(1);
    assert_eq!(left(Duration::ZERO), Some(MINUTE * 50 + a_second));
    assert_eq!(left(MINUTE * 50), Some(a_second));
    assert_eq!(left(MINUTE * 50 + a_second), None);
    assert_eq!(left_out(&group, met), [1]);
    let group = [58, 70, 57, 3, 80].map(|minutes| ran(minutes, met));
    assert_eq!(left_out(&group, met), [3], "a group as young as it");
}

#[test]
fn the_majority_that_runs_longest_is_never_left_out() {
    let now = Instant::now();
    for minutes in [
        [0, 20, 40, 50, 59],
        [0, 0, 0, 0, 90],
        [1, 10, 90, 90, 90],
        [5, 5, 20, 20, 20],
    ] {
        let group = minutes.map(|minutes| ran(minutes, now));
        assert!(left_out(&group, now).len() <= 2, "{minutes:?}");
    }
    let rolling = [ran(25, now), ran(15, now), ran(5, now)];
    assert_eq!(left_out(&rolling, now), [2]);
    let without_an_older_majority = [ran(2, now), ran(1, now), ran(600, now)];
    assert_eq!(left_out(&without_an_older_majority, now), NOBODY);
}

#[test]
fn a_node_that_cannot_be_asked_may_have_been_there_before() {
    let now = Instant::now();
    assert_eq!(left_out(&[ran(600, now), down(), ran(1, now)], now), [2]);
    let untold = {
        let mut past = Past::unknown();
        past.met(None, false, now);
        past
    };
    assert_eq!(left_out(&[ran(600, now), untold, ran(1, now)], now), [2]);
    assert_eq!(left_out(&[untold; 3], now), NOBODY, "who tells nothing");
}

#[test]
fn a_node_that_keeps_every_write_is_trusted_and_remembers_what_was_before_its_start() {
    let now = Instant::now();
    let group = [ran(600, now), ran(600, now), keeps(1, now)];
    assert_eq!(left_out(&group, now), NOBODY);
    let group = [ran(600, now), keeps(1, now), ran(1, now)];
    assert_eq!(left_out(&group, now), [2]);
}

#[test]
fn nodes_that_are_still_being_tried_leave_it_open_only_where_it_depends_on_them() {
    let now = Instant::now();
    let awaited = Past::unknown();
    let open = |group: &[Past]| is_open(group, 0, RULES, now);
    let young = ran(1, now);
    assert!(open(&[young, awaited, awaited]));
    assert!(open(&[young, ran(600, now), awaited]));
    assert!(!open(&[young, young, awaited]), "it can be no majority");
    assert!(!open(&[
        young,
        ran(600, now),
        ran(600, now),
        down(),
        awaited
    ]));
    assert!(!open(&[ran(600, now), awaited, awaited]), "it is old");
    assert!(!open(&[keeps(1, now), awaited, awaited]));

    let group = [young, awaited, awaited];
    assert_eq!(left_out(&group, now), [0], "the worst is assumed");
    assert_eq!(hazard(&group, 0, RULES, now), None, "and not shown");
}

#[test]
fn what_was_said_first_stays_whatever_restarts_later() {
    let met = Instant::now();
    let mut group = [ran(600, met), ran(10, met), ran(700, met)];
    let later = met + MINUTE;
    group[0].met(Some(Duration::ZERO), false, later);
    group[0].forgot(later, HOUR);
    assert_eq!(left_out(&group, later), [0, 1]);
    assert_eq!(left_out(&group, met + MINUTE * 51), [0]);
    assert_eq!(left_out(&group, later + HOUR), NOBODY);
}

#[test]
fn without_the_delayed_restart_what_was_seen_is_shown_and_nothing_else() {
    let now = Instant::now();
    let rules = Rules {
        delayed_restart: false,
        ..RULES
    };
    let mut group = [ran(600, now), ran(1, now), ran(600, now)];
    assert_eq!(hazard(&group, 1, rules, now), None);
    group[0].forgot(now, HOUR);
    assert_eq!(hazard(&group, 0, rules, now), Some(HOUR));
    assert_eq!(abstains(&group, 0, rules, now), None);
}

#[test]
fn what_was_lost_earlier_counts_until_it_is_over_and_no_longer_once_somebody_vouches() {
    let now = Instant::now();
    let mut past = ran(600, now);
    past.forgot(now, MINUTE * 10);
    past.forgot(now + MINUTE, MINUTE * 2);
    let left = |past: Past, after| hazard(&[past], 0, RULES, now + after);
    assert_eq!(left(past, MINUTE * 2), Some(MINUTE * 8));
    assert_eq!(left(past, MINUTE * 10), None);
    past.vouched_for();
    assert_eq!(left(past, MINUTE * 2), None);
}

#[test]
fn a_young_node_that_somebody_vouches_for_takes_part_at_once() {
    let now = Instant::now();
    let mut group = [ran(600, now), ran(1, now), ran(700, now)];
    assert_eq!(left_out(&group, now), [1]);
    group[1].vouched_for();
    assert_eq!(left_out(&group, now), NOBODY);
}
