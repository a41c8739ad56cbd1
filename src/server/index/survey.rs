//! One look at everything a group has: a single pass over its nodes, without staying to watch.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Index;
use super::watcher::Watcher;
use crate::domain::{NodeState, NodeView, Timestamp};
use crate::server::nodes::Group;
use crate::server::nodes::scan::MOST_NAMES;

/// How often it is checked whether a node went down, for which nobody then waits any longer.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// A node that has answered before gets this long to come back: one missed answer of a busy node is no outage.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(3);

/// How complete a survey of a group is.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The group.
    pub group: String,
    /// The nodes that were gone over whole. Not those with more names than a pass hands on.
    pub gone_over: BTreeSet<String>,
}

/// Goes over the group's nodes once. What it finds is on the board when it ends.
pub(super) async fn survey(index: Index, group: Arc<Group>, deadline: Instant) -> Survey {
    let stop = CancellationToken::new();
    let _scanning_ends_with_this = stop.clone().drop_guard();
    // Before its first attempt has ended, a node only looks as if it were down.
    tokio::select! {
        () = group.first_attempts() => {}
        () = sleep_until(deadline) => {}
    }
    let (found, mut names) = mpsc::channel(64);
    tokio::spawn(Arc::clone(&group).scan(found, stop));
    let mut watcher = Watcher::passing_by(index.clone(), Arc::clone(&group));
    let mut check = interval(CHECK_EVERY);
    check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !is_done(&watcher, &group, index.now()) {
        tokio::select! {
            Some(scanned) = names.recv() => {
                watcher.take_once(scanned, &mut names).await;
            }
            _ = check.tick() => {}
            () = sleep_until(deadline) => break,
        }
    }
    watcher.look_at_unanswered().await;
    watcher.tell_group(index.now()).await;
    index.is_told().await;
    Survey {
        group: group.config.name.clone(),
        gone_over: watcher
            .gone_over()
            .filter(|(_, pass)| {
                pass.keys_matched <= MOST_NAMES as u64 && pass.names_passed_over == 0
            })
            .map(|(node, _)| node.to_owned())
            .collect(),
    }
}

/// Whether every node that can be asked had a whole pass.
fn is_done(watcher: &Watcher, group: &Group, now: Timestamp) -> bool {
    let gone_over: BTreeSet<&str> = watcher.gone_over().map(|(node, _)| node).collect();
    let is_settled = |node: &NodeView| {
        let is_up = node.state == NodeState::Up;
        gone_over.contains(node.name.as_str()) || !is_up && is_lost(node, now)
    };
    group.nodes().iter().all(is_settled)
}

/// Whether a node that is not up is not waited for: it never was, or has not come back.
fn is_lost(node: &NodeView, now: Timestamp) -> bool {
    let has_answered = node.heard_at.is_some();
    let away = node.since.map_or(Duration::MAX, |since| now.since(since));
    !has_answered || away > COMES_BACK_WITHIN
}
