//! Force-release strategies: the command that releases a lock on one node, by the strategy of its
//! format and the value that the node reported.
//!
//! | strategy | owner is stored in | also changes | wakes |
//! |---|---|---|---|
//! | value | the whole string | | |
//! | value and signal | the whole string | | a push to `lock-signal:…`, for a second |
//! | value and publish | the whole string | | subscribers of the registry's channel |
//! | Redisson's hash | its only field | expired heads of the wait queue | one waiter of each instance, and the head of the queue |
//! | read-write | one field | its `rwlock_timeout` keys; the TTL becomes the longest reader's | the waiters, when no holder is left |
//! | multi | three fields of a value | | one waiter of each instance |
//! | permit | a member | the number of free permits | waiters for permits |
//! | members | members of a sorted set | Symfony: the member for a write lock; the key expires with its last member | |
//! | reader | a member of a set | | |
//! | field | a field with its value | redis-semaphore (Ruby): the token returns to its list | clients blocked on that list |
//! | job | a field with its value | with the last field: the digest and its metadata | clients blocked on the queue |
//! | entry | one pair of an array | | |
//!
//! Each strategy is one script and therefore one atomic step on a node. The script also compares
//! what the format offers to identify the hold that was just read: hold count, expiry, fencing
//! token, or a stored time. In a cluster Redisson's waiters subscribe to sharded channels, so these
//! are published to as well (`SPUBLISH`).
//!
//! Two things differ from what the libraries do themselves. Releasing Redisson's writer also
//! removes the reads of the same thread, because only that thread can read beside its own write
//! lock. And a sidekiq-unique-jobs digest is unlocked as a job does it, not deleted: the queue of
//! other jobs, and the lock of a running job (`…:RUN`), belong to others.

pub mod permissions;
mod redisson;

use redis::{RedisResult, Script};

use super::Token;
use super::layouts::redisson::{PublishScope, publish_arguments};
use super::layouts::release_string;
use super::transaction::{ExpectedString, delete_string, is_permission_denied};
use crate::domain::library::ReleaseStrategy;
use crate::domain::{LockKey, Mode, Timestamp};
use crate::server::stores::redis::formats::{
    DetectedLock, DetectedOwner, redis_semaphore, redis_semaphore_rb, suo,
};
use crate::server::stores::redis::key_state::{KeyState, RedisValue, Ttl};
use crate::server::stores::redis::nodes::connection::Connection;
use crate::server::stores::redis::nodes::lock_node::{LockNode, RedisTransport};
use crate::server::stores::redis::nodes::scripts::{
    FORCE_FIELD, FORCE_MEMBERS, FORCE_SET, FORCE_SIDEKIQ, FORCE_STRING, FORCE_SUO, ForceReply,
};

/// A registry name may contain colons, so the channel is ambiguous: the maximum number of channels
/// to publish to.
const MAX_REGISTRY_CHANNELS: usize = 8;
/// The keys that list the digests of sidekiq-unique-jobs.
const DIGEST_INDEXES: [&[u8]; 2] = [b"uniquejobs:digests", b"uniquejobs:expiring_digests"];
/// Symfony's member for a write lock.
const SYMFONY_WRITER: &[u8] = b"__write__";

/// The command that releases a hold on one node.
pub enum ReleaseCommand {
    /// Delete a string if it has this value.
    CompareAndDelete {
        /// The owner's value.
        owner: Token,
        /// The highest PTTL that the hold can have; `None` if the PTTL proves nothing. In that case
        /// the server's compare-and-delete command is used if it has one.
        max_pttl: Option<i64>,
    },
    /// Run a script.
    Script {
        /// The script.
        script: &'static Script,
        /// Its keys.
        keys: Vec<Vec<u8>>,
        /// Its arguments.
        arguments: Vec<Vec<u8>>,
        /// The channels on which waiters are woken, and who subscribes to them.
        channels: (Vec<Vec<u8>>, PublishScope),
    },
}

