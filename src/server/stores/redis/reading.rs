//! Reads the state of locks: what the nodes return, with the formats recognised in it.

use std::time::{Duration, Instant};

use super::formats::{self, raw, redisson_owner};
use super::locking::fair_queue_keys;
use super::nodes::queues::{FairQueue, read_queues};
use super::nodes::{Group, Inspection, NodeInspection, learn_prefixes};
use crate::domain::raw::RawNode;
use crate::domain::{LockKey, Timestamp, WaitQueue, Waiter};
use crate::server::config::{FormatOverride, KeyPatterns};
use crate::server::stores::reading::{
    Changes, KeyReading, LockReading, NodeQueue, NodeQueues, NodeReading, ReadCause,
};

impl Group {
    /// Reads some keys from all nodes and recognises the locks among them.
    pub async fn read_locks(
        &self,
        keys: &[LockKey],
        cause: ReadCause<'_>,
        inferred_formats: &[FormatOverride],
    ) -> LockReading {
        let inspection = self.inspect_because(keys, cause).await;
        let reading = self.recognise(inspection, inferred_formats);
        self.record_leases(&reading);
        reading
    }

    fn recognise(
        &self,
        inspection: Inspection,
        inferred_formats: &[FormatOverride],
    ) -> LockReading {
        let excluded = self.prefixes().excluded();
        let patterns = self.key_patterns(&excluded);
        if inferred_formats.is_empty() {
            return recognise(inspection, patterns);
        }
        let format_overrides = [patterns.format_overrides, inferred_formats].concat();
        let patterns = KeyPatterns {
            format_overrides: &format_overrides,
            ..patterns
        };
        recognise(inspection, patterns)
    }

    /// Records the longest lease of a reading: for that long, a restarted node may lack locks that
    /// are still held.
    fn record_leases(&self, reading: &LockReading) {
        let requested_at: Timestamp = reading.requested_at.wall;
        let (now, max_lease) = (Instant::now(), self.config.locking.max_lease);
        let results = reading
            .nodes
            .iter()
            .filter_map(|node| node.result.as_ref().ok());
        let leases = results.flatten().filter_map(|reading| match reading {
            KeyReading::Lock(lock) => Some(lock.lease.remaining_ms(requested_at)),
            KeyReading::Absent | KeyReading::NotALock => None,
        });
        // A lock without expiry may be relied on for as long as the longest configured lease.
        let remaining = |left_ms: Option<u64>| left_ms.map_or(max_lease, Duration::from_millis);
        if let Some(longest_lease) = leases.map(remaining).max() {
            self.leases().record_lease(longest_lease, now);
        }
    }

    /// The value that each node has under a key, without secret parts.
    pub async fn read_raw(&self, key: &LockKey) -> Vec<RawNode> {
        let excluded = self.prefixes().excluded();
        let key_patterns = self.key_patterns(&excluded);
        let inspection = self.inspect(std::slice::from_ref(key)).await;
        let node = |node: NodeInspection| RawNode {
            node: node.node,
            content: node
                .result
                .map(|states| {
                    let key_state = states.into_iter().next().flatten();
                    key_state.map(|key_state| raw::redact(&key_state, key_patterns))
                })
                .map_err(|error| error.reason().clone()),
        };
        inspection.nodes.into_iter().map(node).collect()
    }

    /// Reads the queues of Redisson's fair locks from every node.
    pub async fn read_queues(&self, keys: &[LockKey]) -> Vec<NodeQueues> {
        let names: Vec<_> = keys.iter().map(fair_queue_keys).collect();
        let names = names.as_slice();
        self.call_all(|node| async move {
            let queues = read_queues(&node, names).await;
            NodeQueues {
                node: node.name().to_owned(),
                result: queues.map(|queues| queues.into_iter().map(to_node_queue).collect()),
            }
        })
        .await
    }

    /// Takes the changes that the nodes have reported.
    pub fn take_changes(&self) -> Changes {
        let (pending, quorum) = (self.changes().take(), self.quorum());
        let keys = pending.keys.into_iter().map(|(key, writes)| {
            self.invalidate_cached_value(&key);
            (key, writes.at_quorum(quorum))
        });
        Changes {
            keys: keys.collect(),
            is_full_resync: pending.is_full_resync,
        }
    }

    /// Derives the prefixes that limited change feeds follow from the names of locks.
    pub fn follow_prefixes_of<'a>(&self, names: impl IntoIterator<Item = &'a [u8]>) {
        let changes = self.changes();
        let (pinned, known) = (self.prefixes().pinned(), changes.learned_prefixes());
        changes.set_learned_prefixes(learn_prefixes(&pinned, &known, names.into_iter()));
    }
}

fn recognise(inspection: Inspection, patterns: KeyPatterns<'_>) -> LockReading {
    let read_key = |state: Option<super::key_state::KeyState>| match state {
        None => KeyReading::Absent,
        Some(state) => formats::detect_with_patterns(&state, patterns)
            .map_or(KeyReading::NotALock, KeyReading::Lock),
    };
    let read_node = |node: NodeInspection| NodeReading {
        read_uncertainty: node.max_read_uncertainty(),
        node: node.node,
        is_restart_hazard: node.is_restart_hazard,
        key_indexes: node.key_indexes,
        result: node
            .result
            .map(|states| states.into_iter().map(read_key).collect()),
    };
    LockReading {
        requested_at: inspection.requested_at,
        nodes: inspection.nodes.into_iter().map(read_node).collect(),
    }
}

fn to_node_queue(queue: FairQueue) -> NodeQueue {
    let to_waiter = |entry: super::nodes::queues::QueuedWaiter| Waiter {
        queue: WaitQueue::RedissonQueue,
        label: redisson_owner::label(&entry.field),
        fingerprint: formats::fingerprint(&entry.field),
        waiting_since: None,
        expires_at: entry.until,
        held_locks: Vec::new(),
        deadlock: false,
    };
    NodeQueue {
        length: queue.length,
        head: queue.head.into_iter().map(to_waiter).collect(),
    }
}
