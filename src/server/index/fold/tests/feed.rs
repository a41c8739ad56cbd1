//! Scenarios of a lock with notifications for every change.

use super::*;
use crate::domain::RenewalSource;

#[test]
fn notified_renewals_are_counted_with_interval_jitter_and_margin() {
    let mut scenario = Scenario::with_feed();
    scenario.notified_writes(1).held(1, Some(30_000));
    scenario
        .notified_writes(1)
        .after(10_000)
        .held(1, Some(40_000));
    scenario
        .notified_writes(1)
        .after(9_000)
        .held(1, Some(49_000));
    scenario
        .notified_writes(2)
        .after(22_000)
        .held(1, Some(71_000));
    let renewals = &scenario.lock().renewals;
    assert_eq!(
        (renewals.count, renewals.interval_ms, renewals.jitter_ms),
        (4, Some(10_333), Some(943))
    );
    assert_eq!(
        (renewals.margin_ms, renewals.min_margin_ms),
        (Some(8_000), Some(8_000))
    );
    assert_eq!(
        (renewals.source, renewals.missed_renewals),
        (RenewalSource::Feed, 1)
    );
}

#[test]
fn a_small_deadline_step_is_a_renewal_after_a_notified_write() {
    let mut scenario = Scenario::with_feed();
    scenario.notified_writes(1).held(1, Some(30_000));
    scenario.notified_writes(0).after(50).held(1, Some(30_050));
    assert_eq!(scenario.lock().renewals.count, 0);
    scenario.notified_writes(1).after(50).held(1, Some(30_050));
    assert_eq!(scenario.lock().renewals.count, 1);
}

#[test]
fn missed_renewals_are_counted_while_they_are_late() {
    let mut scenario = Scenario::with_feed();
    scenario.held(1, Some(60_000));
    scenario
        .notified_writes(1)
        .after(10_000)
        .held(1, Some(70_000));
    scenario
        .notified_writes(1)
        .after(10_000)
        .held(1, Some(80_000));
    assert_eq!(scenario.next_check_ms(), Some(36_001));
    scenario
        .notified_writes(0)
        .after(16_001)
        .held(1, Some(80_000));
    assert_eq!(scenario.lock().renewals.missed_renewals, 1);
    assert!(scenario.lock().has_flag(Flag::AtRisk));
    scenario.after(14_000).held(1, Some(80_000));
    assert_eq!(scenario.lock().renewals.missed_renewals, 3);
}

#[test]
fn a_lock_renewed_for_longer_than_max_hold_is_endless() {
    let mut scenario = Scenario::with_feed();
    scenario.held(1, Some(30_000));
    scenario
        .notified_writes(1)
        .after(10_000)
        .held(1, Some(40_000_000));
    assert_eq!(scenario.next_check_ms(), Some(3_600_001));
    scenario
        .notified_writes(0)
        .after(3_590_001)
        .held(1, Some(40_000_000));
    assert!(scenario.lock().has_flag(Flag::Endless));
    let mut scenario = Scenario::with_feed();
    scenario.held(1, None);
    scenario.after(7_200_000).held(1, None);
    assert!(!scenario.lock().has_flag(Flag::Endless), "never renewed");
}

#[test]
fn the_end_reason_is_known_with_complete_notifications() {
    for (after_ms, since_ms, expected) in [
        (9_900, 0, GoneReason::Released),
        (9_990, 0, GoneReason::Expired),
        (10_005, 0, GoneReason::Expired),
        (7_000, 0, GoneReason::Released),
        // A flush or another gap in the notifications.
        (7_000, 6_000, GoneReason::Unknown),
        (10_005, 6_000, GoneReason::Expired),
    ] {
        let mut scenario = Scenario::with_feed();
        scenario.held(1, Some(10_000));
        scenario.feed.complete_since = Some(START.plus_millis(since_ms));
        let Some(Change::Gone { end_reason, .. }) = scenario.after(after_ms).absent() else {
            panic!("it is gone");
        };
        assert_eq!(
            end_reason, expected,
            "{after_ms} ms, notifications since {since_ms} ms"
        );
    }
}

