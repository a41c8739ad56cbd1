//! The deletion of old holds.

use sqlx::AnyConnection;
use tokio::sync::oneshot;

use super::*;
use crate::server::history::retention::BYTES_PER_HOLD;
use crate::server::storage::statements;

/// Three times as many as one transaction deletes, and some more.
const HOLDS: i64 = 6_100;

fn limited(directory: &Path, max_holds: u64) -> StorageConfig {
    StorageConfig {
        history_max_size: max_holds * BYTES_PER_HOLD,
        ..storage_in(directory)
    }
}

/// Records holds that end one after the other.
async fn record_holds(directory: &Path, clock: &Clock) {
    let console = Console::start(&storage_in(directory), clock);
    let holds = (0..HOLDS).map(|n| ended(&format!("lock:{}", n % 500), 1, n, n + 1));
    console.report(holds.map(HistoryRecord::HoldEnded));
    let last = at(HOLDS - 1);
    let is_complete = |all: &Activity| {
        let latest = all.holds.first();
        latest.is_some_and(|latest| latest.hold.started_at == last)
    };
    console.wait_for(is_complete).await;
    console.stop().await;
}

#[tokio::test]
async fn holds_beyond_the_size_limit_are_deleted_without_a_pause_between_transactions() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    record_holds(directory.path(), &clock).await;
    // Within less than a minute, the time between two checks.
    let console = Console::start(&limited(directory.path(), 20), &clock);
    let all = console.wait_for(|all| all.holds.len() == 20).await;
    assert_eq!(all.holds[19].hold.started_at, at(HOLDS - 20));
    assert_eq!(all.recorded_since, Some(at(HOLDS - 20)));
    console.stop().await;
}

#[tokio::test]
async fn a_query_does_not_wait_for_a_transaction_that_deletes() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    record_holds(directory.path(), &clock).await;
    let storage = Storage::new(&storage_in(directory.path()), false);
    let (has_deleted, deleted) = oneshot::channel();
    let (finish, finished) = oneshot::channel::<()>();
    let mut signals = Some((has_deleted, finished));
    let writer = storage.clone();
    let deleting = tokio::spawn(async move {
        let run = statements(move |db: &mut AnyConnection| {
            let signals = signals.take();
            Box::pin(async move {
                let delete = sqlx::query("DELETE FROM history_hold WHERE id <= 2000");
                delete.execute(db).await?;
                if let Some((has_deleted, finished)) = signals {
                    let _sent = has_deleted.send(());
                    let _dropped = finished.await;
                }
                Ok(())
            })
        });
        writer.write(run).await
    });
    deleted.await.unwrap();
    let earliest = ActivityQuery {
        to: at(10),
        ..everything()
    };
    let reader = HistoryReader::new(storage);
    let reading = reader.activity(&earliest, &VisibleGroups::All, Recording::Unknown, START);
    assert_eq!(reading.await.unwrap().holds.len(), 10);
    drop(finish);
    // It fails if the query took longer than the writer waits, on a busy machine.
    let _outcome = deleting.await.unwrap();
}
