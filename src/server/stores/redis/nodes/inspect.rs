//! Reads the state of keys on one node: type and TTL of each, and the value if it is small. Reads
//! do not reset idle times where that can be avoided.

use std::time::Duration;

use redis::{RedisError, RedisResult};

use super::Group;
use super::batch::{Batch, is_key_error, is_slot_error};
use super::chunks::chunks;
use super::connection::Connection;
use super::lock_node::RedisTransport;
use super::node::Node;
use super::node_error::CallError;
use super::value_cache::{ReadMetadata, ValueCache};
use super::values::{self, ReadResult};
use crate::domain::LockKey;
use crate::server::clock::Clock;
use crate::server::stores::ReadCause;
use crate::server::stores::redis::formats;
use crate::server::stores::redis::key_state::{Companion, KeyState, RedisValue, Ttl};

/// The number of keys that are read within one command timeout: ten round trips to a near node. More
/// keys take proportionally longer.
const KEYS_PER_TIMEOUT: usize = 1_000;

/// Reads the state of `keys` with the least side effects. Returns one state per key, `None` if the
/// key does not exist, or why the call failed.
pub async fn inspect_keys(
    node: &Node,
    keys: &[LockKey],
    cause: ReadCause<'_>,
) -> Result<Vec<Option<KeyState>>, CallError> {
    let metadata = node.call_replica(timeout_for(node, keys), |connection| async move {
        let mut inspector = Inspector::new(Some(node), node.clock(), connection);
        inspector.cause = cause;
        let states = inspector.inspect_locks(keys).await?;
        match inspector.redirected.pop() {
            Some((_, error)) => Err(error),
            None => Ok(states),
        }
    });
    metadata.await
}

/// A cluster node's reply about one key.
#[derive(Debug)]
pub enum SlotReply {
    /// The key's state; `None` if it does not exist.
    State(Option<KeyState>),
    /// The node does not serve the key's slot, or no node does.
    Redirected(RedisError),
}

/// Like [`inspect_keys`], for keys whose slots this cluster node is known to serve. With `ASKING`
/// for slots that it is importing.
pub async fn inspect_in_slots(
    node: &Node,
    keys: &[LockKey],
    cause: ReadCause<'_>,
    with_asking: bool,
) -> Result<Vec<SlotReply>, CallError> {
    let limit = timeout_for(node, keys);
    let states = node.call_inspection_asking(limit, with_asking, |connection| async move {
        let mut inspector = Inspector::new(Some(node), node.clock(), connection);
        inspector.cause = cause;
        let states = inspector.inspect_locks(keys).await?;
        let mut replies: Vec<SlotReply> = states.into_iter().map(SlotReply::State).collect();
        for (n, error) in inspector.redirected {
            replies[n] = SlotReply::Redirected(error);
        }
        Ok(replies)
    });
    states.await
}

fn timeout_for(node: &Node, keys: &[LockKey]) -> Duration {
    let limits = u32::try_from(keys.len().div_ceil(KEYS_PER_TIMEOUT).max(1)).unwrap_or(u32::MAX);
    node.command_timeout().saturating_mul(limits)
}

impl Group {
    /// Removes the cached value of a key for which a write was reported.
    pub fn invalidate_cached_value(&self, key: &LockKey) {
        for node in self.nodes_for(key).iter() {
            node.value_cache().remove(key);
        }
    }
}

/// Reads one key before or after an operation, without the cache, even if that resets its idle
/// time. `node_ahead_ms` is the clock skew of the node, 0 if unknown.
pub async fn inspect_key<C: RedisTransport>(
    connection: Connection<C>,
    clock: &Clock,
    key: &LockKey,
    node_ahead_ms: i64,
) -> RedisResult<Option<KeyState>> {
    let mut inspector = Inspector::new(None, clock, connection);
    inspector.node_ahead_ms = node_ahead_ms;
    let mut states = inspector.inspect_locks(std::slice::from_ref(key)).await?;
    match inspector.redirected.pop() {
        Some((_, error)) => Err(error),
        None => Ok(states.pop().flatten()),
    }
}

