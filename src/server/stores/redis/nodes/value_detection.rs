//! Detects locks by type, size, value and expiry, whatever their names are.
//!
//! The scan asks for all keys of a page in as few round trips as possible, the cheapest question
//! first, and never reads a large value:
//! 1. `OBJECT ENCODING` tells type and size. It rules out numbers, large collections and streams.
//! 2. The first bytes of a string; type and expiry of a small collection. Cached documents, markup
//!    and serialized objects end here.
//! 3. The expiry of strings that can be a token, and one element of collections that expire.
//!
//! Where all keys with a prefix were strings, the next ones start with the second question, or with
//! the second and third at once ([`PrefixValues`]): a million strings with random values cost the
//! server 2.9 s of CPU time instead of 3.9 s, and the console 3.9 s instead of 6.6 s.
//!
//! What is left is read like a known lock, and [`formats::detect_with_patterns`] decides.

use std::time::{Duration, Instant};

use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind};

use super::batch::{Batch, Replies};
use super::inspect::inspect_keys;
use super::lock_node::RedisTransport;
use super::node::Node;
use super::node_error::CallError;
use super::prefix_values::{FirstRead, PrefixValues};
use super::values::Collection;
use crate::domain::{Confidence, LockKey};
use crate::server::clock::{Clock, ClockReading};
use crate::server::config::KeyPatterns;
use crate::server::stores::ReadCause;
use crate::server::stores::redis::formats;
use crate::server::stores::redis::key_state::{KeyState, RedisValue, Ttl};

/// How many bytes of a string are read. Tokens are shorter, except those with metadata.
const VALUE_PREFIX_BYTES: usize = 96;

/// The maximum number of keys in one round trip. The server executes a pipeline without serving
/// other clients in between: 100 commands, two for each key, take about 80 µs.
pub const MAX_KEYS_PER_BATCH: usize = 50;

/// The round trips of [`inspect_keys`] without companion keys.
const INSPECTION_ROUND_TRIPS: u32 = 3;

/// A lock that was detected by its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedKey {
    /// The name.
    pub key: LockKey,
    /// The confidence that the key is a lock.
    pub confidence: Confidence,
}

