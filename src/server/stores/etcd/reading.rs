//! Reads locks: the key of each name, and the contenders below it.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;

use super::Shared;
use super::client::{
    EtcdError, KeyRange, KeyValue, Order, RangeReply, Reply, TxnReply, range_fields,
};
use super::formats::{RecognisedLock, held_lock, label, owner_bytes};
use super::sampler::Origin;
use crate::domain::raw::{RawKey, RawNode, RawPart, RawText};
use crate::domain::{LockKey, WaitQueue, Waiter};
use crate::server::clock::ClockReading;
use crate::server::config::KeyPatterns;
use crate::server::stores::reading::{
    KeyReading, LockReading, MAX_QUEUE_ENTRIES, NodeQueue, NodeQueues, NodeReading,
};
use crate::server::stores::{CallError, DetectedLock, fingerprint};

/// The locks of one transaction. Each needs two ranges, and etcd accepts 128 operations.
const LOCKS_PER_CALL: usize = 60;
/// The transactions that are executed at the same time.
const CONCURRENT_CALLS: usize = 4;
/// The contenders that are read of each lock: the holder, and what tells a queue from other keys.
const CONTENDERS: usize = 3;

/// The keys of one lock.
#[derive(Default)]
pub struct LockKeys {
    /// The key that has the lock's name.
    own: Option<KeyValue>,
    /// The keys below the name, the oldest first.
    below: Vec<KeyValue>,
    /// The number of keys below the name.
    below_count: u64,
}

/// The keys of one lock, or why they were not read, and the member that replied.
type LockResult = Result<(usize, LockKeys), EtcdError>;

impl LockKeys {
    /// The lock in these keys.
    pub fn held_lock<'a>(&'a self, name: &LockKey) -> Option<RecognisedLock<'a>> {
        let own = self.own.as_ref();
        held_lock(name.as_bytes(), own, &self.below, self.below_count)
    }

    /// Whether there is neither a key of that name nor one below it.
    pub fn is_empty(&self) -> bool {
        self.own.is_none() && self.below.is_empty()
    }
}

impl Shared {
    /// Reads some locks at one member each.
    pub async fn read_locks(&self, keys: &[LockKey]) -> LockReading {
        let requested_at = self.service.clock.reading();
        let results = self.read_all(keys, CONTENDERS).await;
        self.sample_leases(keys, &results).await;
        let now = self.service.clock.reading();
        let mut readings: Vec<(usize, KeyReading)> = Vec::with_capacity(keys.len());
        let mut failures: BTreeMap<String, (CallError, Vec<usize>)> = BTreeMap::new();
        let mut member = None;
        for (index, (key, result)) in keys.iter().zip(results).enumerate() {
            match result {
                Ok((replied, lock_keys)) => {
                    member.get_or_insert(replied);
                    readings.push((index, self.to_reading(key, &lock_keys, now)));
                }
                Err(error) => {
                    let failure = failures
                        .entry(error.to_string())
                        .or_insert_with(|| (error.to_call_error(), Vec::new()));
                    failure.1.push(index);
                }
            }
        }
        let mut nodes: Vec<NodeReading> = Vec::new();
        let (indexes, readings): (Vec<usize>, Vec<KeyReading>) = readings.into_iter().unzip();
        if !readings.is_empty() {
            nodes.push(self.node_reading(member.unwrap_or(0), indexes, Ok(readings)));
        }
        for (error, indexes) in failures.into_values() {
            let member = self.client.members_by_preference()[0];
            nodes.push(self.node_reading(member, indexes, Err(error)));
        }
        LockReading {
            requested_at,
            nodes,
        }
    }

    /// Reads the keys of one lock.
    pub async fn read_lock(&self, key: &LockKey) -> LockResult {
        let mut results = self.read_all(std::slice::from_ref(key), CONTENDERS).await;
        results.pop().expect("there is one result per key")
    }

    /// Whether the lock is below a configured prefix. Nothing else is read or changed.
    pub fn covers(&self, key: &LockKey) -> bool {
        self.config.includes(key.as_bytes())
    }

