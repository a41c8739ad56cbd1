//! Bad days of the disk: read-only, full before an operation, full in the middle of one, and room again.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, StorageConfig};
use serde_json::json;

use super::{acquire, acts};
use crate::api::{group, lock_path};
use crate::support::audit::verified;
use crate::support::console::{Person, TestConsole};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// A file system of its own, which is as full as it says. Only root may have one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let disk = Self(folder);
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

/// Acquires locks with long names until one is refused, without a word about the file.
async fn until_refused(person: &Person, most: usize) -> usize {
    for n in 0..most {
        let key = format!("lock:{n}:{}", "x".repeat(1_000));
        let path = lock_path("orders", key.as_bytes(), "/acquire");
        let answer = person.post(&path, json!({"ttl_ms": 600_000})).await;
        if answer.status != 201 {
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (503, "audit-unavailable")
            );
            assert!(!answer.text.contains("lockkeeper.db"), "{}", answer.text);
            return n;
        }
    }
    panic!("the disk is not full after {most}");
}

async fn console_on(nodes: &RedisNodes, config: &StorageConfig) -> TestConsole {
    let config = Config {
        storage: config.clone(),
        ..Config::of(vec![group("orders", nodes)])
    };
    TestConsole::start_as(config, Clock::real()).await
}

#[tokio::test]
async fn on_a_full_disk_only_owners_go_on_and_with_room_again_everything_is_written() {
    let Some(disk) = SmallDisk::mount("1m") else {
        // Without the right to mount.
        return;
    };
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:mine", b"my token", Some(60_000)).await;
    nodes.set(0, b"lock:stuck", b"dead", None).await;
    let config = StorageConfig::file(disk.0.path().join("lockkeeper.db"));
    let console = console_on(&nodes, &config).await;
    let script = console.person();
    acquire(&script, b"lock:held").await;
    let path = lock_path("orders", b"lock:held", "/acquire");
    let waiting = console.person();
    let waits = tokio::spawn(async move {
        let body = json!({"ttl_ms": 1000, "wait_ms": 60_000});
        waiting.post(&path, body).await
    });
    eventually_is("it waits", async || {
        acts(&script, "?end=in-progress").await.len() == 1
    })
    .await;
    // Somebody else fills the disk.
    let filler = disk.0.path().join("filler");
    assert!(
        std::fs::write(&filler, vec![1; 2 << 20]).is_err(),
        "the disk is full"
    );
    until_refused(&script, 2_000).await;
    let before = nodes.dump(0).await;
    assert_eq!(until_refused(&script, 1).await, 0);
    let stuck = lock_path("orders", b"lock:stuck", "");
    let fingerprint = script.get(&stuck).await.json()["owner"]["fingerprint"].clone();
    let force = lock_path("orders", b"lock:stuck", "/force-release");
    let forced = script
        .post(&force, json!({"fingerprint": fingerprint, "reason": "r"}))
        .await;
    assert_eq!(
        (forced.status, forced.code().as_str()),
        (503, "audit-unavailable")
    );
    assert_eq!(
        nodes.dump(0).await.len(),
        before.len(),
        "nothing was changed"
    );
    for (verb, body) in [
        ("extend", json!({"token": "my token", "ttl_ms": 90_000})),
        ("release", json!({"token": "my token"})),
    ] {
        let path = lock_path("orders", b"lock:mine", &format!("/{verb}"));
        let answer = script.post(&path, body).await;
        assert_eq!(answer.status, 200, "{verb}: {}", answer.text);
    }
    waits.abort();

    std::fs::remove_file(&filler).unwrap();
    eventually_is("the ends are written", async || {
        acts(&script, "?end=unknown").await.len() == 1
            && acts(&script, "?act=extend&end=done").await.len() == 1
            && acts(&script, "?act=release&end=done").await.len() == 1
    })
    .await;
    acquire(&script, b"lock:room again").await;
    console.stop().await;
    let verified = verified(&config).await;
    assert!(verified.is_whole(), "{verified:?}");
}

#[tokio::test]
async fn on_a_disk_that_becomes_read_only_operations_are_refused_and_watching_goes_on() {
    let Some(disk) = SmallDisk::mount("8m") else {
        return;
    };
    let nodes = RedisNodes::start(1).await;
    let config = StorageConfig::file(disk.0.path().join("lockkeeper.db"));
    let console = console_on(&nodes, &config).await;
    acquire(&console.person(), b"lock:before").await;
    console.stop().await;
    // What is open keeps the file writable: a console that starts finds it as it is.
    eventually_is("it is read-only", async || {
        disk.mount_with(&["-o", "remount,ro"])
    })
    .await;
    let console = console_on(&nodes, &config).await;
    let script = console.person();
    assert_eq!(until_refused(&script, 1).await, 0);
    assert_eq!(script.get("/api/v1/locks").await.status, 200);
    assert!(disk.mount_with(&["-o", "remount,rw"]));
    let path = lock_path("orders", b"lock:after", "/acquire");
    eventually_is("operations are done again", async || {
        let answer = script.post(&path, json!({"ttl_ms": 60_000})).await;
        answer.status == 201
    })
    .await;
}