#[test]
fn a_lock_is_checked_when_it_becomes_at_risk_and_at_each_deadline() {
    let mut scenario = Scenario::with_feed();
    scenario.expectation = median(25_000);
    scenario.held(1, Some(10_000));
    assert_eq!(scenario.next_check_ms(), Some(8_001));
    scenario.after(8_001).held(1, Some(10_000));
    assert!(scenario.lock().has_flag(Flag::AtRisk));
    assert_eq!(scenario.next_check_ms(), Some(10_003));
    scenario.after(2_000).held(1, Some(10_000));
    assert_eq!(
        scenario.next_check_ms(),
        Some(10_004),
        "polled until the node deletes the key"
    );
    scenario.after(100).held(1, None);
    assert_eq!(scenario.next_check_ms(), None);
}

#[test]
fn renewals_across_a_notification_gap_have_the_source_poll() {
    let mut scenario = Scenario::with_feed();
    scenario.held(1, Some(30_000));
    scenario
        .notified_writes(1)
        .after(1_000)
        .held(1, Some(31_000));
    scenario.feed.complete_since = Some(START.plus_millis(1_500));
    scenario
        .notified_writes(0)
        .after(1_000)
        .held(1, Some(32_000));
    assert_eq!(scenario.lock().renewals.source, RenewalSource::Poll);
}

#[test]
fn renewals_made_only_through_this_console_have_the_source_api() {
    for mut scenario in [Scenario::with_feed(), Scenario::new()] {
        scenario.held(1, Some(30_000));
        let watched = scenario.lock().renewals.source;
        scenario.local_renewals = 1;
        scenario
            .notified_writes(1)
            .after(10_000)
            .held(1, Some(40_000));
        assert_eq!(scenario.lock().renewals.source, RenewalSource::Api);
        // Read before this console recorded the renewal.
        scenario
            .notified_writes(1)
            .after(10_000)
            .held(1, Some(50_000));
        assert_eq!(scenario.lock().renewals.source, watched);
        scenario.local_renewals = 2;
        scenario.notified_writes(0).after(10).held(1, Some(50_000));
        assert_eq!(scenario.lock().renewals.source, RenewalSource::Api);
        // Another client has the token as well.
        scenario
            .notified_writes(1)
            .after(10_000)
            .held(1, Some(60_000));
        assert_eq!(
            (
                scenario.lock().renewals.count,
                scenario.lock().renewals.source
            ),
            (3, watched)
        );
        scenario
            .notified_writes(1)
            .after(10_000)
            .held(2, Some(70_000));
        scenario
            .notified_writes(1)
            .after(10_000)
            .held(2, Some(80_000));
        assert_eq!(
            scenario.lock().renewals.source,
            watched,
            "renewals of another owner"
        );
    }
}

#[test]
fn a_write_with_a_late_notification_is_counted_once() {
    let mut scenario = Scenario::with_feed();
    scenario.notified_writes(0).held(1, Some(30_000));
    scenario.notified_writes(2).after(100).held(1, Some(40_000));
    assert_eq!(
        scenario.lock().renewals.count,
        1,
        "one message was the first"
    );
    scenario
        .notified_writes(0)
        .after(10_000)
        .held(1, Some(50_000));
    scenario.notified_writes(2).after(100).held(1, Some(60_000));
    assert_eq!(scenario.lock().renewals.count, 3);
    scenario
        .notified_writes(0)
        .after(10_000)
        .held(1, Some(70_000));
    scenario
        .notified_writes(2)
        .after(10_000)
        .held(1, Some(90_000));
    assert_eq!(scenario.lock().renewals.count, 6, "no message is that late");
}
