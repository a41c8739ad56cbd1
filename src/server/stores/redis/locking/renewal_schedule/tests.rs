//! Table tests of the renewal schedule.

use super::*;

const TTL: Duration = Duration::from_secs(30);
const GENEROUS_LIMITS: RenewalLimits = RenewalLimits {
    max_hold: Duration::from_hours(24),
    max_renewals: 1_000,
};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A lock acquired at `start`, 10 ms after the request was sent.
fn schedule(start: Instant, limits: RenewalLimits, lead_time: Duration) -> RenewalSchedule {
    let drift = ClockDrift::default();
    let validity = TTL - drift.for_lease(TTL) - ms(10);
    RenewalSchedule::new(TTL, validity, drift, limits, lead_time, start, 0.0)
}

/// The action at each of these moments, in milliseconds after the start.
fn steps<const N: usize>(
    schedule: &RenewalSchedule,
    start: Instant,
    moments: [u64; N],
) -> [String; N] {
    moments.map(|at| match schedule.next_step(start + ms(at)) {
        RenewalStep::Renew => "renew".to_owned(),
        RenewalStep::Sleep(until) => {
            format!("sleep until {}", until.duration_since(start).as_millis())
        }
        RenewalStep::GiveUp => "over".to_owned(),
    })
}

#[test]
fn a_lock_is_renewed_after_a_third_of_its_lease() {
    let start = Instant::now();
    let mut schedule = schedule(start, GENEROUS_LIMITS, Duration::ZERO);
    assert_eq!(
        steps(&schedule, start, [0, 9_989, 9_990, 29_687, 29_688]),
        [
            "sleep until 9990",
            "sleep until 9990",
            "renew",
            "renew",
            "over"
        ]
    );
    // The validity counts from when the request was sent, not from its reply.
    schedule.record_success(start + ms(10_000), 0.0);
    assert_eq!(schedule.renewals(), 1);
    assert_eq!(schedule.valid_until(), start + ms(39_698));
    assert_eq!(
        steps(&schedule, start, [10_400, 20_000, 39_698]),
        ["sleep until 20000", "renew", "over"]
    );
}

#[test]
fn the_lease_continues_while_the_machine_is_suspended() {
    let start = Instant::now();
    let suspended = |duration| {
        let mut schedule = schedule(start, GENEROUS_LIMITS, Duration::ZERO);
        schedule.apply_suspension(duration, start);
        steps(&schedule, start, [0])
    };
    assert_eq!(suspended(ms(5_000)), ["sleep until 4990"]);
    assert_eq!(suspended(ms(10_000)), ["renew"]);
    assert_eq!(suspended(ms(30_000)), ["over"]);
    // Longer than the machine has been running.
    assert_eq!(suspended(Duration::MAX), ["over"]);
}

#[test]
fn jitter_moves_a_renewal_forward_by_at_most_a_tenth_of_the_interval() {
    let start = Instant::now();
    for (chance, due) in [(0.0, 20_000), (0.5, 19_500), (1.0, 19_000)] {
        let mut schedule = schedule(start, GENEROUS_LIMITS, Duration::ZERO);
        schedule.record_success(start + ms(10_000), chance);
        let expected = [format!("sleep until {due}"), "renew".to_owned()];
        assert_eq!(steps(&schedule, start, [due - 1, due]), expected);
    }
}

#[test]
fn a_failed_renewal_is_retried_with_growing_pauses_until_the_end_of_the_validity() {
    let start = Instant::now();
    let mut schedule = schedule(start, GENEROUS_LIMITS, Duration::ZERO);
    let mut now = start + ms(9_990);
    let mut pauses = Vec::new();
    while let RenewalStep::Renew = schedule.next_step(now) {
        schedule.record_failure(now, 1.0);
        pauses.push(schedule.next_renewal.duration_since(now).as_millis());
        now = schedule.next_renewal;
    }
    assert_eq!(schedule.next_step(now), RenewalStep::GiveUp);
    assert_eq!(pauses[..4], [500, 1_000, 1_000, 1_000]);
    assert_eq!(pauses.last(), Some(&5), "{pauses:?}");
    assert!(
        now.duration_since(schedule.valid_until()) < ms(6),
        "and not after its end"
    );
    assert!(pauses.len() < 40, "{pauses:?}");
    let renewed = start + ms(20_000);
    schedule.record_success(renewed, 0.0);
    schedule.record_failure(renewed, 0.0);
    assert_eq!(
        schedule.next_renewal,
        renewed + ms(250),
        "the pauses start over"
    );
}

