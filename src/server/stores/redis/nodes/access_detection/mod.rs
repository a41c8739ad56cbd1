//! Detects accesses of other clients to a node's locks from the keys' idle times, with `INFO` and
//! `OBJECT` only. No key is accessed for it.
//!
//! Not detected: clients that only call `EXISTS` or `PTTL` (node-redlock 5), clients that wait for
//! a notification (Redisson), and accesses within the second of a write. Reads by the owner itself
//! count as accesses.

mod key_accesses;
mod server_clock;

use std::collections::HashMap;
use std::time::Duration;

use redis::{Pipeline, RedisError, RedisResult, Value};

use super::Group;
use super::chunks::chunks;
use super::connection::Connection;
use super::node::Node;
use super::write_marks::MarkedKeys;
use crate::domain::reason::Reason;
use crate::domain::{LockKey, ReplicationRole};
use crate::server::clock::MonotonicTime;
pub use key_accesses::AccessCount;
use key_accesses::{
    AccessMark, AccessReading, Deadline, KeyAccesses, KeyLimitation, ReadingFields,
};
use server_clock::AccessTracking;

/// After how many rounds the eviction policy is read again. It rarely changes.
const POLICY_REFRESH_ROUNDS: u32 = 20;

/// A key that was not requested for this many rounds is evicted.
const EVICT_AFTER_ROUNDS: u32 = 60;

/// With a longer round trip, a deadline computed from PTTL is too inaccurate.
const MAX_ROUND_TRIP: Duration = Duration::from_millis(50);

/// Why accesses cannot be detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetectionUnavailable {
    /// This command is not permitted.
    Forbidden(&'static str),
    /// The server has a child process (save, AOF rewrite or replication), and does not update idle
    /// times while it runs.
    BackgroundSave,
    /// The eviction policy records writes only.
    WritesOnly,
    /// The node is a replica. Failed attempts on the primary are not visible on it.
    Replica,
    /// The server does not report its LRU clock.
    NoLruClock,
    /// The value is a small integer that all keys share.
    SharedInteger,
    /// The key has no expiry that a write would change, and the node does not report writes.
    WritesNotReported,
    /// The node is unreachable.
    Unreachable,
}

impl DetectionUnavailable {
    /// The reason that is reported to users.
    pub fn reason(self) -> Reason {
        match self {
            Self::Forbidden(command) => Reason::CommandNotPermitted {
                command: command.into(),
            },
            Self::BackgroundSave => Reason::BackgroundSave,
            Self::WritesOnly => Reason::WritesOnlyPolicy,
            Self::Replica => Reason::AttemptsOnPrimary,
            Self::NoLruClock => Reason::NoLruClock,
            Self::SharedInteger => Reason::SharedInteger,
            Self::WritesNotReported => Reason::WritesNotReported,
            Self::Unreachable => Reason::NodeUnreachable,
        }
    }
}

/// The result for one key in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessState {
    /// The key does not exist, or was not observed for long enough.
    NotObserved,
    /// Accesses to this key cannot be detected.
    Unavailable(DetectionUnavailable),
    /// The number of accesses.
    Measured(AccessCount),
}

/// The result of one round.
#[derive(Debug)]
pub struct DetectionRound {
    /// Why nothing can be detected on this node, if so.
    pub unavailable: Option<DetectionUnavailable>,
    /// One result per key, in request order.
    pub accesses: Vec<AccessState>,
}

/// Detects accesses to the locks of one node.
#[derive(Default)]
pub struct AccessDetector {
    keys: HashMap<u64, (u32, KeyAccesses)>,
    policy: Option<AccessTracking>,
    rounds: u32,
}

impl AccessDetector {
    /// Runs a round for these locks. Returns within the node's command timeout.
    pub async fn round(&mut self, node: &Node, keys: &[LockKey]) -> DetectionRound {
        self.rounds = self.rounds.wrapping_add(1);
        if self.rounds.is_multiple_of(EVICT_AFTER_ROUNDS) {
            let now = self.rounds;
            self.keys
                .retain(|_, (last_round, _)| now.wrapping_sub(*last_round) < EVICT_AFTER_ROUNDS);
        }
        let unavailable = |unavailable| DetectionRound {
            unavailable: Some(unavailable),
            accesses: vec![AccessState::NotObserved; keys.len()],
        };
        if node.role() == Some(ReplicationRole::Replica) {
            return unavailable(DetectionUnavailable::Replica);
        }
        let limit = node.command_timeout();
        let result = node
            .call_inspection(limit, |connection| self.run_round(connection, node, keys))
            .await;
        match result {
            Ok(Ok(accesses)) => DetectionRound {
                unavailable: None,
                accesses,
            },
            Ok(Err(reason)) => unavailable(reason),
            Err(_) => {
                self.keys.clear();
                self.policy = None;
                unavailable(DetectionUnavailable::Unreachable)
            }
        }
    }

