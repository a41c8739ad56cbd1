//! An observed lock: its owners, verdict, flags and lease, and the observation on each node.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::reason::Reason;
use super::{
    Confidence, Evidence, Fingerprint, Format, Lease, LockId, LockKey, Mode, NodeObservation,
    Owner, RenewalStats, Timestamp, Verdict,
};

/// A problem or risk of a lock, in addition to its verdict.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Flag {
    /// The key has no TTL and the value has no expiry. The lock is held until it is released.
    NoExpiry,
    /// A renewal is missing, or less than a fifth of the lease is left and the lock is usually held
    /// for longer than its lease.
    AtRisk,
    /// The lock is held for too long: the timestamp of a legacy lock is in the past, or the hold is
    /// much longer than usual
    /// ([`HoldStats::overdue_after_ms`](super::HoldStats::overdue_after_ms)).
    Overdue,
    /// The lock is renewed beyond the configured maximum hold.
    Endless,
    /// Other clients wait for the lock or try to acquire it, according to `evidence`.
    Contended,
    /// There are several owners of an exclusive lock.
    Split,
    /// The owner is on fewer nodes than the quorum.
    Fragment,
    /// A node that the quorum depends on restarted without safe persistence, less than the longest
    /// lease ago.
    RestartHazard,
}

impl Flag {
    /// The name in the API, in filters and in the UI.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// A lock as observed on the nodes of its group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Lock {
    /// The group and the name.
    #[serde(flatten)]
    pub id: LockId,
    /// The format of the lock.
    pub format: Format,
    /// The confidence that the key is a lock of this format.
    pub confidence: Confidence,
    /// Whether several owners can hold the lock at the same time.
    pub mode: Mode,
    /// The conclusion from the observations on all nodes.
    pub verdict: Verdict,
    /// Problems and risks, in the order of [`Flag`].
    pub flags: Vec<Flag>,
    /// The owner with a quorum; null if no owner has one.
    pub owner: Option<Owner>,
    /// All observed owners, ordered by the number of nodes, then by age. If no node is reachable,
    /// the last known owners.
    pub owners: Vec<Owner>,
    /// For a held lock, the time at which the owner loses its quorum: with a quorum of 3, the
    /// third-largest expiry on its nodes. Otherwise the largest expiry on any node.
    #[serde(flatten)]
    pub lease: Lease,
    /// When the owner acquired the lock, as far as that is known. With several owners, this
    /// applies to the first of `owners`.
    pub acquired_at: Timestamp,
    /// The source of `acquired_at`. `first-seen`: the owner may have acquired the lock earlier;
    /// `claimed`: the timestamp in the value.
    pub acquired_at_source: AcquiredAtSource,
    /// When the lock was last observed on a node.
    pub observed_at: Timestamp,
    /// The observation on each configured node.
    pub nodes: Vec<NodeObservation>,
    /// The renewals since the owner was first observed.
    pub renewals: RenewalStats,
    /// Details of each owner, in the order of `owners`, if there are several. The lock's own
    /// `acquired_at` and `renewals` are those of the first owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Holder>,
    /// Evidence of contention. An empty list means that none was observed, not that there is none.
    pub evidence: Vec<Evidence>,
    /// Why `idle-touch` cannot be measured for this lock. Null if it can be measured, or if it
    /// cannot be measured for any lock: then each node has the reason.
    pub contention_unavailable_reason: Option<Reason>,
}

/// The details of one of several owners.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Holder {
    /// Identifies the owner.
    pub fingerprint: Fingerprint,
    /// When the owner acquired the lock, as far as that is known.
    pub acquired_at: Timestamp,
    /// The source of `acquired_at`.
    pub acquired_at_source: AcquiredAtSource,
    /// When the owner's lease ends; null without expiry. In formats with a shared lease, the end
    /// of that lease.
    pub expires_at: Option<Timestamp>,
    /// The owner's renewals. Not counted in formats with a shared lease, because the renewing
    /// owner is not known.
    pub renewals: RenewalStats,
}

impl Holder {
    /// Corrects the times for a clock that was adjusted by `ms` milliseconds.
    pub fn shift(&mut self, ms: i64) {
        // A claimed time comes from the owner's clock, which was not adjusted.
        if self.acquired_at_source == AcquiredAtSource::FirstSeen {
            self.acquired_at = self.acquired_at.plus_millis(ms);
        }
        self.expires_at = self.expires_at.map(|at| at.plus_millis(ms));
        self.renewals.last_at = self.renewals.last_at.map(|at| at.plus_millis(ms));
    }
}

/// The source of an acquire time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AcquiredAtSource {
    /// The first observation of the owner by this console, or the end of the lock's own time if
    /// that was earlier.
    FirstSeen,
    /// The timestamp in the owner's value (`ShedLock`, UUID version 1): when the owner requested
    /// the lock.
    Claimed,
}

