//! Other libraries and ours take the same lock at the same time: nobody overlaps, and everybody gets on.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use lockkeeper::domain::LockKey;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use crate::support::eventually_is;
use crate::support::ours::take;
use crate::support::programs::{node, python, script};
use crate::support::redis_nodes::{RedisNodes, TestGroup};
use crate::support::witness::Witness;

const LOCK: &str = "lock:contended";
/// How often each client takes the lock.
const ROUNDS: usize = 25;
const TTL: Duration = Duration::from_secs(10);
/// How long it may take until everybody had all of its rounds.
const PATIENCE: Duration = Duration::from_secs(90);

/// Some servers, a witness, and clients that are about to begin.
struct Contest {
    nodes: RedisNodes,
    group: Arc<TestGroup>,
    witness: Arc<Witness>,
    clients: Vec<BoxFuture<'static, ()>>,
    names: Vec<String>,
}

impl Contest {
    async fn on(nodes: usize) -> Self {
        let nodes = RedisNodes::start(nodes).await;
        let group = Arc::new(nodes.group().await);
        let witness = Arc::new(Witness::start().await);
        Self {
            nodes,
            group,
            witness,
            clients: Vec::new(),
            names: Vec::new(),
        }
    }

    /// A client of ours.
    fn ours(&mut self, name: &str) {
        let (group, witness) = (Arc::clone(&self.group), Arc::clone(&self.witness));
        let handed = name.to_owned();
        self.client(name, async move {
            let mut watched = witness.watch(&handed).await;
            watched.is_ready().await;
            for _ in 0..ROUNDS {
                let held = take(&group, &LockKey::from(LOCK), &handed, TTL, PATIENCE).await;
                watched.enters().await;
                works(2).await;
                watched.leaves().await;
                held.ok().unwrap().release(&group).await;
                works(10).await;
            }
        });
    }

    /// A client of rslock.
    fn rslock(&mut self, name: &str) {
        let mut manager = rslock::LockManager::new(self.urls());
        // A random part of it between two tries.
        manager.set_retry(10_000, Duration::from_millis(40));
        let (witness, handed) = (Arc::clone(&self.witness), name.to_owned());
        self.client(name, async move {
            let mut watched = witness.watch(&handed).await;
            watched.is_ready().await;
            for _ in 0..ROUNDS {
                let lock = manager.lock(LOCK, TTL).await.unwrap();
                watched.enters().await;
                works(2).await;
                watched.leaves().await;
                lock.release().await;
                works(10).await;
            }
        });
    }

    fn redis_py(&mut self, name: &str) {
        self.program(&python(), "contend_redis_py.py", name, &[]);
    }

    fn node_redlock(&mut self, name: &str, package: &str) {
        self.program(&node(package), "contend_node_redlock.mjs", name, &[package]);
    }

    /// A client that is another program.
    fn program(&mut self, program: &Path, file: &str, name: &str, more: &[&str]) {
        let ports: Vec<String> = self
            .nodes
            .0
            .iter()
            .map(|node| node.port().to_string())
            .collect();
        let (ports, witness, rounds) = (
            ports.join(","),
            self.witness.port().to_string(),
            ROUNDS.to_string(),
        );
        let mut command = Command::new(program);
        command
            .arg(script(file))
            .args([&ports, &witness, LOCK, name, &rounds].map(OsStr::new))
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let handed = name.to_owned();
        self.client(name, async move {
            let ended = command.output().await.unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success(), "{handed}: {} {said}", ended.status);
        });
    }

    fn client(&mut self, name: &str, lives: impl Future<Output = ()> + Send + 'static) {
        self.names.push(name.to_owned());
        self.clients.push(lives.boxed());
    }

    fn urls(&self) -> Vec<String> {
        self.nodes
            .0
            .iter()
            .map(|node| format!("redis://127.0.0.1:{}", node.port()))
            .collect()
    }

    /// Lets all of them take the lock until they have had all their rounds.
    async fn runs(mut self) -> Self {
        let clients: Vec<_> = self.clients.drain(..).map(tokio::spawn).collect();
        let all = async {
            self.witness.begin(clients.len()).await;
            for client in clients {
                client.await.unwrap();
            }
        };
        timeout(PATIENCE, all).await.expect("everybody gets on");
        self
    }

    async fn was_fair_and_exclusive(self) {
        assert_eq!(self.witness.overlaps().await, Vec::<String>::new());
        let rounds = self.witness.rounds().await;
        let expected = self
            .names
            .iter()
            .map(|name| (name.clone(), ROUNDS))
            .collect();
        assert_eq!(rounds, expected);
        let turns = self.witness.turns().await;
        let handed_over = turns.windows(2).filter(|pair| pair[0] != pair[1]).count();
        eprintln!(
            "{} turns, handed over {handed_over} times: {}",
            turns.len(),
            turns.join(" ")
        );
        assert!(handed_over > 2 * self.names.len(), "they did not contend");
        let (nodes, key) = (self.nodes, LockKey::from(LOCK));
        eventually_is("nothing is left", async || {
            let values = nodes.values(0..nodes.0.len(), &key).await;
            values.iter().all(Option::is_none)
        })
        .await;
    }
}

/// A random time of no more than so many milliseconds.
async fn works(at_most: u64) {
    sleep(Duration::from_micros(rand::random_range(
        0..at_most * 1_000,
    )))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_py_and_ours_never_overlap() {
    let mut contest = Contest::on(1).await;
    contest.redis_py("redis-py-1");
    contest.redis_py("redis-py-2");
    contest.ours("ours-1");
    contest.ours("ours-2");
    contest.runs().await.was_fair_and_exclusive().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_node_redlocks_rslock_and_ours_never_overlap() {
    let mut contest = Contest::on(3).await;
    contest.node_redlock("node-redlock-4", "redlock4");
    contest.node_redlock("node-redlock-5", "redlock");
    contest.rslock("rslock");
    contest.ours("ours-1");
    contest.ours("ours-2");
    contest.runs().await.was_fair_and_exclusive().await;
}

/// The witness is only worth something if every kind of client tells it what it should not have seen.
#[tokio::test]
async fn every_client_that_meets_somebody_inside_says_so() {
    let mut contest = Contest::on(1).await;
    contest.redis_py("redis-py");
    contest.node_redlock("node-redlock-4", "redlock4");
    contest.node_redlock("node-redlock-5", "redlock");
    contest.rslock("rslock");
    contest.ours("ours");
    contest.witness.watch("somebody").await.enters().await;
    let names = contest.names.clone();
    let overlaps = contest.runs().await.witness.overlaps().await;
    assert_eq!(overlaps.len(), ROUNDS * names.len());
    for name in names {
        let met = overlaps
            .iter()
            .filter(|inside| **inside == format!("somebody {name}"))
            .count();
        assert_eq!(met, ROUNDS, "{name}");
    }
}
