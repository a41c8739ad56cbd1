//! Locks that the console acquires in etcd: compatible with `etcdctl lock`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use lockkeeper::domain::{Format, LockKey, NodeOutcome};
use lockkeeper::server::stores::{
    AcquireOutcome, AcquireResult, Group, HoldRequest, HoldStatus, Token, WaitQueues,
};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{owner, read, wait_for_lock, wait_for_queue};
use crate::support::console::TestConsole;
use crate::support::etcd::EtcdCluster;
use crate::support::{fault_duration, wait_until};

const TTL: Duration = Duration::from_secs(10);
/// The critical sections of each side.
const SECTIONS: usize = 15;

fn request(key: &str) -> HoldRequest {
    HoldRequest {
        format: Format::EtcdMutex,
        key: key.into(),
        token: Token::generate("api-3"),
        ttl: TTL,
        caller_supplied: false,
    }
}

async fn acquire_once(group: &Group, request: &HoldRequest) -> AcquireOutcome {
    let queues = WaitQueues::default();
    group
        .acquire_once(request, &queues, CancellationToken::new())
        .await
}

async fn acquire_within(group: &Group, request: &HoldRequest, wait: Duration) -> AcquireOutcome {
    let position = WaitQueues::default().join(&request.key);
    group
        .acquire_within(request, wait, position, CancellationToken::new())
        .await
}

/// The token of the lock. Panics if it was not acquired.
#[track_caller]
fn token(outcome: &AcquireOutcome) -> &Token {
    assert!(
        matches!(outcome.result, AcquireResult::Acquired(left) if left > TTL / 2),
        "{outcome:?}"
    );
    outcome.token.as_ref().unwrap()
}

#[tokio::test]
async fn a_lock_is_acquired_extended_and_released() {
    let cluster = EtcdCluster::start(3).await;
    let group = cluster.group(&["jobs/"]).await;
    let acquired = acquire_once(&group, &request("jobs/nightly")).await;
    let token = token(&acquired);
    let shown = wait_for_lock(&group, "jobs/nightly").await;
    assert_eq!(owner(&shown), (Format::EtcdMutex, Some("api-3")));
    assert_eq!(shown.owners[0].owner.fingerprint, token.fingerprint());
    assert!(acquired.fence.is_some());

    let refused = acquire_once(&group, &request("jobs/nightly")).await;
    let AcquireResult::HeldByOther {
        owner: Some(holder),
        ..
    } = refused.result
    else {
        panic!("{refused:?}");
    };
    assert_eq!(holder, shown.owners[0].owner);

    let key = LockKey::from("jobs/nightly");
    let extended = group.extend(&key, token, TTL).await;
    assert!(
        matches!(extended.result, AcquireResult::Acquired(_)),
        "{extended:?}"
    );
    assert!(matches!(
        group.check_hold(&key, token).await,
        HoldStatus::ValidUntil(_)
    ));
    // Another token neither extends nor releases it.
    let other = Token::generate("other");
    let outcome = group.extend(&key, &other, TTL).await;
    assert!(
        matches!(outcome.result, AcquireResult::HeldByOther { .. }),
        "{outcome:?}"
    );
    let outcome = &group.release(&key, &other).await[0].outcome;
    assert!(
        matches!(outcome, NodeOutcome::OtherOwner { .. }),
        "{outcome:?}"
    );

    assert_eq!(
        group.release(&key, token).await[0].outcome,
        NodeOutcome::Released
    );
    assert_eq!(read(&group, "jobs/nightly").await, Ok(None));
    assert_eq!(
        group.release(&key, token).await[0].outcome,
        NodeOutcome::NotHeld
    );
    assert_eq!(
        group.extend(&key, token, TTL).await.result,
        AcquireResult::NotHeld
    );
}

