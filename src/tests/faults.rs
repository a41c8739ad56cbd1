//! The cost of two and of three failed nodes of five: dead, hanging, or with lost replies.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockkeeper::domain::{LockKey, NodeOutcome};
use lockkeeper::server::config::GroupConfig;
use lockkeeper::server::stores::redis::locking::AcquireResult;

use crate::support::locking::{AcquiredLock, acquire};
use crate::support::proxy::{ProxiedNodes, Proxy};
use crate::support::redis_nodes::{PERSISTENT, RedisNodes, TestGroup};
use crate::support::wait_until;

/// Longer than any test takes, so that no lock expires by itself.
const TTL: Duration = Duration::from_secs(60);

/// The tolerance on top of a time limit: 200 times the duration of an acquire on an idle machine,
/// and still less than the limit itself, so that a test detects when the limit is spent twice.
const SLACK: Duration = Duration::from_millis(350);

/// The wait time of acquires that must succeed.
const MAX_WAIT: Duration = Duration::from_secs(10);

const NO_WAIT: Duration = Duration::ZERO;

struct Fixture {
    nodes: ProxiedNodes,
    group: TestGroup,
    key: LockKey,
}

impl Fixture {
    async fn start() -> Self {
        let nodes = RedisNodes::proxied(5).await;
        let mut config = nodes.config();
        // A restarted server votes at once: it had no data to lose.
        config.locking.delayed_restart = false;
        let group = TestGroup::start(config);
        group.wait_until_up().await;
        Self::new(nodes, group)
    }

    /// Like `start`, with a command timeout that no node reaches.
    async fn start_without_timeouts() -> Self {
        let nodes = RedisNodes::proxied(5).await;
        let mut config = nodes.config();
        config.command_timeout = TTL;
        let group = TestGroup::start(config);
        group.wait_until_up().await;
        Self::new(nodes, group)
    }

    fn new(nodes: ProxiedNodes, group: TestGroup) -> Self {
        let key = "lock:a".into();
        Self { nodes, group, key }
    }

    async fn acquire_with_wait(&self, wait: Duration) -> Result<AcquiredLock, AcquireResult> {
        acquire(&self.group, &self.key, "owner-a", TTL, wait).await
    }

    /// Whether each node has the key, read directly and not through the proxies.
    async fn nodes_with_key(&self, nodes: std::ops::Range<usize>) -> Vec<bool> {
        let values = self.nodes.nodes.values(nodes, &self.key).await;
        values.iter().map(Option::is_some).collect()
    }

    async fn wait_until_no_node_has_key(&self) {
        wait_until("no node has the key", async || {
            self.nodes_with_key(0..5).await == [false; 5]
        })
        .await;
    }

    fn proxies(&self, nodes: std::ops::Range<usize>) -> &[Proxy] {
        &self.nodes.proxies[nodes]
    }

    fn heal(&self) {
        self.nodes.proxies.iter().for_each(Proxy::heal);
    }
}

/// Asserts that one of three trials takes less than the limit. A busy machine is slow only now and
/// then, but code that waits too long is slow every time.
async fn assert_within(limit: Duration, trial: impl AsyncFn() -> Duration) {
    let mut durations = Vec::new();
    while durations.len() < 3 {
        let duration = trial().await;
        if duration < limit {
            return;
        }
        durations.push(duration);
    }
    panic!("more than {limit:?}: {durations:?}");
}

#[tokio::test]
async fn two_dead_nodes_do_not_delay_an_acquire() {
    assert_within(SLACK, async || {
        let mut fixture = Fixture::start().await;
        fixture.nodes.nodes.0[3].kill().await;
        fixture.nodes.nodes.0[4].kill().await;
        let started = Instant::now();
        let held = fixture.acquire_with_wait(MAX_WAIT).await.unwrap();
        let elapsed = started.elapsed();
        held.release(&fixture.group).await;
        wait_until("no surviving node has the key", async || {
            fixture.nodes_with_key(0..3).await == [false; 3]
        })
        .await;
        elapsed
    })
    .await;
}

#[tokio::test]
async fn two_hanging_nodes_delay_acquires_by_one_node_timeout_at_most() {
    let limit = GroupConfig::new("orders", []).node_timeout(TTL);
    assert_within(limit + SLACK, async || {
        let fixture = Fixture::start().await;
        fixture.proxies(3..5).iter().for_each(Proxy::blackhole);
        let started = Instant::now();
        let mut held = Vec::new();
        for lock in ["lock:a", "lock:b", "lock:c"] {
            held.push(
                acquire(&fixture.group, &lock.into(), "owner-a", TTL, MAX_WAIT)
                    .await
                    .unwrap(),
            );
            eprintln!("two of five hang: lock after {:?}", started.elapsed());
        }
        let elapsed = started.elapsed();
        for held in held {
            held.release(&fixture.group).await;
        }
        fixture.wait_until_no_node_has_key().await;
        elapsed
    })
    .await;
}

