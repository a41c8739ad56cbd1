//! Reads values, but never a large one: of a string the first bytes, of a hash only what is known to be small.

use redis::aio::MultiplexedConnection;
use redis::{RedisError, RedisResult};

use super::memory::Reading;
use super::sighting::{LONGEST_VALUE, Sighting, Ttl, Value};
use super::trip::{Questions, Trip};
use crate::domain::LockKey;
use crate::server::clock::Clock;

/// A hash with more fields than this is no lock.
const MOST_FIELDS: u64 = 64;

/// A hash that needs more memory than this is no lock.
const MOST_MEMORY: u64 = 16 * 1024;

/// A hash of unknown size is read up to so many fields.
const MOST_FIELDS_UNMEASURED: u64 = 8;

/// What became of one key in a look.
#[derive(Clone, Debug)]
pub enum Found {
    /// It is not there, or not any more.
    Gone,
    /// It became another type between two questions, or is yet to be read.
    Changed,
    /// The node does not let us see it.
    Refused(RedisError),
    /// It is there.
    Seen {
        /// What it holds.
        value: Value,
        /// Type, TTL and when.
        reading: Reading,
    },
}

impl Found {
    /// The sighting, if there is one.
    pub fn into_sighting(self, key: &LockKey) -> Option<Sighting> {
        match self {
            Self::Seen { value, reading } => Some(Sighting {
                key: key.clone(),
                value,
                ttl: reading.ttl,
                seen_at: reading.at,
            }),
            Self::Gone | Self::Changed | Self::Refused(_) => None,
        }
    }
}

/// How a hash is read.
enum Hash {
    /// Stored in one piece: small by the server's own limits.
    Small,
    /// Its size is not known yet.
    Unmeasured,
}

/// Reads the values of strings and hashes, each together with its PTTL: the two belong to the same owner.
pub async fn read(
    connection: &mut MultiplexedConnection,
    clock: &Clock,
    wanted: &[(&LockKey, &str)],
    with_touch_clock: bool,
) -> RedisResult<Vec<Found>> {
    let mut found = vec![Found::Changed; wanted.len()];
    if wanted.is_empty() {
        return Ok(found);
    }
    let mut questions = Questions::new(with_touch_clock);
    for (key, type_name) in wanted {
        if *type_name == "hash" {
            questions.ask(&["OBJECT", "ENCODING"], key);
        } else {
            questions.ask(&["GETRANGE"], key);
            questions.with(&["0", &LONGEST_VALUE.to_string()]);
            questions.ask(&["PTTL"], key);
        }
    }
    let mut hashes = Vec::new();
    let mut trip = questions.send(connection, clock).await?;
    for (i, (_, type_name)) in wanted.iter().enumerate() {
        if *type_name == "hash" {
            let encoding = trip.answer::<Option<String>>()?;
            hashes.push((
                i,
                match encoding.ok().flatten().as_deref() {
                    Some("listpack" | "ziplist") => Hash::Small,
                    // A hash table, or no permission to ask.
                    Some(_) | None => Hash::Unmeasured,
                },
            ));
        } else {
            let value = trip.answer::<Vec<u8>>()?.map(|bytes| {
                if bytes.len() > LONGEST_VALUE {
                    Value::TooLarge
                } else {
                    Value::Text(bytes)
                }
            });
            found[i] = seen(value, "string", &mut trip)?;
        }
    }

    let small: Vec<usize> = hashes
        .iter()
        .filter(|(_, hash)| matches!(hash, Hash::Small))
        .map(|(i, _)| *i)
        .collect();
    let unmeasured = hashes
        .into_iter()
        .filter(|(_, hash)| matches!(hash, Hash::Unmeasured))
        .map(|(i, _)| i)
        .collect();
    let measured = measure(connection, clock, wanted, unmeasured, &mut found).await?;
    let to_read: Vec<usize> = small.into_iter().chain(measured).collect();
    let mut questions = Questions::new(with_touch_clock && !to_read.is_empty());
    for &i in &to_read {
        questions.ask(&["HGETALL"], wanted[i].0);
        questions.ask(&["PTTL"], wanted[i].0);
    }
    let mut trip = questions.send(connection, clock).await?;
    for i in to_read {
        let value = trip.answer::<Vec<(Vec<u8>, Vec<u8>)>>()?.map(|mut fields| {
            fields.sort();
            Value::Hash(fields)
        });
        found[i] = seen(value, "hash", &mut trip)?;
    }
    Ok(found)
}

/// Which of these hashes are small enough to be read. The others are found to be too large, or gone.
async fn measure(
    connection: &mut MultiplexedConnection,
    clock: &Clock,
    wanted: &[(&LockKey, &str)],
    hashes: Vec<usize>,
    found: &mut [Found],
) -> RedisResult<Vec<usize>> {
    let mut questions = Questions::new(false);
    for &i in &hashes {
        questions.ask(&["HLEN"], wanted[i].0);
        questions.ask(&["MEMORY", "USAGE"], wanted[i].0);
        questions.ask(&["PTTL"], wanted[i].0);
    }
    let mut trip = questions.send(connection, clock).await?;
    let mut small = Vec::new();
    for i in hashes {
        let (fields, memory) = (trip.answer::<u64>()?, trip.answer::<Option<u64>>()?);
        let is_small = |fields: u64| match memory {
            Ok(memory) => fields <= MOST_FIELDS && memory.unwrap_or(0) <= MOST_MEMORY,
            // Not permitted: a few fields are a risk worth taking, Redisson's locks have one.
            Err(_) => fields <= MOST_FIELDS_UNMEASURED,
        };
        let measured = fields.map(|fields| {
            if is_small(fields) {
                Value::Hash(Vec::new())
            } else {
                Value::TooLarge
            }
        });
        match seen(measured, "hash", &mut trip)? {
            Found::Seen {
                value: Value::Hash(_),
                ..
            } => small.push(i),
            otherwise => found[i] = otherwise,
        }
    }
    Ok(small)
}

/// A value and the PTTL that follows it.
fn seen(value: RedisResult<Value>, type_name: &str, trip: &mut Trip) -> RedisResult<Found> {
    let pttl = trip.answer::<i64>()?;
    Ok(match (value, pttl.map(Ttl::of_pttl)) {
        (Ok(_), Ok(None)) => Found::Gone,
        (Ok(value), Ok(Some(ttl))) => {
            let (type_name, touched) = (type_name.to_owned(), trip.touch_clock);
            Found::Seen {
                value,
                reading: Reading {
                    type_name,
                    ttl,
                    at: trip.at,
                    took: trip.took,
                    touched,
                },
            }
        }
        (Err(error), _) if error.code() == Some("WRONGTYPE") => Found::Changed,
        (Err(error), _) | (_, Err(error)) => Found::Refused(error),
    })
}