impl Lock {
    /// The name without the group.
    pub fn key(&self) -> &LockKey {
        &self.id.key
    }

    /// Changes the format of the lock and its owners. Used for formats that cannot be detected from
    /// a single lock.
    pub fn with_format(&self, format: Format) -> Self {
        let mut lock = self.clone();
        lock.format = format;
        let node_owners = lock
            .nodes
            .iter_mut()
            .flat_map(|node| node.observation.owners_mut());
        let owners = lock.owners.iter_mut().chain(&mut lock.owner);
        owners
            .chain(node_owners)
            .for_each(|owner| owner.format = format);
        lock
    }

    /// Whether the flag is set.
    pub fn has_flag(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// The details of an owner, if the lock has several.
    pub fn holder(&self, fingerprint: &Fingerprint) -> Option<&Holder> {
        let mut holders = self.holders.iter();
        holders.find(|holder| holder.fingerprint == *fingerprint)
    }

    /// The number of nodes that show the lock.
    pub fn node_count(&self) -> usize {
        let nodes = self.nodes.iter();
        nodes
            .filter(|node| node.observation.owner().is_some())
            .count()
    }

    /// Whether an owner's label contains `part` or its fingerprint starts with it, ignoring case.
    pub fn matches_owner(&self, part: &str) -> bool {
        let starts_with_part = |text: &str| {
            let (text, part) = (text.as_bytes(), part.as_bytes());
            text.len() >= part.len() && text[..part.len()].eq_ignore_ascii_case(part)
        };
        self.owners.iter().any(|owner| {
            let label = owner.label.as_deref();
            label.is_some_and(|label| super::text::contains(label, part))
                || starts_with_part(owner.fingerprint.as_str())
        })
    }

    /// Whether the end that the owner announced has passed, in a format whose key does not expire.
    pub fn is_past_lease(&self, now: Timestamp) -> bool {
        self.format.outlives_lease() && self.lease.remaining_ms(now) == Some(0)
    }

    /// The verdict as one or two sentences.
    pub fn verdict_sentence(&self) -> String {
        self.describe_verdict("")
    }

    /// The verdict as one or two sentences, with the age of the hold.
    pub fn state_sentence(&self, now: Timestamp) -> String {
        let held_ms = u64::try_from(now.millis_since(self.acquired_at)).unwrap_or(0);
        self.describe_verdict(&format!(" for {}", super::text::english_span(held_ms)))
    }

    /// `age` is inserted after the name of a single owner.
    fn describe_verdict(&self, age: &str) -> String {
        let total = self.nodes.len();
        let node_count = |owner: &Owner| {
            self.nodes
                .iter()
                .filter(|node| node.observation.has_owner(owner))
                .count()
        };
        let unreachable_count = self
            .nodes
            .iter()
            .filter(|node| !node.observation.is_reachable())
            .count();
        let quorum = super::quorum::majority(total);
        let unreachable = match unreachable_count {
            0 => String::new(),
            1 => " One node is unreachable.".to_owned(),
            n => format!(" {n} nodes are unreachable."),
        };
        match (self.verdict, &self.owner) {
            (Verdict::Held, Some(owner)) if total == 1 => match self.owners.len() {
                0 | 1 => format!("Held by {}{age}.", owner.display_name()),
                n => format!("Held by {} and {} more.", owner.display_name(), n - 1),
            },
            (Verdict::Held, Some(owner)) => {
                format!(
                    "Held by {}{age} on {} of {total} nodes (quorum: {quorum}).{unreachable}",
                    owner.display_name(),
                    node_count(owner)
                )
            }
            (Verdict::Split, _) => {
                let each: Vec<String> = self
                    .owners
                    .iter()
                    .map(|owner| format!("{} on {}", owner.display_name(), node_count(owner)))
                    .collect();
                format!(
                    "Split: {} of {total} nodes. No owner has the quorum of {quorum}.{unreachable}",
                    each.join(", ")
                )
            }
            (Verdict::Partial, _) => {
                let held = self.owners.first().map_or(0, node_count);
                format!(
                    "On {held} of {total} nodes; the quorum is {quorum}. Not held: a failed or expiring acquire.{unreachable}"
                )
            }
            (Verdict::Unknown, _) if unreachable_count == total => match self.owners.first() {
                Some(owner) => format!(
                    "All nodes are unreachable. Last owner: {}.",
                    owner.display_name()
                ),
                None => "All nodes are unreachable.".to_owned(),
            },
            (Verdict::Unknown, _) | (Verdict::Held, None) => {
                let held = self.owners.first().map_or(0, node_count);
                format!(
                    "Observed on {held} of {total} nodes; the unreachable nodes may complete the quorum of {quorum}.{unreachable}"
                )
            }
        }
    }
}
