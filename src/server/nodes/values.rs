//! Reads values, but never a large one: of a string the first bytes, of everything else only what is known to be small.

use redis::{RedisError, RedisResult};

use super::lock_node::Connection;
use super::memory::Reading;
use super::trip::{Questions, Trip};
use crate::domain::LockKey;
use crate::server::clock::Clock;
use crate::server::sighting::{LONGEST_VALUE, Sighting, Ttl, Value};

/// What has more fields, members or elements than this is no lock.
const MOST_MEMBERS: u64 = 64;

/// What needs more memory than this is no lock.
const MOST_MEMORY: u64 = 16 * 1024;

/// Where the memory may not be asked for, so many members are read.
const MOST_UNMEASURED: u64 = 8;

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
            Self::Seen { value, reading } => Some(Sighting::alone(
                key.clone(),
                value,
                reading.ttl,
                reading.at.wall,
            )),
            Self::Gone | Self::Changed | Self::Refused(_) => None,
        }
    }
}

/// What is made of several parts, and how each kind is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Hash,
    Set,
    SortedSet,
    List,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Hash, Self::Set, Self::SortedSet, Self::List];

    fn of(type_name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == type_name)
    }

    /// As `TYPE` names it.
    fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Set => "set",
            Self::SortedSet => "zset",
            Self::List => "list",
        }
    }

    fn count(self) -> &'static str {
        match self {
            Self::Hash => "HLEN",
            Self::Set => "SCARD",
            Self::SortedSet => "ZCARD",
            Self::List => "LLEN",
        }
    }

    fn ask(self, questions: &mut Questions, key: &LockKey) {
        match self {
            Self::Hash => questions.ask(&["HGETALL"], key),
            Self::Set => questions.ask(&["SMEMBERS"], key),
            Self::SortedSet => {
                questions.ask(&["ZRANGE"], key);
                questions.with(&["0", "-1", "WITHSCORES"]);
            }
            Self::List => {
                questions.ask(&["LRANGE"], key);
                questions.with(&["0", "-1"]);
            }
        }
    }

    fn answer(self, trip: &mut Trip) -> RedisResult<RedisResult<Value>> {
        Ok(match self {
            Self::Hash => trip.answer::<Vec<(Vec<u8>, Vec<u8>)>>()?.map(|mut fields| {
                fields.sort();
                Value::Hash(fields)
            }),
            Self::Set => trip.answer::<Vec<Vec<u8>>>()?.map(|mut members| {
                members.sort();
                Value::Set(members)
            }),
            Self::SortedSet => trip.answer::<Vec<(Vec<u8>, f64)>>()?.map(Value::SortedSet),
            Self::List => trip.answer::<Vec<Vec<u8>>>()?.map(Value::List),
        })
    }
}

/// Whether keys of this type are read at all.
pub fn can_read(type_name: &str) -> bool {
    type_name == "string" || Kind::of(type_name).is_some()
}

/// Reads values, each together with its PTTL: the two belong to the same owner.
pub async fn read(
    connection: &mut impl Connection,
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
        if Kind::of(type_name).is_some() {
            questions.ask(&["OBJECT", "ENCODING"], key);
        } else {
            questions.ask(&["GETRANGE"], key);
            questions.with(&["0", &LONGEST_VALUE.to_string()]);
            questions.ask(&["PTTL"], key);
        }
    }
    let (mut small, mut unmeasured) = (Vec::new(), Vec::new());
    let mut trip = questions.send(connection, clock).await?;
    for (i, (_, type_name)) in wanted.iter().enumerate() {
        if let Some(kind) = Kind::of(type_name) {
            let encoding = trip.answer::<Option<String>>()?;
            match encoding.ok().flatten().as_deref() {
                // Stored in one piece: small by the server's own limits.
                Some("listpack" | "ziplist" | "intset") => small.push((i, kind)),
                // Something larger, or no permission to ask.
                Some(_) | None => unmeasured.push((i, kind)),
            }
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

    let measured = measure(connection, clock, wanted, unmeasured, &mut found).await?;
    let to_read: Vec<(usize, Kind)> = small.into_iter().chain(measured).collect();
    let mut questions = Questions::new(with_touch_clock && !to_read.is_empty());
    for &(i, kind) in &to_read {
        kind.ask(&mut questions, wanted[i].0);
        questions.ask(&["PTTL"], wanted[i].0);
    }
    let mut trip = questions.send(connection, clock).await?;
    for (i, kind) in to_read {
        let value = kind.answer(&mut trip)?;
        found[i] = seen(value, kind.name(), &mut trip)?;
    }
    Ok(found)
}

/// Which of these are small enough to be read. The others are found to be too large, or gone.
async fn measure(
    connection: &mut impl Connection,
    clock: &Clock,
    wanted: &[(&LockKey, &str)],
    unmeasured: Vec<(usize, Kind)>,
    found: &mut [Found],
) -> RedisResult<Vec<(usize, Kind)>> {
    let mut questions = Questions::new(false);
    for &(i, kind) in &unmeasured {
        questions.ask(&[kind.count()], wanted[i].0);
        questions.ask(&["MEMORY", "USAGE"], wanted[i].0);
        questions.ask(&["PTTL"], wanted[i].0);
    }
    let mut trip = questions.send(connection, clock).await?;
    let mut small = Vec::new();
    for (i, kind) in unmeasured {
        let (members, memory) = (trip.answer::<u64>()?, trip.answer::<Option<u64>>()?);
        let is_small = |members: u64| match memory {
            Ok(memory) => members <= MOST_MEMBERS && memory.unwrap_or(0) <= MOST_MEMORY,
            // Not permitted: a few members are a risk worth taking, most locks have one.
            Err(_) => members <= MOST_UNMEASURED,
        };
        let measured = members.map(|members| {
            if is_small(members) {
                Value::Hash(Vec::new())
            } else {
                Value::TooLarge
            }
        });
        match seen(measured, kind.name(), &mut trip)? {
            Found::Seen {
                value: Value::Hash(_),
                ..
            } => small.push((i, kind)),
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