/// A key that can be a lock, by its encoding.
enum Candidate<'a> {
    /// A string.
    String(&'a LockKey),
    /// A collection, whose type is not known yet.
    Collection(&'a LockKey),
}

/// Keys that can be locks, by the first bytes of their values or by their types.
#[derive(Default)]
struct Narrowed<'a> {
    /// Strings whose value can be a token.
    strings: Vec<(&'a LockKey, Vec<u8>)>,
    /// Collections that expire.
    collections: Vec<(&'a LockKey, Collection)>,
}

/// The locks among some keys.
#[derive(Debug, Default)]
pub struct Detection {
    /// The locks.
    pub locks: Vec<DetectedKey>,
    /// The estimated time that the node spent on it.
    pub busy_time: Duration,
    /// The network latency of the calls.
    pub latency: Duration,
    /// The keys that the node's user may not read.
    pub denied_keys: usize,
}

/// Returns the keys that are locks according to their values. Reads and updates what is known about
/// the values of each prefix.
pub async fn detect_locks(
    node: &Node,
    keys: &[LockKey],
    patterns: KeyPatterns<'_>,
    prefix_values: &mut PrefixValues,
) -> Result<Detection, CallError> {
    let mut detection = Detection::default();
    let latency = node.shortest_round_trip();
    for keys in keys.chunks(MAX_KEYS_PER_BATCH) {
        let reader = BatchReader {
            clock: node.clock(),
            patterns,
            prefix_values: &mut *prefix_values,
            result: BatchResult::default(),
        };
        let batch = node.call_replica(node.command_timeout(), |mut connection| async move {
            reader.read(&mut connection.transport, keys).await
        });
        let batch = batch.await?;
        detection.locks.extend(batch.detected);
        detection.denied_keys += batch.denied_keys;
        for round_trip in batch.round_trips {
            detection.busy_time += round_trip.saturating_sub(latency);
            detection.latency += latency;
        }
        if batch.to_inspect.is_empty() {
            continue;
        }
        let began = Instant::now();
        let states = inspect_keys(node, &batch.to_inspect, ReadCause::Routine).await?;
        let inspection_latency = latency * INSPECTION_ROUND_TRIPS;
        detection.busy_time += began.elapsed().saturating_sub(inspection_latency);
        detection.latency += inspection_latency;
        let detected = states
            .iter()
            .flatten()
            .filter_map(|state| detect(state, patterns));
        detection.locks.extend(detected);
    }
    Ok(detection)
}

/// Finds out whether reading values changes which keys the node evicts. Before Redis 7.2 a read
/// counts as an access, and a cache that evicts by access would keep the wrong keys.
pub async fn reads_affect_eviction(node: &Node) -> Result<bool, CallError> {
    let info = node.call_replica(node.command_timeout(), |mut connection| async move {
        if connection.keeps_idle_time {
            return Ok(None);
        }
        let mut command = redis::cmd("INFO");
        command.arg("memory");
        let info: String = command.query_async(&mut connection.transport).await?;
        Ok(Some(info))
    });
    match info.await {
        Ok(info) => Ok(info.is_some_and(|info| evicts_by_access(&info))),
        // Without permission for INFO, the policy is unknown. The default is not to evict.
        Err(CallError::Rejected { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a node with this `INFO memory` evicts the keys that were not accessed for long, or not
/// often.
fn evicts_by_access(info: &str) -> bool {
    let field = |name: &str| {
        info.lines()
            .find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
    };
    let has_limit = field("maxmemory").is_some_and(|bytes| bytes != "0");
    let policy = field("maxmemory_policy").unwrap_or_default();
    has_limit && (policy.ends_with("-lru") || policy.ends_with("-lfu"))
}

fn detect(state: &KeyState, patterns: KeyPatterns<'_>) -> Option<DetectedKey> {
    let detected = formats::detect_with_patterns(state, patterns)?;
    Some(DetectedKey {
        key: state.key.clone(),
        confidence: detected.confidence,
    })
}

/// The result of one batch.
#[derive(Default)]
struct BatchResult {
    detected: Vec<DetectedKey>,
    /// Keys whose whole value is needed for a decision.
    to_inspect: Vec<LockKey>,
    denied_keys: usize,
    round_trips: Vec<Duration>,
}

/// Reads one batch of keys.
struct BatchReader<'a> {
    clock: &'a Clock,
    patterns: KeyPatterns<'a>,
    prefix_values: &'a mut PrefixValues,
    result: BatchResult,
}

impl BatchReader<'_> {
    async fn read(
        mut self,
        connection: &mut impl RedisTransport,
        keys: &[LockKey],
    ) -> RedisResult<BatchResult> {
        let mut narrowed = Narrowed::default();
        let candidates = self.read_first(connection, keys, &mut narrowed).await?;
        self.read_beginnings(connection, candidates, &mut narrowed)
            .await?;
        self.decide(connection, narrowed).await?;
        Ok(self.result)
    }

    async fn send(
        &mut self,
        batch: Batch,
        connection: &mut impl RedisTransport,
    ) -> RedisResult<Replies> {
        let is_empty = batch.is_empty();
        let replies = batch.send(connection, self.clock).await?;
        if !is_empty {
            self.result.round_trips.push(replies.round_trip);
        }
        Ok(replies)
    }

    /// Asks for the encodings, or for the values where strings are expected. Returns the keys that
    /// can be locks.
    async fn read_first<'a>(
        &mut self,
        connection: &mut impl RedisTransport,
        keys: &'a [LockKey],
        narrowed: &mut Narrowed<'a>,
    ) -> RedisResult<Vec<Candidate<'a>>> {
        let mut batch = Batch::new(false);
        let first_read = |key| (key, self.prefix_values.first_read(key));
        let reads: Vec<_> = keys.iter().map(first_read).collect();
        for (key, read) in &reads {
            match read {
                FirstRead::Encoding => batch.add(&["OBJECT", "ENCODING"], key),
                FirstRead::Value => add_beginning(&mut batch, key),
                FirstRead::ValueAndExpiry => {
                    add_beginning(&mut batch, key);
                    batch.add(&["PTTL"], key);
                }
            }
        }
        let mut replies = self.send(batch, connection).await?;
        let mut candidates = Vec::new();
        for (key, read) in reads {
            let candidate = match read {
                FirstRead::Encoding => self.next_encoding(&mut replies, key)?,
                FirstRead::Value | FirstRead::ValueAndExpiry => {
                    let value = replies.next_reply::<Vec<u8>>()?;
                    let pttl = match read {
                        FirstRead::ValueAndExpiry => Some(replies.next_reply::<i64>()?),
                        FirstRead::Encoding | FirstRead::Value => None,
                    };
                    let read_at = replies.read_at;
                    self.consider_expected_string(key, value, pttl, read_at, narrowed)
                }
            };
            candidates.extend(candidate);
        }
        Ok(candidates)
    }

    fn next_encoding<'a>(
        &mut self,
        replies: &mut Replies,
        key: &'a LockKey,
    ) -> RedisResult<Option<Candidate<'a>>> {
        let encoding = match replies.next_reply::<Option<String>>()? {
            Ok(encoding) => encoding,
            Err(error) => {
                self.record_rejection(&error);
                return Ok(None);
            }
        };
        Ok(match encoding.as_deref() {
            Some("embstr" | "raw") => Some(Candidate::String(key)),
            // A number is a lock under a lock-like name only.
            Some("int") => {
                self.prefix_values.record_string(key, false);
                None
            }
            Some("listpack" | "ziplist" | "quicklist" | "hashtable") => {
                self.prefix_values.record_other(key);
                Some(Candidate::Collection(key))
            }
            // Other encodings are those of large collections and of streams.
            Some(_) => {
                self.prefix_values.record_other(key);
                None
            }
            // The key has expired.
            None => None,
        })
    }

    /// The user may not read the key, or it was moved to another node.
    fn record_rejection(&mut self, error: &RedisError) {
        let is_denied = error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm);
        self.result.denied_keys += usize::from(is_denied);
    }

    /// Considers the reply to a `GETRANGE`, and to a `PTTL` if it was asked with it. Returns the key
    /// if it is not a string.
    fn consider_expected_string<'a>(
        &mut self,
        key: &'a LockKey,
        value: RedisResult<Vec<u8>>,
        pttl: Option<RedisResult<i64>>,
        read_at: ClockReading,
        narrowed: &mut Narrowed<'a>,
    ) -> Option<Candidate<'a>> {
        let value = match value {
            Ok(value) => value,
            Err(error) if error.code() == Some("WRONGTYPE") => {
                self.prefix_values.record_other(key);
                return Some(Candidate::Collection(key));
            }
            Err(error) => {
                self.record_rejection(&error);
                return None;
            }
        };
        // As if the encoding were `int`.
        if is_integer(&value) {
            self.prefix_values.record_string(key, false);
            return None;
        }
        match pttl {
            None => self.consider_value(key, value, read_at, narrowed),
            Some(pttl) => {
                let ttl = pttl.ok().and_then(Ttl::from_pttl)?;
                if value.len() < VALUE_PREFIX_BYTES {
                    self.decide_string(key, value, ttl, read_at);
                } else {
                    self.consider_value(key, value, read_at, narrowed);
                }
            }
        }
        None
    }

    /// Keeps a string that can be a token.
    fn consider_value<'a>(
        &mut self,
        key: &'a LockKey,
        value: Vec<u8>,
        read_at: ClockReading,
        narrowed: &mut Narrowed<'a>,
    ) {
        let is_whole = value.len() < VALUE_PREFIX_BYTES;
        if !is_whole && formats::can_start_token(&value) {
            self.result.to_inspect.push(key.clone());
        }
        let state = string_state(key, value.clone(), SOME_TTL, read_at);
        let is_token = is_whole && detect(&state, self.patterns).is_some();
        self.prefix_values.record_string(key, is_token);
        if is_token {
            narrowed.strings.push((key, value));
        }
    }

    /// Decides about a whole string.
    fn decide_string(&mut self, key: &LockKey, value: Vec<u8>, ttl: Ttl, read_at: ClockReading) {
        let state = string_state(key, value, ttl, read_at);
        self.result.detected.extend(detect(&state, self.patterns));
    }

    /// Reads the first bytes of strings, and type and expiry of collections.
    async fn read_beginnings<'a>(
        &mut self,
        connection: &mut impl RedisTransport,
        candidates: Vec<Candidate<'a>>,
        narrowed: &mut Narrowed<'a>,
    ) -> RedisResult<()> {
        let mut batch = Batch::new(false);
        for candidate in &candidates {
            match candidate {
                Candidate::String(key) => add_beginning(&mut batch, key),
                Candidate::Collection(key) => {
                    batch.add(&["TYPE"], key);
                    batch.add(&["PTTL"], key);
                }
            }
        }
        let mut replies = self.send(batch, connection).await?;
        for candidate in candidates {
            match candidate {
                Candidate::String(key) => {
                    if let Ok(value) = replies.next_reply::<Vec<u8>>()? {
                        self.consider_value(key, value, replies.read_at, narrowed);
                    }
                }
                Candidate::Collection(key) => {
                    let type_name = replies.next_reply::<String>()?;
                    let pttl = replies.next_reply::<i64>()?;
                    let (Ok(type_name), Ok(pttl)) = (type_name, pttl) else {
                        continue;
                    };
                    // Collections that do not expire are locks under certain names only.
                    let expires = matches!(Ttl::from_pttl(pttl), Some(Ttl::Ms(_)));
                    let collection = Collection::of(&type_name).filter(|_| expires);
                    narrowed
                        .collections
                        .extend(collection.map(|collection| (key, collection)));
                }
            }
        }
        Ok(())
    }

    /// Decides about strings by their expiry. One element of a collection rules out most others.
    async fn decide(
        &mut self,
        connection: &mut impl RedisTransport,
        narrowed: Narrowed<'_>,
    ) -> RedisResult<()> {
        let mut batch = Batch::new(false);
        for (key, _) in &narrowed.strings {
            batch.add(&["PTTL"], key);
        }
        for (key, collection) in &narrowed.collections {
            collection.add_sample(&mut batch, key);
        }
        let mut replies = self.send(batch, connection).await?;
        for (key, value) in narrowed.strings {
            let pttl = replies.next_reply::<i64>()?;
            if let Some(ttl) = pttl.ok().and_then(Ttl::from_pttl) {
                self.decide_string(key, value, ttl, replies.read_at);
            }
        }
        for (key, _) in narrowed.collections {
            let can_be_lock = match replies.next_reply::<Vec<Vec<u8>>>()? {
                Ok(elements) => elements
                    .iter()
                    .any(|element| formats::can_be_owner_element(element)),
                // Redis before 6.2 has no `HRANDFIELD`, or the user may not call it.
                Err(_) => true,
            };
            if can_be_lock {
                self.result.to_inspect.push(key.clone());
            }
        }
        Ok(())
    }
}

