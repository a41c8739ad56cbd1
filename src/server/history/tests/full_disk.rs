//! The recorder on a disk without space.

use sqlx::{AnyConnection, AssertSqlSafe};

use super::*;
use crate::server::storage::{StorageError, statements};

/// Limits the file to this number of pages, or to its present size if that is larger. SQLite reports
/// `SQLITE_FULL` beyond the limit, as on a disk without space.
async fn set_max_pages(storage: &Storage, pages: u32) {
    let run = statements(move |db: &mut AnyConnection| {
        Box::pin(async move {
            let limit = AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
            sqlx::query(limit).fetch_one(db).await.map(drop)
        })
    });
    storage.write(run).await.unwrap();
}

/// The error of a write that needs new pages.
async fn write_error(storage: &Storage) -> Option<StorageError> {
    let run = statements(|db: &mut AnyConnection| {
        Box::pin(async move {
            let insert = "INSERT INTO history_group (name) VALUES ($1)";
            let insert = sqlx::query(insert).bind("x".repeat(1_000_000));
            insert.execute(db).await.map(drop)
        })
    });
    storage.write(run).await.err()
}

#[tokio::test]
async fn a_full_disk_becomes_a_gap_and_recording_resumes_once_there_is_space() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let console = Console::start(&storage_in(directory.path()), &clock);
    console.report([HistoryRecord::HoldStarted(open("lock:open", 9, 0, 10_000))]);
    console.wait_for(|all| all.holds.len() == 1).await;
    set_max_pages(&console.storage, 1).await;
    let error = write_error(&console.storage).await;
    assert!(matches!(error, Some(StorageError::Full(_))), "{error:?}");

    let holds = (0..5_000).map(|n| ended(&format!("lock:{n}"), 1, -2_000, -1_000));
    console.report(holds.map(HistoryRecord::HoldEnded));
    clock.advance(Duration::from_secs(60));
    let all = console.wait_for(|all| !all.gaps.is_empty()).await;
    let lasting = (all.gaps[0].from, all.gaps[0].to, all.gaps[0].cause);
    assert_eq!(lasting, (START, None, GapCause::StorageUnavailable));

    // Watching goes on: reports are accepted and the index responds.
    let renewed = open("lock:open", 9, 0, 20_000);
    console.report((0..150_000).map(|_| HistoryRecord::HoldRenewed(renewed.clone())));
    assert_eq!(console.index.current_records().await.unwrap(), []);

    clock.advance(Duration::from_secs(60));
    set_max_pages(&console.storage, 1_000_000).await;
    let is_recorded = |all: &Activity| all.gaps.first().is_some_and(|gap| gap.to.is_some());
    let all = console.wait_for(is_recorded).await;
    let gaps: Vec<_> = all
        .gaps
        .iter()
        .map(|gap| (gap.from, gap.to, gap.cause))
        .collect();
    let expected = (at(60_000), Some(at(120_000)), GapCause::StorageUnavailable);
    assert_eq!(gaps, [expected]);
    console.report([HistoryRecord::HoldStarted(open(
        "lock:later",
        7,
        121_000,
        130_000,
    ))]);
    let is_later = |hold: &RecordedHold| hold.id.key.text() == "lock:later";
    let all = console.wait_for(|all| all.holds.iter().any(is_later)).await;
    assert_eq!(all.holds[0].hold.ended_at, None);
    let of_gap = ActivityQuery {
        search: Some("lock:open".into()),
        ..everything()
    };
    let hold = console.read(of_gap).await.unwrap().holds.remove(0).hold;
    assert_eq!(hold.end_reason, Some(HoldEndReason::Unknown));
    assert_eq!(hold.ended_at, Some(at(60_000)));
    console.stop().await;
}