impl ReleaseCommand {
    /// Also wakes the subscribers of these channels.
    fn with_wakeup(self, channels: Vec<Vec<u8>>) -> Self {
        match self {
            Self::Script {
                script,
                keys,
                arguments,
                channels: _,
            } => Self::Script {
                script,
                keys,
                arguments,
                channels: (channels, PublishScope::ClusterAndShard),
            },
            // A string that is only deleted has no waiters to wake.
            Self::CompareAndDelete { .. } => self,
        }
    }

    /// Executes the command on a node. If scripts are forbidden, a plain string is compared and
    /// deleted in a transaction.
    pub async fn execute<N: LockNode>(
        &self,
        node: &N,
        connection: Connection<N::Transport>,
        key: &LockKey,
    ) -> RedisResult<ForceReply> {
        let arguments = self.run(connection, key).await;
        match (arguments, self) {
            (
                Err(error),
                Self::CompareAndDelete {
                    owner,
                    max_pttl: highest_pttl,
                },
            ) if is_permission_denied(&error) => {
                let expected = ExpectedString {
                    key,
                    owner: owner.expose(),
                    max_pttl: *highest_pttl,
                };
                // `WATCH` and `MULTI` apply to a whole connection, so it must not be shared with
                // other requests.
                let mut dedicated = node.open_dedicated_connection().await?;
                delete_string(&mut dedicated.transport, &expected).await
            }
            (arguments, _) => arguments,
        }
    }

    async fn run(
        &self,
        mut connection: Connection<impl RedisTransport>,
        key: &LockKey,
    ) -> RedisResult<ForceReply> {
        match self {
            Self::CompareAndDelete {
                owner,
                max_pttl: None,
            } => release_string(connection, key, owner)
                .await
                .map(ForceReply::Reply),
            Self::CompareAndDelete {
                owner,
                max_pttl: Some(max_pttl),
            } => {
                let mut script = FORCE_STRING.key(key.as_bytes());
                script.arg(*max_pttl).arg(owner.expose());
                script.invoke_async(&mut connection.transport).await
            }
            Self::Script {
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
                for argument in publish_arguments(&connection, channels, *subscribers) {
                    script.arg(argument);
                }
                script.invoke_async(&mut connection.transport).await
            }
        }
    }
}

/// A lock as a node reported it, and the owner whose hold is to be released.
pub struct MatchedHold<'a> {
    /// The state of the key.
    pub key_state: &'a KeyState,
    /// The recognized lock.
    pub lock: &'a DetectedLock,
    /// The owner whose hold is to be released.
    pub owner: &'a DetectedOwner,
}

