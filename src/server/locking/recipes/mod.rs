//! How a lock is released for its owner: what one node is told, by the format's recipe and by what the node showed.
//!
//! | recipe | where the owner stands | what goes with it | who is woken |
//! |---|---|---|---|
//! | value | the whole string | | |
//! | value and signal | the whole string | | a push to `lock-signal:…`, for a second |
//! | value and publish | the whole string | | the registry's channel |
//! | Redisson's hash | its only field | late heads of the queue | one waiter of each instance, and the queue's head |
//! | read-write | one field | its `rwlock_timeout` keys; the TTL becomes the longest reader's | whoever waits, once nobody is left |
//! | multi | a value's three fields | | one waiter of each instance |
//! | permit | a member | one more permit is left | whoever waits for permits |
//! | members | members of a sorted set | Symfony: a writer's mark; the key ends with its last member | |
//! | reader | a member of a set | | |
//! | field | a field with its value | redis-semaphore (Ruby): the token goes back to its list | who blocks on that list |
//! | job | a field with its value | with the last one: the digest and what is said of it | who blocks on the queue |
//! | entry | one pair of an array | | |
//!
//! Each is one script, so one atomic step on a node. Of the hold that a look just showed it also compares what that format
//! has: how often it was entered, its deadline, its fence, the time it carries. In a cluster
//! Redisson's waiters subscribe to the channels of the shard, so these are published to as well (`SPUBLISH`).
//!
//! Two things differ from what the libraries do themselves. Redisson's writer goes with what its own thread reads, because
//! nobody but that thread could read beside it. And sidekiq-unique-jobs' digest is unlocked as a job does it, not deleted:
//! the queue of others, and the lock of a job that runs (`…:RUN`), are theirs.

pub mod permissions;
mod redisson;

use redis::{RedisResult, Script};

use super::Token;
use super::layouts::redisson::{Subscribers, publishing};
use super::layouts::release_string;
use super::transaction::{Expected, delete_string, is_forbidden};
use crate::domain::library::Recipe;
use crate::domain::{LockKey, Mode, Timestamp};
use crate::server::formats::{Recognised, SeenOwner, redis_semaphore, redis_semaphore_rb, suo};
use crate::server::nodes::line::Line;
use crate::server::nodes::lock_node::{Connection, LockNode};
use crate::server::nodes::scripts::{
    FORCE_FIELD, FORCE_MEMBERS, FORCE_SET, FORCE_SIDEKIQ, FORCE_STRING, FORCE_SUO, Parted,
};
use crate::server::sighting::{Sighting, Ttl, Value};

/// A registry's name may have colons in it: so many channels are told at most.
const MOST_CHANNELS: usize = 8;
/// What lists the digests of sidekiq-unique-jobs.
const DIGESTS: [&[u8]; 2] = [b"uniquejobs:digests", b"uniquejobs:expiring_digests"];
/// Symfony's mark of a writer.
const WRITE: &[u8] = b"__write__";

/// What a node is told.
pub enum Order {
    /// Delete the string if it has this value.
    Delete {
        /// The value.
        owner: Token,
        /// The highest PTTL that the hold may have; nothing where that proves nothing. Then it takes no script where the
        /// server has a command for it.
        highest_pttl: Option<i64>,
    },
    /// Run this script.
    Run {
        /// The script.
        script: &'static Script,
        /// Its keys.
        keys: Vec<Vec<u8>>,
        /// Its arguments.
        arguments: Vec<Vec<u8>>,
        /// The channels on which it wakes who waits, and who subscribes to them.
        channels: (Vec<Vec<u8>>, Subscribers),
    },
}

impl Order {
    /// The same, waking those who subscribe to these channels.
    fn waking(self, woken: Vec<Vec<u8>>) -> Self {
        match self {
            Self::Run {
                script,
                keys,
                arguments,
                channels: _,
            } => Self::Run {
                script,
                keys,
                arguments,
                channels: (woken, Subscribers::OfShards),
            },
            Self::Delete { .. } => self,
        }
    }

    /// Tells the node. A string alone is compared and deleted in a transaction where scripts are forbidden.
    pub async fn carry_out<N: LockNode>(
        &self,
        node: &N,
        line: Line<N::Connection>,
        key: &LockKey,
    ) -> RedisResult<Parted> {
        let told = self.run(line, key).await;
        match (told, self) {
            (
                Err(refused),
                Self::Delete {
                    owner,
                    highest_pttl,
                },
            ) if is_forbidden(&refused) => {
                let expected = Expected {
                    key,
                    owner: owner.expose(),
                    highest_pttl: *highest_pttl,
                };
                let mut own = node.own_line().await?;
                delete_string(&mut own.connection, &expected).await
            }
            (told, _) => told,
        }
    }

