//! The formats of locks, with the properties of the libraries that write them.
//!
//! [`table`] has one row per format. Code outside this module depends on the columns of the table,
//! not on single formats.

mod release;
mod table;

pub use release::ReleaseRisk;
pub use table::Format;

/// A row of the format table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LibraryInfo {
    /// The name in the API, in filters and in URLs.
    pub slug: &'static str,
    /// The name of the library.
    pub name: &'static str,
    /// What the key is used for.
    pub purpose: LockPurpose,
    /// How a forced release is done.
    pub release_strategy: ReleaseStrategy,
    /// The side effects of a forced release.
    pub hazards: &'static [ReleaseHazard],
    /// How the library reacts to a forced release, as a sentence without its full stop.
    pub after_release: &'static str,
}

/// What a key is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPurpose {
    /// Mutual exclusion.
    Lock,
    /// Leader election. The leader renews the key periodically.
    Leader,
    /// A worker processes a job.
    Job,
    /// Deduplication of requests or jobs. The work may not have started.
    Deduplication,
}

/// How a forced release is done: what identifies the owner, and which other keys change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseStrategy {
    /// Compares the whole string and deletes the key.
    Value,
    /// Like `Value`, and pushes to the signal list (python-redis-lock).
    ValueAndSignal,
    /// Like `Value`, and publishes to the registry's channel (Spring Integration).
    ValueAndPublish,
    /// Deletes the field of the hash and publishes to the lock's channel, or to the channel of the
    /// first waiter in the queue (Redisson).
    RedissonHash,
    /// Deletes the field and its timeout keys and updates the mode (Redisson's read-write lock).
    RedissonReadWrite,
    /// Deletes the three fields of one value (Redisson's faster multi-lock).
    RedissonMulti,
    /// Removes the member and returns the permit (Redisson).
    RedissonPermit,
    /// Removes the member of the sorted set and a writer's marker, and updates the TTL. A string
    /// of an older version is compared and deleted (Symfony).
    SymfonyMember,
    /// Removes the member of a sorted set, or all members of a permit. A string is compared and
    /// deleted.
    Member,
    /// Removes the member of the set of readers, or deletes the writer's string.
    ReaderOrWriter,
    /// Removes the job id from the hash, and the job from the lock's other keys.
    SidekiqJob,
    /// Moves the token from the hash back to the list.
    ReturnToken,
    /// Removes one entry of the array in the string.
    SuoEntry,
    /// Deletes one field of a hash that also has other fields.
    HashField,
    /// Deletes exactly the ephemeral node of the owner (ZooKeeper).
    ZookeeperNode,
    /// Deletes the key if its `create_revision` and lease are those of the owner (etcd).
    EtcdKey,
    /// Updates or deletes the row if owner and time are unchanged (PostgreSQL).
    Row,
    /// Ends the connection that holds the lock, if it is still the same one (PostgreSQL).
    Backend,
    /// Not possible, because the key does not identify its owners.
    Unsupported,
}

/// A side effect that a forced release can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseHazard {
    /// A running owner acquires the lock again at its next renewal.
    OwnerReacquires,
    /// The owner does not compare the value when it releases, so it deletes the next owner's lock.
    OwnerDeletesNextLock,
    /// The work is assigned to another worker while the owner may still do it.
    WorkRunsTwice,
    /// The owner's process exits.
    OwnerProcessExits,
    /// The owner's database connection ends, with its transaction and all its locks.
    ConnectionEnds,
}

/// The default renewal settings of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultRenewal {
    /// The renewal interval in milliseconds.
    pub interval_ms: u32,
    /// The lease after each renewal, in milliseconds.
    pub lease_ms: u32,
}

