//! Queries whose range contains holds of all durations.

use super::*;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// Durations of each class, and their limits.
const DURATIONS: [i64; 9] = [
    1,
    10_000,
    10_001,
    2 * MINUTE,
    30 * MINUTE,
    3 * HOUR,
    4 * HOUR + 1,
    48 * HOUR,
    100 * HOUR,
];
/// The latest start.
const FROM: i64 = -50 * HOUR;

/// Ended and current holds of alternating durations, the latest start first. Each lock has one.
fn holds() -> Vec<RecordedHold> {
    let past = (0..300).map(|n: i64| {
        let from = FROM - n * 20 * MINUTE;
        let duration = DURATIONS[usize::try_from(n).unwrap() % DURATIONS.len()];
        let owner = (n / 9).unsigned_abs() % 3;
        ended(&format!("lock:{n}"), owner, from, from + duration)
    });
    let current = (0..20).map(|n: i64| {
        let from = FROM - n * 3 * HOUR - 1;
        open(&format!("lock:current-{n}"), n.unsigned_abs() % 3, from, 0).hold
    });
    let mut holds: Vec<_> = past.chain(current).collect();
    holds.sort_by_key(|hold| std::cmp::Reverse(hold.hold.started_at));
    holds
}

#[tokio::test]
async fn the_latest_holds_that_overlap_a_range_are_returned_whatever_their_duration() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let console = Console::start(&storage_in(directory.path()), &clock);
    let holds = holds();
    console.report(holds.iter().map(|hold| match hold.hold.ended_at {
        Some(_) => HistoryRecord::HoldEnded(hold.clone()),
        None => HistoryRecord::HoldStarted(OpenHoldRecord {
            hold: hold.clone(),
            expires_at: None,
        }),
    }));
    let whole = ActivityQuery {
        from: at(-1_000 * HOUR),
        limit: 1_000,
        ..everything()
    };
    let is_complete = |all: &Activity| all.holds.len() == holds.len();
    let all = console.wait_for_query(&whole, is_complete).await;
    assert_eq!(all.holds, holds);

    for (from, to, limit) in [
        (FROM - 20 * HOUR, FROM, 1_000),
        (FROM - 20 * HOUR, FROM, 7),
        (FROM - 20 * HOUR, FROM - 19 * HOUR, 1_000),
        (FROM - 60 * HOUR, FROM - 50 * HOUR, 50),
        (FROM - 60 * HOUR, FROM - 60 * HOUR + 1, 1_000),
    ] {
        for owner in [
            None,
            Some(OwnerIdentity::Host("api-1".into())),
            Some(OwnerIdentity::Fingerprint(
                Fingerprint::parse(&format!("{:016x}", 2)).unwrap(),
            )),
        ] {
            let query = ActivityQuery {
                from: at(from),
                to: at(to),
                limit,
                owner,
                ..whole.clone()
            };
            let is_expected = |hold: &&RecordedHold| {
                query.overlaps(hold.hold.started_at, hold.hold.ended_at)
                    && query.matches_hold(&hold.hold)
            };
            let overlapping: Vec<_> = holds.iter().filter(is_expected).cloned().collect();
            let expected = &overlapping[..overlapping.len().min(query.max_holds())];
            let found = console.read(query.clone()).await.unwrap();
            assert_eq!(found.holds, expected, "{query:?}");
            let is_truncated = overlapping.len() > expected.len();
            assert_eq!(found.is_truncated, is_truncated, "{query:?}");
        }
    }
    for hold in [&holds[3], &holds[100], &holds[200]] {
        let of_lock = ActivityQuery {
            group: Some("orders".into()),
            key: Some(hold.id.key.clone()),
            ..whole.clone()
        };
        let found = console.read(of_lock).await.unwrap();
        assert_eq!(found.holds, std::slice::from_ref(hold));
    }
    console.stop().await;
}
