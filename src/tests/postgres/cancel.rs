//! Force-release by cancelling the statement of the owner: its connection survives, and the lock counts
//! as released only if it is gone.

use lockkeeper::domain::reason::{PossibleEffect, Reason};
use lockkeeper::domain::{CancelFailure, LockKey, NodeOutcome, ObservedHold, Owner};
use lockkeeper::server::stores::{ForceRefusal, ForceReleaseOutcome, ForceTarget};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use tokio::task::JoinHandle;

use super::lock_tables::{QUARTZ, QUARTZ_LOCK, SHEDLOCK};
use super::{TestGroup, connect, group_config, outcome_of, pool, run, run_in_background};
use crate::support::console::TestConsole;
use crate::support::postgres::Postgres;
use crate::support::wait_until;

const KEY: &str = "advisory:1";
const SLEEP: &str = "SELECT pg_sleep(600)";

type Running = JoinHandle<(PgConnection, Result<(), sqlx::Error>)>;

/// A client that has run these statements and now runs one that does not end.
async fn start_sleeper(server: &Postgres, before: &str, statement: &str) -> Running {
    let mut client = connect(server, "sleeper").await;
    run(&mut client, before).await;
    let running = run_in_background(client, statement);
    let admin = pool(server, 1);
    wait_until("the statement runs", async || {
        let sql = "SELECT EXISTS (SELECT FROM pg_stat_activity \
            WHERE application_name = 'sleeper' AND wait_event = 'PgSleep')";
        let runs: bool = sqlx::query_scalar(sql).fetch_one(&admin).await.unwrap();
        runs
    })
    .await;
    running
}

/// The client of a statement that was cancelled.
async fn cancelled(running: Running) -> PgConnection {
    let (client, result) = running.await.unwrap();
    let error = result.unwrap_err();
    let code = error.as_database_error().and_then(|error| error.code());
    assert_eq!(code.as_deref(), Some("57014"), "{error}");
    client
}

impl TestGroup {
    async fn cancel(&self, key: &str, owner: &Owner) -> Result<ForceReleaseOutcome, ForceRefusal> {
        let key = LockKey::from(key);
        let target = ForceTarget {
            key: &key,
            fingerprint: &owner.fingerprint,
            expected_hold: ObservedHold::default(),
            known_format: None,
            harm_accepted: true,
        };
        self.group.cancel_statement(target).await
    }
}

fn failure(result: Result<ForceReleaseOutcome, ForceRefusal>) -> CancelFailure {
    match result {
        Err(ForceRefusal::CancelFailed(cause)) => cause,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_lock_of_the_transaction_is_released_and_its_connection_survives() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let begin = "BEGIN; SELECT pg_advisory_xact_lock(1)";
    let running = start_sleeper(&server, begin, SLEEP).await;
    let owner = group.wait_for_owner(KEY, "sleeper@").await;
    let next = connect(&server, "next").await;
    let waiting = run_in_background(next, "SELECT pg_advisory_lock(1)");
    group.wait_for_waiters(KEY, 1).await;

    let outcome = group.cancel(KEY, &owner).await.unwrap();
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
    let mut client = cancelled(running).await;
    run(&mut client, "ROLLBACK").await;
    let (_next, acquired) = waiting.await.unwrap();
    acquired.unwrap();
    // The lock belongs to the next client now.
    let outcome = group.cancel(KEY, &owner).await.unwrap();
    assert!(
        matches!(outcome_of(&outcome), NodeOutcome::OtherOwner { .. }),
        "{outcome:?}"
    );
    client.ping().await.unwrap();
}

#[tokio::test]
async fn a_lock_of_a_single_statement_is_released() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let statement = "SELECT pg_advisory_xact_lock(1), pg_sleep(600)";
    let running = start_sleeper(&server, "SELECT 1", statement).await;
    let owner = group.wait_for_owner(KEY, "sleeper@").await;
    let outcome = group.cancel(KEY, &owner).await.unwrap();
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
    cancelled(running).await.ping().await.unwrap();
}

#[tokio::test]
async fn a_lock_of_the_session_is_not_released_by_the_end_of_the_statement() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let lock = "SELECT pg_advisory_lock(1)";
    let running = start_sleeper(&server, lock, SLEEP).await;
    let owner = group.wait_for_owner(KEY, "sleeper@").await;
    assert_eq!(
        failure(group.cancel(KEY, &owner).await),
        CancelFailure::LockKept
    );
    let mut client = cancelled(running).await;
    client.ping().await.unwrap();
    assert_eq!(group.wait_for_owner(KEY, "sleeper@").await, owner);
    // Now it is idle.
    assert_eq!(
        failure(group.cancel(KEY, &owner).await),
        CancelFailure::NoStatement
    );
    client.ping().await.unwrap();
    let outcome = group.force_release(KEY, &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
    assert!(client.ping().await.is_err(), "the connection has ended");
}

#[tokio::test]
async fn a_lock_that_is_older_than_a_savepoint_is_kept() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let begin = "BEGIN; SELECT pg_advisory_xact_lock(1); SAVEPOINT s";
    let running = start_sleeper(&server, begin, SLEEP).await;
    let owner = group.wait_for_owner(KEY, "sleeper@").await;
    assert_eq!(
        failure(group.cancel(KEY, &owner).await),
        CancelFailure::LockKept
    );
    let mut client = cancelled(running).await;
    run(&mut client, "ROLLBACK TO s; COMMIT").await;
    group.wait_until_absent(KEY).await;
}