    async fn run_round(
        &mut self,
        mut connection: Connection,
        node: &Node,
        keys: &[LockKey],
    ) -> RedisResult<Result<Vec<AccessState>, DetectionUnavailable>> {
        if let Err(reason) = self.refresh_policy(&mut connection).await? {
            return Ok(Err(reason));
        }
        let mut accesses = Vec::with_capacity(keys.len());
        for keys in chunks(keys, node.shortest_round_trip(), |key| key.as_bytes().len()) {
            match self.read_chunk(&mut connection, node, keys).await? {
                Ok(chunk_accesses) => accesses.extend(chunk_accesses),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        Ok(Ok(accesses))
    }

    async fn refresh_policy(
        &mut self,
        connection: &mut Connection,
    ) -> RedisResult<Result<(), DetectionUnavailable>> {
        if self.policy.is_none() || self.rounds.is_multiple_of(POLICY_REFRESH_ROUNDS) {
            let mut command = redis::cmd("INFO");
            command.arg("memory");
            let info: Value = match command.query_async(&mut connection.transport).await {
                Err(error) if error.code() == Some("NOPERM") => {
                    return Ok(Err(DetectionUnavailable::Forbidden("INFO")));
                }
                other => other?,
            };
            let policy = AccessTracking::parse(&info);
            if self.policy.replace(policy) != Some(policy) {
                self.keys.clear();
            }
        }
        Ok(match self.policy {
            Some(AccessTracking::WritesOnly) => Err(DetectionUnavailable::WritesOnly),
            Some(AccessTracking::Frequency | AccessTracking::Idle) | None => Ok(()),
        })
    }

    async fn read_chunk(
        &mut self,
        connection: &mut Connection,
        node: &Node,
        keys: &[LockKey],
    ) -> RedisResult<Result<Vec<AccessState>, DetectionUnavailable>> {
        let write_marks = &node.feed().write_marks;
        // Writes that were reported since the last round explain accesses up to now.
        self.mark(&write_marks.take());
        let by_frequency = self.policy == Some(AccessTracking::Frequency);
        let (subcommand, command) = if by_frequency {
            ("FREQ", "OBJECT FREQ")
        } else {
            ("IDLETIME", "OBJECT IDLETIME")
        };
        let requests: Vec<KeyRequest> = keys
            .iter()
            .map(|key| self.request(key, write_marks.key_hash(key.as_bytes())))
            .collect();
        let (sent_at, sent) = (node.clock().monotonic(), std::time::Instant::now());
        let batch = build_batch(&requests, subcommand);
        let mut replies: Vec<RedisResult<Value>> =
            batch.query_async(&mut connection.transport).await?;
        // After a slow round trip, deadlines are too inaccurate to compare.
        let is_quick = sent.elapsed() <= MAX_ROUND_TRIP;
        let at = is_quick.then(|| sent_at.plus(sent.elapsed() / 2));
        let clocks = match server_clock::clocks(replies.pop(), replies.drain(..2)) {
            Ok(clocks) => clocks,
            Err(unavailable) => return Ok(Err(unavailable)),
        };
        // Writes during the request may explain what the replies show.
        let marked_meanwhile = write_marks.take();
        self.mark(&marked_meanwhile);
        let coverage = node.feed().state().coverage;
        let mut replies = replies.into_iter();
        let mut accesses = Vec::with_capacity(keys.len());
        for request in requests {
            let reply = KeyReply::next(&mut replies, request.fields, at);
            let mark = match reply.mark {
                Ok(Some(n)) if by_frequency => AccessMark::Frequency(n),
                Ok(Some(n)) => AccessMark::Idle(n),
                Ok(None) => {
                    // A key that is created again under this name has a new history.
                    self.keys.remove(&request.key_hash);
                    accesses.push(AccessState::NotObserved);
                    continue;
                }
                Err(error) if error.code() == Some("NOPERM") => {
                    accesses.push(AccessState::Unavailable(DetectionUnavailable::Forbidden(
                        command,
                    )));
                    continue;
                }
                // Most likely the eviction policy was changed. It is read again.
                Err(error) => {
                    self.policy = None;
                    tracing::debug!(node.name = %node.name(), error = %error, "idle times could not be read");
                    return Ok(Err(DetectionUnavailable::NoLruClock));
                }
            };
            let Some((_, key_accesses)) = self.keys.get_mut(&request.key_hash) else {
                continue;
            };
            if !marked_meanwhile.has(request.key_hash) {
                key_accesses.record_reading(&AccessReading {
                    clocks,
                    mark,
                    deadline: reply.deadline,
                    is_shared: reply.is_shared,
                    is_write_reported: coverage.contains(request.key),
                });
            }
            accesses.push(access_state(key_accesses, clocks.before));
        }
        // If a command is denied for every key, it is reported for the node.
        let is_denied = accesses.iter().all(|access| {
            matches!(
                access,
                AccessState::Unavailable(DetectionUnavailable::Forbidden(_))
            )
        });
        if is_denied && !accesses.is_empty() {
            return Ok(Err(DetectionUnavailable::Forbidden(command)));
        }
        Ok(Ok(accesses))
    }

    /// The request for this key in this round.
    fn request<'a>(&mut self, key: &'a LockKey, key_hash: u64) -> KeyRequest<'a> {
        let (last_round, key_accesses) = self.keys.entry(key_hash).or_default();
        *last_round = self.rounds;
        KeyRequest {
            key,
            key_hash,
            fields: key_accesses.required_fields(),
        }
    }

