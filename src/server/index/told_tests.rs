//! Stories of a lock whose nodes tell of every change.

use super::*;
use crate::domain::Source;

#[test]
fn renewals_that_are_told_are_counted_each_with_beat_jitter_and_margin() {
    let mut story = Story::fed();
    story.told(1).held(1, Some(30_000));
    story.told(1).after(10_000).held(1, Some(40_000));
    story.told(1).after(9_000).held(1, Some(49_000));
    story.told(2).after(22_000).held(1, Some(71_000));
    let renewals = &story.lock().renewals;
    assert_eq!(
        (renewals.count, renewals.every_ms, renewals.jitter_ms),
        (4, Some(10_333), Some(943))
    );
    assert_eq!(
        (renewals.margin_ms, renewals.smallest_margin_ms),
        (Some(8_000), Some(8_000))
    );
    assert_eq!((renewals.source, renewals.missed_beats), (Source::Feed, 1));
}

#[test]
fn a_small_step_of_the_deadline_is_a_renewal_where_a_write_was_told() {
    let mut story = Story::fed();
    story.told(1).held(1, Some(30_000));
    story.told(0).after(50).held(1, Some(30_050));
    assert_eq!(story.lock().renewals.count, 0);
    story.told(1).after(50).held(1, Some(30_050));
    assert_eq!(story.lock().renewals.count, 1);
}

#[test]
fn beats_that_do_not_come_are_counted_while_they_do_not() {
    let mut story = Story::fed();
    story.held(1, Some(60_000));
    story.told(1).after(10_000).held(1, Some(70_000));
    story.told(1).after(10_000).held(1, Some(80_000));
    assert_eq!(story.due_ms(), Some(36_001));
    story.told(0).after(16_001).held(1, Some(80_000));
    assert_eq!(story.lock().renewals.missed_beats, 1);
    assert!(story.lock().has(Flag::AtRisk));
    story.after(14_000).held(1, Some(80_000));
    assert_eq!(story.lock().renewals.missed_beats, 3);
}

#[test]
fn a_lock_renewed_for_longer_than_the_longest_hold_is_endless() {
    let mut story = Story::fed();
    story.held(1, Some(30_000));
    story.told(1).after(10_000).held(1, Some(40_000_000));
    assert_eq!(story.due_ms(), Some(3_600_001));
    story.told(0).after(3_590_001).held(1, Some(40_000_000));
    assert!(story.lock().has(Flag::Endless));
    let mut story = Story::fed();
    story.held(1, None);
    story.after(7_200_000).held(1, None);
    assert!(!story.lock().has(Flag::Endless), "never renewed");
}

#[test]
fn how_a_lock_went_is_known_where_every_change_is_told() {
    for (after_ms, since_ms, ending) in [
        (9_900, 0, Ending::Released),
        (9_990, 0, Ending::Expired),
        (10_005, 0, Ending::Expired),
        (7_000, 0, Ending::Released),
        // A flush, or another gap in what was told.
        (7_000, 6_000, Ending::Unknown),
        (10_005, 6_000, Ending::Expired),
    ] {
        let mut story = Story::fed();
        story.held(1, Some(10_000));
        story.watched.fed_since = Some(START.plus_millis(since_ms));
        let Some(Change::Gone { ending: seen, .. }) = story.after(after_ms).absent() else {
            panic!("it is gone");
        };
        assert_eq!(seen, ending, "{after_ms} ms, told since {since_ms} ms");
    }
}

#[test]
fn a_lock_is_due_when_it_comes_to_be_at_risk_and_at_each_deadline() {
    let mut story = Story::fed();
    story.expected = half_last(25_000);
    story.held(1, Some(10_000));
    assert_eq!(story.due_ms(), Some(8_001));
    story.after(8_001).held(1, Some(10_000));
    assert!(story.lock().has(Flag::AtRisk));
    assert_eq!(story.due_ms(), Some(10_003));
    story.after(2_000).held(1, Some(10_000));
    assert_eq!(
        story.due_ms(),
        Some(10_004),
        "it is asked for until the node agrees"
    );
    story.after(100).held(1, None);
    assert_eq!(story.due_ms(), None);
}

#[test]
fn renewals_across_a_gap_are_not_said_to_be_all() {
    let mut story = Story::fed();
    story.held(1, Some(30_000));
    story.told(1).after(1_000).held(1, Some(31_000));
    story.watched.fed_since = Some(START.plus_millis(1_500));
    story.told(0).after(1_000).held(1, Some(32_000));
    assert_eq!(story.lock().renewals.source, Source::Poll);
}

#[test]
fn renewals_that_all_went_through_this_console_say_so_and_anybody_elses_do_not() {
    for mut story in [Story::fed(), Story::begin()] {
        story.held(1, Some(30_000));
        let watched = story.lock().renewals.source;
        story.here = 1;
        story.told(1).after(10_000).held(1, Some(40_000));
        assert_eq!(story.lock().renewals.source, Source::Api);
        // Looked at before it was known to have been made here.
        story.told(1).after(10_000).held(1, Some(50_000));
        assert_eq!(story.lock().renewals.source, watched);
        story.here = 2;
        story.told(0).after(10).held(1, Some(50_000));
        assert_eq!(story.lock().renewals.source, Source::Api);
        // Somebody else has the token, too.
        story.told(1).after(10_000).held(1, Some(60_000));
        assert_eq!(
            (story.lock().renewals.count, story.lock().renewals.source),
            (3, watched)
        );
        story.told(1).after(10_000).held(2, Some(70_000));
        story.told(1).after(10_000).held(2, Some(80_000));
        assert_eq!(story.lock().renewals.source, watched, "another owner's");
    }
}

#[test]
fn a_write_whose_message_comes_after_the_look_that_showed_it_is_counted_once() {
    let mut story = Story::fed();
    story.told(0).held(1, Some(30_000));
    story.told(2).after(100).held(1, Some(40_000));
    assert_eq!(story.lock().renewals.count, 1, "one message was the first");
    story.told(0).after(10_000).held(1, Some(50_000));
    story.told(2).after(100).held(1, Some(60_000));
    assert_eq!(story.lock().renewals.count, 3);
    story.told(0).after(10_000).held(1, Some(70_000));
    story.told(2).after(10_000).held(1, Some(90_000));
    assert_eq!(story.lock().renewals.count, 6, "no message is that late");
}