    /// The queue of each lock.
    pub async fn read_queues(&self, keys: &[LockKey]) -> Vec<NodeQueues> {
        let results = self.read_all(keys, MAX_QUEUE_ENTRIES + 1).await;
        let mut queues = Vec::with_capacity(keys.len());
        let mut member = None;
        for (key, result) in keys.iter().zip(results) {
            match result {
                Ok((replied, lock_keys)) => {
                    member.get_or_insert(replied);
                    queues.push(to_queue(lock_keys.held_lock(key)));
                }
                Err(error) => {
                    return vec![NodeQueues {
                        node: self.node_name(self.client.members_by_preference()[0]),
                        result: Err(error.reason()),
                    }];
                }
            }
        }
        vec![NodeQueues {
            node: self.node_name(member.unwrap_or(0)),
            result: Ok(queues),
        }]
    }

    /// The contenders of a lock and its own key, without secret parts.
    pub async fn read_raw(&self, key: &LockKey) -> Vec<RawNode> {
        let mut results = self
            .read_all(std::slice::from_ref(key), MAX_QUEUE_ENTRIES)
            .await;
        let result = results.pop().expect("there is one result per key");
        let (node, content) = match result {
            Ok((member, lock_keys)) => (member, Ok(self.to_raw(key, &lock_keys))),
            Err(error) => (self.client.members_by_preference()[0], Err(error.reason())),
        };
        vec![RawNode {
            node: self.node_name(node),
            content,
        }]
    }

    /// The name of a member.
    pub fn node_name(&self, member: usize) -> String {
        self.member_names[member].clone()
    }

    fn node_reading(
        &self,
        member: usize,
        indexes: Vec<usize>,
        result: Result<Vec<KeyReading>, CallError>,
    ) -> NodeReading {
        NodeReading {
            node: self.node_name(member),
            is_restart_hazard: false,
            key_indexes: Some(indexes),
            read_uncertainty: Duration::ZERO,
            result,
        }
    }

    /// Reads the keys of each lock, in order. Those that are not below a configured prefix are not
    /// read.
    async fn read_all(&self, keys: &[LockKey], contenders: usize) -> Vec<LockResult> {
        let covered: Vec<LockKey> = keys
            .iter()
            .filter(|key| self.covers(key))
            .cloned()
            .collect();
        let chunks = covered.chunks(LOCKS_PER_CALL);
        let reading: Vec<_> = chunks
            .map(|chunk| self.read_chunk(chunk, contenders))
            .collect();
        let results = futures::stream::iter(reading).buffered(CONCURRENT_CALLS);
        let results: Vec<Vec<LockResult>> = results.collect().await;
        let mut results = results.into_iter().flatten();
        let result = |key| {
            let result = if self.covers(key) {
                results.next()
            } else {
                None
            };
            result.unwrap_or_else(|| Ok((0, LockKeys::default())))
        };
        keys.iter().map(result).collect()
    }

