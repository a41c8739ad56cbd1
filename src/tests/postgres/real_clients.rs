//! Locks of psycopg and Liquibase, as these programs acquire and write them.

use std::path::Path;
use std::process::Stdio;

use lockkeeper::domain::{Format, Lease, Mode, NodeOutcome};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::{TestGroup, connect, group_config, outcome_of};
use crate::support::lock_client::LockClient;
use crate::support::postgres::Postgres;
use crate::support::tool_dir;

#[tokio::test]
async fn session_and_transaction_locks_of_psycopg_are_shown_and_released() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut clients = LockClient::psycopg(&server.url()).await;
    let key = "advisory:31";
    clients.send("session billing 31").await;
    clients.wait_for("held billing").await;
    let owner = group.wait_for_owner(key, "billing@").await;
    clients.send("transaction report 31").await;
    let waiters = group.wait_for_waiters(key, 1).await;
    let label = waiters[0].label.as_deref().unwrap();
    assert!(label.starts_with("report@"), "{label}");
    let lock = group.read(key).await.unwrap().unwrap();
    assert_eq!((lock.lease, lock.mode), (Lease::Session, Mode::Exclusive));

    // The client that waits in a transaction has the lock at once; the owner notices the release.
    let outcome = group.force_release(key, &owner).await;
    assert_eq!(outcome_of(&outcome), &NodeOutcome::Released);
    clients.wait_for("held report").await;
    clients.send("unlock billing 31").await;
    clients.wait_for("lost billing").await;
    let next = group.wait_for_owner(key, "report@").await;
    assert_eq!(next.fingerprint, waiters[0].fingerprint);
    // The owner that an operator saw first is not the owner any more.
    let outcome = group.force_release(key, &owner).await;
    assert_ne!(outcome_of(&outcome), &NodeOutcome::Released);
    clients.send("commit report").await;
    clients.wait_for("committed report").await;
    group.wait_until_absent(key).await;
}

#[tokio::test]
async fn a_shared_lock_of_psycopg_with_two_numbers_has_two_owners() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut clients = LockClient::psycopg(&server.url()).await;
    for name in ["reader-1", "reader-2"] {
        clients.send(&format!("pair {name} 7 9")).await;
        clients.wait_for(&format!("held {name}")).await;
    }
    let key = "advisory:7,9";
    group.wait_for_owner(key, "reader-1@").await;
    group.wait_for_owner(key, "reader-2@").await;
    let lock = group.read(key).await.unwrap().unwrap();
    assert_eq!((lock.owners.len(), lock.mode), (2, Mode::Shared));
}

/// Starts Liquibase with one change in this folder.
fn start_liquibase(server: &Postgres, folder: &TempDir, change: &str) -> Child {
    let changelog = format!("--liquibase formatted sql\n--changeset app:1\n{change}\n");
    std::fs::write(folder.path().join("changelog.sql"), changelog).unwrap();
    let jars = tool_dir("liquibase-4.28.1");
    assert!(
        jars.exists(),
        "Liquibase is not installed; `make setup` installs it"
    );
    Command::new("java")
        .args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
        .arg("-cp")
        .arg(jars.join("*"))
        .arg("liquibase.integration.commandline.LiquibaseCommandLine")
        .args(["--changelog-file=changelog.sql", "--username=lockkeeper"])
        .arg(format!("--url={}", jdbc_url(&server.url())))
        .arg("update")
        .current_dir(Path::new(folder.path()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// The URL of the driver for Java, which has the user in a parameter of its own.
fn jdbc_url(url: &str) -> String {
    let address = url.split_once('@').unwrap().1;
    format!("jdbc:postgresql://{address}")
}

#[tokio::test]
async fn the_lock_that_a_killed_liquibase_leaves_is_released_and_the_next_run_acquires_it() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let folder = tempfile::tempdir().unwrap();
    let mut killed = start_liquibase(&server, &folder, "SELECT pg_sleep(600);");
    let key = "public.databasechangeloglock:1";
    let lock = group.wait_for_lock(key).await;
    assert_eq!((lock.format, lock.lease), (Format::Liquibase, Lease::Never));
    let owner = lock.owners[0].owner.clone();
    // Its label is the name of the host with its address.
    let label = owner.label.clone().unwrap();
    assert!(label.contains(" ("), "{label}");
    killed.kill().await.unwrap();

    let outcome = group.force_release(key, &owner).await;
    assert_eq!(outcome_of(&outcome), &NodeOutcome::Released);
    group.wait_until_absent(key).await;
    let mut next = start_liquibase(&server, &folder, "CREATE TABLE app(id INT);");
    assert!(next.wait().await.unwrap().success(), "Liquibase");
    let mut client = connect(&server, "test").await;
    let sql = "SELECT count(*) FROM app";
    let rows: i64 = sqlx::query_scalar(sql)
        .fetch_one(&mut client)
        .await
        .unwrap();
    assert_eq!(rows, 0);
}
