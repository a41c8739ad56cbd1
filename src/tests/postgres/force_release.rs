//! Force-release: exactly the hold that was seen, never another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockkeeper::domain::reason::Reason;
use lockkeeper::domain::{LockKey, NodeOutcome, ObservedHold};
use lockkeeper::server::stores::{ForceRefusal, ForceTarget};
use sqlx::Connection as _;

use super::{TestGroup, connect, group_config, outcome_of, pool, run, run_in_background};
use crate::support::postgres::Postgres;

/// Owner changes of each race.
const OWNER_CHANGES: i64 = 1_000;
/// Statements during each hold, so that some releases find the hold that they read.
const STATEMENTS_PER_HOLD: usize = 30;

#[tokio::test]
async fn a_release_ends_the_connection_and_the_first_waiter_acquires_the_lock() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut holder = connect(&server, "holder").await;
    run(&mut holder, "SELECT pg_advisory_lock(1)").await;
    let owner = group.wait_for_owner("advisory:1", "holder@").await;
    let next = connect(&server, "next").await;
    let waiting = run_in_background(next, "SELECT pg_advisory_lock(1)");
    group.wait_for_waiters("advisory:1", 1).await;

    let key = LockKey::from("advisory:1");
    let target = |harm_accepted| ForceTarget {
        key: &key,
        fingerprint: &owner.fingerprint,
        expected_hold: ObservedHold::default(),
        known_format: None,
        harm_accepted,
    };
    let refusal = group.group.force_release(target(false)).await.unwrap_err();
    assert!(matches!(refusal, ForceRefusal::Harmful(_)), "{refusal:?}");
    let dry_run = group
        .group
        .dry_run_force_release(target(true))
        .await
        .unwrap();
    assert_eq!(*outcome_of(&dry_run), NodeOutcome::Releasable);
    holder.ping().await.unwrap();

    let outcome = group.force_release("advisory:1", &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
    let (_client, acquired) = waiting.await.unwrap();
    acquired.unwrap();
    assert!(holder.ping().await.is_err(), "the connection has ended");
    // The lock belongs to the next client now, and the release does not touch it.
    let outcome = group.force_release("advisory:1", &owner).await;
    assert!(
        matches!(outcome_of(&outcome), NodeOutcome::OtherOwner { .. }),
        "{outcome:?}"
    );
    group.wait_for_owner("advisory:1", "next@").await;
}

#[tokio::test]
async fn a_connection_that_released_the_lock_is_not_ended() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut client = connect(&server, "client").await;
    run(
        &mut client,
        "SELECT pg_advisory_lock(1); SELECT pg_advisory_lock(2)",
    )
    .await;
    let owner = group.wait_for_owner("advisory:1", "client@").await;
    run(&mut client, "SELECT pg_advisory_unlock(1)").await;
    let outcome = group.force_release("advisory:1", &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::NotHeld);
    client.ping().await.unwrap();
    let outcome = group.force_release("advisory:2", &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
}

#[tokio::test]
async fn a_prepared_transaction_is_shown_and_not_released() {
    let server = Postgres::start_with(&["max_prepared_transactions=2"]).await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut client = connect(&server, "client").await;
    run(&mut client, "BEGIN; SELECT pg_advisory_xact_lock(1)").await;
    run(&mut client, "PREPARE TRANSACTION 'p'").await;
    let owner = group
        .wait_for_owner("advisory:1", "prepared transaction")
        .await;
    let outcome = group.force_release("advisory:1", &owner).await;
    let NodeOutcome::Failed {
        reason: Reason::NothingChanged { cause },
    } = outcome_of(&outcome)
    else {
        panic!("{outcome:?}");
    };
    assert!(cause.to_string().contains("ROLLBACK PREPARED"));
    run(&mut client, "ROLLBACK PREPARED 'p'").await;
    group.wait_until_absent("advisory:1").await;
}