    /// Reads some locks in one transaction. If one of them makes it fail, each half is read by
    /// itself.
    fn read_chunk<'a>(
        &'a self,
        keys: &'a [LockKey],
        contenders: usize,
    ) -> BoxFuture<'a, Vec<LockResult>> {
        Box::pin(async move {
            let (key, others) = match keys {
                [] => return Vec::new(),
                [key, others @ ..] => (key, others),
            };
            match self.read_in_one_call(keys, contenders).await {
                Ok(reply) => {
                    let mut ranges = reply.body.responses.into_iter();
                    let mut next = || ranges.next().and_then(|range| range.response_range);
                    let lock = |_| match (next(), next()) {
                        (Some(own), Some(below)) => Ok((reply.member, to_lock_keys(own, below))),
                        _ => Err(EtcdError::InvalidReply("a range is missing".to_owned())),
                    };
                    keys.iter().map(lock).collect()
                }
                Err(EtcdError::TooLong(_) | EtcdError::PermissionDenied(_))
                    if !others.is_empty() =>
                {
                    let (first, second) = keys.split_at(keys.len() / 2);
                    let mut results = self.read_chunk(first, contenders).await;
                    results.extend(self.read_chunk(second, contenders).await);
                    results
                }
                Err(error) => {
                    let text = key.text();
                    tracing::debug!(key = %text, %error, "locks in etcd not read");
                    keys.iter().map(|_| Err(error.clone())).collect()
                }
            }
        })
    }

    async fn read_in_one_call(
        &self,
        keys: &[LockKey],
        contenders: usize,
    ) -> Result<Reply<TxnReply>, EtcdError> {
        let ranges = keys.iter().flat_map(|key| {
            let below = [key.as_bytes(), b"/"].concat();
            [
                range_fields(&KeyRange::key(key.as_bytes()), Order::Key, 1),
                range_fields(&KeyRange::prefix(&below), Order::Created, contenders),
            ]
        });
        self.client.ranges(ranges.collect()).await
    }

    /// Samples the leases of the locks that were read, as far as their deadline is not known.
    async fn sample_leases(&self, keys: &[LockKey], results: &[LockResult]) {
        let now = self.service.clock.monotonic();
        let mut needed = HashSet::new();
        for (key, result) in keys.iter().zip(results) {
            let lock = result
                .as_ref()
                .ok()
                .and_then(|(_, keys)| keys.held_lock(key));
            let Some(lease) = lock.map(|lock| lock.holder.lease) else {
                continue;
            };
            if lease.0 != 0 && self.leases.mention(lease, key, now) {
                needed.insert(lease);
            }
        }
        self.sample_all(needed.into_iter().collect(), Origin::Reading)
            .await;
    }

    fn to_reading(&self, key: &LockKey, lock_keys: &LockKeys, now: ClockReading) -> KeyReading {
        match self.detect(key, lock_keys, now) {
            Some(lock) => KeyReading::Lock(lock),
            None if !lock_keys.is_empty() || !self.covers(key) => KeyReading::NotALock,
            None => KeyReading::Absent,
        }
    }

    /// The lock in the keys, unless its name is excluded.
    pub fn detect(
        &self,
        key: &LockKey,
        lock_keys: &LockKeys,
        now: ClockReading,
    ) -> Option<DetectedLock> {
        let excluded = self.service.prefixes.excluded();
        let patterns = KeyPatterns {
            excluded_prefixes: Some(&excluded),
            ..self.service.config.key_patterns()
        };
        if patterns.is_excluded(key.as_bytes()) || !self.covers(key) {
            return None;
        }
        let lock = lock_keys.held_lock(key)?;
        let lease = self.leases.lease(lock.holder.lease, now);
        Some(lock.into_detected(lease))
    }

    fn to_raw(&self, key: &LockKey, lock_keys: &LockKeys) -> Option<RawKey> {
        if lock_keys.is_empty() || !self.covers(key) {
            return None;
        }
        let now = self.service.clock.reading();
        let lock = lock_keys.held_lock(key);
        let lease = lock.as_ref().map(|lock| lock.holder.lease);
        let ttl_ms = lease.and_then(|lease| self.leases.lease(lease, now).remaining_ms(now.wall));
        let own = lock_keys.own.iter().map(own_part);
        let below = lock_keys.below.iter();
        Some(RawKey {
            kind: Some("etcd".to_owned()),
            ttl_ms,
            parts: own
                .chain(below.map(|kv| contender_part(kv, lock.is_some())))
                .collect(),
        })
    }
}

fn to_lock_keys(own: RangeReply, below: RangeReply) -> LockKeys {
    LockKeys {
        own: own.kvs.into_iter().next(),
        below: below.kvs,
        below_count: below.count,
    }
}

/// The key that has the name of the lock. Its value can be the owner's token.
fn own_part(kv: &KeyValue) -> RawPart {
    RawPart {
        name: None,
        value: Some(RawText::Masked {
            fingerprint: fingerprint(&kv.value),
            bytes: length(&kv.value),
        }),
    }
}

/// A key below the name. A contender's key contains its lease, with which a client could extend or
/// revoke it.
fn contender_part(kv: &KeyValue, is_lock: bool) -> RawPart {
    let value = match label(kv) {
        Some(label) if is_lock => RawText::Shown(label),
        Some(_) | None => RawText::Hidden {
            bytes: length(&kv.value),
        },
    };
    RawPart {
        name: Some(RawText::Masked {
            fingerprint: owner_bytes(kv).fingerprint(),
            bytes: length(&kv.key),
        }),
        value: Some(value),
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

fn to_queue(lock: Option<RecognisedLock<'_>>) -> NodeQueue {
    let to_waiter = |kv: &KeyValue| Waiter {
        queue: WaitQueue::Service,
        label: label(kv),
        fingerprint: owner_bytes(kv).fingerprint(),
        waiting_since: None,
        expires_at: None,
        held_locks: Vec::new(),
        deadlock: false,
    };
    match lock {
        Some(lock) => NodeQueue {
            length: lock.waiter_count.unwrap_or(0),
            head: lock
                .waiters
                .iter()
                .take(MAX_QUEUE_ENTRIES)
                .map(to_waiter)
                .collect(),
        },
        None => NodeQueue {
            length: 0,
            head: Vec::new(),
        },
    }
}
