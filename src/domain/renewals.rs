//! How often a lock's owner renewed it, and how that is known.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Timestamp;

/// Where a number about renewals comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Every change was told by the server.
    Feed,
    /// The deadline was looked at again and again; renewals between two looks count once.
    Poll,
    /// The renewals went through this console.
    Api,
}

/// Renewals seen since this owner was first seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Renewals {
    /// How many were seen.
    pub count: u32,
    /// How many a minute, over the time from the first to the last one; null until two were seen.
    pub per_minute: Option<f64>,
    /// Milliseconds from one to the next, on average; null until two were seen.
    pub every_ms: Option<u64>,
    /// By how much that varies (standard deviation); null until three were seen.
    #[serde(default)]
    pub jitter_ms: Option<u64>,
    /// The last times between two of them in milliseconds, the latest last: eight at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent_ms: Vec<u32>,
    /// What was left of the lease just before the last one; null where none was seen, or the lock had no expiry.
    #[serde(default)]
    pub margin_ms: Option<u64>,
    /// The smallest such margin.
    #[serde(default)]
    pub smallest_margin_ms: Option<u64>,
    /// Renewals that should have come by the owner's own beat and did not.
    #[serde(default)]
    pub missed_beats: u32,
    /// When the last one was seen; null where none was.
    pub last_at: Option<Timestamp>,
    /// Changes of owner a minute, where they come too fast to look at each: half the number of changes that the server
    /// told, because one is for taking and one for giving back. Null where every change is looked at.
    #[serde(default)]
    pub hand_overs_per_minute: Option<f64>,
    /// How they were seen.
    pub source: Source,
}

/// So many times between two renewals are remembered.
pub const RECENT: usize = 8;

impl Renewals {
    /// So many renewals came, so long one after the other.
    pub fn remember(&mut self, many: u32, apart_ms: u32) {
        let many = usize::try_from(many).unwrap_or(RECENT).min(RECENT);
        let surplus = (self.recent_ms.len() + many).saturating_sub(RECENT);
        self.recent_ms.drain(..surplus);
        self.recent_ms.extend(std::iter::repeat_n(apart_ms, many));
    }

    /// None seen yet.
    pub fn none(source: Source) -> Self {
        Self {
            count: 0,
            per_minute: None,
            every_ms: None,
            jitter_ms: None,
            recent_ms: Vec::new(),
            margin_ms: None,
            smallest_margin_ms: None,
            missed_beats: 0,
            last_at: None,
            hand_overs_per_minute: None,
            source,
        }
    }
}
