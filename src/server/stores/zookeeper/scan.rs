//! Finds the names of locks: a walk over the tree below the roots, which reads the children of many
//! nodes in each round trip.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Zookeeper;
use super::client::{ClientError, ErrorCode, ReadResult};
use super::formats::{self, Shape};
use super::key_reader::join;
use super::products::Product;
use super::rounds::{NodeRead, ReadError, read_all};
use crate::domain::{LockKey, MissingPermission, NodeState, Timestamp};
use crate::server::stores::scan::MAX_NAMES;
use crate::server::stores::{LockNames, ScanEvent};

/// The interval between two passes while changes are reported: a safety net.
const PASS_INTERVAL: Duration = Duration::from_secs(60);
/// The interval while changes are not reported.
const PASS_INTERVAL_WITHOUT_FEED: Duration = Duration::from_secs(2);
/// The pause before another attempt after a failed pass.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// The number of nodes whose children are read at once.
const NODES_PER_ROUND: usize = 1_000;
/// The maximum number of nodes of one pass. Roots with more nodes are searched in part.
const MAX_NODES: usize = 500_000;
/// The maximum depth below a root.
const MAX_DEPTH: usize = 32;
/// Passes after the first one read at most this share of the time.
const MAX_BUSY_PERCENT: u32 = 25;
/// The maximum number of paths that are named as not permitted.
const MAX_DENIED_PATHS: usize = 5;

/// What a pass found.
#[derive(Default)]
struct Pass {
    nodes: u64,
    names: u64,
    skipped: u64,
    rounds: u32,
    busy: Duration,
    denied: Vec<String>,
}

/// A node whose children are still to be read.
struct PendingNode {
    path: String,
    depth: usize,
}

