//! The leases that were observed or granted on the nodes of a group, and what follows from them when a node loses its locks:
//! for how long an owner may still rely on one of those.
//!
//! **Observed locks.** The console reads every lock that its scans and its change feed find, again and again, and knows when
//! each of them would have ended. It also knows every lease that it granted itself. The latest of these ends bounds the
//! locks that were observed.
//!
//! **Unobserved locks.** A lock that another client acquired, or extended, after the last complete observation is not known.
//! It was acquired before the node restarted, so it ends at most one lease after the restart. Its lease is taken to be no longer
//! than the longest that was observed or granted lately: whole leases are seen when a lock is acquired or extended, and what
//! is still there is counted with what was left of it. Adding only the age of the last scan pass to the latest end would not
//! be enough: a lock that is acquired a moment after the pass has its whole lease before it.
//!
//! How much rests on that assumption depends on how long ago a node was observed completely. With a change feed that is a
//! moment; without one, scan passes follow one another within a second on small nodes. Where the last complete pass over
//! the node is older than [`super::restart::apart`], or there was none, nothing counts as observed, and neither does it
//! where no lease was observed at all. Then [`Outstanding::longest_lease`] is the bound, as it is the upper bound in every
//! case. And a lock of which the console saw nothing is lost only if a majority of the nodes lost it within that moment: a
//! node that kept it, or lost it later, has shown it.
//!
//! A lock without an expiry counts with the longest lease, as long as it is observed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::restart::{self, Outstanding};

/// For how long the longest lease is remembered, at least; at most twice as long.
const REMEMBERED: Duration = Duration::from_mins(30);

/// Nodes of which a pass is remembered; a cluster whose nodes come and go forgets the oldest beyond that.
const MOST_NODES: usize = 1_024;

/// What was observed of one group.
#[derive(Debug, Default)]
pub struct Leases(Mutex<Observed>);

#[derive(Debug, Default)]
struct Observed {
    /// When the last of all observed leases ends.
    latest_end: Option<Instant>,
    /// The longest lease of each of two periods that follow one another, and when the later one began.
    longest: [Option<Duration>; 2],
    period_began: Option<Instant>,
    /// When the last complete pass over each node began.
    passes: BTreeMap<String, Instant>,
}

impl Leases {
    /// A lease of this length was granted, or so much was left of one.
    pub fn note(&self, lease: Duration, now: Instant) {
        self.observed().note(lease, now);
    }

    /// A complete pass over a node has ended, which began then.
    pub fn pass_ended(&self, node: &str, began: Instant) {
        let mut observed = self.observed();
        observed.passes.insert(node.to_owned(), began);
        if observed.passes.len() > MOST_NODES {
            let oldest = observed.passes.iter().min_by_key(|(_, began)| **began);
            let oldest = oldest.map(|(node, _)| node.clone());
            oldest.and_then(|node| observed.passes.remove(&node));
        }
    }

    /// For how long somebody may rely on a lock that this node loses now.
    pub fn outstanding(&self, node: &str, longest_lease: Duration, now: Instant) -> Outstanding {
        let left = self.observed().left(node, longest_lease, now);
        Outstanding {
            longest_lease,
            left: left.map_or(longest_lease, |left| left.min(longest_lease)),
        }
    }

    /// What was observed, for a group that takes this one's place. Its nodes have to be scanned again.
    #[must_use]
    pub fn carried_over(&self) -> Self {
        let observed = self.observed();
        Self(Mutex::new(Observed {
            latest_end: observed.latest_end,
            longest: observed.longest,
            period_began: observed.period_began,
            passes: BTreeMap::new(),
        }))
    }

    fn observed(&self) -> MutexGuard<'_, Observed> {
        self.0.lock()
    }
}

impl Observed {
    fn note(&mut self, lease: Duration, now: Instant) {
        let began = *self.period_began.get_or_insert(now);
        let since = now.saturating_duration_since(began);
        if since >= REMEMBERED {
            let [_, last] = self.longest;
            // After a period in which nothing was noted, the one before is too long ago.
            self.longest = [last.filter(|_| since < REMEMBERED * 2), None];
            self.period_began = Some(now);
        }
        self.longest[1] = self.longest[1].max(Some(lease));
        self.latest_end = self.latest_end.max(now.checked_add(lease));
    }

    fn left(&self, node: &str, longest_lease: Duration, now: Instant) -> Option<Duration> {
        let pass = *self.passes.get(node)?;
        if now.saturating_duration_since(pass) > restart::apart(longest_lease) {
            return None;
        }
        let [before, last] = self.longest;
        let unobserved = before.max(last)?;
        let observed = self.latest_end?.saturating_duration_since(now);
        Some(observed.max(unobserved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const MINUTE: Duration = Duration::from_mins(1);
    const SECOND: Duration = Duration::from_secs(1);

    fn left(leases: &Leases, now: Instant) -> Duration {
        leases.outstanding("a", HOUR, now).left
    }

    #[test]
    fn without_a_complete_pass_or_a_lease_the_longest_is_assumed() {
        let (leases, now) = (Leases::default(), Instant::now());
        assert_eq!(left(&leases, now), HOUR, "nothing was observed");
        leases.note(SECOND, now);
        assert_eq!(left(&leases, now), HOUR, "the node was not scanned");
        leases.pass_ended("b", now);
        assert_eq!(left(&leases, now), HOUR, "another node was");
        leases.pass_ended("a", now);
        assert_eq!(left(&leases, now), SECOND);
        assert_eq!(left(&leases, now + MINUTE * 6), HOUR, "too long ago");
        let leases = Leases::default();
        leases.pass_ended("a", now);
        assert_eq!(left(&leases, now), HOUR, "no lease was observed");
    }

    #[test]
    fn an_unobserved_lock_may_have_the_longest_lease_and_an_observed_one_ends_when_it_ends() {
        let (leases, now) = (Leases::default(), Instant::now());
        leases.note(MINUTE * 50, now);
        leases.note(SECOND * 10, now + MINUTE);
        for (after, expected) in [
            (Duration::ZERO, MINUTE * 50),
            // Over by then, but another like it may have been acquired unseen.
            (MINUTE * 29, MINUTE * 50),
        ] {
            leases.pass_ended("a", now + after);
            assert_eq!(left(&leases, now + after), expected, "{after:?}");
        }
        // The long lease is not remembered any more; its end is.
        for after in [MINUTE * 31, MINUTE * 45] {
            leases.note(SECOND * 10, now + after);
        }
        leases.note(SECOND * 10, now + MINUTE * 62);
        leases.pass_ended("a", now + MINUTE * 62);
        assert_eq!(left(&leases, now + MINUTE * 62), SECOND * 10);
    }

    #[test]
    fn it_is_never_longer_than_the_longest_lease() {
        let (leases, now) = (Leases::default(), Instant::now());
        leases.note(HOUR * 24 * 365 * 1_000, now);
        leases.pass_ended("a", now);
        assert_eq!(left(&leases, now), HOUR);
    }

    #[test]
    fn whoever_takes_a_groups_place_knows_its_leases_and_has_to_scan_for_itself() {
        let (leases, now) = (Leases::default(), Instant::now());
        leases.note(SECOND * 10, now);
        leases.pass_ended("a", now);
        let next = leases.carried_over();
        assert_eq!(left(&next, now), HOUR);
        next.pass_ended("a", now);
        assert_eq!(left(&next, now), SECOND * 10);
    }
}
