//! More records at once than fit into one transaction, as after a restart of a server with many
//! locks.

use super::super::batch_writer::{Outcome, write_batch};
use super::super::lock_rows::LockRows;
use super::super::pending::Pending;
use super::*;

/// More than two batches.
const LOCKS: u64 = 4_500;

fn key(n: u64) -> String {
    format!("lock:{n}")
}

fn started(n: u64) -> HistoryRecord {
    HistoryRecord::HoldStarted(open(&key(n), n, -1_000, 600_000))
}

/// The storage, the console that records since [`START`], and its records.
async fn backlog(directory: &Path) -> (Storage, Arc<str>, Pending) {
    let storage = Storage::new(&storage_in(directory), true);
    let writer: Arc<str> = "console".into();
    claim(&storage, &writer, START, true).await.unwrap();
    let mut pending = Pending::default();
    for n in 0..LOCKS {
        pending.add(started(n));
    }
    (storage, writer, pending)
}

#[test]
fn a_batch_is_limited_and_only_the_last_one_is_complete() {
    let mut pending = Pending::default();
    for n in 0..LOCKS {
        pending.add(started(n));
        pending.add(HistoryRecord::HoldEnded(ended(
            &key(n),
            n + 1,
            -9_000,
            -8_000,
        )));
        pending.add(flag(&key(n), Flag::RestartHazard, true, 0));
    }
    let batches = std::iter::from_fn(|| {
        (pending.len() > 0).then(|| {
            let batch = pending.take_batch(START);
            assert_eq!(batch.is_complete, pending.len() == 0);
            (batch.ended.len(), batch.open.len(), batch.others.len())
        })
    });
    // Ends come first, and flags after the holds of their locks.
    assert_eq!(
        batches.collect::<Vec<_>>(),
        [
            (2_000, 0, 0),
            (2_000, 0, 0),
            (500, 1_500, 0),
            (0, 2_000, 0),
            (0, 1_000, 1_000),
            (0, 0, 2_000),
            (0, 0, 1_500)
        ]
    );
}

#[tokio::test]
async fn a_part_of_the_records_does_not_extend_the_time_until_when_everything_is_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let (storage, writer, mut pending) = backlog(directory.path()).await;
    let mut recorded_until = Vec::new();
    while pending.len() > 0 {
        let batch = Arc::new(pending.take_batch(at(5_000)));
        let written = write_batch(&storage, &writer, &batch, &LockRows::default()).await;
        assert!(matches!(written, Ok(Outcome::Written(_))));
        match claim(&storage, &writer, at(6_000), true).await.unwrap() {
            Claim::Writer { recorded_until: at } => recorded_until.extend(at),
            Claim::Standby => panic!("there is no other console"),
        }
    }
    assert_eq!(recorded_until, [START, START, at(5_000)]);
}

#[tokio::test]
async fn a_gap_names_its_cause_while_a_console_catches_up_and_after_it_has_failed() {
    let directory = tempfile::tempdir().unwrap();
    let (storage, writer, mut pending) = backlog(directory.path()).await;
    let batch = Arc::new(pending.take_batch(at(20_000)));
    let written = write_batch(&storage, &writer, &batch, &LockRows::default()).await;
    assert!(matches!(written, Ok(Outcome::Written(_))));

    let reader = HistoryReader::new(storage);
    for (ms, recording, cause) in [
        (21_000, Recording::Expected, GapCause::Overload),
        (21_000, Recording::Unknown, GapCause::Overload),
        (31_000, Recording::Expected, GapCause::StorageUnavailable),
        (31_000, Recording::Unknown, GapCause::ConsoleStopped),
    ] {
        let query = everything();
        let reading = reader.activity(&query, &VisibleGroups::All, recording, at(ms));
        let gaps = reading.await.unwrap().gaps;
        let expected = RecordingGap {
            from: START,
            to: None,
            cause,
        };
        assert_eq!(gaps, [expected], "{recording:?} after {ms} ms");
    }
}

#[tokio::test]
async fn more_holds_than_fit_into_a_transaction_continue_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let (config, clock) = (storage_in(directory.path()), Clock::manual(START));
    let all_holds = ActivityQuery {
        limit: 10_000,
        ..everything()
    };
    // No ended part of a hold is left over.
    let has_one_open_hold_each = |all: &Activity| {
        all.holds.len() == usize::try_from(LOCKS).unwrap()
            && all.holds.iter().all(|one| one.hold.ended_at.is_none())
    };
    let console = Console::start(&config, &clock);
    console.report((0..LOCKS).map(started));
    console
        .wait_for_query(&all_holds, has_one_open_hold_each)
        .await;
    console.kill().await;

    clock.advance(Duration::from_secs(120));
    let console = Console::start(&config, &clock);
    // The leases have not been renewed: their ends, as read again, differ by 300 ms.
    console.report((0..LOCKS).map(|n| {
        let mut record = open(&key(n), n, 121_000, 600_300);
        record.hold.hold.started_at_source = StartSource::FirstSeen;
        HistoryRecord::HoldStarted(record)
    }));
    let all = console
        .wait_for_query(&all_holds, has_one_open_hold_each)
        .await;
    assert!(
        all.holds
            .iter()
            .all(|one| one.hold.started_at == at(-1_000))
    );
    assert_eq!(all.gaps.len(), 1);
    console.stop().await;
}
