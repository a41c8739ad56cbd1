//! Statistics of the observed leases of a group.

use std::time::Duration;

use crate::domain::finding::{FindingEvidence, ObservedFact};
use crate::domain::{Confidence, Flag, Format, Lease, Lock, RenewalSource, Timestamp};
use crate::server::stores::redis::locking::Layout;

/// A renewal is late if less than the lease divided by this was left.
const MIN_MARGIN_DIVISOR: u32 = 10;

/// Names listed as evidence.
const MAX_NAMES: usize = 5;

/// Characters of a name in evidence.
const MAX_NAME_CHARS: usize = 100;

/// Statistics of the observed locks of a group.
#[derive(Clone, Debug)]
pub struct LeaseStatistics {
    /// The longest remaining lease that was observed.
    pub longest: Duration,
    /// The name of an existing lock, if it is not empty and has no line feed.
    pub example_key: Option<String>,
    /// Among the observed formats that can be acquired, the one that requires the most permissions.
    pub layout: Layout,
    pub(super) lock_count: u64,
    pub(super) longest_name: String,
    pub(super) no_expiry: LockSample,
    pub(super) endless: LockSample,
    pub(super) shortest: Vec<(Duration, String)>,
    pub(super) late_renewals: LockSample,
}

/// How many locks have a property, with an observation about each of the first few.
#[derive(Clone, Debug, Default)]
pub(super) struct LockSample {
    pub(super) count: u64,
    observed: Vec<FindingEvidence>,
}

impl LockSample {
    fn add(&mut self, evidence: FindingEvidence) {
        self.count += 1;
        if self.observed.len() < MAX_NAMES {
            self.observed.push(evidence);
        }
    }

    /// The observations, and the number of the other locks.
    pub(super) fn evidence(&self) -> Vec<FindingEvidence> {
        let listed = self.observed.len() as u64;
        let more = (self.count > listed).then(|| ObservedFact::MoreLocks(self.count - listed));
        let observed = self.observed.iter().cloned();
        observed.chain(more.map(FindingEvidence::from)).collect()
    }
}

impl Default for LeaseStatistics {
    fn default() -> Self {
        Self {
            longest: Duration::ZERO,
            example_key: None,
            layout: Layout::Plain,
            lock_count: 0,
            longest_name: String::new(),
            no_expiry: LockSample::default(),
            endless: LockSample::default(),
            shortest: Vec::new(),
            late_renewals: LockSample::default(),
        }
    }
}

impl LeaseStatistics {
    /// Adds an observed lock. Possible locks are ignored.
    pub fn record_lock(&mut self, lock: &Lock, now: Timestamp) {
        if lock.confidence == Confidence::Possible {
            return;
        }
        self.lock_count += 1;
        let name = truncated_name(lock);
        if self.example_key.is_none() {
            let text = lock.key().text();
            self.example_key =
                (!text.is_empty() && !text.contains('\n')).then(|| text.into_owned());
        }
        if lock.format == Format::RedissonFair {
            self.layout = Layout::RedissonFair;
        } else if lock.format == Format::Redisson && self.layout == Layout::Plain {
            self.layout = Layout::Redisson;
        }
        if lock.has_flag(Flag::NoExpiry) {
            self.no_expiry.add(
                ObservedFact::LockOfFormat {
                    name: name.clone(),
                    format: lock.format,
                }
                .into(),
            );
        }
        if lock.has_flag(Flag::Endless) {
            self.endless.add(
                ObservedFact::HeldSince {
                    name: name.clone(),
                    since: lock.acquired_at,
                }
                .into(),
            );
        }
        if let Lease::Expires { left_ms, .. } = lock.lease
            && Duration::from_millis(left_ms) > self.longest
        {
            self.longest = Duration::from_millis(left_ms);
            self.longest_name.clone_from(&name);
        }
        self.record_renewal(lock, name, now);
    }

    /// The shortest leases below `limit`, ascending, each with the name of its lock. At most
    /// [`MAX_NAMES`].
    pub(super) fn shorter_than(&self, limit: Duration) -> Vec<&(Duration, String)> {
        let short = self.shortest.iter();
        short.filter(|(lease, _)| *lease < limit).collect()
    }

    /// Records the length of a renewed lease. It is certain only if the feed reported the renewal
    /// when it happened.
    fn record_renewal(&mut self, lock: &Lock, name: String, now: Timestamp) {
        let Lease::Expires { at, .. } = lock.lease else {
            return;
        };
        let renewals = &lock.renewals;
        let Some(last) = renewals.last_at.filter(|last| *last <= now) else {
            return;
        };
        let lease = at.since(last);
        if let Some(margin) = renewals.min_margin_ms
            && Duration::from_millis(margin) < lease / MIN_MARGIN_DIVISOR
        {
            let margin = Duration::from_millis(margin);
            let fact = ObservedFact::RenewalMargin { margin, lease };
            self.late_renewals.add(FindingEvidence::about(&*name, fact));
        }
        if renewals.source == RenewalSource::Feed {
            self.shortest.push((lease, name));
            // Only the shortest are reported, so memory stays bounded.
            self.shortest.sort();
            self.shortest.truncate(MAX_NAMES);
        }
    }
}

/// The name, truncated. Control characters are escaped when it is shown.
fn truncated_name(lock: &Lock) -> String {
    let text = lock.key().text();
    let mut name: String = text.chars().take(MAX_NAME_CHARS).collect();
    if name.len() < text.len() {
        name.push('…');
    }
    name
}
