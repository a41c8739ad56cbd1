//! Looks at keys of one node: type and TTL of each, and of the values only what is small, without leaving a trace.

use std::time::Duration;

use redis::{RedisError, RedisResult};

use super::Group;
use super::chunks::chunks;
use super::line::Line;
use super::lock_node::Connection;
use super::memory::{Memory, Reading};
use super::node::Node;
use super::trip::{Questions, is_about_a_slot, is_about_one_key};
use super::trouble::Missed;
use super::values::{self, Found};
use crate::domain::LockKey;
use crate::server::clock::Clock;
use crate::server::formats;
use crate::server::sighting::{Companion, Sighting, Ttl, Value};

/// So many keys are looked at within one command time limit; more take proportionally more.
const KEYS_PER_LIMIT: usize = 5_000;

/// Looks at `keys` the way that disturbs least: a sighting or nothing for each, or why the node did not tell.
pub async fn look(node: &Node, keys: &[LockKey]) -> Result<Vec<Option<Sighting>>, Missed> {
    let reading = node.read(limit_of(node, keys), |line| async move {
        let mut look = LookAtNode::new(Some(node), node.clock(), line);
        let seen = look.at_locks(keys).await?;
        match look.elsewhere.pop() {
            Some((_, error)) => Err(error),
            None => Ok(seen),
        }
    });
    reading.await
}

/// What a node of a cluster tells of one key.
#[derive(Debug)]
pub enum Glance {
    /// What it shows; nothing where there is no such key.
    Shown(Option<Sighting>),
    /// Not this node, or nobody, serves its slot at the moment.
    Elsewhere(RedisError),
}

/// The same for keys whose slots are this node's, as far as is known; with `ASKING` for those on their way to it.
pub async fn look_in_slots(
    node: &Node,
    keys: &[LockKey],
    is_asking: bool,
) -> Result<Vec<Glance>, Missed> {
    let limit = limit_of(node, keys);
    let seen = node.observe_slots(limit, is_asking, |line| async move {
        let mut look = LookAtNode::new(Some(node), node.clock(), line);
        let seen = look.at_locks(keys).await?;
        let mut glances: Vec<Glance> = seen.into_iter().map(Glance::Shown).collect();
        for (n, error) in look.elsewhere {
            glances[n] = Glance::Elsewhere(error);
        }
        Ok(glances)
    });
    seen.await
}

fn limit_of(node: &Node, keys: &[LockKey]) -> Duration {
    let limits = u32::try_from(keys.len().div_ceil(KEYS_PER_LIMIT).max(1)).unwrap_or(u32::MAX);
    node.command_timeout().saturating_mul(limits)
}

impl Group {
    /// Nodes told of a write of this key: what was read of it before is not trusted any more.
    pub fn was_written(&self, key: &LockKey) {
        for node in self.seats(key).iter() {
            node.memory().forget(key);
        }
    }
}

/// Looks at one key before or after an act: nothing remembered, whatever trace that leaves. The node's clock is so many
/// milliseconds ahead of ours, as far as that is known.
pub async fn look_closely<C: Connection>(
    line: Line<C>,
    clock: &Clock,
    key: &LockKey,
    node_ahead_ms: i64,
) -> RedisResult<Option<Sighting>> {
    let mut look = LookAtNode::new(None, clock, line);
    look.node_ahead_ms = node_ahead_ms;
    let mut seen = look.at_locks(std::slice::from_ref(key)).await?;
    match look.elsewhere.pop() {
        Some((_, error)) => Err(error),
        None => Ok(seen.pop().flatten()),
    }
}

struct LookAtNode<'a, C> {
    /// Whose memory is used, unless the server itself lets us read without a trace.
    node: Option<&'a Node>,
    clock: &'a Clock,
    line: Line<C>,
    /// By how much the node's clock is ahead of ours.
    node_ahead_ms: i64,
    /// The keys of a cluster that this node does not serve, by their places, and what it says instead.
    elsewhere: Vec<(usize, RedisError)>,
}

