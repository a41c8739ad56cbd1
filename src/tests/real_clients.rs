//! Other libraries and Lockkeeper contend for the same lock: critical sections never overlap, and
//! every client makes progress.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use lockkeeper::domain::LockKey;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use crate::support::locking::acquire;
use crate::support::programs::{client_script, node, python};
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::section_observer::SectionObserver;
use crate::support::wait_until;

const LOCK: &str = "lock:contended";
/// How often each client acquires the lock.
const ROUNDS: usize = 25;
const TTL: Duration = Duration::from_secs(10);
/// The time by which every client must have finished its rounds.
const CONTEST_TIMEOUT: Duration = Duration::from_secs(90);

/// Servers, an observer of critical sections, and clients that start at the same time.
struct Contest {
    nodes: RedisNodes,
    group: Arc<TestGroup>,
    observer: Arc<SectionObserver>,
    clients: Vec<BoxFuture<'static, ()>>,
    names: Vec<String>,
}

impl Contest {
    async fn on(nodes: usize) -> Self {
        let nodes = RedisNodes::start(nodes).await;
        let group = Arc::new(nodes.group().await);
        let observer = Arc::new(SectionObserver::start().await);
        Self {
            nodes,
            group,
            observer,
            clients: Vec::new(),
            names: Vec::new(),
        }
    }

    /// Adds a client that acquires through Lockkeeper's locking code.
    fn lockkeeper(&mut self, name: &str) {
        let (group, observer) = (Arc::clone(&self.group), Arc::clone(&self.observer));
        let client_name = name.to_owned();
        self.client(name, async move {
            let mut observed = observer.register(&client_name).await;
            observed.wait_until_started().await;
            for _ in 0..ROUNDS {
                let held = acquire(
                    &group,
                    &LockKey::from(LOCK),
                    &client_name,
                    TTL,
                    CONTEST_TIMEOUT,
                )
                .await;
                observed.enter().await;
                sleep_randomly(2).await;
                observed.leave().await;
                held.ok().unwrap().release(&group).await;
                sleep_randomly(10).await;
            }
        });
    }

    /// Adds a client of rslock.
    fn rslock(&mut self, name: &str) {
        let mut manager = rslock::LockManager::new(self.urls());
        // rslock waits a random part of this delay between two attempts.
        manager.set_retry(10_000, Duration::from_millis(40));
        let (observer, client_name) = (Arc::clone(&self.observer), name.to_owned());
        self.client(name, async move {
            let mut observed = observer.register(&client_name).await;
            observed.wait_until_started().await;
            for _ in 0..ROUNDS {
                let lock = manager.lock(LOCK, TTL).await.unwrap();
                observed.enter().await;
                sleep_randomly(2).await;
                observed.leave().await;
                lock.release().await;
                sleep_randomly(10).await;
            }
        });
    }

    fn redis_py(&mut self, name: &str) {
        self.program(&python(), "contend_redis_py.py", name, &[]);
    }

    fn node_redlock(&mut self, name: &str, package: &str) {
        self.program(&node(package), "contend_node_redlock.mjs", name, &[package]);
    }

    /// Adds a client that runs as a separate program.
    fn program(&mut self, program: &Path, file: &str, name: &str, more: &[&str]) {
        let ports: Vec<String> = self
            .nodes
            .0
            .iter()
            .map(|node| node.port().to_string())
            .collect();
        let (ports, observer, rounds) = (
            ports.join(","),
            self.observer.port().to_string(),
            ROUNDS.to_string(),
        );
        let mut command = Command::new(program);
        command
            .arg(client_script(file))
            .args([&ports, &observer, LOCK, name, &rounds].map(OsStr::new))
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let client_name = name.to_owned();
        self.client(name, async move {
            let output = command.output().await.unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{client_name}: {} {stderr}",
                output.status
            );
        });
    }

    fn client(&mut self, name: &str, rounds: impl Future<Output = ()> + Send + 'static) {
        self.names.push(name.to_owned());
        self.clients.push(rounds.boxed());
    }

    fn urls(&self) -> Vec<String> {
        self.nodes
            .0
            .iter()
            .map(|node| format!("redis://127.0.0.1:{}", node.port()))
            .collect()
    }

    /// Runs all clients until each has finished its rounds.
    async fn run(mut self) -> Self {
        let clients: Vec<_> = self.clients.drain(..).map(tokio::spawn).collect();
        let all = async {
            self.observer.start_clients(clients.len()).await;
            for client in clients {
                client.await.unwrap();
            }
        };
        timeout(CONTEST_TIMEOUT, all)
            .await
            .expect("every client finishes its rounds");
        self
    }

    async fn assert_exclusive_and_complete(self) {
        assert_eq!(self.observer.overlaps().await, Vec::<String>::new());
        let rounds = self.observer.turns_by_client().await;
        let expected = self
            .names
            .iter()
            .map(|name| (name.clone(), ROUNDS))
            .collect();
        assert_eq!(rounds, expected);
        let turns = self.observer.turns().await;
        let handovers = turns.windows(2).filter(|pair| pair[0] != pair[1]).count();
        eprintln!(
            "{} turns, {handovers} handovers: {}",
            turns.len(),
            turns.join(" ")
        );
        assert!(
            handovers > 2 * self.names.len(),
            "the clients did not contend"
        );
        let (nodes, key) = (self.nodes, LockKey::from(LOCK));
        wait_until("the lock is on no node", async || {
            let values = nodes.values(0..nodes.0.len(), &key).await;
            values.iter().all(Option::is_none)
        })
        .await;
    }
}

/// Sleeps for a random time of at most this many milliseconds.
async fn sleep_randomly(max_ms: u64) {
    sleep(Duration::from_micros(rand::random_range(0..max_ms * 1_000))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_py_and_lockkeeper_never_overlap() {
    let mut contest = Contest::on(1).await;
    contest.redis_py("redis-py-1");
    contest.redis_py("redis-py-2");
    contest.lockkeeper("lockkeeper-1");
    contest.lockkeeper("lockkeeper-2");
    contest.run().await.assert_exclusive_and_complete().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_node_redlocks_rslock_and_lockkeeper_never_overlap() {
    let mut contest = Contest::on(3).await;
    contest.node_redlock("node-redlock-4", "redlock4");
    contest.node_redlock("node-redlock-5", "redlock");
    contest.rslock("rslock");
    contest.lockkeeper("lockkeeper-1");
    contest.lockkeeper("lockkeeper-2");
    contest.run().await.assert_exclusive_and_complete().await;
}

/// Checks the observer itself: every kind of client must report an overlap.
#[tokio::test]
async fn every_kind_of_client_reports_an_overlap() {
    let mut contest = Contest::on(1).await;
    contest.redis_py("redis-py");
    contest.node_redlock("node-redlock-4", "redlock4");
    contest.node_redlock("node-redlock-5", "redlock");
    contest.rslock("rslock");
    contest.lockkeeper("lockkeeper");
    contest.observer.register("occupant").await.enter().await;
    let names = contest.names.clone();
    let overlaps = contest.run().await.observer.overlaps().await;
    assert_eq!(overlaps.len(), ROUNDS * names.len());
    for name in names {
        let reported = overlaps
            .iter()
            .filter(|overlap| **overlap == format!("occupant {name}"))
            .count();
        assert_eq!(reported, ROUNDS, "{name}");
    }
}
