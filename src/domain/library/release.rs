//! Forced releases by format: whether they are possible, their risks, whether an owner's value
//! identifies a single hold, and how long a running owner takes to acquire the lock again.

use super::{Format, LockPurpose, ReleaseHazard, ReleaseStrategy};
use crate::domain::Environment;

/// The watch time if neither the observed nor the default renewal interval is known. It covers the
/// default renewal interval of most libraries.
const DEFAULT_WATCH_MS: u64 = 10_000;
const MIN_WATCH_MS: u64 = 2_000;
const MAX_WATCH_MS: u64 = 120_000;

/// The formats in which an owner writes the same value for every hold, because the value identifies
/// a process, a thread or a lock object.
const REUSED_OWNER_VALUES: [Format; 21] = [
    Format::Plain,
    Format::PythonRedisLock,
    Format::Rq,
    Format::Arq,
    Format::Huey,
    Format::Bull,
    Format::RedisSemaphore,
    Format::GoZero,
    Format::Redisson,
    Format::RedissonFair,
    Format::RedissonFenced,
    Format::RedissonReadWrite,
    Format::RedissonMulti,
    Format::SpringIntegration,
    Format::Symfony,
    Format::PhpredisSession,
    Format::Hangfire,
    Format::Sentry,
    Format::ResqueScheduler,
    Format::N8n,
    Format::Knex,
];

/// The main risk of a forced release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseRisk {
    /// The owner's process exits.
    OwnerProcessExits,
    /// The same work runs twice.
    WorkRunsTwice,
    /// The value does not identify the owner, so the lock of a new owner may be released.
    UnknownOwner,
    /// Two leaders are active at the same time.
    TwoLeaders,
    /// The request or job can be submitted again.
    DuplicateRequest,
    /// The owner's database connection ends.
    ConnectionEnds,
}

impl ReleaseRisk {
    /// The risk as a sentence without its full stop.
    pub fn text(self) -> &'static str {
        match self {
            Self::OwnerProcessExits => "A release stops the process that holds the lock",
            Self::WorkRunsTwice => {
                "After a release the same work can run again while the first run continues"
            }
            Self::UnknownOwner => {
                "The value does not identify the owner, so the lock may have a new owner by the time of the release"
            }
            Self::TwoLeaders => "A release can cause two leaders for a short time",
            Self::DuplicateRequest => {
                "The lock prevents duplicate requests and may not mean that work is in progress"
            }
            Self::ConnectionEnds => {
                "A release ends the database connection that holds the lock, with its transaction and all its other locks"
            }
        }
    }
}

