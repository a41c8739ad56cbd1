//! Filters and sort orders of lock lists, shared by the API and the UI.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::{
    Confidence, Flag, Format, Lock, LockId, Owner, SearchQuery, Timestamp, Verdict, VisibleGroups,
};

/// Selects the locks of a list. Absent fields match every lock, except that possible locks are
/// only included on request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// The groups that the caller may view.
    pub visible_groups: VisibleGroups,
    /// The name of the group.
    pub group: Option<String>,
    /// The terms that the lock must match.
    pub search: SearchQuery,
    /// The verdict of the lock.
    pub verdict: Option<Verdict>,
    /// A flag that the lock must have.
    pub flag: Option<Flag>,
    /// Only locks that need attention.
    pub attention: bool,
    /// The format of the lock.
    pub format: Option<Format>,
    /// If neither this field nor the search has a confidence, possible locks are excluded.
    pub confidence: Option<Confidence>,
    /// A case-insensitive substring of an owner's label or a prefix of its fingerprint.
    pub owner: Option<String>,
}

impl Filter {
    /// Whether the lock matches all fields.
    pub fn matches(&self, lock: &Lock, now: Timestamp) -> bool {
        self.matches_scope(lock, now) && self.matches_state(lock)
    }

    /// Whether the lock matches the fields that also apply to the counts: groups, search, format
    /// and owner.
    pub(super) fn matches_scope(&self, lock: &Lock, now: Timestamp) -> bool {
        self.visible_groups.contains(&lock.id.group)
            && self
                .group
                .as_ref()
                .is_none_or(|group| *group == lock.id.group)
            && self.format.is_none_or(|format| format == lock.format)
            && self
                .owner
                .as_deref()
                .is_none_or(|part| lock.matches_owner(part))
            && self.search.matches(lock, now)
    }

    /// Whether the lock matches the fields that do not apply to the counts: verdict, flag,
    /// attention and confidence.
    pub(super) fn matches_state(&self, lock: &Lock) -> bool {
        self.verdict.is_none_or(|verdict| verdict == lock.verdict)
            && self.flag.is_none_or(|flag| lock.has_flag(flag))
            && (!self.attention || lock.needs_attention())
            && match self.confidence {
                Some(confidence) => confidence == lock.confidence,
                None => {
                    lock.confidence != Confidence::Possible || self.search.has_confidence_filter()
                }
            }
    }
}

/// The sort criterion of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Sort {
    /// The need for attention, then the age of the hold.
    #[default]
    Attention,
    /// Group and name.
    Key,
    /// The remaining lease. No expiry counts as the longest lease.
    Lease,
    /// The age of the hold.
    Held,
    /// The owner's label. Owners without a label follow, by fingerprint.
    Owner,
    /// The sum of the contention evidence.
    Contention,
    /// The number of renewals.
    Renewals,
}

impl Sort {
    /// The name in the API and in URLs.
    pub fn slug(self) -> &'static str {
        self.into()
    }

    /// The order to use if the request has none.
    pub fn default_order(self) -> SortOrder {
        match self {
            Self::Attention | Self::Held | Self::Contention | Self::Renewals => SortOrder::Desc,
            Self::Key | Self::Lease | Self::Owner => SortOrder::Asc,
        }
    }

    /// The ascending sort key of a lock. The name breaks ties, so the order is total.
    pub fn sort_key(self, lock: &Lock) -> SortKey<'_> {
        const NOTHING: Cow<'_, str> = Cow::Borrowed("");
        // The earlier a lock was acquired, the older the hold.
        let age = -lock.acquired_at.millis();
        let (first, second, text) = match self {
            Self::Attention => (i64::from(lock.attention()), age, NOTHING),
            Self::Key => (0, 0, NOTHING),
            Self::Lease => {
                // A lock without expiry sorts behind all others.
                let end = lock
                    .lease
                    .expires_at()
                    .map_or(i64::MAX, super::Timestamp::millis);
                (end, 0, NOTHING)
            }
            Self::Held => (age, 0, NOTHING),
            Self::Owner => match lock.owners.first() {
                Some(Owner {
                    label: Some(label), ..
                }) => (0, 0, Cow::Borrowed(label.as_str())),
                Some(owner) => (1, 0, Cow::Owned(owner.display_name())),
                None => (2, 0, NOTHING),
            },
            Self::Contention => {
                let seen: u64 = lock.evidence.iter().map(|evidence| evidence.value).sum();
                (i64::try_from(seen).unwrap_or(i64::MAX), age, NOTHING)
            }
            Self::Renewals => (i64::from(lock.renewals.count), age, NOTHING),
        };
        SortKey {
            first,
            second,
            text,
            id: Cow::Borrowed(&lock.id),
        }
    }
}

/// The position of a lock in a sorted list. It borrows from the lock, because up to 100,000 keys
/// are compared for one page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SortKey<'a> {
    first: i64,
    second: i64,
    text: Cow<'a, str>,
    id: Cow<'a, LockId>,
}

impl SortKey<'_> {
    /// The lock at this position.
    pub fn id(&self) -> &LockId {
        &self.id
    }
}

/// The direction of a sort order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum SortOrder {
    /// Ascending.
    #[default]
    Asc,
    /// Descending.
    Desc,
}

impl SortOrder {
    /// The name in the API and in URLs.
    pub fn slug(self) -> &'static str {
        self.into()
    }

    /// Compares two positions.
    pub fn compare(self, a: &SortKey<'_>, b: &SortKey<'_>) -> std::cmp::Ordering {
        match self {
            Self::Asc => a.cmp(b),
            Self::Desc => b.cmp(a),
        }
    }
}