#[tokio::test]
async fn a_waiter_stands_in_the_queue_and_leaves_it() {
    let cluster = EtcdCluster::start(1).await;
    let group = cluster.group(&["jobs/"]).await;
    let mut holder = cluster.spawn_etcdctl(&["lock", "jobs/nightly"]);
    holder.next_line().await;
    let wait = Duration::from_millis(300);
    let refused = acquire_within(&group, &request("jobs/nightly"), wait).await;
    assert!(
        matches!(
            refused.result,
            AcquireResult::HeldByOther { owner: Some(_), .. }
        ),
        "{refused:?}"
    );
    // It has left the queue when it returns.
    wait_for_queue(&group, "jobs/nightly", 0).await;

    let waiting = tokio::spawn({
        let group = Arc::clone(&group.group);
        async move { acquire_within(&group, &request("jobs/nightly"), TTL * 3).await }
    });
    wait_for_queue(&group, "jobs/nightly", 1).await;
    let queues = group.read_queues(&["jobs/nightly".into()]).await;
    let queue = &queues[0].result.as_ref().unwrap()[0];
    assert_eq!(queue.head[0].label.as_deref(), Some("api-3"));
    holder.interrupt().await;
    let acquired = waiting.await.unwrap();
    let acquired = token(&acquired).fingerprint();
    let shown = wait_for_lock(&group, "jobs/nightly").await;
    assert_eq!(shown.owners[0].owner.fingerprint, acquired);
}

#[tokio::test]
async fn a_waiter_whose_caller_is_gone_leaves_the_queue() {
    let cluster = EtcdCluster::start(1).await;
    let group = cluster.group(&["jobs/"]).await;
    let mut holder = cluster.spawn_etcdctl(&["lock", "jobs/nightly"]);
    holder.next_line().await;
    let waiting = tokio::spawn({
        let group = Arc::clone(&group.group);
        async move { acquire_within(&group, &request("jobs/nightly"), TTL * 3).await }
    });
    wait_for_queue(&group, "jobs/nightly", 1).await;
    waiting.abort();
    wait_for_queue(&group, "jobs/nightly", 0).await;
}

#[tokio::test]
async fn a_lock_that_was_released_by_force_cannot_be_extended() {
    let cluster = EtcdCluster::start(1).await;
    let group = cluster.group(&["jobs/"]).await;
    let acquired = acquire_once(&group, &request("jobs/nightly")).await;
    let token = token(&acquired);
    let stored = String::from_utf8(token.expose().to_vec()).unwrap();
    let (_, key) = stored.split_once(':').unwrap();
    cluster.etcdctl(&["del", key]).await;
    let outcome = group.extend(&"jobs/nightly".into(), token, TTL).await;
    assert_eq!(outcome.result, AcquireResult::NotHeld);
    assert!(matches!(
        group.check_hold(&"jobs/nightly".into(), token).await,
        HoldStatus::NotHeld(_)
    ));
}

#[tokio::test]
async fn fencing_tokens_rise_and_a_name_outside_of_the_prefixes_is_refused() {
    let cluster = EtcdCluster::start(1).await;
    let group = cluster.group(&["jobs/"]).await;
    let mut fences = Vec::new();
    for _ in 0..3 {
        let acquired = acquire_once(&group, &request("jobs/nightly")).await;
        fences.push(acquired.fence.unwrap());
        group
            .release(&"jobs/nightly".into(), token(&acquired))
            .await;
    }
    assert!(fences.is_sorted_by(|one, other| one < other), "{fences:?}");
    let refused = acquire_once(&group, &request("others/nightly")).await;
    assert!(
        matches!(refused.result, AcquireResult::WrongType(_)),
        "{refused:?}"
    );
}

/// A critical section of the console and of the command that `etcdctl lock` runs.
struct SharedSection {
    /// Exists while an owner is inside.
    directory: PathBuf,
    /// Exists if the command found the directory.
    violation: PathBuf,
    /// The command.
    script: String,
    _folder: TempDir,
}

impl SharedSection {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("section");
        let violation = folder.path().join("violation");
        let script = format!(
            "mkdir {section} || touch {violation}; rmdir {section}",
            section = directory.display(),
            violation = violation.display()
        );
        Self {
            directory,
            violation,
            script,
            _folder: folder,
        }
    }
}

/// Both sides enter a section by creating the same directory, which fails while the other is inside.
#[tokio::test]
async fn the_console_and_etcdctl_exclude_each_other() {
    let cluster = EtcdCluster::start(3).await;
    let group = cluster.group(&["jobs/"]).await;
    let SharedSection {
        directory: section,
        violation,
        script,
        _folder,
    } = SharedSection::new();
    let theirs = async {
        for _ in 0..SECTIONS {
            cluster
                .etcdctl(&["lock", "jobs/shared", "--", "sh", "-c", &script])
                .await;
        }
    };
    let ours = async {
        for _ in 0..SECTIONS {
            enter_section(&group, &section).await;
        }
    };
    tokio::join!(theirs, ours);
    assert!(!violation.exists());
    wait_until("the last owner has left", async || {
        read(&group, "jobs/shared").await == Ok(None)
    })
    .await;
}