#[test]
fn at_a_limit_renewals_stop_and_the_lock_ends_with_its_lease() {
    let start = Instant::now();
    let mut often = schedule(
        start,
        RenewalLimits {
            max_renewals: 2,
            ..GENEROUS_LIMITS
        },
        Duration::ZERO,
    );
    assert_eq!(often.reached_limit(start), None);
    often.record_success(start + ms(10_000), 0.0);
    often.record_success(start + ms(20_000), 0.0);
    assert_eq!(
        often.reached_limit(start),
        Some(ReachedLimit::MaxRenewals(2))
    );
    assert_eq!(
        steps(&often, start, [20_001, 30_000, 49_698]),
        ["sleep until 49698", "sleep until 49698", "over"]
    );
    let limits = RenewalLimits {
        max_hold: ms(15_000),
        ..GENEROUS_LIMITS
    };
    let mut long = schedule(start, limits, Duration::ZERO);
    assert_eq!(steps(&long, start, [9_990]), ["renew"]);
    long.record_success(start + ms(10_000), 0.0);
    assert_eq!(
        long.reached_limit(start + ms(15_000)),
        Some(ReachedLimit::MaxHold(ms(15_000)))
    );
    assert_eq!(
        steps(&long, start, [14_999, 15_000, 39_698]),
        ["sleep until 20000", "sleep until 39698", "over"]
    );
}

#[test]
fn a_lock_is_given_up_its_lead_time_before_the_end_of_the_validity() {
    let start = Instant::now();
    let schedule = schedule(start, GENEROUS_LIMITS, ms(5_000));
    assert_eq!(schedule.valid_until(), start + ms(29_688));
    assert_eq!(steps(&schedule, start, [24_687, 24_688]), ["renew", "over"]);
}

#[test]
fn an_extend_by_the_owner_resets_the_schedule() {
    let start = Instant::now();
    let mut schedule = schedule(start, GENEROUS_LIMITS, Duration::ZERO);
    let longer = ms(60_000);
    let validity = longer - ClockDrift::default().for_lease(longer);
    schedule.record_extension(longer, validity, start + ms(1_000), 0.0);
    assert_eq!(
        (schedule.ttl(), schedule.renewals()),
        (longer, 0),
        "the extend was not a renewal"
    );
    assert_eq!(
        steps(&schedule, start, [1_000, 21_000, 60_398]),
        ["sleep until 21000", "renew", "over"]
    );
    schedule.renew_now(start + ms(2_000));
    assert_eq!(steps(&schedule, start, [2_000]), ["renew"]);
}

#[test]
fn a_paused_renewal_does_not_extend_and_still_ends() {
    let start = Instant::now();
    let mut schedule = schedule(start, GENEROUS_LIMITS, Duration::ZERO);
    schedule.set_paused(true);
    assert_eq!(
        steps(&schedule, start, [9_990, 29_688]),
        ["sleep until 29688", "over"]
    );
    schedule.set_paused(false);
    assert_eq!(steps(&schedule, start, [9_990]), ["renew"]);
}

#[test]
fn a_renewal_limit_is_formatted_for_people() {
    for (limit, expected) in [
        (
            ReachedLimit::MaxHold(Duration::from_hours(24)),
            "max_hold, 86400 s",
        ),
        (
            ReachedLimit::MaxHold(Duration::from_millis(500)),
            "max_hold, 500 ms",
        ),
        (ReachedLimit::MaxRenewals(2), "2 extensions"),
        (ReachedLimit::MaxRenewals(1), "1 extension"),
    ] {
        assert_eq!(RenewalLimit::from(limit).to_string(), expected);
    }
}
