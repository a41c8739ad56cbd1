//! Locks in PostgreSQL, with a real server and real clients.

mod acquiring;
mod advisory_locks;
mod cancel;
mod faults;
mod force_release;
mod good_job;
mod lock_tables;
mod real_clients;

pub use lock_tables::SHEDLOCK;

use std::process::Stdio;
use std::sync::Arc;

use lockkeeper::domain::{
    GroupKind, LockKey, NodeOutcome, NodeView, ObservedHold, Owner, Verdict, Waiter,
};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{GroupConfig, LockTable, PostgresConfig, ServiceConfig};
use lockkeeper::server::stores::redis::nodes::restart_history::RestartHistory;
use lockkeeper::server::stores::{
    CallError, DetectedLock, ForceReleaseOutcome, ForceTarget, Group, GroupOptions, KeyReading,
    Observations, ReadCause,
};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, PgConnection};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::support::postgres::Postgres;
use crate::support::{wait_for, wait_until};

/// The configuration of a group for this database.
fn group_config(url: &str) -> GroupConfig {
    let service = PostgresConfig {
        url: url.parse().unwrap(),
        tables: Vec::new(),
        advisory_names: Vec::new(),
    };
    let mut config = GroupConfig::new("db", []);
    config.kind = GroupKind::Postgres;
    config.service = ServiceConfig::Postgres(service);
    config
}

/// Adds a lock table with a name of its own.
fn with_table(mut config: GroupConfig, table: LockTable) -> GroupConfig {
    let ServiceConfig::Postgres(service) = &mut config.service else {
        unreachable!();
    };
    service.tables.push(table);
    config
}

/// A running group. It is stopped when this is dropped.
struct TestGroup {
    group: Arc<Group>,
    _stop: DropGuard,
}

impl TestGroup {
    fn start(config: GroupConfig) -> Self {
        let stop = CancellationToken::new();
        let options = GroupOptions {
            closing: stop.child_token(),
            stop: stop.clone(),
            history: RestartHistory::default(),
            observations: Observations::default(),
        };
        Self {
            group: Group::start(config, options, Clock::system()),
            _stop: stop.drop_guard(),
        }
    }

    /// The lock as a new reading shows it; `None` if it is absent.
    async fn read(&self, key: &str) -> Result<Option<DetectedLock>, CallError> {
        let keys = [LockKey::from(key)];
        let reading = self.group.read_locks(&keys, ReadCause::Routine, &[]).await;
        let mut all = Vec::new();
        for node in reading.nodes {
            all.extend(node.result?);
        }
        assert_eq!(all.len(), 1, "one key was requested");
        Ok(match all.remove(0) {
            KeyReading::Lock(lock) => Some(lock),
            KeyReading::Absent => None,
            KeyReading::NotALock => panic!("{key} is not a lock"),
        })
    }

    /// Waits until the lock is held.
    async fn wait_for_lock(&self, key: &str) -> DetectedLock {
        wait_for(&format!("{key} is held"), async || {
            self.read(key).await.ok().flatten()
        })
        .await
    }

    /// Waits until the lock is held by an owner whose label starts like this.
    async fn wait_for_owner(&self, key: &str, label: &str) -> Owner {
        wait_for(&format!("{key} is held by {label}"), async || {
            let lock = self.read(key).await.ok().flatten()?;
            let owners = lock.owners.into_iter().map(|owner| owner.owner);
            owners.into_iter().find(|owner| {
                let shown = owner.label.as_deref().unwrap_or_default();
                shown.starts_with(label)
            })
        })
        .await
    }

    /// Waits until the lock is absent.
    async fn wait_until_absent(&self, key: &str) {
        wait_until(&format!("{key} is absent"), async || {
            matches!(self.read(key).await, Ok(None))
        })
        .await;
    }

    /// The waiters of a lock.
    async fn waiters(&self, key: &str) -> Vec<Waiter> {
        let mut queues = self.group.read_queues(&[LockKey::from(key)]).await;
        let mut queues = queues.remove(0).result.unwrap();
        queues.remove(0).head
    }

    /// Waits until this many clients wait for the lock.
    async fn wait_for_waiters(&self, key: &str, count: usize) -> Vec<Waiter> {
        wait_for(&format!("{count} clients wait for {key}"), async || {
            let waiters = self.waiters(key).await;
            let all_since = waiters.iter().all(|waiter| waiter.waiting_since.is_some());
            (waiters.len() == count && all_since).then_some(waiters)
        })
        .await
    }

    /// Releases the hold of this owner by force.
    async fn force_release(&self, key: &str, owner: &Owner) -> ForceReleaseOutcome {
        let key = LockKey::from(key);
        let target = ForceTarget {
            key: &key,
            fingerprint: &owner.fingerprint,
            expected_hold: ObservedHold::default(),
            known_format: None,
            harm_accepted: true,
        };
        self.group.force_release(target).await.unwrap()
    }

    /// The state of the only server.
    fn server(&self) -> NodeView {
        self.group.node_views().remove(0)
    }
}

/// The outcome on the only server.
fn outcome_of(outcome: &ForceReleaseOutcome) -> &NodeOutcome {
    assert_eq!(outcome.nodes.len(), 1);
    &outcome.nodes[0].outcome
}

/// Connects as the superuser under an application name.
async fn connect(server: &Postgres, application: &str) -> PgConnection {
    let options: PgConnectOptions = server.url().parse().unwrap();
    let options = options.application_name(application);
    options.connect().await.unwrap()
}

/// Runs statements without arguments.
async fn run(client: &mut PgConnection, sql: &str) {
    client.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
}

/// Runs a statement that may wait, or end with the connection.
fn run_in_background(
    mut client: PgConnection,
    sql: &str,
) -> JoinHandle<(PgConnection, Result<(), sqlx::Error>)> {
    let sql = sql.to_owned();
    tokio::spawn(async move {
        let result = client.execute(AssertSqlSafe(sql)).await;
        (client, result.map(drop))
    })
}

/// The real command line client, which holds what it acquired until it is dropped.
async fn start_psql(server: &Postgres, application: &str, sql: &str) -> Child {
    let mut psql = Command::new("/usr/lib/postgresql/15/bin/psql")
        .args(["-q", "-d", &server.url()])
        .env("PGAPPNAME", application)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let stdin = psql.stdin.as_mut().unwrap();
    stdin
        .write_all(format!("{sql}\n").as_bytes())
        .await
        .unwrap();
    stdin.flush().await.unwrap();
    psql
}

/// A pool for many clients.
fn pool(server: &Postgres, size: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(size)
        .connect_lazy(&server.url())
        .unwrap()
}

/// The verdicts of the locks in the list of a console.
fn verdict_of(lock: &serde_json::Value) -> Verdict {
    serde_json::from_value(lock["verdict"].clone()).unwrap()
}