#[tokio::test]
async fn without_three_nodes_an_acquire_fails_at_once_and_leaves_no_key() {
    assert_within(SLACK, async || {
        let mut fixture = Fixture::start().await;
        for node in &mut fixture.nodes.nodes.0[2..] {
            node.kill().await;
        }
        let started = Instant::now();
        assert_eq!(
            fixture.acquire_with_wait(NO_WAIT).await.err(),
            Some(AcquireResult::NoQuorum)
        );
        let elapsed = started.elapsed();
        assert_eq!(fixture.nodes_with_key(0..2).await, [false; 2]);
        elapsed
    })
    .await;
}

#[tokio::test]
async fn with_three_hanging_nodes_an_acquire_fails_within_two_timeouts_and_leaves_no_key() {
    let limit = GroupConfig::new("orders", []).node_timeout(TTL);
    assert_within(2 * limit + SLACK, async || {
        let fixture = Fixture::start().await;
        fixture.proxies(2..5).iter().for_each(Proxy::blackhole);
        let started = Instant::now();
        assert_eq!(
            fixture.acquire_with_wait(NO_WAIT).await.err(),
            Some(AcquireResult::NoQuorum)
        );
        let elapsed = started.elapsed();
        eprintln!("three of five hang: {elapsed:?} at a limit of {limit:?}");
        assert_eq!(fixture.nodes_with_key(0..5).await, [false; 5]);
        elapsed
    })
    .await;
}

#[tokio::test]
async fn a_lock_that_three_paused_nodes_set_after_resuming_is_rolled_back() {
    let fixture = Fixture::start().await;
    for node in &fixture.nodes.nodes.0[2..] {
        node.pause().await;
    }
    assert_eq!(
        fixture.acquire_with_wait(NO_WAIT).await.err(),
        Some(AcquireResult::NoQuorum)
    );
    assert_eq!(fixture.nodes_with_key(0..2).await, [false; 2]);
    for node in &fixture.nodes.nodes.0[2..] {
        node.resume().await;
    }
    fixture.wait_until_no_node_has_key().await;
}

#[tokio::test]
async fn a_lock_on_nodes_whose_replies_were_lost_is_rolled_back() {
    let mut fixture = Fixture::start().await;
    fixture.nodes.nodes.0[2].kill().await;
    fixture.proxies(3..5).iter().for_each(Proxy::drop_replies);
    assert_eq!(
        fixture.acquire_with_wait(NO_WAIT).await.err(),
        Some(AcquireResult::NoQuorum)
    );
    assert_eq!(fixture.nodes_with_key(0..2).await, [false; 2]);
    assert_eq!(
        fixture.nodes_with_key(3..5).await,
        [true; 2],
        "the requests arrived"
    );
    fixture.heal();
    fixture.nodes.nodes.0[2].restart().await;
    fixture.wait_until_no_node_has_key().await;
}

#[tokio::test]
async fn a_persistent_node_votes_again_as_soon_as_it_has_restarted() {
    let mut nodes = RedisNodes::start_with(5, &PERSISTENT).await;
    let group = nodes.group().await;
    assert!(group.config.locking.delayed_restart);
    for n in 3..5 {
        nodes.0[n].kill().await;
    }
    let key = LockKey::from("lock:a");
    let held = acquire(&group, &key, "owner-a", TTL, MAX_WAIT)
        .await
        .unwrap();
    nodes.0[2].restart().await;
    assert!(
        nodes.get(2, key.as_bytes()).await.is_some(),
        "the key survived the restart"
    );
    assert!(
        acquire(&group, &key, "owner-b", TTL, NO_WAIT)
            .await
            .is_err()
    );
    wait_until("the node accepts calls again", async || {
        let outcomes = held.release(&group).await;
        matches!(
            outcomes[2].outcome,
            NodeOutcome::Released | NodeOutcome::NotHeld
        )
    })
    .await;
    acquire(&group, &key, "owner-b", TTL, MAX_WAIT)
        .await
        .unwrap();
}

#[tokio::test]
async fn an_acquire_cancelled_before_the_replies_is_rolled_back() {
    let fixture = Arc::new(Fixture::start_without_timeouts().await);
    fixture.proxies(2..5).iter().for_each(Proxy::drop_replies);
    let acquiring = tokio::spawn({
        let fixture = Arc::clone(&fixture);
        async move { fixture.acquire_with_wait(NO_WAIT).await.is_ok() }
    });
    wait_until("all nodes have the key", async || {
        fixture.nodes_with_key(0..5).await == [true; 5]
    })
    .await;
    acquiring.abort();
    assert!(acquiring.await.unwrap_err().is_cancelled());
    fixture.heal();
    fixture.wait_until_no_node_has_key().await;
}