#[tokio::test]
async fn a_transaction_that_runs_no_statement_is_not_changed() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut client = connect(&server, "idle").await;
    run(&mut client, "BEGIN; SELECT pg_advisory_xact_lock(1)").await;
    let owner = group.wait_for_owner(KEY, "idle@").await;
    assert_eq!(
        failure(group.cancel(KEY, &owner).await),
        CancelFailure::NoStatement
    );
    run(&mut client, "SELECT 1; COMMIT").await;
    let outcome = group.cancel(KEY, &owner).await.unwrap();
    assert_eq!(*outcome_of(&outcome), NodeOutcome::NotHeld);
}

#[tokio::test]
async fn a_statement_that_does_not_end_is_not_reported_as_cancelled() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let ignores_it = "DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(600); \
        EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$";
    let begin = "BEGIN; SELECT pg_advisory_xact_lock(1)";
    let running = start_sleeper(&server, begin, ignores_it).await;
    let owner = group.wait_for_owner(KEY, "sleeper@").await;
    let outcome = group.cancel(KEY, &owner).await.unwrap();
    let NodeOutcome::Failed {
        reason: Reason::UnknownEffect { effect, .. },
    } = outcome_of(&outcome)
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(*effect, PossibleEffect::Released);
    assert_eq!(group.wait_for_owner(KEY, "sleeper@").await, owner);
    let outcome = group.force_release(KEY, &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
    let (_client, result) = running.await.unwrap();
    assert!(result.is_err());
}

#[tokio::test]
async fn a_row_lock_is_released_and_a_row_is_not_changed() {
    let server = Postgres::start().await;
    let mut admin = connect(&server, "admin").await;
    run(&mut admin, QUARTZ).await;
    run(&mut admin, SHEDLOCK).await;
    let group = TestGroup::start(group_config(&server.url()));
    let running = start_sleeper(&server, QUARTZ_LOCK, SLEEP).await;
    let key = "public.qrtz_locks:s/TRIGGER_ACCESS";
    let owner = group.wait_for_owner(key, "sleeper@").await;
    let outcome = group.cancel(key, &owner).await.unwrap();
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
    cancelled(running).await.ping().await.unwrap();
    group.wait_until_absent(key).await;

    let key = "public.shedlock:nightly";
    let owner = group.wait_for_owner(key, "web-1").await;
    assert_eq!(
        failure(group.cancel(key, &owner).await),
        CancelFailure::NoConnection
    );
    assert_eq!(group.wait_for_owner(key, "web-1").await, owner);
}

#[tokio::test]
async fn the_api_cancels_on_request_and_the_advice_names_what_a_release_would_end() {
    let server = Postgres::start().await;
    let console = TestConsole::start(vec![group_config(&server.url())]).await;
    let api = console.api();
    let begin = "SELECT pg_advisory_lock(2); BEGIN; SELECT pg_advisory_xact_lock(1)";
    let running = start_sleeper(&server, begin, SLEEP).await;
    api.wait_for_lock_count(2).await;
    let path = "/api/v1/groups/db/locks/advisory%3A1";
    let lock = api.get(path).await.json();
    let fingerprint = lock["owner"]["fingerprint"].as_str().unwrap();
    let others = json!({"kind": "holds-others", "locks": ["advisory:2"], "count": 1});
    let facts = lock["release_advice"]["reasons"].as_array().unwrap();
    assert!(facts.contains(&others), "{lock}");
    let body = |path: &str, revoke_lease: Option<&str>| {
        json!({"fingerprint": fingerprint, "reason": "test", "confirm": path,
            "cancel_statement": true, "revoke_lease": revoke_lease})
    };
    let release = format!("{path}/force-release");
    let both = api
        .post(&release, body("advisory:1", Some(fingerprint)))
        .await;
    both.assert_problem(400, "bad-request");
    let released = api.post(&release, body("advisory:1", None)).await;
    assert_eq!(released.status, 200, "{}", released.text);
    let mut client = cancelled(running).await;
    run(&mut client, "ROLLBACK").await;
    wait_until("the lock is gone", async || {
        api.get(path).await.status == 404
    })
    .await;
    // The connection still holds its other lock, and runs nothing.
    let release = "/api/v1/groups/db/locks/advisory%3A2/force-release";
    let refused = api.post(release, body("advisory:2", None)).await;
    refused.assert_problem(422, "cancel-failed");
    client.ping().await.unwrap();

    let log = api.get("/api/v1/audit?action=force-release").await.json();
    let entries = log["entries"].as_array().unwrap();
    let summary: Vec<_> = entries
        .iter()
        .map(|entry| {
            let detail = entry["detail"]["code"].as_str().unwrap_or_default();
            (entry["result"].as_str().unwrap(), detail)
        })
        .collect();
    assert_eq!(
        summary,
        [("refused", "error"), ("done", "statement-cancelled")],
        "{log}"
    );
    console.stop().await;
}
