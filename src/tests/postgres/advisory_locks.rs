//! Advisory locks: their names, holders, waiters and modes.

use lockkeeper::domain::{Format, Lease, LockKey, Mode, WaitQueue};
use lockkeeper::server::config::{AdvisoryKey, AdvisoryName, ServiceConfig};

use super::{TestGroup, connect, group_config, run, run_in_background, start_psql};
use crate::support::console::TestConsole;
use crate::support::postgres::Postgres;
use crate::support::{wait_for, wait_until};

#[tokio::test]
async fn an_advisory_lock_shows_its_holder_and_its_waiters_in_order() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut holder = start_psql(
        &server,
        "billing",
        "SELECT pg_advisory_lock(4242424242424242);",
    )
    .await;
    let key = "advisory:4242424242424242";
    let owner = group.wait_for_owner(key, "billing@127.0.0.1/").await;
    let mut waiting = Vec::new();
    for (number, name) in ["worker-1", "worker-2"].into_iter().enumerate() {
        let client = connect(&server, name).await;
        let sql = "SELECT pg_advisory_lock(4242424242424242)";
        waiting.push(run_in_background(client, sql));
        // The order of arrival is what is tested.
        group.wait_for_waiters(key, number + 1).await;
    }
    let waiters = group.wait_for_waiters(key, 2).await;
    assert!(
        waiters
            .iter()
            .all(|waiter| waiter.queue == WaitQueue::Service)
    );
    let labels: Vec<&str> = waiters
        .iter()
        .filter_map(|waiter| waiter.label.as_deref())
        .collect();
    assert!(
        labels[0].starts_with("worker-1@") && labels[1].starts_with("worker-2@"),
        "{labels:?}"
    );
    assert!(waiters[0].waiting_since < waiters[1].waiting_since);
    let lock = group.read(key).await.unwrap().unwrap();
    assert_eq!(
        (lock.format, lock.mode),
        (Format::AdvisoryLock, Mode::Exclusive)
    );
    assert_eq!((lock.lease, lock.waiter_count), (Lease::Session, Some(2)));
    // The waiter becomes the owner with the fingerprint that it had in the queue.
    holder.kill().await.unwrap();
    let next = group.wait_for_owner(key, "worker-1@").await;
    assert_eq!(next.fingerprint, waiters[0].fingerprint);
    assert_ne!(next.fingerprint, owner.fingerprint);
    let (client, result) = waiting.remove(0).await.unwrap();
    result.unwrap();
    drop(client);
    group.wait_for_owner(key, "worker-2@").await;
}

#[tokio::test]
async fn numbers_pairs_and_shared_locks_have_their_own_names() {
    let server = Postgres::start().await;
    let mut config = group_config(&server.url());
    let ServiceConfig::Postgres(service) = &mut config.service else {
        unreachable!();
    };
    service.advisory_names.push(AdvisoryName {
        key: AdvisoryKey::Pair(-7, 9),
        name: "nightly report".to_owned(),
    });
    let group = TestGroup::start(config);
    let mut first = connect(&server, "one").await;
    run(
        &mut first,
        "SELECT pg_advisory_lock(-1); SELECT pg_advisory_lock(-7, 9)",
    )
    .await;
    run(
        &mut first,
        "SELECT pg_advisory_lock_shared(5); SELECT pg_advisory_lock(72707369)",
    )
    .await;
    let mut second = connect(&server, "two").await;
    run(&mut second, "SELECT pg_advisory_lock_shared(5)").await;
    let shared = wait_for("both clients hold the shared lock", async || {
        let lock = group.read("advisory:5").await.ok()??;
        (lock.owners.len() == 2).then_some(lock)
    })
    .await;
    assert_eq!(shared.mode, Mode::Shared);
    for key in [
        "advisory:-1",
        "advisory:-7,9:nightly report",
        "advisory:72707369:prisma-migrate",
    ] {
        let lock = group.wait_for_lock(key).await;
        assert_eq!(
            (lock.mode, lock.owners.len()),
            (Mode::Exclusive, 1),
            "{key}"
        );
    }
    // One connection is one owner of all its locks.
    let fingerprints = |lock: lockkeeper::server::stores::DetectedLock| {
        let owners = lock.owners.into_iter();
        owners
            .map(|owner| owner.owner.fingerprint)
            .collect::<Vec<_>>()
    };
    let one = fingerprints(group.wait_for_lock("advisory:-1").await);
    assert!(fingerprints(shared).contains(&one[0]));
}

#[tokio::test]
async fn locks_of_other_databases_are_other_locks() {
    let server = Postgres::start().await;
    let mut admin = connect(&server, "admin").await;
    run(&mut admin, "CREATE DATABASE other").await;
    let group = TestGroup::start(group_config(&server.url().replace("/postgres", "/other")));
    run(&mut admin, "SELECT pg_advisory_lock(1)").await;
    let url = server.url().replace("/postgres", "/other");
    let mut other = <sqlx::PgConnection as sqlx::Connection>::connect(&url)
        .await
        .unwrap();
    run(&mut other, "SELECT pg_advisory_lock(2)").await;
    group.wait_for_lock("advisory:2").await;
    assert_eq!(group.read("advisory:1").await, Ok(None));
}

#[tokio::test]
async fn the_details_of_a_lock_show_what_else_its_connection_holds() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut client = connect(&server, "billing").await;
    run(
        &mut client,
        "SELECT pg_advisory_lock(1); SELECT pg_advisory_lock(2)",
    )
    .await;
    group.wait_for_lock("advisory:2").await;
    let nodes = group.group.read_raw(&LockKey::from("advisory:1")).await;
    let text = serde_json::to_string(&nodes).unwrap();
    for part in [
        "billing@127.0.0.1/",
        "also holds",
        "advisory:2",
        "lockkeeper",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[tokio::test]
async fn a_console_lists_advisory_locks_and_their_ends() {
    let server = Postgres::start().await;
    let console = TestConsole::start(vec![group_config(&server.url())]).await;
    let api = console.api();
    let mut client = connect(&server, "billing").await;
    run(&mut client, "SELECT pg_advisory_lock(4711)").await;
    api.wait_for_lock_count(1).await;
    let waiting = run_in_background(
        connect(&server, "mailer").await,
        "SELECT pg_advisory_lock(4711)",
    );
    let path = "/api/v1/groups/db/locks/advisory%3A4711";
    let lock = wait_for("the lock is contended", async || {
        let lock = api.get(path).await.json();
        let flags = lock["flags"].as_array()?;
        flags.iter().any(|flag| flag == "contended").then_some(lock)
    })
    .await;
    assert_eq!(super::verdict_of(&lock), lockkeeper::domain::Verdict::Held);
    assert_eq!(lock["format"], "advisory-lock");
    assert_eq!(lock["ends_with_session"], true);
    wait_until("the wait-for graph has the waiter", async || {
        let waits = api.get("/api/v1/waits").await.text;
        waits.contains("mailer@127.0.0.1/") && waits.contains("\"service\"")
    })
    .await;
    waiting.abort();
    drop(client);
    wait_until("the list is empty", async || {
        let list = api.get("/api/v1/locks").await.json();
        list["total"] == 0
    })
    .await;
    console.stop().await;
}
