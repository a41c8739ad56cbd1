//! What happened to locks and nodes in a range of time: recorded holds, flags, outages, and the
//! stretches that were not recorded.

pub mod events;
pub mod lanes;
pub mod owner_lanes;
pub mod owner_summary;
#[cfg(test)]
pub(super) mod testing;
pub mod time_range;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Flag, Format, Hold, LockId, NodeState, OwnerIdentity, Timestamp};

/// The recorded history of a range of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Activity {
    /// The start of the range.
    pub from: Timestamp,
    /// The end of the range.
    pub to: Timestamp,
    /// The holds that overlap the range, the latest start first.
    pub holds: Vec<RecordedHold>,
    /// The flags that were raised in the range.
    pub flags: Vec<FlagPeriod>,
    /// When nodes were not up.
    pub outages: Vec<NodeOutage>,
    /// The stretches of the range of which nothing is known.
    pub gaps: Vec<RecordingGap>,
    /// Whether there are more holds than were requested. The earliest are missing.
    pub is_truncated: bool,
    /// Where the history was read.
    #[serde(default)]
    pub source: HistorySource,
    /// Since when the history is complete, apart from gaps; null if nothing was recorded.
    #[serde(default)]
    pub recorded_since: Option<Timestamp>,
    /// What each group counted in the range, the earliest first; empty if a lock is requested.
    #[serde(default)]
    pub counters: Vec<CounterSample>,
    /// Until when this history is made up; null unless the range is in the week before a demo.
    #[serde(default)]
    pub made_up_until: Option<Timestamp>,
}

/// Where a history is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HistorySource {
    /// The database of `[storage]`, which survives restarts.
    Storage,
    /// The memory of this console, because the database cannot be read. It covers the latest holds
    /// of each lock since the console started.
    #[default]
    Memory,
}

/// What was counted in a group during one interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CounterSample {
    /// The group.
    pub group: String,
    /// The start of the interval.
    pub at: Timestamp,
    /// The length of the interval: 10 seconds in the latest hour, 1 minute in the latest day, 15
    /// minutes before.
    pub interval_ms: u64,
    /// The largest number of held locks.
    pub max_held: u64,
    /// The failed attempts that were observed; null if nothing reports attempts.
    pub attempts: Option<u64>,
    /// The slowest round trip to a node in microseconds; null if no node replied.
    pub slowest_us: Option<u64>,
}

/// A hold, with its lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecordedHold {
    /// The group and the name of the lock.
    #[serde(flatten)]
    pub id: LockId,
    /// The format of the lock.
    pub format: Format,
    /// The hold.
    #[serde(flatten)]
    pub hold: Hold,
    /// The shortest lease that was left at a renewal, in milliseconds; null without renewals.
    pub min_margin_ms: Option<u64>,
    /// The failed attempts of other clients that were observed during the hold; null if nothing
    /// reports attempts.
    pub attempts: Option<u64>,
}

/// A period in which a lock had a flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlagPeriod {
    /// The group and the name of the lock.
    #[serde(flatten)]
    pub id: LockId,
    /// The flag.
    pub flag: Flag,
    /// When it was raised.
    pub from: Timestamp,
    /// When it ended; null while it lasts.
    pub to: Option<Timestamp>,
}

/// A period in which a node was not up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeOutage {
    /// The group of the node.
    pub group: String,
    /// The name of the node.
    pub node: String,
    /// The state of the node.
    pub state: NodeState,
    /// When the state was observed first.
    pub from: Timestamp,
    /// When the state changed; null while it lasts.
    pub to: Option<Timestamp>,
}

/// A stretch of time of which nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordingGap {
    /// The last time that was recorded before.
    pub from: Timestamp,
    /// When recording began again; null while it has not.
    pub to: Option<Timestamp>,
    /// Why nothing was recorded.
    pub cause: GapCause,
}

/// Why a stretch of time was not recorded.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum GapCause {
    /// The console did not run.
    ConsoleStopped,
    /// The storage could not be written: unreachable, or its disk is full.
    StorageUnavailable,
    /// More was observed than could be written.
    Overload,
}

impl GapCause {
    /// The word in the API and in CSV.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// Which part of the history is requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityQuery {
    /// Only this group.
    pub group: Option<String>,
    /// Only the lock with exactly this name; needs `group`.
    pub key: Option<super::LockKey>,
    /// Only locks whose name contains this text.
    pub search: Option<String>,
    /// Only holds of this owner.
    #[serde(default)]
    pub owner: Option<OwnerIdentity>,
    /// The start of the range.
    pub from: Timestamp,
    /// The end of the range.
    pub to: Timestamp,
    /// The maximum number of holds; at most [`ActivityQuery::MAX_HOLDS`].
    pub limit: u32,
}

impl Activity {
    /// Keeps of flags, outages and counters only those of locks and groups with holds: all that
    /// concerns an owner whose holds these are.
    pub fn keep_related(&mut self) {
        let locks: HashSet<&LockId> = self.holds.iter().map(|hold| &hold.id).collect();
        let groups: HashSet<&str> = locks.iter().map(|id| id.group.as_str()).collect();
        self.flags.retain(|period| locks.contains(&period.id));
        self.outages
            .retain(|outage| groups.contains(outage.group.as_str()));
        self.counters.clear();
    }
}

impl ActivityQuery {
    /// The most holds that one request returns.
    pub const MAX_HOLDS: u32 = 10_000;

    /// The number of holds that are returned at most.
    pub fn max_holds(&self) -> usize {
        usize::try_from(self.limit.clamp(1, Self::MAX_HOLDS)).unwrap_or(1)
    }

    /// Whether a lock is requested.
    pub fn matches_lock(&self, id: &LockId) -> bool {
        self.matches_group(&id.group)
            && self.key.as_ref().is_none_or(|key| *key == id.key)
            && self
                .search
                .as_ref()
                .is_none_or(|text| super::text::contains(&id.key.text(), text))
    }

    /// Whether a hold is requested, apart from its lock and its time.
    pub fn matches_hold(&self, hold: &Hold) -> bool {
        self.owner
            .as_ref()
            .is_none_or(|owner| owner.matches(hold.label.as_deref(), &hold.fingerprint))
    }

    /// Whether a group is requested.
    pub fn matches_group(&self, group: &str) -> bool {
        self.group.as_ref().is_none_or(|name| name == group)
    }

    /// Whether a period overlaps the range.
    pub fn overlaps(&self, from: Timestamp, to: Option<Timestamp>) -> bool {
        from < self.to && to.is_none_or(|to| to >= self.from)
    }
}