#[tokio::test]
async fn a_race_with_owners_of_a_row_never_releases_the_wrong_one() {
    let server = Postgres::start().await;
    let mut client = connect(&server, "app").await;
    run(&mut client, super::lock_tables::SHEDLOCK).await;
    let group = TestGroup::start(group_config(&server.url()));
    let key = "public.shedlock:nightly";
    group.wait_for_lock(key).await;
    let is_over = Arc::new(AtomicBool::new(false));
    // Each owner writes its own row, and reports a lock that it lost while it held it.
    let changing = tokio::spawn({
        let is_over = Arc::clone(&is_over);
        async move {
            let mut lost = Vec::new();
            for number in 0..OWNER_CHANGES {
                let owner = format!("owner-{number}");
                let sql = "UPDATE shedlock SET locked_by = $1, \
                    locked_at = timezone('utc', clock_timestamp()), \
                    lock_until = timezone('utc', clock_timestamp()) + interval '1 hour' \
                    WHERE name = 'nightly'";
                sqlx::query(sql)
                    .bind(&owner)
                    .execute(&mut client)
                    .await
                    .unwrap();
                let sql = "SELECT lock_until > timezone('utc', clock_timestamp()) FROM shedlock \
                    WHERE name = 'nightly' AND locked_by = $1";
                let held: bool = sqlx::query_scalar(sql)
                    .bind(&owner)
                    .fetch_one(&mut client)
                    .await
                    .unwrap();
                if !held {
                    lost.push(owner);
                }
            }
            is_over.store(true, Ordering::Release);
            lost
        }
    });
    let mut released = Vec::new();
    let mut attempts = 0_u32;
    while !is_over.load(Ordering::Acquire) {
        let Ok(Some(lock)) = group.read(key).await else {
            continue;
        };
        let owner = lock.owners[0].owner.clone();
        attempts += 1;
        let outcome = group.force_release(key, &owner).await;
        match outcome_of(&outcome) {
            NodeOutcome::Released => released.push(owner.label.unwrap()),
            NodeOutcome::NotHeld | NodeOutcome::OtherOwner { .. } | NodeOutcome::OtherHold => {}
            other => panic!("{other:?}"),
        }
    }
    let lost = changing.await.unwrap();
    assert!(attempts > 0);
    for owner in &lost {
        assert!(
            released.contains(owner),
            "{owner} lost its lock to another release: {released:?}"
        );
    }
}

#[tokio::test]
async fn a_race_with_connections_never_ends_the_wrong_one() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let clients = pool(&server, 4);
    let is_over = Arc::new(AtomicBool::new(false));
    // Each client holds the lock for some statements. Only connections that were released may end.
    let changing = tokio::spawn({
        let is_over = Arc::clone(&is_over);
        async move {
            let mut ended = Vec::new();
            for number in 0..OWNER_CHANGES {
                let mut client = clients.acquire().await.unwrap();
                let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
                    .fetch_one(&mut *client)
                    .await
                    .unwrap();
                let acquire = [
                    format!("SET application_name = 'owner-{number}'"),
                    "SELECT pg_advisory_lock(1)".to_owned(),
                ];
                let work = std::iter::repeat_n("SELECT 1".to_owned(), STATEMENTS_PER_HOLD);
                let release = ["SELECT pg_advisory_unlock(1)".to_owned()];
                for sql in acquire.into_iter().chain(work).chain(release) {
                    let result = sqlx::query(sqlx::AssertSqlSafe(sql))
                        .execute(&mut *client)
                        .await;
                    if result.is_err() {
                        ended.push(pid);
                        // The pool must not use this connection again.
                        drop(client.detach());
                        break;
                    }
                }
            }
            is_over.store(true, Ordering::Release);
            ended
        }
    });
    let mut released = Vec::new();
    while !is_over.load(Ordering::Acquire) {
        let Ok(Some(lock)) = group.read("advisory:1").await else {
            continue;
        };
        let owner = lock.owners[0].owner.clone();
        let outcome = group.force_release("advisory:1", &owner).await;
        match outcome_of(&outcome) {
            NodeOutcome::Released => released.push(owner.label.unwrap()),
            NodeOutcome::NotHeld | NodeOutcome::OtherOwner { .. } | NodeOutcome::OtherHold => {}
            other => panic!("{other:?}"),
        }
    }
    let ended = changing.await.unwrap();
    assert!(
        !ended.is_empty(),
        "no release found the hold that it had read"
    );
    for pid in ended {
        let suffix = format!("/{pid}");
        let is_released = released.iter().any(|label| label.ends_with(&suffix));
        assert!(
            is_released,
            "{pid} was ended without a release: {released:?}"
        );
    }
}