struct Inspector<'a, C> {
    /// The node whose value cache is used, unless the connection leaves idle times alone.
    node: Option<&'a Node>,
    clock: &'a Clock,
    connection: Connection<C>,
    cause: ReadCause<'a>,
    /// By how many milliseconds the node's clock is ahead of the console's.
    node_ahead_ms: i64,
    /// The keys of a cluster that this node does not serve: their indexes and the error replies.
    redirected: Vec<(usize, RedisError)>,
}

impl<'a, C: RedisTransport> Inspector<'a, C> {
    fn new(node: Option<&'a Node>, clock: &'a Clock, connection: Connection<C>) -> Self {
        Self {
            node,
            clock,
            connection,
            cause: ReadCause::Routine,
            node_ahead_ms: node.map_or(0, Node::clock_skew_ms),
            redirected: Vec::new(),
        }
    }

    /// Reads the keys, then the companion keys that their formats need.
    async fn inspect_locks(&mut self, keys: &[LockKey]) -> RedisResult<Vec<Option<KeyState>>> {
        let mut states = self.inspect_keys(keys).await?;
        // Kept aside: reading the companions would overwrite it.
        let redirected = std::mem::take(&mut self.redirected);
        let states = self.read_companions(&mut states).await.map(|()| states);
        // Companion keys can be in another slot. Then the lock is interpreted without them.
        self.redirected = redirected;
        states
    }

