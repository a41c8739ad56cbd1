//! Finds the names of locks on one node: `SCAN` after `SCAN`, slowly enough that the node hardly notices.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::node::Node;
use super::scripts::FENCES;
use super::trouble::Missed;
use super::{Scanned, glob};
use crate::domain::LockKey;

/// Beyond this the server spends longer in one call, not less in all.
const COUNT: u32 = 1000;

/// A call is followed by a pause of so many times its length: the node spends at most a sixteenth of its time on us.
const PAUSE_PER_CALL: u32 = 15;

/// The quickest of so many calls in a row tells how long the node works on one: the others had to wait, here or there.
const CALLS_COMPARED: usize = 4;

/// The shortest pause between two calls.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// The pause between two passes. On a small keyspace a new lock is seen within a second or so.
const BETWEEN_PASSES: Duration = Duration::from_millis(500);

/// The pause after a node refused: a missing permission is not granted within the second.
const AFTER_A_REFUSAL: Duration = Duration::from_secs(5);

/// No more names than this are handed on per pass; the rest is only counted.
pub const MOST_NAMES: usize = 200_000;

/// Scans the node for ever, until nobody listens any more.
pub async fn scan(node: &Node, patterns: &[String], found: &mpsc::Sender<Scanned>) {
    loop {
        node.until_up().await;
        let mut pass = Pass::begin(node, found);
        let pause = match pass.over(patterns).await {
            Ok(()) if found.send(pass.end()).await.is_ok() => BETWEEN_PASSES,
            Ok(()) | Err(Stopped::NobodyListens) => return,
            Err(Stopped::Missed(missed)) => {
                let reason = missed.reason();
                tracing::debug!(node.name = %node.name(), %reason, "a scan was cut short");
                match missed {
                    Missed::Refused { .. } => AFTER_A_REFUSAL,
                    Missed::NotAsked { .. } | Missed::Unanswered { .. } => BETWEEN_PASSES,
                }
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// One pass over one node.
struct Pass<'a> {
    node: &'a Node,
    found: &'a mpsc::Sender<Scanned>,
    /// `SCAN` may show a name twice.
    names: HashSet<LockKey>,
    beyond: u64,
    keys_seen: Option<u64>,
    started_at: crate::domain::Timestamp,
    started: Instant,
    calls: u32,
    in_calls: Duration,
    /// How long the latest calls took.
    lately: VecDeque<Duration>,
}

/// Why a pass did not come to its end.
enum Stopped {
    NobodyListens,
    Missed(Missed),
}

impl<'a> Pass<'a> {
    fn begin(node: &'a Node, found: &'a mpsc::Sender<Scanned>) -> Self {
        Self {
            node,
            found,
            names: HashSet::new(),
            beyond: 0,
            keys_seen: None,
            started_at: node.clock().now(),
            started: Instant::now(),
            calls: 0,
            in_calls: Duration::ZERO,
            lately: VecDeque::with_capacity(CALLS_COMPARED),
        }
    }

    fn end(self) -> Scanned {
        let keys_matched = u64::try_from(self.names.len())
            .unwrap_or(u64::MAX)
            .saturating_add(self.beyond);
        Scanned::Pass {
            node: self.node.name().to_owned(),
            // Where the number may not be asked, at least those that matched are there.
            keys_seen: self.keys_seen.unwrap_or(keys_matched),
            keys_matched,
            started_at: self.started_at,
            took: self.started.elapsed(),
            per_call: self.in_calls / self.calls.max(1),
        }
    }

    async fn over(&mut self, patterns: &[String]) -> Result<(), Stopped> {
        let size = self
            .node
            .observe(self.node.command_timeout(), |mut line| async move {
                redis::cmd("DBSIZE")
                    .query_async::<u64>(&mut line.connection)
                    .await
            });
        match size.await {
            Ok(keys) => self.keys_seen = Some(keys),
            Err(Missed::Refused { .. }) => {}
            Err(missed) => return Err(Stopped::Missed(missed)),
        }
        // Several patterns in one go: the node answers with every name, and they are told apart here.
        let pattern = match patterns {
            [one] => Some(one.as_str()),
            _ => None,
        };
        let mut cursor = 0;
        loop {
            let mut names;
            (cursor, names) = self.page(pattern, cursor).await?;
            if pattern.is_none() {
                names.retain(|name| {
                    patterns
                        .iter()
                        .any(|pattern| glob::matches(pattern.as_bytes(), name))
                });
            }
            self.hand_on(names).await?;
            if cursor == 0 {
                return Ok(());
            }
        }
    }

    /// One call, and the pause after it.
    async fn page(
        &mut self,
        pattern: Option<&str>,
        cursor: u64,
    ) -> Result<(u64, Vec<Vec<u8>>), Stopped> {
        let began = Instant::now();
        let call = self
            .node
            .observe(self.node.command_timeout(), |mut line| async move {
                let mut scan = redis::cmd("SCAN");
                scan.arg(cursor).arg("COUNT").arg(COUNT);
                if let Some(pattern) = pattern {
                    scan.arg("MATCH").arg(pattern);
                }
                scan.query_async(&mut line.connection).await
            });
        let page = call.await.map_err(Stopped::Missed)?;
        let took = began.elapsed();
        self.calls = self.calls.saturating_add(1);
        self.in_calls += took;
        if self.lately.len() == CALLS_COMPARED {
            self.lately.pop_front();
        }
        self.lately.push_back(took);
        // A far-away node is not a busy one: only what a call takes beyond the way there and back counts.
        let quickest = self.lately.iter().min().copied().unwrap_or(took);
        let at_the_node = quickest.saturating_sub(self.node.shortest_round_trip());
        tokio::time::sleep((at_the_node * PAUSE_PER_CALL).max(SHORTEST_PAUSE)).await;
        Ok(page)
    }

    async fn hand_on(&mut self, names: Vec<Vec<u8>>) -> Result<(), Stopped> {
        let mut new = Vec::new();
        for key in names.into_iter().map(LockKey::new) {
            if self.names.contains(&key) || key.as_bytes().starts_with(FENCES) {
                continue;
            }
            if self.names.len() >= MOST_NAMES {
                self.beyond += 1;
                continue;
            }
            self.names.insert(key.clone());
            new.push(key);
        }
        if new.is_empty() {
            return Ok(());
        }
        self.found
            .send(Scanned::Names(new))
            .await
            .map_err(|_| Stopped::NobodyListens)
    }
}
