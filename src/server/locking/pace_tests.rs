//! The pace of a lock that is kept, as tables.

use super::*;

const TTL: Duration = Duration::from_secs(30);
const FREELY: Limits = Limits {
    longest_hold: Duration::from_hours(24),
    most_extensions: 1_000,
};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Acquired at `start`, 10 ms after it was asked for.
fn pace(start: Instant, limits: Limits, ahead: Duration) -> Pace {
    let drift = Drift::default();
    let validity = TTL - drift.of(TTL) - ms(10);
    Pace::new(TTL, validity, drift, limits, ahead, start, 0.0)
}

/// What is to be done at each of these moments, in milliseconds after the start.
fn steps<const N: usize>(pace: &Pace, start: Instant, moments: [u64; N]) -> [String; N] {
    moments.map(|at| match pace.next(start + ms(at)) {
        Step::Renew => "renew".to_owned(),
        Step::Sleep(until) => format!("sleep until {}", until.duration_since(start).as_millis()),
        Step::Over => "over".to_owned(),
    })
}

#[test]
fn a_lock_is_renewed_a_third_of_its_lease_after_it_was_asked_for() {
    let start = Instant::now();
    let mut pace = pace(start, FREELY, Duration::ZERO);
    assert_eq!(
        steps(&pace, start, [0, 9_989, 9_990, 29_687, 29_688]),
        [
            "sleep until 9990",
            "sleep until 9990",
            "renew",
            "renew",
            "over"
        ]
    );
    // The answer may take its time: what counts is when it was asked.
    pace.renewed(start + ms(10_000), 0.0);
    assert_eq!(pace.extensions(), 1);
    assert_eq!(pace.valid_until(), start + ms(39_698));
    assert_eq!(
        steps(&pace, start, [10_400, 20_000, 39_698]),
        ["sleep until 20000", "renew", "over"]
    );
}

#[test]
fn while_the_machine_is_suspended_the_lease_goes_on() {
    let start = Instant::now();
    let suspended = |span| {
        let mut pace = pace(start, FREELY, Duration::ZERO);
        pace.suspended(span, start);
        steps(&pace, start, [0])
    };
    assert_eq!(suspended(ms(5_000)), ["sleep until 4990"]);
    assert_eq!(suspended(ms(10_000)), ["renew"]);
    assert_eq!(suspended(ms(30_000)), ["over"]);
    // Longer than the machine has been awake.
    assert_eq!(suspended(Duration::MAX), ["over"]);
}

#[test]
fn chance_brings_a_renewal_forward_by_a_tenth_of_the_interval_at_most() {
    let start = Instant::now();
    for (chance, due) in [(0.0, 20_000), (0.5, 19_500), (1.0, 19_000)] {
        let mut pace = pace(start, FREELY, Duration::ZERO);
        pace.renewed(start + ms(10_000), chance);
        let expected = [format!("sleep until {due}"), "renew".to_owned()];
        assert_eq!(steps(&pace, start, [due - 1, due]), expected);
    }
}

#[test]
fn a_failed_renewal_is_repeated_ever_more_slowly_and_to_the_very_end() {
    let start = Instant::now();
    let mut pace = pace(start, FREELY, Duration::ZERO);
    let mut now = start + ms(9_990);
    let mut pauses = Vec::new();
    while let Step::Renew = pace.next(now) {
        pace.failed(now, 1.0);
        pauses.push(pace.due.duration_since(now).as_millis());
        now = pace.due;
    }
    assert_eq!(pace.next(now), Step::Over);
    assert_eq!(pauses[..4], [500, 1_000, 1_000, 1_000]);
    assert_eq!(pauses.last(), Some(&5), "{pauses:?}");
    assert!(
        now.duration_since(pace.valid_until()) < ms(6),
        "and not beyond"
    );
    assert!(pauses.len() < 40, "{pauses:?}");
    let renewed = start + ms(20_000);
    pace.renewed(renewed, 0.0);
    pace.failed(renewed, 0.0);
    assert_eq!(pace.due, renewed + ms(250), "it begins anew");
}

#[test]
fn it_is_renewed_no_more_at_a_limit_and_over_with_its_lease() {
    let start = Instant::now();
    let mut often = pace(
        start,
        Limits {
            most_extensions: 2,
            ..FREELY
        },
        Duration::ZERO,
    );
    assert_eq!(often.limit(start), None);
    often.renewed(start + ms(10_000), 0.0);
    often.renewed(start + ms(20_000), 0.0);
    assert_eq!(often.limit(start), Some(Limit::MostExtensions(2)));
    assert_eq!(
        steps(&often, start, [20_001, 30_000, 49_698]),
        ["sleep until 49698", "sleep until 49698", "over"]
    );
    let limits = Limits {
        longest_hold: ms(15_000),
        ..FREELY
    };
    let mut long = pace(start, limits, Duration::ZERO);
    assert_eq!(steps(&long, start, [9_990]), ["renew"]);
    long.renewed(start + ms(10_000), 0.0);
    assert_eq!(
        long.limit(start + ms(15_000)),
        Some(Limit::LongestHold(ms(15_000)))
    );
    assert_eq!(
        steps(&long, start, [14_999, 15_000, 39_698]),
        ["sleep until 20000", "sleep until 39698", "over"]
    );
}

#[test]
fn it_is_given_up_ahead_of_its_end_where_that_was_asked_for() {
    let start = Instant::now();
    let pace = pace(start, FREELY, ms(5_000));
    assert_eq!(pace.valid_until(), start + ms(29_688));
    assert_eq!(steps(&pace, start, [24_687, 24_688]), ["renew", "over"]);
}

#[test]
fn whoever_extends_it_by_hand_sets_the_pace() {
    let start = Instant::now();
    let mut pace = pace(start, FREELY, Duration::ZERO);
    let longer = ms(60_000);
    let validity = longer - Drift::default().of(longer);
    pace.extended(longer, validity, start + ms(1_000), 0.0);
    assert_eq!(
        (pace.ttl(), pace.extensions()),
        (longer, 0),
        "it was not we who did"
    );
    assert_eq!(
        steps(&pace, start, [1_000, 21_000, 60_398]),
        ["sleep until 21000", "renew", "over"]
    );
    pace.hurry(start + ms(2_000));
    assert_eq!(steps(&pace, start, [2_000]), ["renew"]);
}

#[test]
fn while_it_is_paused_it_is_not_renewed_and_still_ends() {
    let start = Instant::now();
    let mut pace = pace(start, FREELY, Duration::ZERO);
    pace.pause(true);
    assert_eq!(
        steps(&pace, start, [9_990, 29_688]),
        ["sleep until 29688", "over"]
    );
    pace.pause(false);
    assert_eq!(steps(&pace, start, [9_990]), ["renew"]);
}

#[test]
fn a_limit_is_told_in_words() {
    assert_eq!(
        Limit::LongestHold(Duration::from_hours(24)).to_string(),
        "1day"
    );
    assert_eq!(Limit::MostExtensions(2).to_string(), "2 extensions");
    assert_eq!(Limit::MostExtensions(1).to_string(), "1 extension");
}