    async fn read_companions(&mut self, states: &mut [Option<KeyState>]) -> RedisResult<()> {
        let (mut lock_indexes, mut requests) = (Vec::new(), Vec::new());
        for (i, state) in states.iter().enumerate() {
            for key in state.iter().flat_map(formats::companion_keys) {
                lock_indexes.push(i);
                requests.push(key);
            }
        }
        if requests.is_empty() {
            return Ok(());
        }
        // Without permission for companion keys, the lock is interpreted without them.
        let companions = match self.inspect_keys(&requests).await {
            Ok(companions) => companions,
            Err(error) if is_key_error(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        for (i, companion) in lock_indexes.into_iter().zip(companions) {
            if let (Some(lock), Some(results)) = (states[i].as_mut(), companion) {
                lock.companions.push(Companion {
                    key: results.key,
                    value: results.value,
                    ttl: results.ttl,
                });
            }
        }
        Ok(())
    }

    async fn inspect_keys(&mut self, keys: &[LockKey]) -> RedisResult<Vec<Option<KeyState>>> {
        let mut states = Vec::with_capacity(keys.len());
        // Without a node, a single key is read.
        let round_trip = self.node.map_or(Duration::ZERO, Node::shortest_round_trip);
        for chunk in chunks(keys, round_trip, |key| key.as_bytes().len()) {
            let mut results = self.inspect_chunk(chunk).await?;
            // A key that changed its type between two requests is read once more, not reported as
            // absent.
            let changed: Vec<usize> = (0..chunk.len())
                .filter(|&i| matches!(results[i], ReadResult::Changed))
                .collect();
            if !changed.is_empty() {
                let keys: Vec<LockKey> = changed.iter().map(|&i| chunk[i].clone()).collect();
                for (i, reread) in changed.into_iter().zip(self.inspect_chunk(&keys).await?) {
                    results[i] = reread;
                }
            }
            states.extend(results);
        }
        let slot_error = |results: &ReadResult| match results {
            ReadResult::Rejected(error) if is_slot_error(error) => Some(error.clone()),
            ReadResult::Rejected(_)
            | ReadResult::Missing
            | ReadResult::Changed
            | ReadResult::Present { .. } => None,
        };
        let redirected = states.iter().enumerate();
        self.redirected = redirected
            .filter_map(|(n, results)| Some((n, slot_error(results)?)))
            .collect();
        // The keys that were redirected are read from another node; the others keep their results.
        if !self.redirected.is_empty() {
            return Ok(self.to_states(keys, states));
        }
        // A single key that is not permitted counts as absent. If all keys are rejected, the error
        // is returned.
        let is_any_permitted = states
            .iter()
            .any(|results| !matches!(results, ReadResult::Rejected(_)));
        match states.first() {
            Some(ReadResult::Rejected(error)) if !is_any_permitted => Err(error.clone()),
            Some(_) | None => Ok(self.to_states(keys, states)),
        }
    }

    fn to_states(&self, keys: &[LockKey], results: Vec<ReadResult>) -> Vec<Option<KeyState>> {
        let each = keys.iter().zip(results);
        let state = |(key, results): (&LockKey, ReadResult)| {
            Some(KeyState {
                node_clock_skew_ms: self.node_ahead_ms,
                ..results.into_key_state(key)?
            })
        };
        each.map(state).collect()
    }

    async fn inspect_chunk(&mut self, keys: &[LockKey]) -> RedisResult<Vec<ReadResult>> {
        let ReadCause::Written { known_formats } = self.cause else {
            return self.read_by_type(keys).await;
        };
        let has_string_format = |key: &LockKey| {
            known_formats
                .get(key)
                .is_some_and(|known| known.is_string())
        };
        let is_string: Vec<bool> = keys.iter().map(has_string_format).collect();
        let select = |strings: bool| {
            let keys = keys.iter().zip(&is_string);
            keys.filter(move |(_, is_string)| **is_string == strings)
                .map(|(key, _)| key.clone())
                .collect::<Vec<LockKey>>()
        };
        let mut strings = self.read_strings(&select(true)).await?.into_iter();
        let mut others = self.read_by_type(&select(false)).await?.into_iter();
        let result = |is_string: bool| {
            let next = if is_string {
                strings.next()
            } else {
                others.next()
            };
            // Never: both have a result for each of their keys.
            next.unwrap_or(ReadResult::Changed)
        };
        Ok(is_string.into_iter().map(result).collect())
    }

    /// Reads keys that are known to be strings in one round trip: each value with its TTL.
    async fn read_strings(&mut self, keys: &[LockKey]) -> RedisResult<Vec<ReadResult>> {
        let requests: Vec<_> = keys.iter().map(|key| (key, "string")).collect();
        self.mark_own_reads(&requests, true);
        let transport = &mut self.connection.transport;
        let mut results = values::read_values(transport, self.clock, &requests, false).await?;
        self.mark_own_reads(&requests, false);
        // Another type under the same name, a rare case.
        let changed = |result: &ReadResult| matches!(result, ReadResult::Changed);
        let others: Vec<usize> = (0..keys.len()).filter(|&i| changed(&results[i])).collect();
        let names: Vec<LockKey> = others.iter().map(|&i| keys[i].clone()).collect();
        for (i, result) in others.into_iter().zip(self.read_by_type(&names).await?) {
            results[i] = result;
        }
        Ok(results)
    }

    async fn read_by_type(&mut self, keys: &[LockKey]) -> RedisResult<Vec<ReadResult>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let read_metadata = self.read_metadata(keys).await?;
        let mut results: Vec<ReadResult> = Vec::with_capacity(keys.len());
        let mut to_read = Vec::new();
        for (i, (key, metadata)) in keys.iter().zip(&read_metadata).enumerate() {
            results.push(match metadata {
                KeyMetadata::Missing => {
                    self.with_cache(|cache| cache.remove(key));
                    ReadResult::Missing
                }
                KeyMetadata::Rejected(error) => ReadResult::Rejected(error.clone()),
                // Streams and module types are never locks, so their values are not read.
                KeyMetadata::Present(metadata) if !values::is_readable(&metadata.type_name) => {
                    ReadResult::Present {
                        value: RedisValue::Other {
                            type_name: metadata.type_name.clone(),
                        },
                        metadata: metadata.clone(),
                    }
                }
                KeyMetadata::Present(metadata) => {
                    match self.with_cache(|cache| cache.get(key, metadata)).flatten() {
                        Some(value) => ReadResult::Present {
                            value,
                            metadata: metadata.clone(),
                        },
                        None => {
                            to_read.push((i, key, metadata.clone()));
                            ReadResult::Changed
                        }
                    }
                }
            });
        }
        let uses_cache = self.uses_cache();
        let requests: Vec<_> = to_read
            .iter()
            .map(|(_, key, metadata)| (*key, metadata.type_name.as_str()))
            .collect();
        // Marked before and after the read: a detection round can run in between.
        self.mark_own_reads(&requests, true);
        let values = values::read_values(
            &mut self.connection.transport,
            self.clock,
            &requests,
            uses_cache,
        )
        .await?;
        self.mark_own_reads(&requests, false);
        for ((i, key, before), value) in to_read.into_iter().zip(values) {
            if let ReadResult::Present { value, metadata } = &value {
                self.with_cache(|cache| {
                    cache.insert(key, value.clone(), metadata.clone(), &before)
                });
            }
            results[i] = value;
        }
        self.with_cache(|cache| cache.evict_idle(self.clock.monotonic()));
        Ok(results)
    }

    /// Reads type, TTL and, if needed, idle time. None of these commands resets the idle time.
    async fn read_metadata(&mut self, keys: &[LockKey]) -> RedisResult<Vec<KeyMetadata>> {
        let uses_cache = self.uses_cache();
        let mut batch = Batch::new(uses_cache);
        for key in keys {
            batch.add(&["TYPE"], key);
            batch.add(&["PTTL"], key);
            if uses_cache {
                batch.add(&["OBJECT", "IDLETIME"], key);
            }
        }
        let mut replies = batch
            .send(&mut self.connection.transport, self.clock)
            .await?;
        let mut read_metadata = Vec::with_capacity(keys.len());
        for _ in keys {
            let (type_name, pttl) = (
                replies.next_reply::<String>()?,
                replies.next_reply::<i64>()?,
            );
            // Rejected under an LFU policy, which does not keep idle times.
            let idle: Option<i64> = if uses_cache {
                replies.next_reply::<Option<i64>>()?.ok().flatten()
            } else {
                None
            };
            read_metadata.push(match (type_name, pttl) {
                (Ok(type_name), Ok(pttl)) => match Ttl::from_pttl(pttl) {
                    Some(ttl) if type_name != "none" => {
                        let accessed_at = replies
                            .lru_clock
                            .zip(idle)
                            .map(|(clock, idle)| clock.before(idle));
                        KeyMetadata::Present(ReadMetadata {
                            type_name,
                            ttl,
                            read_at: replies.read_at,
                            round_trip: replies.round_trip,
                            accessed_at,
                        })
                    }
                    Some(_) | None => KeyMetadata::Missing,
                },
                (Err(error), _) | (_, Err(error)) => KeyMetadata::Rejected(error),
            });
        }
        Ok(read_metadata)
    }

    /// Records that these values are being read, which counts as an access on servers without
    /// NO-TOUCH.
    fn mark_own_reads(&self, requests: &[(&LockKey, &str)], in_progress: bool) {
        if let Some(node) = self.node.filter(|_| !self.connection.keeps_idle_time) {
            for (key, _) in requests {
                node.feed()
                    .write_marks
                    .mark_read(key.as_bytes(), in_progress);
            }
        }
    }

    fn uses_cache(&self) -> bool {
        self.node.is_some()
            && !self.connection.keeps_idle_time
            && matches!(self.cause, ReadCause::Routine)
    }

    fn with_cache<T>(&self, operation: impl FnOnce(&mut ValueCache) -> T) -> Option<T> {
        let node = self.node.filter(|_| self.uses_cache())?;
        Some(operation(&mut node.value_cache()))
    }
}

/// The state of a key without its value.
enum KeyMetadata {
    Missing,
    Rejected(RedisError),
    Present(ReadMetadata),
}