impl Format {
    /// The name in the API, in filters and in URLs.
    pub fn slug(self) -> &'static str {
        self.library().slug
    }

    /// How the library reacts to a forced release, as a sentence without its full stop.
    pub fn after_release(self) -> &'static str {
        self.library().after_release
    }

    /// Whether the format counts re-entries, so that each acquire needs a release.
    pub fn is_reentrant(self) -> bool {
        matches!(
            self.library().release_strategy,
            ReleaseStrategy::RedissonHash
                | ReleaseStrategy::RedissonReadWrite
                | ReleaseStrategy::RedissonMulti
        )
    }

    /// Whether a lock of this format is, or can be, a string that contains the owner's value.
    pub fn can_be_string(self) -> bool {
        match self.library().release_strategy {
            ReleaseStrategy::Value
            | ReleaseStrategy::ValueAndSignal
            | ReleaseStrategy::ValueAndPublish
            | ReleaseStrategy::SymfonyMember
            | ReleaseStrategy::Member
            | ReleaseStrategy::HashField
            | ReleaseStrategy::Unsupported => true,
            ReleaseStrategy::RedissonHash
            | ReleaseStrategy::RedissonReadWrite
            | ReleaseStrategy::RedissonMulti
            | ReleaseStrategy::RedissonPermit
            | ReleaseStrategy::ReaderOrWriter
            | ReleaseStrategy::SidekiqJob
            | ReleaseStrategy::ReturnToken
            | ReleaseStrategy::SuoEntry
            | ReleaseStrategy::ZookeeperNode
            | ReleaseStrategy::EtcdKey
            | ReleaseStrategy::Row
            | ReleaseStrategy::Backend => false,
        }
    }

    /// Whether locks of this format are strings: the value can be read without asking for the type.
    pub fn is_string(self) -> bool {
        matches!(
            self.library().release_strategy,
            ReleaseStrategy::Value
                | ReleaseStrategy::ValueAndSignal
                | ReleaseStrategy::ValueAndPublish
        )
    }

    /// Whether locks of this format are in Redis. `ShedLock` has stores of several services.
    pub fn is_in_redis(self) -> bool {
        match self.library().release_strategy {
            ReleaseStrategy::ZookeeperNode
            | ReleaseStrategy::EtcdKey
            | ReleaseStrategy::Row
            | ReleaseStrategy::Backend => false,
            _ => self != Self::EphemeralNode,
        }
    }

    /// Whether the client library keeps the session, lease or connection of the lock alive for as long
    /// as its process runs.
    pub fn is_kept_alive(self) -> bool {
        matches!(
            self.library().release_strategy,
            ReleaseStrategy::ZookeeperNode | ReleaseStrategy::EtcdKey | ReleaseStrategy::Backend
        ) || self == Self::EphemeralNode
    }

    /// Whether the time in the lock is that of the request, which may have waited in the queue of the
    /// service before the owner got the lock.
    pub fn claims_request_time(self) -> bool {
        self.library().release_strategy == ReleaseStrategy::ZookeeperNode
    }

    /// Whether the key still exists after the lease has ended, until another client acquires it.
    pub fn outlives_lease(self) -> bool {
        matches!(self, Self::LegacyTimestamp | Self::SolidQueue)
    }

    /// The default renewal settings of the library; `None` if it does not renew automatically or
    /// has no defaults.
    pub fn default_renewal(self) -> Option<DefaultRenewal> {
        DEFAULT_RENEWALS
            .iter()
            .find(|(format, ..)| *format == self)
            .map(|&(_, interval_ms, lease_ms)| DefaultRenewal {
                interval_ms,
                lease_ms,
            })
    }
}

/// The default renewal interval and lease of each library, in milliseconds.
const DEFAULT_RENEWALS: [(Format, u32, u32); 13] = [
    (Format::Redisson, 10_000, 30_000),
    (Format::RedissonFair, 10_000, 30_000),
    (Format::RedissonFenced, 10_000, 30_000),
    (Format::RedissonReadWrite, 10_000, 30_000),
    (Format::RedissonMulti, 10_000, 30_000),
    (Format::Bullmq, 15_000, 30_000),
    (Format::Bull, 15_000, 30_000),
    (Format::Hangfire, 15_000, 30_000),
    (Format::Madelson, 9_000, 30_000),
    (Format::MadelsonReadWrite, 9_000, 30_000),
    (Format::MadelsonSemaphore, 9_000, 90_000),
    (Format::Aioredlock, 6_000, 10_000),
    (Format::RedisSemaphore, 8_000, 10_000),
];

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.slug())
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn the_slug_is_the_json_representation() {
        for &format in Format::VARIANTS {
            assert_eq!(
                serde_json::to_string(&format).unwrap(),
                format!("\"{}\"", format.slug())
            );
            assert_eq!(format.slug().parse(), Ok(format));
        }
    }

    #[test]
    fn reactions_are_sentences_without_a_full_stop() {
        for &format in Format::VARIANTS {
            let text = format.after_release();
            assert!(!text.is_empty() && !text.ends_with('.'), "{format}: {text}");
            assert!(!text.starts_with(' '), "{format}: {text}");
        }
    }

    #[test]
    fn formats_whose_owner_reacquires_mention_it() {
        let returning = Format::VARIANTS.iter().copied().filter(|format| {
            format
                .library()
                .hazards
                .contains(&ReleaseHazard::OwnerReacquires)
        });
        for format in returning {
            assert!(format.after_release().contains("again"), "{format}");
        }
    }
}