#[tokio::test]
async fn an_acquire_cancelled_while_waiting_never_takes_the_lock() {
    let fixture = Arc::new(Fixture::start().await);
    let held = fixture.acquire_with_wait(MAX_WAIT).await.unwrap();
    let waiting = tokio::spawn({
        let fixture = Arc::clone(&fixture);
        async move { fixture.acquire_with_wait(TTL).await.is_ok() }
    });
    // Slow enough that the cancellation hits an attempt in progress.
    fixture
        .proxies(0..5)
        .iter()
        .for_each(|proxy| proxy.delay(Duration::from_millis(100)));
    tokio::task::yield_now().await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    held.release(&fixture.group).await;
    fixture.heal();
    fixture.wait_until_no_node_has_key().await;
    // Requests of the cancelled acquire may still arrive, but must be rolled back.
    let next = fixture.acquire_with_wait(MAX_WAIT).await;
    assert!(next.is_ok_and(|held| Instant::now() < held.valid_until));
}

#[tokio::test]
async fn with_a_short_lease_two_hanging_nodes_delay_acquires_by_one_node_timeout_at_most() {
    // With this lease the node timeout is below the command timeout, so one timeout does not mark a
    // node as down.
    let ttl = Duration::from_secs(9);
    let limit = GroupConfig::new("orders", []).node_timeout(ttl);
    assert_within(limit + SLACK, async || {
        let fixture = Fixture::start().await;
        fixture.proxies(3..5).iter().for_each(Proxy::blackhole);
        let started = Instant::now();
        for lock in ["lock:a", "lock:b", "lock:c"] {
            acquire(&fixture.group, &lock.into(), "owner-a", ttl, MAX_WAIT)
                .await
                .unwrap();
            eprintln!("two of five hang: {lock} after {:?}", started.elapsed());
        }
        started.elapsed()
    })
    .await;
}

#[tokio::test]
async fn a_release_reaches_nodes_whose_replies_were_lost() {
    let fixture = Fixture::start().await;
    fixture.proxies(3..5).iter().for_each(Proxy::drop_replies);
    let held = fixture.acquire_with_wait(MAX_WAIT).await.unwrap();
    wait_until("all nodes have the key", async || {
        fixture.nodes_with_key(0..5).await == [true; 5]
    })
    .await;
    let outcomes = held.release(&fixture.group).await;
    assert!(
        outcomes[..3]
            .iter()
            .all(|node| node.outcome == NodeOutcome::Released),
        "{outcomes:?}"
    );
    fixture.heal();
    fixture.wait_until_no_node_has_key().await;
}

#[tokio::test]
async fn a_delayed_release_does_not_release_the_lock_of_a_later_attempt() {
    let mut fixture = Fixture::start().await;
    // Loads the scripts on the nodes.
    fixture
        .acquire_with_wait(MAX_WAIT)
        .await
        .unwrap()
        .release(&fixture.group)
        .await;
    for node in &mut fixture.nodes.nodes.0[2..] {
        node.kill().await;
    }
    // Delayed, so that there is time between the first attempt and the release that follows it.
    fixture
        .proxies(0..2)
        .iter()
        .for_each(|proxy| proxy.delay(Duration::from_millis(100)));
    let group = Arc::clone(&fixture.group);
    let key = fixture.key.clone();
    let waiting = tokio::spawn(async move { acquire(&group, &key, "owner-a", TTL, TTL).await });
    wait_until("two nodes have the key", async || {
        fixture.nodes_with_key(0..2).await == [true; 2]
    })
    .await;
    for proxy in fixture.proxies(0..2) {
        proxy.hold_requests();
        proxy.delay(Duration::ZERO);
    }
    fixture.nodes.nodes.0[2].restart().await;
    let held = waiting.await.unwrap().ok().unwrap();
    assert_eq!(fixture.nodes_with_key(0..3).await, [true; 3]);

    fixture.heal();
    fixture.nodes.nodes.0[3].restart().await;
    fixture
        .group
        .wait_for_node(3, |view| view.state == lockkeeper::domain::NodeState::Up)
        .await;
    let another = acquire(
        &fixture.group,
        &fixture.key,
        "owner-b",
        TTL,
        Duration::from_secs(2),
    )
    .await;
    assert!(matches!(
        another,
        Err(AcquireResult::HeldByOther { .. } | AcquireResult::NoQuorum)
    ));
    assert!(Instant::now() < held.valid_until);
}