impl Zookeeper {
    /// Searches for locks repeatedly until `stop` is cancelled.
    pub(super) async fn run_scan(
        &self,
        events: mpsc::Sender<ScanEvent>,
        names: Arc<LockNames>,
        stop: CancellationToken,
    ) {
        let scanning = async {
            let mut is_first = true;
            loop {
                let pause = match self.scan_pass(&events, &names, is_first).await {
                    Ok(true) => {
                        is_first = false;
                        if self.feed.is_complete() {
                            PASS_INTERVAL
                        } else {
                            PASS_INTERVAL_WITHOUT_FEED
                        }
                    }
                    Ok(false) => return,
                    // The state of the servers shows why.
                    Err(_) => RETRY_INTERVAL,
                };
                tokio::select! {
                    () = self.rescan.notified() => {}
                    () = self.service.clock.sleep(pause) => {}
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.service.stop.cancelled() => {}
            () = scanning => {}
        }
    }

    /// One pass over all roots. Returns whether the receiver still exists.
    async fn scan_pass(
        &self,
        events: &mpsc::Sender<ScanEvent>,
        names: &LockNames,
        is_first: bool,
    ) -> Result<bool, ClientError> {
        let (started, started_at) = (self.service.clock.monotonic(), self.service.clock.now());
        let mut pass = Pass::default();
        let roots = self.config.roots.iter().cloned();
        let mut pending: VecDeque<PendingNode> =
            roots.map(|path| PendingNode { path, depth: 0 }).collect();
        while !pending.is_empty() {
            let count = pending.len().min(NODES_PER_ROUND);
            let nodes: Vec<PendingNode> = pending.drain(..count).collect();
            let found = self.scan_nodes(nodes, &mut pending, &mut pass).await?;
            let found = self.matching_names(found, &mut pass);
            names.record_found(&found);
            if !found.is_empty() && events.send(ScanEvent::Names(found)).await.is_err() {
                return Ok(false);
            }
            if !is_first {
                let pause = pass.busy / pass.rounds.max(1) * (100 / MAX_BUSY_PERCENT - 1);
                self.service.clock.sleep(pause).await;
            }
        }
        let duration = self.service.clock.monotonic().duration_since(started);
        self.report_denied(&pass.denied);
        Ok(self
            .send_completed(events, &pass, started_at, duration)
            .await)
    }

    /// Reads the children of some nodes. Returns the paths of locks, and adds nodes below which
    /// others may be found to `pending`.
    async fn scan_nodes(
        &self,
        nodes: Vec<PendingNode>,
        pending: &mut VecDeque<PendingNode>,
        pass: &mut Pass,
    ) -> Result<Vec<String>, ClientError> {
        let reads = nodes
            .iter()
            .map(|node| NodeRead::Children(node.path.clone()));
        let reads: Vec<NodeRead> = reads.collect();
        let sent_at = self.service.clock.monotonic();
        let results = read_all(&self.session, &reads).await?;
        let mut found = Vec::new();
        let mut leaves = Vec::new();
        for (node, result) in nodes.into_iter().zip(results) {
            pass.nodes += 1;
            let children = match result {
                Ok(ReadResult::Children(children)) => children,
                Err(ReadError::Server(ErrorCode::NoAuth)) => {
                    if pass.denied.len() < MAX_DENIED_PATHS {
                        pass.denied.push(node.path.clone());
                    }
                    continue;
                }
                // It was deleted meanwhile, or has too many children to be read; the read of the
                // lock reports that.
                Ok(ReadResult::Data(..)) | Err(ReadError::Server(_)) => continue,
                Err(ReadError::TooLong(_)) => {
                    found.push(node.path);
                    continue;
                }
            };
            let is_directory = match Shape::of(&children) {
                Shape::Queue(_) | Shape::CuratorSemaphore => {
                    found.push(node.path.clone());
                    false
                }
                // A directory whose entries happen to have such names is searched as well.
                Shape::KazooSemaphore(_) => {
                    found.push(node.path.clone());
                    true
                }
                Shape::Leaf => {
                    leaves.push(node.path.clone());
                    false
                }
                Shape::Directory => true,
            };
            match is_directory {
                false => {}
                true if node.depth >= MAX_DEPTH => pass.skipped += 1,
                true => {
                    for name in children {
                        if pass.nodes as usize + pending.len() >= MAX_NODES {
                            pass.skipped += 1;
                            continue;
                        }
                        pending.push_back(PendingNode {
                            path: join(&node.path, &name),
                            depth: node.depth + 1,
                        });
                    }
                }
            }
        }
        found.extend(self.leaf_locks(leaves).await?);
        pass.rounds += 1;
        pass.busy += self.service.clock.monotonic().duration_since(sent_at);
        Ok(found)
    }

    /// The leaves that are locks themselves: ephemeral nodes of products, and nodes with the
    /// time of `ShedLock`.
    async fn leaf_locks(&self, leaves: Vec<String>) -> Result<Vec<String>, ClientError> {
        let reads = leaves.iter().cloned().map(NodeRead::Data);
        let reads: Vec<NodeRead> = reads.collect();
        let results = read_all(&self.session, &reads).await?;
        let is_lock = |path: &str, result: &Result<ReadResult, ReadError>| match result {
            Ok(ReadResult::Data(data, stat)) if stat.ephemeral_owner.is_none() => {
                formats::shedlock_until(data).is_some()
            }
            Ok(ReadResult::Data(..)) | Err(ReadError::Server(ErrorCode::NoAuth)) => {
                Product::of_node(path).is_some()
            }
            Ok(ReadResult::Children(_)) | Err(_) => false,
        };
        let leaves = leaves.into_iter().zip(results);
        let locks = leaves.filter(|(path, result)| is_lock(path, result));
        Ok(locks.map(|(path, _)| path).collect())
    }

    /// The keys of these paths that the configuration does not exclude.
    fn matching_names(&self, paths: Vec<String>, pass: &mut Pass) -> Vec<LockKey> {
        let mut keys = Vec::with_capacity(paths.len());
        for path in paths {
            let key = LockKey::from(&*path);
            if !self.is_searched(&key) {
                continue;
            }
            pass.names += 1;
            if path.len() > LockKey::MAX_BYTES || pass.names > MAX_NAMES as u64 {
                pass.skipped += 1;
                continue;
            }
            keys.push(key);
        }
        keys
    }

    /// Reports a pass of every server that is up. The ensemble answers as one, so the numbers are
    /// counted once.
    async fn send_completed(
        &self,
        events: &mpsc::Sender<ScanEvent>,
        pass: &Pass,
        started_at: Timestamp,
        duration: Duration,
    ) -> bool {
        let views = self.service.servers.views();
        let up = views.into_iter().filter(|view| view.state == NodeState::Up);
        let mut nodes: Vec<String> = up.map(|view| view.name).collect();
        if nodes.is_empty() {
            nodes.push(self.server_name());
        }
        for (index, node) in nodes.into_iter().enumerate() {
            let counted = |number: u64| if index == 0 { number } else { 0 };
            let completed = ScanEvent::PassCompleted {
                node,
                considers_every_key: !self.service.config.keys_are_explicit,
                keys_seen: counted(pass.nodes),
                keys_matched: counted(pass.names),
                names_skipped: counted(pass.skipped),
                started_at,
                duration,
                mean_call_duration: pass.busy / pass.rounds.max(1),
            };
            if events.send(completed).await.is_err() {
                return false;
            }
        }
        true
    }

    fn report_denied(&self, paths: &[String]) {
        let missing = paths.iter().map(|path| MissingPermission {
            permission: format!("READ on {path}"),
            impact: "locks below this path are not shown".to_owned(),
            acl: format!("setAcl {path} …,auth:USER:r"),
        });
        let missing: Vec<MissingPermission> = missing.collect();
        self.service.servers.set_missing_permissions(&missing);
    }
}