impl MatchedHold<'_> {
    /// The command for the node that reported this state; `None` if value and format do not match.
    pub fn command(&self, now: Timestamp) -> Option<ReleaseCommand> {
        let strategy = self.owner.owner.format.library().release_strategy;
        match (&self.key_state.value, strategy) {
            (RedisValue::Text(value), ReleaseStrategy::SuoEntry) => self.suo_entry_command(value),
            (RedisValue::Text(value), _) if value == self.owner_bytes() => {
                self.string_command(strategy)
            }
            (RedisValue::Hash(_), ReleaseStrategy::RedissonHash) => {
                Some(self.redisson_command(now))
            }
            (RedisValue::Hash(_), ReleaseStrategy::RedissonReadWrite) => {
                Some(self.read_write_command())
            }
            (RedisValue::Hash(fields), ReleaseStrategy::RedissonMulti) => {
                self.multi_lock_command(fields)
            }
            (RedisValue::Hash(fields), ReleaseStrategy::SidekiqJob) => {
                self.sidekiq_job_command(fields)
            }
            (RedisValue::Hash(fields), ReleaseStrategy::ReturnToken) => {
                self.semaphore_token_command(fields)
            }
            (RedisValue::Hash(fields), ReleaseStrategy::HashField) => {
                let (field, value) = fields
                    .iter()
                    .find(|(field, _)| field == self.owner_bytes())?;
                Some(script_command(
                    &FORCE_FIELD,
                    [self.key()],
                    [b"", &field[..], value],
                ))
            }
            (RedisValue::SortedSet(_), ReleaseStrategy::RedissonPermit) => self.permit_command(),
            (
                RedisValue::SortedSet(members),
                ReleaseStrategy::SymfonyMember | ReleaseStrategy::Member,
            ) => self.members_command(members, strategy),
            (RedisValue::Set(_), ReleaseStrategy::ReaderOrWriter) => Some(script_command(
                &FORCE_SET,
                [self.key()],
                [b"", self.owner_bytes()],
            )),
            (
                RedisValue::Text(_)
                | RedisValue::Hash(_)
                | RedisValue::Set(_)
                | RedisValue::SortedSet(_)
                | RedisValue::List(_)
                | RedisValue::TooLarge
                | RedisValue::Other { .. },
                _,
            ) => None,
        }
    }

    fn key(&self) -> &[u8] {
        self.key_state.key.as_bytes()
    }

    fn owner_bytes(&self) -> &[u8] {
        self.owner.bytes.expose()
    }

    /// The expiry must not have moved forward since the read, if the owner's bytes do not change
    /// with each hold.
    fn max_pttl(&self) -> Option<i64> {
        match self.key_state.ttl {
            // An owner value that is new for each hold identifies the hold by itself.
            Ttl::Ms(left) if self.lock.format.reuses_owner_value() => i64::try_from(left).ok(),
            Ttl::Ms(_) | Ttl::Never => None,
        }
    }

    fn max_pttl_argument(&self) -> Vec<u8> {
        self.max_pttl().map_or_else(Vec::new, decimal)
    }

    fn hold_count_argument(&self) -> Vec<u8> {
        decimal(self.owner.owner.hold_count.unwrap_or(1))
    }

    fn string_command(&self, strategy: ReleaseStrategy) -> Option<ReleaseCommand> {
        let key = self.key();
        let mut keys = vec![key.to_vec()];
        let mut channels = Vec::new();
        match strategy {
            ReleaseStrategy::ValueAndSignal => {
                // python-redis-lock names both keys after the lock: `lock:<name>` and
                // `lock-signal:<name>`.
                let name = key.strip_prefix(b"lock:")?;
                keys.push([b"lock-signal:", name].concat());
            }
            ReleaseStrategy::ValueAndPublish => channels = registry_channels(key),
            ReleaseStrategy::Value
            | ReleaseStrategy::SymfonyMember
            | ReleaseStrategy::Member
            | ReleaseStrategy::ReaderOrWriter
            | ReleaseStrategy::HashField => {}
            ReleaseStrategy::RedissonHash
            | ReleaseStrategy::RedissonReadWrite
            | ReleaseStrategy::RedissonMulti
            | ReleaseStrategy::RedissonPermit
            | ReleaseStrategy::SidekiqJob
            | ReleaseStrategy::ReturnToken
            | ReleaseStrategy::SuoEntry
            | ReleaseStrategy::ZookeeperNode
            | ReleaseStrategy::EtcdKey
            | ReleaseStrategy::Row
            | ReleaseStrategy::Backend
            | ReleaseStrategy::Unsupported => return None,
        }
        // Nothing besides the string itself: the server's compare-and-delete command is sufficient.
        if keys.len() == 1 && channels.is_empty() {
            return Some(ReleaseCommand::CompareAndDelete {
                owner: Token::from_bytes(self.owner_bytes()),
                max_pttl: self.max_pttl(),
            });
        }
        Some(ReleaseCommand::Script {
            script: &FORCE_STRING,
            keys,
            arguments: vec![self.max_pttl_argument(), self.owner_bytes().to_vec()],
            channels: (channels, PublishScope::Cluster),
        })
    }

    fn members_command(
        &self,
        members: &[(Vec<u8>, f64)],
        strategy: ReleaseStrategy,
    ) -> Option<ReleaseCommand> {
        let is_owned = |member: &[u8]| {
            member == self.owner_bytes()
                || (strategy == ReleaseStrategy::Member
                    && redis_semaphore::permit(member) == Some(self.owner_bytes()))
        };
        let owned = || members.iter().filter(|(member, _)| is_owned(member));
        let (first, _) = owned().next()?;
        // An owner can have several members; its latest expiry identifies the hold.
        let latest = owned().map(|(_, score)| *score).fold(f64::MIN, f64::max);
        let max_pttl = if self.lock.format.reuses_owner_value() {
            format!("{latest}").into_bytes()
        } else {
            Vec::new()
        };
        let is_symfony = strategy == ReleaseStrategy::SymfonyMember;
        let mark: &[u8] = if is_symfony && self.lock.mode == Mode::Exclusive {
            SYMFONY_WRITER
        } else {
            b""
        };
        let arguments = [
            Vec::new(),
            first.clone(),
            max_pttl,
            mark.to_vec(),
            decimal(u8::from(is_symfony)),
        ];
        let others = owned().skip(1).map(|(member, _)| member.clone());
        Some(script_command(
            &FORCE_MEMBERS,
            [self.key()],
            arguments.into_iter().chain(others),
        ))
    }

    fn sidekiq_job_command(&self, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<ReleaseCommand> {
        let digest = self.key().strip_suffix(b":LOCKED")?;
        let (id, acquired_at) = fields.iter().find(|(id, _)| id == self.owner_bytes())?;
        let arguments = [b"", &id[..], acquired_at, digest];
        Some(script_command(
            &FORCE_SIDEKIQ,
            [self.key()],
            arguments.into_iter().chain(DIGEST_INDEXES),
        ))
    }

    fn semaphore_token_command(&self, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<ReleaseCommand> {
        let pool = self.key().strip_suffix(b":GRABBED")?;
        let available = [pool, b":AVAILABLE"].concat();
        let mut entries = fields.iter();
        let (token, acquired_at) = entries.find(|(token, acquired_at)| {
            redis_semaphore_rb::owner(token, acquired_at) == self.owner_bytes()
        })?;
        Some(script_command(
            &FORCE_FIELD,
            [self.key(), &available],
            [b"", &token[..], acquired_at],
        ))
    }

    fn suo_entry_command(&self, value: &[u8]) -> Option<ReleaseCommand> {
        // The script compares the whole old value, so the new one can be computed here.
        let (rest, is_empty) = suo::remove_owner(value, self.owner_bytes())?;
        let is_empty = decimal(u8::from(is_empty));
        Some(script_command(
            &FORCE_SUO,
            [self.key()],
            [b"", value, &rest, &is_empty],
        ))
    }
}

/// A release of `<registry>:<lock>` is published on `<registry>-channel:<registry>:<lock>`. If the
/// registry name itself contains colons, there is one channel for each possible split.
fn registry_channels(key: &[u8]) -> Vec<Vec<u8>> {
    let colons = (0..key.len()).filter(|&at| key[at] == b':');
    let channel = |at: usize| [&key[..at], b"-channel:", key].concat();
    colons.take(MAX_REGISTRY_CHANNELS).map(channel).collect()
}

fn decimal(n: impl ToString) -> Vec<u8> {
    n.to_string().into_bytes()
}

fn script_command<const N: usize, A: AsRef<[u8]>>(
    script: &'static Script,
    keys: [&[u8]; N],
    arguments: impl IntoIterator<Item = A>,
) -> ReleaseCommand {
    ReleaseCommand::Script {
        script,
        keys: keys.map(<[u8]>::to_vec).into(),
        arguments: arguments
            .into_iter()
            .map(|argument| argument.as_ref().to_vec())
            .collect(),
        channels: (Vec::new(), PublishScope::Cluster),
    }
}