impl Format {
    /// Why a forced release is not possible; `None` if it is.
    pub fn not_releasable_reason(self) -> Option<&'static str> {
        match self.library().release_strategy {
            ReleaseStrategy::Unsupported if self == Self::EphemeralNode => Some(
                "The next owner creates a node with the same path, so ZooKeeper cannot compare the owner when the node is deleted.",
            ),
            ReleaseStrategy::Unsupported => Some(
                "The key only stores the number of available permits. It does not identify the owners, so no permit can be returned for one.",
            ),
            ReleaseStrategy::Value
            | ReleaseStrategy::ValueAndSignal
            | ReleaseStrategy::ValueAndPublish
            | ReleaseStrategy::RedissonHash
            | ReleaseStrategy::RedissonReadWrite
            | ReleaseStrategy::RedissonMulti
            | ReleaseStrategy::RedissonPermit
            | ReleaseStrategy::SymfonyMember
            | ReleaseStrategy::Member
            | ReleaseStrategy::ReaderOrWriter
            | ReleaseStrategy::SidekiqJob
            | ReleaseStrategy::ReturnToken
            | ReleaseStrategy::SuoEntry
            | ReleaseStrategy::HashField
            | ReleaseStrategy::ZookeeperNode
            | ReleaseStrategy::EtcdKey
            | ReleaseStrategy::Row
            | ReleaseStrategy::Backend => None,
        }
    }

    /// Whether the user must confirm a forced release by typing the lock's name. An unknown
    /// environment counts as production.
    pub fn requires_confirmation(self, environment: Option<Environment>) -> bool {
        self.release_risk().is_some() || environment.is_none_or(Environment::requires_confirmation)
    }

    /// The text of [`Self::release_risk`]. Formats with a risk need a confirmation.
    pub fn release_warning(self) -> Option<&'static str> {
        self.release_risk().map(ReleaseRisk::text)
    }

    /// The main risk of a forced release, if any.
    pub fn release_risk(self) -> Option<ReleaseRisk> {
        let library = self.library();
        let has = |hazard| library.hazards.contains(&hazard);
        if has(ReleaseHazard::OwnerProcessExits) {
            Some(ReleaseRisk::OwnerProcessExits)
        } else if has(ReleaseHazard::ConnectionEnds) {
            Some(ReleaseRisk::ConnectionEnds)
        } else if has(ReleaseHazard::WorkRunsTwice) {
            Some(ReleaseRisk::WorkRunsTwice)
        } else if library.release_strategy == ReleaseStrategy::HashField {
            Some(ReleaseRisk::UnknownOwner)
        } else {
            match library.purpose {
                LockPurpose::Leader => Some(ReleaseRisk::TwoLeaders),
                LockPurpose::Deduplication => Some(ReleaseRisk::DuplicateRequest),
                LockPurpose::Lock | LockPurpose::Job => None,
            }
        }
    }

    /// Whether an owner writes the same value for every hold.
    pub fn reuses_owner_value(self) -> bool {
        REUSED_OWNER_VALUES.contains(&self)
    }

    /// Whether a running owner can acquire the lock again after a forced release.
    pub fn may_reacquire(self) -> bool {
        self.library()
            .hazards
            .contains(&ReleaseHazard::OwnerReacquires)
    }

    /// How long to watch for a reacquire after a forced release: the observed renewal interval,
    /// else the library's default interval, else the remaining lease if the owner may reacquire.
    pub fn release_watch_ms(self, observed_interval_ms: Option<u64>, lease_ms: Option<u64>) -> u64 {
        let default_interval_ms = || {
            self.default_renewal()
                .map(|renewal| u64::from(renewal.interval_ms))
        };
        // A renewal happens before the lease ends.
        let remaining_lease_ms = || lease_ms.filter(|_| self.may_reacquire());
        observed_interval_ms
            .or_else(default_interval_ms)
            .or_else(remaining_lease_ms)
            .unwrap_or(DEFAULT_WATCH_MS)
            .clamp(MIN_WATCH_MS, MAX_WATCH_MS)
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn formats_with_side_effects_have_a_warning() {
        for format in [
            Format::Bullmq,
            Format::Bull,
            Format::Redbeat,
            Format::Arq,
            Format::Rq,
            Format::Huey,
            Format::Gitlab,
            Format::SidekiqUniqueJobs,
        ] {
            assert!(format.release_warning().is_some(), "{format}");
        }
        for format in [Format::Plain, Format::RedisPy, Format::Redisson] {
            assert_eq!(format.release_warning(), None, "{format}");
        }
    }

    #[test]
    fn production_risky_formats_and_unknown_environments_require_a_confirmation() {
        for (format, environment, required) in [
            (Format::Plain, Some(Environment::Production), true),
            (Format::Plain, Some(Environment::Staging), false),
            (Format::Plain, Some(Environment::Development), false),
            (Format::Plain, None, true),
            (Format::Bull, Some(Environment::Development), true),
        ] {
            assert_eq!(
                format.requires_confirmation(environment),
                required,
                "{format} {environment:?}"
            );
        }
    }

    #[test]
    fn only_counters_and_single_ephemeral_nodes_cannot_be_released_by_force() {
        let stuck = Format::VARIANTS
            .iter()
            .copied()
            .filter(|format| format.not_releasable_reason().is_some());
        assert_eq!(
            stuck.collect::<Vec<_>>(),
            [Format::RedissonSemaphore, Format::EphemeralNode]
        );
    }

    #[test]
    fn the_watch_time_is_the_observed_interval_else_the_default_else_the_lease() {
        assert_eq!(
            Format::Aioredlock.release_watch_ms(Some(3_000), Some(9_000)),
            3_000
        );
        assert_eq!(
            Format::Aioredlock.release_watch_ms(None, Some(9_000)),
            6_000
        );
        assert_eq!(
            Format::RedlockNet.release_watch_ms(None, Some(25_000)),
            25_000
        );
        assert_eq!(
            Format::RedlockNet.release_watch_ms(None, Some(900_000)),
            120_000
        );
        assert_eq!(Format::RedlockNet.release_watch_ms(None, None), 10_000);
        assert_eq!(
            Format::RedisPy.release_watch_ms(None, Some(900_000)),
            10_000
        );
    }
}
