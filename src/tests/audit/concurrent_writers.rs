//! Several processes append to one hash chain in one database.

use std::pin::pin;
use std::time::Duration;

use lockkeeper::domain::OperationKind;
use lockkeeper::server::audit::{AuditActor, AuditLog, AuditOutcome, AuditRequest};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AuditConfig, Config, StorageConfig};
use lockkeeper::server::storage::Storage;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{acquire, search_audit, write_config};
use crate::api::{group_config, lock_path};
use crate::cli::{Shell, output_of};
use crate::support::audit::{entries, verify_chain};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

#[tokio::test]
async fn two_consoles_and_the_command_line_write_one_chain() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    write_config(&shell.path("."), &nodes, "sqlite:lockkeeper.db");
    let storage = StorageConfig::sqlite(shell.path("lockkeeper.db"));
    let config = || Config {
        storage: storage.clone(),
        ..Config::with_groups(vec![group_config("orders", &nodes)])
    };
    let first = TestConsole::start_with_config(config(), Clock::system()).await;
    let second = TestConsole::start_with_config(config(), Clock::system()).await;
    let acquire_many = async |api, name: &str| {
        for n in 0..100 {
            acquire(&api, format!("lock:{name}:{n}").as_bytes()).await;
        }
    };
    let cli_acquires = async {
        for n in 0..10 {
            let key = format!("lock:cli:{n}");
            let arguments = ["acquire", "orders", &key, "--ttl", "1m"];
            let output = output_of(shell.bare_command(&arguments)).await;
            assert_eq!(output.status, 0, "{output:?}");
        }
    };
    tokio::join!(
        acquire_many(first.api(), "first"),
        acquire_many(second.api(), "second"),
        cli_acquires
    );
    // An end entry that conflicts with another writer is retried after the response.
    wait_until("every entry is written", async || {
        verify_chain(&storage).await.entries == 2 * 210
    })
    .await;
    let report = verify_chain(&storage).await;
    assert!(report.is_intact(), "{report:?}");
    let operations = search_audit(&first.api(), "?limit=1000").await;
    assert_eq!(operations.len(), 210);
    let by_cli = search_audit(&second.api(), "?q=lock:cli:&limit=1000").await;
    assert_eq!(by_cli.len(), 10);
    assert_eq!(by_cli[0]["auth_method"], "command-line");
    assert!(by_cli[0]["actor"].as_str().unwrap().starts_with("alice@"));
}

/// A write of another process that keeps the database locked.
struct LongWrite {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl LongWrite {
    async fn begin(config: &StorageConfig) -> Self {
        let storage = Storage::new(config, false);
        let (end, end_receiver) = oneshot::channel::<()>();
        let (begun_sender, begun) = oneshot::channel();
        let (mut end_receiver, mut begun_sender) = (Some(end_receiver), Some(begun_sender));
        let task = tokio::spawn(async move {
            let write = storage.write(move |_| {
                let (end, begun) = (end_receiver.take().unwrap(), begun_sender.take().unwrap());
                Box::pin(async move {
                    begun.send(()).unwrap();
                    drop(end.await);
                    Ok(())
                })
            });
            write.await.unwrap();
        });
        begun.await.unwrap();
        Self { end, task }
    }

    async fn end(self) {
        drop(self.end);
        self.task.await.unwrap();
    }
}

#[tokio::test]
async fn operations_wait_for_a_locked_database_and_then_fail() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("orders", &nodes)]).await;
    let api = console.api();
    acquire(&api, b"lock:a").await;
    let long_write = LongWrite::begin(&StorageConfig::sqlite(console.storage_file())).await;
    let path = lock_path("orders", b"lock:b", "/acquire");
    let rejected = api.post(&path, json!({"ttl_ms": 1000})).await;
    long_write.end().await;
    assert_eq!(
        (rejected.status, rejected.problem_code().as_str()),
        (503, "audit-unavailable")
    );
    acquire(&api, b"lock:b").await;
}

#[tokio::test]
async fn a_process_that_ends_waits_longer_than_an_operation_for_a_locked_database() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lockkeeper.db");
    let config = StorageConfig::sqlite(&file);
    let log = AuditLog::new(
        &AuditConfig::default(),
        Storage::new(&config, false),
        Clock::system(),
    );
    let long_write = LongWrite::begin(&config).await;
    let actor = AuditActor {
        actor: "alice",
        subject: None,
        auth_method: "command-line",
        address: None,
        request_id: None,
    };
    let sign_in = AuditRequest::new(OperationKind::SignIn, actor);
    log.record(&sign_in, &AuditOutcome::done(&[]));
    let mut flushed = pin!(log.flush());
    let in_three_seconds = timeout(Duration::from_secs(3), &mut flushed).await;
    assert!(in_three_seconds.is_err(), "the entry cannot be written yet");
    long_write.end().await;
    flushed.await;
    assert_eq!(entries(&file).await.len(), 1);
}

#[tokio::test]
async fn the_cli_requires_the_audit_log_only_if_configured_or_for_a_force_release() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    // A file in place of the state directory, so that the audit log cannot be written.
    std::fs::write(shell.state_path("lockkeeper"), "a file").unwrap();
    let acquired = shell
        .run("acquire", &["default", "lock:a", "--ttl", "1m"])
        .await;
    assert_eq!(acquired.status, 0, "{acquired:?}");
    let fingerprint = acquired.field("fingerprint").to_owned();
    let arguments = [
        "default",
        "lock:a",
        "--fingerprint",
        &fingerprint,
        "--reason",
        "r",
    ];
    let rejected = shell.run("force-release", &arguments).await;
    assert_eq!(rejected.status, 1, "{rejected:?}");
    assert!(
        rejected.stderr.contains("the audit log is not writable"),
        "{rejected:?}"
    );
    assert!(!nodes.dump(0).await.is_empty(), "the lock is still there");

    std::fs::write(shell.path("data"), "a file").unwrap();
    write_config(&shell.path("."), &nodes, "sqlite:data/lockkeeper.db");
    let rejected =
        output_of(shell.bare_command(&["acquire", "orders", "lock:b", "--ttl", "1m"])).await;
    assert_eq!(rejected.status, 1, "{rejected:?}");
    std::fs::remove_file(shell.path("data")).unwrap();
    let arguments = [
        "force-release",
        "orders",
        "lock:a",
        "--fingerprint",
        &fingerprint,
        "--reason",
        "r",
    ];
    let forced = output_of(shell.bare_command(&arguments)).await;
    assert_eq!(forced.status, 0, "{forced:?}");
    let entries = entries(&shell.path("data/lockkeeper.db")).await;
    assert_eq!((entries.len(), &entries[1]["result"]), (2, &json!("done")));
}
