//! One-shot scans: all locks of a group are read once, and nodes that were not scanned are
//! reported.

use std::time::Duration;

use lockkeeper::domain::{NodeState, Verdict};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::index::Index;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::wait_until;

const LOCKS: usize = 6_000;

async fn create_locks(nodes: &RedisNodes) {
    for node in &nodes.0 {
        let mut client = node.client().await;
        for first in (0..LOCKS).step_by(1_000) {
            let mut sets = redis::pipe();
            for n in first..first + 1_000 {
                let (key, value) = (format!("lock:{n}"), format!("owner-{n}"));
                sets.cmd("SET").arg(key).arg(value).ignore();
            }
            let () = sets.query_async(&mut client).await.unwrap();
        }
    }
}

fn index_without_watchers(group: &TestGroup, stop: &CancellationToken) -> Index {
    let groups = [group.to_group()];
    Index::without_watchers(&groups, Clock::system(), stop, &TaskTracker::new())
}

fn scan_deadline() -> Instant {
    Instant::now() + Duration::from_mins(2)
}

#[tokio::test]
async fn an_index_without_watchers_is_filled_only_by_a_one_shot_scan() {
    let nodes = RedisNodes::start(3).await;
    create_locks(&nodes).await;
    let group = nodes.group().await;
    let stop = CancellationToken::new();
    let _stops_when_dropped = stop.clone().drop_guard();
    let index = index_without_watchers(&group, &stop);
    assert_eq!(index.snapshot().lock_count(), 0);
    let report = index.scan_once(&group.to_group(), scan_deadline()).await;
    assert_eq!(report.scanned_nodes.len(), 3);
    let is_held = |verdict: Verdict| verdict == Verdict::Held;
    let snapshot = index.snapshot();
    let held = snapshot.locks().filter(|lock| is_held(lock.verdict));
    assert_eq!((snapshot.lock_count(), held.count()), (LOCKS, LOCKS));
    let coverage = &snapshot.groups()[0].coverage;
    assert_eq!(
        (coverage.keys_matched, coverage.nodes_reached),
        (3 * LOCKS as u64, 3)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_hangs_during_a_scan_is_scanned_again() {
    let nodes = RedisNodes::start(3).await;
    create_locks(&nodes).await;
    let group = nodes.group().await;
    let stop = CancellationToken::new();
    let _stops_when_dropped = stop.clone().drop_guard();
    let index = index_without_watchers(&group, &stop);
    let interruption = async {
        wait_until("the first locks", async || {
            index.snapshot().lock_count() > 0
        })
        .await;
        nodes.0[1].pause().await;
        group
            .wait_for_node(1, |view| view.state != NodeState::Up)
            .await;
        nodes.0[1].resume().await;
    };
    let observed = group.to_group();
    let scan = index.scan_once(&observed, scan_deadline());
    let (report, ()) = tokio::join!(scan, interruption);
    assert_eq!(report.scanned_nodes.len(), 3, "{report:?}");
    let snapshot = index.snapshot();
    assert_eq!(snapshot.lock_count(), LOCKS);
    let mut nodes = snapshot.locks().flat_map(|lock| &lock.nodes);
    assert!(nodes.all(|node| node.observation.is_reachable()));
}

#[tokio::test]
async fn an_unreachable_node_is_not_reported_as_scanned() {
    let mut nodes = RedisNodes::start(3).await;
    create_locks(&nodes).await;
    let group = nodes.group().await;
    let stop = CancellationToken::new();
    let _stops_when_dropped = stop.clone().drop_guard();
    let index = index_without_watchers(&group, &stop);
    nodes.0[2].kill().await;
    let report = index.scan_once(&group.to_group(), scan_deadline()).await;
    let scanned: Vec<&str> = report.scanned_nodes.iter().map(String::as_str).collect();
    assert_eq!(scanned, ["a", "b"]);
    assert_eq!(index.snapshot().lock_count(), LOCKS);
}
