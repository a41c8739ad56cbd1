//! What the console can show and do, by kind of group.

use super::{Format, GroupKind};

/// What the console can show of, and do with, the locks of a group. What is missing here is not shown
/// for the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The formats in which locks can be acquired. The first is the default.
    pub acquire_formats: &'static [Format],
    /// The requests of clients can be recorded for a while (`MONITOR`).
    pub can_sample_requests: bool,
    /// The servers report their clock, uptime, restarts and persistence, and their clocks decide
    /// about leases.
    pub reports_server_clock: bool,
    /// A server that restarts can lose locks, so it is excluded from new ones for a while.
    pub can_lose_locks_at_restart: bool,
}

impl Capabilities {
    const REDIS: Self = Self {
        acquire_formats: &[
            Format::Plain,
            Format::Redisson,
            Format::RedissonFair,
            Format::LegacyTimestamp,
        ],
        can_sample_requests: true,
        reports_server_clock: true,
        can_lose_locks_at_restart: true,
    };
    const SERVICE: Self = Self {
        acquire_formats: &[],
        can_sample_requests: false,
        reports_server_clock: false,
        can_lose_locks_at_restart: false,
    };
}

impl GroupKind {
    /// What the console can show and do in groups of this kind.
    pub fn capabilities(self) -> Capabilities {
        let acquire_formats: &[Format] = match self {
            Self::Standalone | Self::Sentinel | Self::Cluster | Self::Redlock => {
                return Capabilities::REDIS;
            }
            Self::Zookeeper => &[Format::Curator],
            Self::Etcd => &[Format::EtcdMutex],
            Self::Postgres => &[Format::AdvisoryLock],
        };
        Capabilities {
            acquire_formats,
            ..Capabilities::SERVICE
        }
    }

    /// The format in which a lock is acquired unless the request names one.
    pub fn default_format(self) -> Format {
        self.capabilities()
            .acquire_formats
            .first()
            .copied()
            .unwrap_or(Format::Plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_default_format_of_its_own_service() {
        assert_eq!(GroupKind::Redlock.default_format(), Format::Plain);
        assert_eq!(GroupKind::Zookeeper.default_format(), Format::Curator);
        assert_eq!(GroupKind::Etcd.default_format(), Format::EtcdMutex);
        assert_eq!(GroupKind::Postgres.default_format(), Format::AdvisoryLock);
    }

    #[test]
    fn nothing_of_redis_is_shown_for_other_services() {
        for kind in [GroupKind::Zookeeper, GroupKind::Etcd, GroupKind::Postgres] {
            let capabilities = kind.capabilities();
            assert!(!capabilities.can_sample_requests && !capabilities.reports_server_clock);
            assert!(!capabilities.can_lose_locks_at_restart);
        }
    }
}
