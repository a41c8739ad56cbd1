//! Which locks a list shows, and in what order. The same rules for the API and the page.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::{Confidence, Flag, Format, Lock, LockId, Owner, Search, Sight, Timestamp, Verdict};

/// What a list is narrowed to; an absent field narrows nothing, except that possible locks are shown only when asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Only of these groups: the ones that whoever asks may see.
    pub sight: Sight,
    /// Only this group.
    pub group: Option<String>,
    /// Only what this search lets through.
    pub search: Search,
    /// Only this verdict.
    pub verdict: Option<Verdict>,
    /// Only with this flag.
    pub flag: Option<Flag>,
    /// Only those that a person should look at.
    pub attention: bool,
    /// Only this layout.
    pub format: Option<Format>,
    /// Only locks of this confidence; where it is absent and the search does not say, all that are more than possible.
    pub confidence: Option<Confidence>,
    /// Only locks of an owner whose label contains this, or whose fingerprint begins with it.
    pub owner: Option<String>,
}

impl Filter {
    /// Whether the lock passes.
    pub fn matches(&self, lock: &Lock, now: Timestamp) -> bool {
        self.is_about(lock, now) && self.is_in_state(lock)
    }

    /// Whether the lock is one of those that are counted by their states: group, search, layout and owner let it through.
    pub(super) fn is_about(&self, lock: &Lock, now: Timestamp) -> bool {
        self.sight.shows(&lock.id.group)
            && self
                .group
                .as_ref()
                .is_none_or(|group| *group == lock.id.group)
            && self.format.is_none_or(|format| format == lock.format)
            && self
                .owner
                .as_deref()
                .is_none_or(|part| lock.is_owned_by(part))
            && self.search.admits(lock, now)
    }

    /// Whether the lock is in the state that is asked for.
    pub(super) fn is_in_state(&self, lock: &Lock) -> bool {
        self.verdict.is_none_or(|verdict| verdict == lock.verdict)
            && self.flag.is_none_or(|flag| lock.has(flag))
            && (!self.attention || lock.needs_attention())
            && match self.confidence {
                Some(confidence) => confidence == lock.confidence,
                None => lock.confidence != Confidence::Possible || self.search.says_how_sure(),
            }
    }
}

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Sort {
    /// How much it needs a person; among equals the one held longest.
    #[default]
    Attention,
    /// Group and name.
    Key,
    /// The lease that is left; without expiry is the longest.
    Lease,
    /// How long it has been held.
    Held,
    /// The owner's label; owners without one after those with, by fingerprint.
    Owner,
    /// How much contention was seen.
    Contention,
    /// How often it was renewed.
    Renewals,
}

impl Sort {
    /// The word in the API and in URLs.
    pub fn slug(self) -> &'static str {
        self.into()
    }

    /// The end that people want to see first when they do not say.
    pub fn usual_order(self) -> Order {
        match self {
            Self::Attention | Self::Held | Self::Contention | Self::Renewals => Order::Desc,
            Self::Key | Self::Lease | Self::Owner => Order::Asc,
        }
    }

    /// Where the lock stands, ascending. The name settles ties, so that the order is total.
    pub fn rank(self, lock: &Lock) -> Rank<'_> {
        const NOTHING: Cow<'_, str> = Cow::Borrowed("");
        let age = -lock.acquired_at.millis();
        let (first, second, text) = match self {
            Self::Attention => (i64::from(lock.attention()), age, NOTHING),
            Self::Key => (0, 0, NOTHING),
            Self::Lease => {
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
                Some(owner) => (1, 0, Cow::Owned(owner.name())),
                None => (2, 0, NOTHING),
            },
            Self::Contention => {
                let seen: u64 = lock.evidence.iter().map(|evidence| evidence.value).sum();
                (i64::try_from(seen).unwrap_or(i64::MAX), age, NOTHING)
            }
            Self::Renewals => (i64::from(lock.renewals.count), age, NOTHING),
        };
        Rank {
            first,
            second,
            text,
            id: Cow::Borrowed(&lock.id),
        }
    }
}

/// A place in a sorted list. A hundred thousand of them are compared for one page: what it says, it borrows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank<'a> {
    first: i64,
    second: i64,
    text: Cow<'a, str>,
    id: Cow<'a, LockId>,
}

impl Rank<'_> {
    /// Whose place it is.
    pub fn id(&self) -> &LockId {
        &self.id
    }
}

/// Which end of the order comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Order {
    /// The smallest first.
    #[default]
    Asc,
    /// The largest first.
    Desc,
}

impl Order {
    /// The word in the API and in URLs.
    pub fn slug(self) -> &'static str {
        self.into()
    }

    /// Compares two places.
    pub fn compare(self, a: &Rank<'_>, b: &Rank<'_>) -> std::cmp::Ordering {
        match self {
            Self::Asc => a.cmp(b),
            Self::Desc => b.cmp(a),
        }
    }
}