    async fn run(&self, mut line: Line<impl Connection>, key: &LockKey) -> RedisResult<Parted> {
        match self {
            Self::Delete {
                owner,
                highest_pttl: None,
            } => release_string(line, key, owner).await.map(Parted::Told),
            Self::Delete {
                owner,
                highest_pttl: Some(highest),
            } => {
                let mut script = FORCE_STRING.key(key.as_bytes());
                script.arg(*highest).arg(owner.expose());
                script.invoke_async(&mut line.connection).await
            }
            Self::Run {
                script,
                keys,
                arguments,
                channels: (channels, subscribers),
            } => {
                let mut script = script.prepare_invoke();
                for key in keys {
                    script.key(key);
                }
                for argument in arguments {
                    script.arg(argument);
                }
                for argument in publishing(&line, channels, *subscribers) {
                    script.arg(argument);
                }
                script.invoke_async(&mut line.connection).await
            }
        }
    }
}

/// What a look showed: the lock, and which of its owners is to go.
pub struct Shown<'a> {
    /// The key.
    pub sighting: &'a Sighting,
    /// What it was taken for.
    pub lock: &'a Recognised,
    /// Whose hold it is about.
    pub seen: &'a SeenOwner,
}

impl Shown<'_> {
    /// What to tell the node that showed this; nothing where value and format do not go together.
    pub fn order(&self, now: Timestamp) -> Option<Order> {
        let recipe = self.seen.owner.format.library().recipe;
        match (&self.sighting.value, recipe) {
            (Value::Text(value), Recipe::SuoEntry) => self.entry(value),
            (Value::Text(value), _) if value == self.owner() => self.string(recipe),
            (Value::Hash(_), Recipe::RedissonHash) => Some(self.redisson(now)),
            (Value::Hash(_), Recipe::RedissonReadWrite) => Some(self.read_write()),
            (Value::Hash(fields), Recipe::RedissonMulti) => self.multi(fields),
            (Value::Hash(fields), Recipe::SidekiqJob) => self.job(fields),
            (Value::Hash(fields), Recipe::TokenBack) => self.token(fields),
            (Value::Hash(fields), Recipe::Field) => {
                let (field, value) = fields.iter().find(|(field, _)| field == self.owner())?;
                Some(run(&FORCE_FIELD, [self.key()], [b"", &field[..], value]))
            }
            (Value::SortedSet(_), Recipe::RedissonPermit) => self.permit(),
            (Value::SortedSet(members), Recipe::SymfonyMember | Recipe::Member) => {
                self.members(members, recipe)
            }
            (Value::Set(_), Recipe::ReaderOrWriter) => {
                Some(run(&FORCE_SET, [self.key()], [b"", self.owner()]))
            }
            (
                Value::Text(_)
                | Value::Hash(_)
                | Value::Set(_)
                | Value::SortedSet(_)
                | Value::List(_)
                | Value::TooLarge
                | Value::Other { .. },
                _,
            ) => None,
        }
    }

    fn key(&self) -> &[u8] {
        self.sighting.key.as_bytes()
    }

    fn owner(&self) -> &[u8] {
        self.seen.bytes.expose()
    }

    /// The deadline must not have moved up since the look, where the owner's bytes would not tell.
    fn highest_pttl(&self) -> Option<i64> {
        match self.sighting.ttl {
            Ttl::Ms(left) if self.lock.format.reuses_owners() => i64::try_from(left).ok(),
            Ttl::Ms(_) | Ttl::Never => None,
        }
    }

    fn highest(&self) -> Vec<u8> {
        self.highest_pttl().map_or_else(Vec::new, number)
    }

    fn holds(&self) -> Vec<u8> {
        number(self.seen.owner.holds.unwrap_or(1))
    }

    fn string(&self, recipe: Recipe) -> Option<Order> {
        let key = self.key();
        let mut keys = vec![key.to_vec()];
        let mut channels = Vec::new();
        match recipe {
            Recipe::ValueAndSignal => {
                let name = key.strip_prefix(b"lock:")?;
                keys.push([b"lock-signal:", name].concat());
            }
            Recipe::ValueAndPublish => channels = registry_channels(key),
            Recipe::Value
            | Recipe::SymfonyMember
            | Recipe::Member
            | Recipe::ReaderOrWriter
            | Recipe::Field => {}
            Recipe::RedissonHash
            | Recipe::RedissonReadWrite
            | Recipe::RedissonMulti
            | Recipe::RedissonPermit
            | Recipe::SidekiqJob
            | Recipe::TokenBack
            | Recipe::SuoEntry
            | Recipe::Nothing => return None,
        }
        if keys.len() == 1 && channels.is_empty() {
            return Some(Order::Delete {
                owner: Token::from_bytes(self.owner()),
                highest_pttl: self.highest_pttl(),
            });
        }
        Some(Order::Run {
            script: &FORCE_STRING,
            keys,
            arguments: vec![self.highest(), self.owner().to_vec()],
            channels: (channels, Subscribers::OfTheCluster),
        })
    }

    fn members(&self, members: &[(Vec<u8>, f64)], recipe: Recipe) -> Option<Order> {
        let is_theirs = |member: &[u8]| {
            member == self.owner()
                || (recipe == Recipe::Member
                    && redis_semaphore::permit(member) == Some(self.owner()))
        };
        let theirs = || members.iter().filter(|(member, _)| is_theirs(member));
        let (first, _) = theirs().next()?;
        let latest = theirs().map(|(_, score)| *score).fold(f64::MIN, f64::max);
        let highest = if self.lock.format.reuses_owners() {
            format!("{latest}").into_bytes()
        } else {
            Vec::new()
        };
        let is_symfony = recipe == Recipe::SymfonyMember;
        let mark: &[u8] = if is_symfony && self.lock.mode == Mode::Exclusive {
            WRITE
        } else {
            b""
        };
        let told = [
            Vec::new(),
            first.clone(),
            highest,
            mark.to_vec(),
            number(u8::from(is_symfony)),
        ];
        let others = theirs().skip(1).map(|(member, _)| member.clone());
        Some(run(
            &FORCE_MEMBERS,
            [self.key()],
            told.into_iter().chain(others),
        ))
    }

    fn job(&self, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<Order> {
        let digest = self.key().strip_suffix(b":LOCKED")?;
        let (id, since) = fields.iter().find(|(id, _)| id == self.owner())?;
        let told = [b"", &id[..], since, digest];
        Some(run(
            &FORCE_SIDEKIQ,
            [self.key()],
            told.into_iter().chain(DIGESTS),
        ))
    }

    fn token(&self, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<Order> {
        let pool = self.key().strip_suffix(b":GRABBED")?;
        let available = [pool, b":AVAILABLE"].concat();
        let mut taken = fields.iter();
        let (token, since) =
            taken.find(|(token, since)| redis_semaphore_rb::owner(token, since) == self.owner())?;
        Some(run(
            &FORCE_FIELD,
            [self.key(), &available],
            [b"", &token[..], since],
        ))
    }

    fn entry(&self, value: &[u8]) -> Option<Order> {
        let (rest, is_empty) = suo::without(value, self.owner())?;
        let is_empty = number(u8::from(is_empty));
        Some(run(
            &FORCE_SUO,
            [self.key()],
            [b"", value, &rest, &is_empty],
        ))
    }
}

/// `<registry>:<lock>` is told on `<registry>-channel:<registry>:<lock>`. Where the registry's name has colons itself, on one
/// channel for each name that it may be.
fn registry_channels(key: &[u8]) -> Vec<Vec<u8>> {
    let colons = (0..key.len()).filter(|&at| key[at] == b':');
    let channel = |at: usize| [&key[..at], b"-channel:", key].concat();
    colons.take(MOST_CHANNELS).map(channel).collect()
}

fn number(n: impl ToString) -> Vec<u8> {
    n.to_string().into_bytes()
}

fn run<const N: usize, A: AsRef<[u8]>>(
    script: &'static Script,
    keys: [&[u8]; N],
    arguments: impl IntoIterator<Item = A>,
) -> Order {
    Order::Run {
        script,
        keys: keys.map(<[u8]>::to_vec).into(),
        arguments: arguments
            .into_iter()
            .map(|argument| argument.as_ref().to_vec())
            .collect(),
        channels: (Vec::new(), Subscribers::OfTheCluster),
    }
}