impl<'a, C: Connection> LookAtNode<'a, C> {
    fn new(node: Option<&'a Node>, clock: &'a Clock, line: Line<C>) -> Self {
        Self {
            node,
            clock,
            line,
            node_ahead_ms: node.map_or(0, Node::ahead_ms),
            elsewhere: Vec::new(),
        }
    }

    /// Looks at the keys, and then at what stands beside those whose format cannot do without.
    async fn at_locks(&mut self, keys: &[LockKey]) -> RedisResult<Vec<Option<Sighting>>> {
        let mut seen = self.at_all(keys).await?;
        let elsewhere = std::mem::take(&mut self.elsewhere);
        let seen = self.with_companions(&mut seen).await.map(|()| seen);
        // What stands beside a lock may be in another slot; then the lock is taken for what it shows by itself.
        self.elsewhere = elsewhere;
        seen
    }

    async fn with_companions(&mut self, seen: &mut [Option<Sighting>]) -> RedisResult<()> {
        let (mut owners, mut wanted) = (Vec::new(), Vec::new());
        for (i, sighting) in seen.iter().enumerate() {
            for key in sighting.iter().flat_map(formats::companions_of) {
                owners.push(i);
                wanted.push(key);
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        // Where they may not be seen, the lock is taken for what it shows by itself.
        let beside = match self.at_all(&wanted).await {
            Ok(beside) => beside,
            Err(refused) if is_about_one_key(&refused) => return Ok(()),
            Err(failed) => return Err(failed),
        };
        for (i, companion) in owners.into_iter().zip(beside) {
            if let (Some(lock), Some(found)) = (seen[i].as_mut(), companion) {
                lock.companions.push(Companion {
                    key: found.key,
                    value: found.value,
                    ttl: found.ttl,
                });
            }
        }
        Ok(())
    }

    async fn at_all(&mut self, keys: &[LockKey]) -> RedisResult<Vec<Option<Sighting>>> {
        let mut seen = Vec::with_capacity(keys.len());
        for chunk in chunks(keys, |key| key.as_bytes().len()) {
            let mut found = self.at_chunk(chunk).await?;
            // A key that changed its type between two questions is looked at once more, not reported as gone.
            let again: Vec<usize> = (0..chunk.len())
                .filter(|&i| matches!(found[i], Found::Changed))
                .collect();
            if !again.is_empty() {
                let keys: Vec<LockKey> = again.iter().map(|&i| chunk[i].clone()).collect();
                for (i, second) in again.into_iter().zip(self.at_chunk(&keys).await?) {
                    found[i] = second;
                }
            }
            seen.extend(found);
        }
        let is_elsewhere = |found: &Found| match found {
            Found::Refused(error) if is_about_a_slot(error) => Some(error.clone()),
            Found::Refused(_) | Found::Gone | Found::Changed | Found::Seen { .. } => None,
        };
        let elsewhere = seen.iter().enumerate();
        self.elsewhere = elsewhere
            .filter_map(|(n, found)| Some((n, is_elsewhere(found)?)))
            .collect();
        if !self.elsewhere.is_empty() {
            return Ok(self.shown(keys, seen));
        }
        // One key that may not be seen is as good as absent; a node that shows nothing at all has to say so.
        let sees_something = seen.iter().any(|found| !matches!(found, Found::Refused(_)));
        match seen.first() {
            Some(Found::Refused(error)) if !sees_something => Err(error.clone()),
            Some(_) | None => Ok(self.shown(keys, seen)),
        }
    }

    fn shown(&self, keys: &[LockKey], found: Vec<Found>) -> Vec<Option<Sighting>> {
        let each = keys.iter().zip(found);
        let sighting = |(key, found): (&LockKey, Found)| {
            Some(Sighting {
                node_ahead_ms: self.node_ahead_ms,
                ..found.into_sighting(key)?
            })
        };
        each.map(sighting).collect()
    }

    async fn at_chunk(&mut self, keys: &[LockKey]) -> RedisResult<Vec<Found>> {
        let outlines = self.outlines(keys).await?;
        let mut found: Vec<Found> = Vec::with_capacity(keys.len());
        let mut to_read = Vec::new();
        for (i, (key, outline)) in keys.iter().zip(&outlines).enumerate() {
            found.push(match outline {
                Outline::Gone => {
                    self.with_memory(|memory| memory.forget(key));
                    Found::Gone
                }
                Outline::Refused(error) => Found::Refused(error.clone()),
                Outline::There(reading) if !values::can_read(&reading.type_name) => Found::Seen {
                    value: Value::Other {
                        type_name: reading.type_name.clone(),
                    },
                    reading: reading.clone(),
                },
                Outline::There(reading) => match self
                    .with_memory(|memory| memory.recall(key, reading))
                    .flatten()
                {
                    Some(value) => Found::Seen {
                        value,
                        reading: reading.clone(),
                    },
                    None => {
                        to_read.push((i, key, reading.clone()));
                        Found::Changed
                    }
                },
            });
        }
        let remembers = self.remembers();
        let wanted: Vec<_> = to_read
            .iter()
            .map(|(_, key, reading)| (*key, reading.type_name.as_str()))
            .collect();
        self.tell_the_sensor(&wanted, true);
        let values =
            values::read(&mut self.line.connection, self.clock, &wanted, remembers).await?;
        self.tell_the_sensor(&wanted, false);
        for ((i, key, before), value) in to_read.into_iter().zip(values) {
            if let Found::Seen { value, reading } = &value {
                self.with_memory(|memory| {
                    memory.remember(key, value.clone(), reading.clone(), &before)
                });
            }
            found[i] = value;
        }
        self.with_memory(|memory| memory.sweep(self.clock.steady()));
        Ok(found)
    }

    /// Type and TTL, and where it matters the last touch: none of these questions is a touch itself.
    async fn outlines(&mut self, keys: &[LockKey]) -> RedisResult<Vec<Outline>> {
        let remembers = self.remembers();
        let mut questions = Questions::new(remembers);
        for key in keys {
            questions.ask(&["TYPE"], key);
            questions.ask(&["PTTL"], key);
            if remembers {
                questions.ask(&["OBJECT", "IDLETIME"], key);
            }
        }
        let mut trip = questions
            .send(&mut self.line.connection, self.clock)
            .await?;
        let mut outlines = Vec::with_capacity(keys.len());
        for _ in keys {
            let (type_name, pttl) = (trip.answer::<String>()?, trip.answer::<i64>()?);
            // Refused under an LFU policy, which keeps no idle times.
            let idle: Option<i64> = if remembers {
                trip.answer::<Option<i64>>()?.ok().flatten()
            } else {
                None
            };
            outlines.push(match (type_name, pttl) {
                (Ok(type_name), Ok(pttl)) => match Ttl::of_pttl(pttl) {
                    Some(ttl) if type_name != "none" => {
                        let touched = trip
                            .touch_clock
                            .zip(idle)
                            .map(|(clock, idle)| clock.before(idle));
                        Outline::There(Reading {
                            type_name,
                            ttl,
                            at: trip.at,
                            took: trip.took,
                            touched,
                        })
                    }
                    Some(_) | None => Outline::Gone,
                },
                (Err(error), _) | (_, Err(error)) => Outline::Refused(error),
            });
        }
        Ok(outlines)
    }

    /// Reading these values is a touch where the server cannot leave it out.
    fn tell_the_sensor(&self, wanted: &[(&LockKey, &str)], still: bool) {
        if let Some(node) = self.node.filter(|_| self.remembers()) {
            for (key, _) in wanted {
                node.feed().written.read(key.as_bytes(), still);
            }
        }
    }

    fn remembers(&self) -> bool {
        self.node.is_some() && !self.line.leaves_no_trace
    }

    fn with_memory<T>(&self, use_it: impl FnOnce(&mut Memory) -> T) -> Option<T> {
        let node = self.node.filter(|_| self.remembers())?;
        Some(use_it(&mut node.memory()))
    }
}

/// What a key shows without reading its value.
enum Outline {
    Gone,
    Refused(RedisError),
    There(Reading),
}
