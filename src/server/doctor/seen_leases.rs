//! What is seen of the leases of a group's locks.

use std::time::Duration;

use super::span;
use crate::domain::{Confidence, Flag, Format, Lease, Lock, Source, Timestamp};
use crate::server::locking::Layout;

/// What is left before a renewal is too little below this share of the lease.
const MARGIN_SHARE: u32 = 10;

/// So many names are told.
const MOST_NAMES: usize = 5;

/// So much of a name is told.
const LONGEST_NAME: usize = 100;

/// What is seen of the locks of a group.
#[derive(Clone, Debug)]
pub struct Leases {
    /// The longest that was left of a lease.
    pub longest: Duration,
    /// The name of a lock that is there, if it has one that can be written down.
    pub example: Option<String>,
    /// The layout that takes most permissions among those that are seen and can be taken.
    pub layout: Layout,
    pub(super) locks: u64,
    pub(super) longest_is: String,
    pub(super) no_expiry: Named,
    pub(super) endless: Named,
    pub(super) short: Vec<(Duration, String)>,
    pub(super) late: Named,
}

/// Locks of which something is so.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    pub(super) count: u64,
    names: Vec<String>,
}

impl Named {
    fn add(&mut self, name: String) {
        self.count += 1;
        if self.names.len() < MOST_NAMES {
            self.names.push(name);
        }
    }

    /// Their names, each a piece of evidence.
    pub(super) fn evidence(&self) -> Vec<String> {
        let told = self.names.len() as u64;
        let more = (self.count > told).then(|| format!("and {} more", self.count - told));
        self.names.iter().cloned().chain(more).collect()
    }
}

impl Default for Leases {
    fn default() -> Self {
        Self {
            longest: Duration::ZERO,
            example: None,
            layout: Layout::Plain,
            locks: 0,
            longest_is: String::new(),
            no_expiry: Named::default(),
            endless: Named::default(),
            short: Vec::new(),
            late: Named::default(),
        }
    }
}

impl Leases {
    /// Adds a lock that is seen. What only may be one says nothing.
    pub fn add(&mut self, lock: &Lock, now: Timestamp) {
        if lock.confidence == Confidence::Possible {
            return;
        }
        self.locks += 1;
        let name = name(lock);
        if self.example.is_none() {
            let text = lock.key().text();
            self.example = (!text.is_empty() && !text.contains('\n')).then(|| text.into_owned());
        }
        if lock.format == Format::RedissonFair {
            self.layout = Layout::RedissonFair;
        } else if lock.format == Format::Redisson && self.layout == Layout::Plain {
            self.layout = Layout::Redisson;
        }
        if lock.has(Flag::NoExpiry) {
            self.no_expiry.add(format!("{name} ({})", lock.format));
        }
        if lock.has(Flag::Endless) {
            let since = lock.acquired_at;
            self.endless.add(format!("{name}, since {since}"));
        }
        if let Lease::Expires { left_ms, .. } = lock.lease
            && Duration::from_millis(left_ms) > self.longest
        {
            self.longest = Duration::from_millis(left_ms);
            self.longest_is.clone_from(&name);
        }
        self.add_renewed(lock, name, now);
    }

    /// Leases known to be shorter than this, the shortest first: a few of them, each with the name of its lock.
    pub(super) fn shorter_than(&self, limit: Duration) -> Vec<&(Duration, String)> {
        let short = self.short.iter();
        short.filter(|(whole, _)| *whole < limit).collect()
    }

    /// How long a lease is can be told for certain only where a renewal was seen as it happened.
    fn add_renewed(&mut self, lock: &Lock, name: String, now: Timestamp) {
        let Lease::Expires { at, .. } = lock.lease else {
            return;
        };
        let renewals = &lock.renewals;
        let Some(last) = renewals.last_at.filter(|last| *last <= now) else {
            return;
        };
        let whole = at.since(last);
        if let Some(margin) = renewals.smallest_margin_ms
            && Duration::from_millis(margin) < whole / MARGIN_SHARE
        {
            let (margin, whole) = (Duration::from_millis(margin), span(whole));
            self.late
                .add(format!("{name}: {} left of {whole}", span(margin)));
        }
        if renewals.source == Source::Feed {
            self.short.push((whole, name));
            // Only the shortest matter.
            self.short.sort();
            self.short.truncate(MOST_NAMES);
        }
    }
}

/// The name as far as it fits into a line; whoever shows it makes it harmless.
fn name(lock: &Lock) -> String {
    let text = lock.key().text();
    let mut name: String = text.chars().take(LONGEST_NAME).collect();
    if name.len() < text.len() {
        name.push('…');
    }
    name
}