/// The same while one leader after the other is killed, for a minute or `LOCKKEEPER_SOAK_SECONDS`. An
/// acquire may fail then, and nothing else.
#[tokio::test]
async fn both_exclude_each_other_while_leaders_are_killed() {
    let cluster = EtcdCluster::start(3).await;
    let group = cluster.group(&["jobs/"]).await;
    let SharedSection {
        directory: section,
        violation,
        script,
        _folder,
    } = SharedSection::new();
    let (ours, theirs) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let is_over = CancellationToken::new();
    let etcdctl = async {
        let command = [
            "lock",
            "jobs/shared",
            "--ttl",
            "5",
            "--",
            "sh",
            "-c",
            &script,
        ];
        while !is_over.is_cancelled() {
            if cluster.try_etcdctl(&command).await {
                theirs.fetch_add(1, SeqCst);
            }
        }
    };
    let console = async {
        while !is_over.is_cancelled() {
            let request = HoldRequest {
                ttl: Duration::from_secs(5),
                ..request("jobs/shared")
            };
            let acquired = acquire_within(&group, &request, TTL).await;
            let Some(token) = &acquired.token else {
                continue;
            };
            std::fs::create_dir(&section).expect("no other owner is inside");
            std::fs::remove_dir(&section).unwrap();
            // During an election nothing is released. The lease ends then.
            group.release(&request.key, token).await;
            ours.fetch_add(1, SeqCst);
        }
    };
    let faults = async {
        let started_at = Instant::now();
        while started_at.elapsed() < fault_duration() {
            let (ours_before, theirs_before) = (ours.load(SeqCst), theirs.load(SeqCst));
            let leader = cluster.leader().await;
            cluster.members[leader].kill().await;
            wait_until("both sides have entered a section again", async || {
                ours.load(SeqCst) > ours_before && theirs.load(SeqCst) > theirs_before
            })
            .await;
            cluster.members[leader].spawn();
            cluster.wait_until_serving().await;
        }
        is_over.cancel();
    };
    tokio::join!(etcdctl, console, faults);
    assert!(!violation.exists());
}

async fn enter_section(group: &Group, section: &Path) {
    let acquired = acquire_within(group, &request("jobs/shared"), TTL * 3).await;
    let token = token(&acquired);
    std::fs::create_dir(section).expect("no other owner is inside");
    // The section lasts for a round trip.
    read(group, "jobs/shared").await.unwrap();
    std::fs::remove_dir(section).unwrap();
    let released = group.release(&"jobs/shared".into(), token).await;
    assert_eq!(released[0].outcome, NodeOutcome::Released);
}

#[tokio::test]
async fn the_api_acquires_extends_and_releases_a_lock() {
    let cluster = EtcdCluster::start(1).await;
    let console = TestConsole::start(vec![cluster.config(&["jobs/"])]).await;
    let api = console.wait_until_connected().await.api();
    let path = |operation| format!("/api/v1/groups/leases/locks/jobs%2Fnightly/{operation}");
    let acquired = api
        .post(
            &path("acquire"),
            json!({ "ttl_ms": 10_000, "label": "api-3" }),
        )
        .await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let acquired = acquired.json();
    assert!(acquired["fencing_token"].is_u64());
    let refused = api
        .post(&path("acquire"), json!({ "ttl_ms": 10_000 }))
        .await;
    refused.assert_problem(409, "held");
    assert_eq!(refused.json()["owner"]["label"], "api-3");
    let mut command = cluster.spawn_etcdctl(&["lock", "jobs/nightly"]);
    let token = &acquired["token"];
    let extend = json!({ "token": token, "ttl_ms": 10_000 });
    assert_eq!(api.post(&path("extend"), extend).await.status, 200);
    let release = json!({ "token": token });
    assert_eq!(
        api.post(&path("release"), release.clone()).await.status,
        200
    );
    command.next_line().await;
    let again = api.post(&path("release"), release).await;
    again.assert_problem(409, "not-owner");
}
