//! Reads values, but never large ones: the first bytes of a string, and other types only if they
//! are known to be small.

use redis::{RedisError, RedisResult};

use super::batch::{Batch, Replies};
use super::lock_node::RedisTransport;
use super::value_cache::ReadMetadata;
use crate::domain::LockKey;
use crate::server::clock::Clock;
use crate::server::stores::redis::key_state::{KeyState, MAX_STRING_BYTES, RedisValue, Ttl};

/// A key with more fields, members or elements than this is not a lock.
const MAX_MEMBERS: u64 = 64;

/// A key that uses more memory than this is not a lock.
const MAX_MEMORY_BYTES: u64 = 16 * 1024;

/// The maximum number of members that are read if MEMORY USAGE is not permitted.
const MAX_MEMBERS_UNMEASURED: u64 = 8;

/// The result of reading one key.
#[derive(Clone, Debug)]
pub enum ReadResult {
    /// The key does not exist, or no longer.
    Missing,
    /// The key changed its type between two requests, or has not been read yet.
    Changed,
    /// The node rejected the command.
    Rejected(RedisError),
    /// The key exists.
    Present {
        /// The key's value.
        value: RedisValue,
        /// Type, TTL and time of the read.
        metadata: ReadMetadata,
    },
}

impl ReadResult {
    /// The key's state, if it exists.
    pub fn into_key_state(self, key: &LockKey) -> Option<KeyState> {
        match self {
            Self::Present { value, metadata } => Some(KeyState {
                read_uncertainty: metadata.round_trip / 2,
                ..KeyState::without_companions(
                    key.clone(),
                    value,
                    metadata.ttl,
                    metadata.read_at.wall,
                )
            }),
            Self::Missing | Self::Changed | Self::Rejected(_) => None,
        }
    }
}

/// The collection types, and the commands that read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collection {
    Hash,
    Set,
    SortedSet,
    List,
}

impl Collection {
    const ALL: [Self; 4] = [Self::Hash, Self::Set, Self::SortedSet, Self::List];

    pub(super) fn of(type_name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|collection| collection.name() == type_name)
    }

    /// The name that `TYPE` returns.
    fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Set => "set",
            Self::SortedSet => "zset",
            Self::List => "list",
        }
    }

    fn count_command(self) -> &'static str {
        match self {
            Self::Hash => "HLEN",
            Self::Set => "SCARD",
            Self::SortedSet => "ZCARD",
            Self::List => "LLEN",
        }
    }

    fn add(self, batch: &mut Batch, key: &LockKey) {
        match self {
            Self::Hash => batch.add(&["HGETALL"], key),
            Self::Set => batch.add(&["SMEMBERS"], key),
            Self::SortedSet => {
                batch.add(&["ZRANGE"], key);
                batch.args(&["0", "-1", "WITHSCORES"]);
            }
            Self::List => {
                batch.add(&["LRANGE"], key);
                batch.args(&["0", "-1"]);
            }
        }
    }

    /// Reads one field, member or element, at a cost that does not depend on the size.
    pub(super) fn add_sample(self, batch: &mut Batch, key: &LockKey) {
        match self {
            Self::Hash => batch.add(&["HRANDFIELD"], key),
            Self::Set => batch.add(&["SRANDMEMBER"], key),
            Self::SortedSet => {
                batch.add(&["ZRANGE"], key);
                batch.args(&["0", "0"]);
            }
            Self::List => {
                batch.add(&["LINDEX"], key);
                batch.args(&["0"]);
            }
        }
    }

    fn next_reply(self, replies: &mut Replies) -> RedisResult<RedisResult<RedisValue>> {
        Ok(match self {
            Self::Hash => replies
                .next_reply::<Vec<(Vec<u8>, Vec<u8>)>>()?
                .map(|mut fields| {
                    // HGETALL has no defined order; sorting makes two reads comparable.
                    fields.sort();
                    RedisValue::Hash(fields)
                }),
            Self::Set => replies.next_reply::<Vec<Vec<u8>>>()?.map(|mut members| {
                // SMEMBERS has no defined order either.
                members.sort();
                RedisValue::Set(members)
            }),
            Self::SortedSet => replies
                .next_reply::<Vec<(Vec<u8>, f64)>>()?
                .map(RedisValue::SortedSet),
            Self::List => replies.next_reply::<Vec<Vec<u8>>>()?.map(RedisValue::List),
        })
    }
}

/// Whether keys of this type are read.
pub fn is_readable(type_name: &str) -> bool {
    type_name == "string" || Collection::of(type_name).is_some()
}

