//! A single scan of all nodes of a group, without subscribing to changes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Index;
use super::watcher::Watcher;
use crate::domain::{NodeState, NodeView, Timestamp};
use crate::server::stores::scan::MAX_NAMES;
use crate::server::stores::{Group, LockNames};

/// How often node states are checked, to stop waiting for a node that went down.
const NODE_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// How long a node that replied before may be down before the scan continues without it. One missed
/// reply of a busy node is not an outage.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// The nodes that a scan covered.
#[derive(Clone, Debug)]
pub struct OneShotScan {
    /// The name of the group.
    pub group: String,
    /// Nodes that were scanned completely. A node with more keys than one pass returns is not
    /// included.
    pub scanned_nodes: BTreeSet<String>,
}

/// Scans the group's nodes once. The locks found are in the index when this returns.
pub(super) async fn scan_once(index: Index, group: Arc<Group>, deadline: Instant) -> OneShotScan {
    let stop = CancellationToken::new();
    let _stop_scan_on_drop = stop.clone().drop_guard();
    // Until its first connection attempt ends, a node cannot be told apart from one that is down.
    tokio::select! {
        () = group.wait_for_first_attempts() => {}
        () = sleep_until(deadline) => {}
    }
    let (scanned_tx, mut scan_events) = mpsc::channel(64);
    // Every lock is new to a single scan.
    let names = Arc::new(LockNames::default());
    let scanned = Arc::clone(&group);
    tokio::spawn(async move { scanned.scan(scanned_tx, names, stop).await });
    let mut watcher = Watcher::one_shot(index.clone(), Arc::clone(&group));
    let mut check = interval(NODE_CHECK_INTERVAL);
    check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        while !is_complete(&watcher, &group, index.now()) {
            tokio::select! {
                Some(scanned) = scan_events.recv() => {
                    watcher.process_scan_once(scanned, &mut scan_events).await;
                }
                _ = check.tick() => {}
                () = sleep_until(deadline) => break,
            }
        }
        // A node that did not reply to an earlier poll may have recovered since. If it does not reply
        // to this one either, its next pass is waited for.
        watcher.poll_missed_locks().await;
        if is_complete(&watcher, &group, index.now()) || Instant::now() >= deadline {
            break;
        }
    }
    watcher.report_group(index.now()).await;
    // The caller reads the index next, so the last report must have been applied.
    index.flush().await;
    OneShotScan {
        group: group.config.name.clone(),
        scanned_nodes: watcher
            .scanned_nodes()
            .filter(|(_, pass)| pass.keys_matched <= MAX_NAMES as u64 && pass.keys_skipped == 0)
            .map(|(node, _)| node.to_owned())
            .collect(),
    }
}

/// Whether every reachable node has completed a pass.
fn is_complete(watcher: &Watcher, group: &Group, now: Timestamp) -> bool {
    let scanned_nodes: BTreeSet<&str> = watcher.scanned_nodes().map(|(node, _)| node).collect();
    let is_settled = |node: &NodeView| {
        let is_up = node.state == NodeState::Up;
        scanned_nodes.contains(node.name.as_str()) || !is_up && is_given_up(node, now)
    };
    group.node_views().iter().all(is_settled)
}

/// Whether a node is no longer waited for: it never replied, or did not recover in time.
fn is_given_up(node: &NodeView, now: Timestamp) -> bool {
    let has_replied = node.last_reply_at.is_some();
    let downtime = node.since.map_or(Duration::MAX, |since| now.since(since));
    !has_replied || downtime > RECOVERY_TIMEOUT
}
