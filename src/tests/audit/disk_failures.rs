//! Disk failures: a full disk before and during an operation, a read-only disk, and recovery.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, StorageConfig};
use serde_json::json;

use super::{acquire, search_audit};
use crate::api::{group_config, lock_path};
use crate::support::audit::verify_chain;
use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// A small tmpfs. Mounting it requires root.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let disk = Self(directory);
        disk.mount_with(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .then_some(disk)
    }

    fn mount_with(&self, arguments: &[&str]) -> bool {
        let mounted = std::process::Command::new("mount")
            .args(arguments)
            .arg(self.0.path())
            .status();
        mounted.is_ok_and(|status| status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _unmounted = std::process::Command::new("umount")
            .arg("-l")
            .arg(self.0.path())
            .status();
    }
}

/// Acquires locks with long keys until one is rejected, and returns how many were acquired. The
/// error must not contain the path of the database.
async fn acquire_until_rejected(api: &ApiClient, max_acquires: usize) -> usize {
    for n in 0..max_acquires {
        let key = format!("lock:{n}:{}", "x".repeat(1_000));
        let path = lock_path("orders", key.as_bytes(), "/acquire");
        let response = api.post(&path, json!({"ttl_ms": 600_000})).await;
        if response.status != 201 {
            assert_eq!(
                (response.status, response.problem_code().as_str()),
                (503, "audit-unavailable")
            );
            assert!(
                !response.text.contains("lockkeeper.db"),
                "{}",
                response.text
            );
            return n;
        }
    }
    panic!("the disk is not full after {max_acquires} acquires");
}

async fn start_console(nodes: &RedisNodes, config: &StorageConfig) -> TestConsole {
    let config = Config {
        storage: config.clone(),
        ..Config::with_groups(vec![group_config("orders", nodes)])
    };
    TestConsole::start_with_config(config, Clock::system()).await
}

#[tokio::test]
async fn on_a_full_disk_only_owners_can_operate_and_entries_are_written_once_there_is_space() {
    let Some(disk) = SmallDisk::mount("1m") else {
        // The test is skipped without the permission to mount.
        return;
    };
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:mine", b"my token", Some(60_000)).await;
    nodes.set(0, b"lock:stuck", b"dead", None).await;
    let config = StorageConfig::sqlite(disk.0.path().join("lockkeeper.db"));
    let console = start_console(&nodes, &config).await;
    let api = console.api();
    acquire(&api, b"lock:held").await;
    let path = lock_path("orders", b"lock:held", "/acquire");
    let waiting_api = console.api();
    let waiting = tokio::spawn(async move {
        let body = json!({"ttl_ms": 1000, "wait_ms": 60_000});
        waiting_api.post(&path, body).await
    });
    wait_until("the acquire waits", async || {
        search_audit(&api, "?result=in-progress").await.len() == 1
    })
    .await;
    // Another file fills the disk.
    let filler = disk.0.path().join("filler");
    assert!(
        std::fs::write(&filler, vec![1; 2 << 20]).is_err(),
        "the disk is full"
    );
    acquire_until_rejected(&api, 2_000).await;
    let before = nodes.dump(0).await;
    assert_eq!(acquire_until_rejected(&api, 1).await, 0);
    let stuck = lock_path("orders", b"lock:stuck", "");
    let fingerprint = api.get(&stuck).await.json()["owner"]["fingerprint"].clone();
    let force = lock_path("orders", b"lock:stuck", "/force-release");
    let forced = api
        .post(&force, json!({"fingerprint": fingerprint, "reason": "r"}))
        .await;
    assert_eq!(
        (forced.status, forced.problem_code().as_str()),
        (503, "audit-unavailable")
    );
    assert_eq!(
        nodes.dump(0).await.len(),
        before.len(),
        "no key was changed"
    );
    for (action, body) in [
        ("extend", json!({"token": "my token", "ttl_ms": 90_000})),
        ("release", json!({"token": "my token"})),
    ] {
        let path = lock_path("orders", b"lock:mine", &format!("/{action}"));
        let response = api.post(&path, body).await;
        assert_eq!(response.status, 200, "{action}: {}", response.text);
    }
    waiting.abort();

    std::fs::remove_file(&filler).unwrap();
    wait_until("the end entries are written", async || {
        search_audit(&api, "?result=unknown").await.len() == 1
            && search_audit(&api, "?action=extend&result=done").await.len() == 1
            && search_audit(&api, "?action=release&result=done")
                .await
                .len()
                == 1
    })
    .await;
    acquire(&api, b"lock:after recovery").await;
    console.stop().await;
    let report = verify_chain(&config).await;
    assert!(report.is_intact(), "{report:?}");
}

#[tokio::test]
async fn on_a_read_only_disk_operations_are_rejected_and_locks_are_still_listed() {
    let Some(disk) = SmallDisk::mount("8m") else {
        return;
    };
    let nodes = RedisNodes::start(1).await;
    let config = StorageConfig::sqlite(disk.0.path().join("lockkeeper.db"));
    let console = start_console(&nodes, &config).await;
    acquire(&console.api(), b"lock:before").await;
    console.stop().await;
    // A remount fails while a file is open for writing, so the console is stopped first.
    wait_until("the disk is read-only", async || {
        disk.mount_with(&["-o", "remount,ro"])
    })
    .await;
    let console = start_console(&nodes, &config).await;
    let api = console.api();
    assert_eq!(acquire_until_rejected(&api, 1).await, 0);
    assert_eq!(api.get("/api/v1/locks").await.status, 200);
    assert!(disk.mount_with(&["-o", "remount,rw"]));
    let path = lock_path("orders", b"lock:after", "/acquire");
    wait_until("operations succeed again", async || {
        let response = api.post(&path, json!({"ttl_ms": 60_000})).await;
        response.status == 201
    })
    .await;
}