/// Reads values, each together with its PTTL, so that both belong to the same owner.
pub async fn read_values(
    connection: &mut impl RedisTransport,
    clock: &Clock,
    requests: &[(&LockKey, &str)],
    with_lru_clock: bool,
) -> RedisResult<Vec<ReadResult>> {
    let mut results = vec![ReadResult::Changed; requests.len()];
    if requests.is_empty() {
        return Ok(results);
    }
    let mut batch = Batch::new(with_lru_clock);
    for (key, type_name) in requests {
        if Collection::of(type_name).is_some() {
            batch.add(&["OBJECT", "ENCODING"], key);
        } else {
            batch.add(&["GETRANGE"], key);
            // One byte more than the limit, so that a longer value is recognised as too large.
            batch.args(&["0", &MAX_STRING_BYTES.to_string()]);
            batch.add(&["PTTL"], key);
        }
    }
    let (mut small, mut unmeasured) = (Vec::new(), Vec::new());
    let mut replies = batch.send(connection, clock).await?;
    for (i, (_, type_name)) in requests.iter().enumerate() {
        if let Some(collection) = Collection::of(type_name) {
            let encoding = replies.next_reply::<Option<String>>()?;
            match encoding.ok().flatten().as_deref() {
                // A compact encoding: small by the server's own limits.
                Some("listpack" | "ziplist" | "intset") => small.push((i, collection)),
                // A larger encoding, or OBJECT ENCODING is not permitted.
                Some(_) | None => unmeasured.push((i, collection)),
            }
        } else {
            let value = replies.next_reply::<Vec<u8>>()?.map(|bytes| {
                if bytes.len() > MAX_STRING_BYTES {
                    RedisValue::TooLarge
                } else {
                    RedisValue::Text(bytes)
                }
            });
            results[i] = value_with_ttl(value, "string", &mut replies)?;
        }
    }

    let measured = select_small(connection, clock, requests, unmeasured, &mut results).await?;
    let to_read: Vec<(usize, Collection)> = small.into_iter().chain(measured).collect();
    let mut batch = Batch::new(with_lru_clock && !to_read.is_empty());
    for &(i, collection) in &to_read {
        collection.add(&mut batch, requests[i].0);
        batch.add(&["PTTL"], requests[i].0);
    }
    let mut replies = batch.send(connection, clock).await?;
    for (i, collection) in to_read {
        let value = collection.next_reply(&mut replies)?;
        results[i] = value_with_ttl(value, collection.name(), &mut replies)?;
    }
    Ok(results)
}

/// Selects the keys that are small enough to be read. The results of the others are set to too
/// large or missing.
async fn select_small(
    connection: &mut impl RedisTransport,
    clock: &Clock,
    requests: &[(&LockKey, &str)],
    unmeasured: Vec<(usize, Collection)>,
    results: &mut [ReadResult],
) -> RedisResult<Vec<(usize, Collection)>> {
    let mut batch = Batch::new(false);
    for &(i, collection) in &unmeasured {
        batch.add(&[collection.count_command()], requests[i].0);
        batch.add(&["MEMORY", "USAGE"], requests[i].0);
        batch.add(&["PTTL"], requests[i].0);
    }
    let mut replies = batch.send(connection, clock).await?;
    let mut small = Vec::new();
    for (i, collection) in unmeasured {
        let (members, memory) = (
            replies.next_reply::<u64>()?,
            replies.next_reply::<Option<u64>>()?,
        );
        let is_small = |members: u64| match memory {
            Ok(memory) => members <= MAX_MEMBERS && memory.unwrap_or(0) <= MAX_MEMORY_BYTES,
            // MEMORY USAGE is not permitted. Reading a few members is acceptable: most locks have
            // one.
            Err(_) => members <= MAX_MEMBERS_UNMEASURED,
        };
        let measured = members.map(|members| {
            if is_small(members) {
                RedisValue::Hash(Vec::new())
            } else {
                RedisValue::TooLarge
            }
        });
        match value_with_ttl(measured, collection.name(), &mut replies)? {
            ReadResult::Present {
                value: RedisValue::Hash(_),
                ..
            } => small.push((i, collection)),
            otherwise => results[i] = otherwise,
        }
    }
    Ok(small)
}

/// Combines a value with the PTTL reply that follows it.
fn value_with_ttl(
    value: RedisResult<RedisValue>,
    type_name: &str,
    replies: &mut Replies,
) -> RedisResult<ReadResult> {
    let pttl = replies.next_reply::<i64>()?;
    Ok(match (value, pttl.map(Ttl::from_pttl)) {
        (Ok(_), Ok(None)) => ReadResult::Missing,
        (Ok(value), Ok(Some(ttl))) => {
            let (type_name, accessed_at) = (type_name.to_owned(), replies.lru_clock);
            ReadResult::Present {
                value,
                metadata: ReadMetadata {
                    type_name,
                    ttl,
                    read_at: replies.read_at,
                    round_trip: replies.round_trip,
                    accessed_at,
                },
            }
        }
        // The key changed its type since TYPE was read.
        (Err(error), _) if error.code() == Some("WRONGTYPE") => ReadResult::Changed,
        (Err(error), _) | (_, Err(error)) => ReadResult::Rejected(error),
    })
}