/// Adds the command for the first bytes of a string.
fn add_beginning(batch: &mut Batch, key: &LockKey) {
    batch.add(&["GETRANGE"], key);
    batch.args(&["0", &(VALUE_PREFIX_BYTES - 1).to_string()]);
}

/// Whether the server stores this value as a number.
fn is_integer(value: &[u8]) -> bool {
    let number = std::str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse::<i64>().ok());
    number.is_some_and(|number| number.to_string().as_bytes() == value)
}

/// Stands for the expiry of a string until it is read: whether the value can be a token does not
/// depend on how long it lasts.
const SOME_TTL: Ttl = Ttl::Ms(1_000);

fn string_state(key: &LockKey, value: Vec<u8>, ttl: Ttl, read_at: ClockReading) -> KeyState {
    KeyState::without_companions(key.clone(), RedisValue::Text(value), ttl, read_at.wall)
}

#[cfg(test)]
mod tests {
    use super::{evicts_by_access, is_integer};

    #[test]
    fn only_what_the_server_prints_for_a_number_is_stored_as_one() {
        for value in ["0", "-7", "1795200485556", "9223372036854775807"] {
            assert!(is_integer(value.as_bytes()), "{value}");
        }
        for value in ["", "007", "+1", "1.5", "9223372036854775808", "12ab"] {
            assert!(!is_integer(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn only_a_cache_that_evicts_by_access_is_affected_by_reads() {
        for (max, policy, is_affected) in [
            (0, "allkeys-lru", false),
            (1_000_000, "noeviction", false),
            (1_000_000, "volatile-ttl", false),
            (1_000_000, "allkeys-lru", true),
            (1_000_000, "volatile-lfu", true),
        ] {
            let info = format!("maxmemory:{max}\r\nmaxmemory_policy:{policy}\r\n");
            assert_eq!(evicts_by_access(&info), is_affected, "{info}");
        }
    }
}
