//! How far a server is behind the leader of its service.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

/// How far a server is behind the leader. Both figures are read about once per second and not at the
/// same moment, so a small lag is normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeLag {
    /// The figure.
    pub value: u64,
    /// What is counted.
    pub unit: LagUnit,
    /// What was compared.
    pub source: LagSource,
}

/// What a lag counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum LagUnit {
    /// Transactions of ZooKeeper.
    Transactions,
    /// Entries of etcd's log.
    LogEntries,
    /// Bytes of PostgreSQL's write-ahead log.
    Bytes,
}

/// Where a lag comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum LagSource {
    /// The `Zxid` of `srvr`, compared with the leader's in the same epoch.
    Zxid,
    /// `raftAppliedIndex` of the member, compared with `raftIndex` of the leader.
    RaftIndex,
    /// `replay_lsn` of `pg_stat_replication`, compared with `pg_current_wal_lsn()`.
    ReplayLsn,
}

impl NodeLag {
    /// The lag of a server of ZooKeeper. `None` if it is in another epoch than the leader: their
    /// numbers cannot be compared.
    pub fn of_zxids(own: i64, leader: i64) -> Option<Self> {
        const COUNTER_BITS: u32 = 32;
        (own >> COUNTER_BITS == leader >> COUNTER_BITS).then(|| Self {
            value: u64::try_from(leader - own).unwrap_or(0),
            unit: LagUnit::Transactions,
            source: LagSource::Zxid,
        })
    }

    /// The lag of a member of etcd.
    pub fn of_raft_indexes(applied: u64, leader: u64) -> Self {
        Self {
            value: leader.saturating_sub(applied),
            unit: LagUnit::LogEntries,
            source: LagSource::RaftIndex,
        }
    }

    /// The lag of a standby of PostgreSQL.
    pub fn of_wal_bytes(bytes: u64) -> Self {
        Self {
            value: bytes,
            unit: LagUnit::Bytes,
            source: LagSource::ReplayLsn,
        }
    }

    /// Whether the server is so far behind that its state is out of date.
    pub fn is_large(&self) -> bool {
        const MAX_ENTRIES: u64 = 1_000;
        // Four segments of the write-ahead log.
        const MAX_BYTES: u64 = 64 << 20;
        match self.unit {
            LagUnit::Transactions | LagUnit::LogEntries => self.value > MAX_ENTRIES,
            LagUnit::Bytes => self.value > MAX_BYTES,
        }
    }
}

/// Formats a number of bytes with a binary unit: `512 B`, `1.5 MiB`.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|(size, _)| bytes >= *size) {
        // Tenths, rounded down; the remainder is smaller than the unit.
        Some((size, unit)) => format!("{}.{} {unit}", bytes / size, bytes % size * 10 / size),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_binary_unit() {
        let shown = [0, 1_023, 1_536, (64 << 20) + 1, u64::MAX].map(format_bytes);
        let expected = ["0 B", "1023 B", "1.5 KiB", "64.0 MiB", "17179869183.9 GiB"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn zxids_are_compared_within_an_epoch() {
        let leader = 0x2_0000_0010;
        assert_eq!(NodeLag::of_zxids(0x2_0000_000a, leader).unwrap().value, 6);
        assert_eq!(NodeLag::of_zxids(0x2_0000_0011, leader).unwrap().value, 0);
        assert_eq!(NodeLag::of_zxids(0x1_ffff_ffff, leader), None);
    }

    #[test]
    fn more_than_a_thousand_entries_are_a_large_lag() {
        assert!(!NodeLag::of_raft_indexes(1_000, 2_000).is_large());
        assert!(NodeLag::of_raft_indexes(1_000, 2_001).is_large());
        assert_eq!(NodeLag::of_raft_indexes(2_001, 2_000).value, 0);
        assert!(!NodeLag::of_wal_bytes(64 << 20).is_large());
        assert!(NodeLag::of_wal_bytes((64 << 20) + 1).is_large());
    }
}
