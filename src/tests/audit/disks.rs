//! Bad days of the disk: full before an act, full in the middle of one, and room again.

use serde_json::{Value, json};

use lockkeeper::server::audit::verify;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AuditConfig, Config};
use tokio::process::Command;

use super::{Served, acquire, acts, configure, serve};
use crate::api::{group, lock_path};
use crate::support::console::{Person, TestConsole};
use crate::support::redis_nodes::RedisNodes;

/// Acquires locks with long names until one is refused; says how many were not, and what the refusal was.
async fn until_refused(person: &Person, most: usize) -> (usize, Option<Value>) {
    for n in 0..most {
        let key = format!("lock:{n}:{}", "x".repeat(1_000));
        let path = lock_path("orders", key.as_bytes(), "/acquire");
        let answer = person.post(&path, json!({"ttl_ms": 600_000})).await;
        if answer.status != 201 {
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (503, "audit-unavailable")
            );
            return (n, Some(answer.json()));
        }
    }
    (most, None)
}

#[tokio::test]
async fn on_a_full_disk_nothing_is_done() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:stuck", b"dead", None).await;
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &nodes, "file = \"audit.jsonl\"");
    let mut limited = Command::new("bash");
    limited.args([
        "-c",
        "trap '' XFSZ; ulimit -f 0; exec \"$0\" serve --config lockkeeper.toml",
        env!("CARGO_BIN_EXE_lockkeeper"),
    ]);
    let served = Served::start(limited, folder.path()).await;
    let script = &served.person;
    let (done, refused) = until_refused(script, 1).await;
    assert_eq!(done, 0);
    let detail = refused.unwrap()["detail"].as_str().unwrap().to_owned();
    assert!(!detail.contains("audit.jsonl"), "{detail}");
    let stuck = script
        .get(&lock_path("orders", b"lock:stuck", ""))
        .await
        .json();
    let body = json!({"fingerprint": stuck["owner"]["fingerprint"], "reason": "r"});
    let path = lock_path("orders", b"lock:stuck", "/force-release");
    let forced = script.post(&path, body).await;
    assert_eq!(
        (forced.status, forced.code().as_str()),
        (503, "audit-unavailable")
    );
    assert_eq!(nodes.dump(0).await.len(), 1, "nothing was changed");
}

#[tokio::test]
async fn a_file_that_may_not_grow_refuses_acts_and_what_is_there_stays_whole() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &nodes, "file = \"audit.jsonl\"");
    let mut limited = Command::new("bash");
    limited.args([
        "-c",
        "trap '' XFSZ; ulimit -f 64; exec \"$0\" serve --config lockkeeper.toml",
        env!("CARGO_BIN_EXE_lockkeeper"),
    ]);
    let mut served = Served::start(limited, folder.path()).await;
    let (done, refused) = until_refused(&served.person, 1_000).await;
    assert!(done > 5 && refused.is_some(), "{done}");
    let keys = nodes.dump(0).await;
    let locks = keys.keys().filter(|key| key.starts_with(b"lock:")).count();
    assert!(
        locks == done || locks == done + 1,
        "{locks} locks, {done} acts"
    );
    let verified = verify(folder.path().join("audit.jsonl"), None).unwrap();
    assert!(verified.is_whole(), "{verified:?}");

    // With room again it goes on, and the act whose end found no room has one.
    served.child.kill().await.unwrap();
    let served = Served::start(serve(), folder.path()).await;
    acquire(&served.person, b"lock:after").await;
    crate::support::eventually_is("every act has an end", async || {
        acts(&served.person, "?end=in-progress").await.is_empty()
            && verify(folder.path().join("audit.jsonl"), None)
                .unwrap()
                .is_whole()
    })
    .await;
    let told = acts(&served.person, "?limit=1000&act=acquire").await;
    let did = |act: &&Value| act["end"] == "done" || act["end"] == "unknown";
    assert!(
        told.iter().filter(did).count() > locks,
        "each act that changed something is told"
    );
}

/// A file system of its own, which is as full as it says. Only root may have one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self(folder))
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

#[tokio::test]
async fn an_act_that_was_begun_finds_room_for_its_end_on_a_disk_that_fills_up() {
    let Some(disk) = SmallDisk::mount("1m") else {
        // Without the right to mount: the two tests above say what they can.
        return;
    };
    let nodes = RedisNodes::start(1).await;
    let file = disk.0.path().join("audit.jsonl");
    let config = Config {
        audit: AuditConfig::to(file.clone()),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let console = TestConsole::start_as(config, Clock::real()).await;
    let script = console.person();
    acquire(&script, b"lock:held").await;
    let path = lock_path("orders", b"lock:held", "/acquire");
    let waiting = console.person();
    let waits = tokio::spawn(async move {
        waiting
            .post(&path, json!({"ttl_ms": 1000, "wait_ms": 60_000}))
            .await
    });
    crate::support::eventually_is("it waits", async || {
        acts(&script, "?end=in-progress").await.len() == 1
    })
    .await;
    // Somebody else fills the disk.
    let filler = disk.0.path().join("filler");
    let filled = std::fs::write(&filler, vec![1; 2 * 1024 * 1024]);
    assert!(filled.is_err(), "the disk is full");
    let (_, refused) = until_refused(&script, 2_000).await;
    let detail = refused.expect("it is full")["detail"].to_string();
    assert!(!detail.contains("audit.jsonl"), "{detail}");
    let before = nodes.dump(0).await;
    let (done, _) = until_refused(&script, 1).await;
    assert_eq!(
        (done, nodes.dump(0).await),
        (0, before),
        "nothing was changed"
    );
    waits.abort();
    crate::support::eventually_is("its end is written", async || {
        acts(&script, "?end=unknown").await.len() == 1
    })
    .await;
    let verified = verify(file.clone(), None).unwrap();
    assert!(verified.is_whole() && verified.torn == 0, "{verified:?}");
    std::fs::remove_file(&filler).unwrap();
    acquire(&script, b"lock:room again").await;
    assert!(verify(file, None).unwrap().is_whole());
    console.stop().await;
}

#[tokio::test]
async fn owners_extend_and_release_on_a_full_disk_and_it_is_written_when_there_is_room() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:mine", b"my token", Some(60_000)).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    let config = Config {
        audit: AuditConfig::to(file.clone()),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let console = TestConsole::start_as(config, Clock::real()).await;
    let script = console.person();
    let body = json!({"token": "my token", "ttl_ms": 90_000});
    for (verb, status) in [("acquire", 503), ("extend", 200), ("release", 200)] {
        let path = lock_path("orders", b"lock:mine", &format!("/{verb}"));
        let body = match verb {
            "release" => json!({"token": "my token"}),
            _ => body.clone(),
        };
        let answer = script.post(&path, body).await;
        assert_eq!(answer.status, status, "{verb}: {}", answer.text);
    }
    assert_eq!(nodes.get(0, b"lock:mine").await, None);

    std::fs::remove_file(&file).unwrap();
    let path = lock_path("orders", b"lock:mine", "/acquire");
    let again = script.post(&path, body).await;
    assert_eq!(again.status, 201, "{}", again.text);
    let lines = std::fs::read_to_string(&file).unwrap();
    for act in ["extend", "release"] {
        let quoted = format!("\"{act}\"");
        assert!(lines.contains(&quoted), "{act}: {lines}");
    }
}