    fn mark(&mut self, marked_keys: &MarkedKeys) {
        if marked_keys.all {
            for (_, key_accesses) in self.keys.values_mut() {
                key_accesses.record_write();
            }
        }
        for (key_hash, in_progress) in &marked_keys.read {
            if let Some((_, key_accesses)) = self.keys.get_mut(key_hash) {
                key_accesses.record_own_read(*in_progress);
            }
        }
        for key_hash in &marked_keys.keys {
            if let Some((_, key_accesses)) = self.keys.get_mut(key_hash) {
                key_accesses.record_write();
            }
        }
    }
}

impl Group {
    /// Records an access by the console itself, which must not count as contention.
    pub fn record_own_access(&self, key: &LockKey) {
        for node in self.nodes_for(key).iter() {
            node.feed().write_marks.mark_written(key.as_bytes());
        }
    }
}

/// The request for one key.
struct KeyRequest<'a> {
    key: &'a LockKey,
    /// The hash under which the key is stored.
    key_hash: u64,
    fields: ReadingFields,
}

/// Builds the commands of a round: the server's clock and child processes, and the access data of
/// the keys between two reads of the clock.
fn build_batch(keys: &[KeyRequest<'_>], subcommand: &str) -> Pipeline {
    let mut batch = Pipeline::with_capacity(keys.len() + 3);
    batch.ignore_errors();
    batch.cmd("INFO").arg("server");
    batch.cmd("INFO").arg("persistence");
    for KeyRequest { key, fields, .. } in keys {
        let key = key.as_bytes();
        batch.cmd("OBJECT").arg(subcommand).arg(key);
        if fields.deadline {
            batch.cmd("PTTL").arg(key);
        }
        if fields.is_shared {
            batch.cmd("OBJECT").arg("REFCOUNT").arg(key);
        }
    }
    batch.cmd("INFO").arg("server");
    batch
}

/// The replies about one key.
struct KeyReply {
    /// The last access; `None` if the key does not exist.
    mark: Result<Option<i64>, RedisError>,
    deadline: Deadline,
    is_shared: Option<bool>,
}

impl KeyReply {
    /// Takes the next replies, in request order. The remaining TTL counts from `at`, if that is
    /// known accurately enough.
    fn next(
        replies: &mut impl Iterator<Item = RedisResult<Value>>,
        fields: ReadingFields,
        at: Option<MonotonicTime>,
    ) -> Self {
        let mut next = || replies.next().map_or(Ok(None), parse_number);
        let mark = next();
        let left = fields.deadline.then(&mut next);
        let shared = fields.is_shared.then(&mut next);
        Self {
            mark,
            deadline: match (at, left) {
                (Some(_), Some(Ok(Some(-1)))) => Deadline::Never,
                (Some(at), Some(Ok(Some(left)))) if left >= 0 => {
                    Deadline::At(at.plus(Duration::from_millis(left.unsigned_abs())))
                }
                (Some(_) | None, _) => Deadline::Unknown,
            },
            is_shared: match shared {
                Some(Ok(Some(count))) => Some(count >= i64::from(i32::MAX)),
                Some(_) | None => None,
            },
        }
    }
}

fn access_state(key_accesses: &KeyAccesses, now: super::batch::LruClock) -> AccessState {
    match key_accesses.limitation() {
        Some(KeyLimitation::SharedInteger) => {
            AccessState::Unavailable(DetectionUnavailable::SharedInteger)
        }
        Some(KeyLimitation::WritesNotReported) => {
            AccessState::Unavailable(DetectionUnavailable::WritesNotReported)
        }
        None => AccessState::Measured(key_accesses.access_count(now)),
    }
}

fn parse_number(reply: RedisResult<Value>) -> Result<Option<i64>, RedisError> {
    Ok(redis::from_redis_value(reply?)?)
}
