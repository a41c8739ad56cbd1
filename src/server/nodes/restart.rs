//! Nodes that may have forgotten locks on which their owners rely: who they are, and for how long.
//!
//! They take no part in new locks until every lock that they may have lost has ended. That is the delayed restart of the Redis
//! documentation ("Performance, crash recovery and fsync"). When that is, [`super::leases`] knows for nodes that were
//! observed when they restarted; of others it is known only that it is over when the longest lease is. What is seen
//! outlives a change of the configuration and a restart of the console ([`super::history`]), and an operator may vouch for
//! a node: that nothing was lost there.
//!
//! **Seen.** A node whose run id changed has restarted. It has kept its locks only if it is known from *before* that it put
//! every write on its disk before it answered, and says so again: what it says only afterwards tells nothing of what was
//! lost. That it keeps every write from then on does not bring back what it forgot.
//!
//! **On first contact.** Whoever meets a node for the first time (every call from the command line, a console that was just
//! started, a node that was down meanwhile) cannot have seen that it restarted. But the node says for how long it has been
//! running. One that has run for less than the longest lease, and does not keep every write, may have forgotten locks if
//! there were any: if the group was in use before it started. That is taken for so when another node is known to have run
//! before it, and so many nodes *may* have that they could have been a majority without it. A node that cannot be asked, or
//! does not tell since when it runs, may have; one that keeps every write may have too, as its memory reaches back further
//! than its start.
//!
//! Of nodes that all started together (a new group, the demo, tests) none ran before the others, so a fresh group works at
//! once. And while all nodes can be asked, those of the majority that runs longest are never left out: this rule alone takes
//! no group out of use because it is young.
//!
//! **Why that is enough** where at most a minority restarted: a lock that is still relied on was given by a majority. All of
//! those that restarted are left out, so whoever wants it now needs a majority of the others, and two majorities share a
//! node; that one remembers.
//!
//! **What it cannot know.** When so many nodes restarted within one longest lease that no majority is older (a rolling restart
//! of all of them, a power cut), nobody who comes afterwards can tell that from a new group; who saw it happen waits. Nor can
//! a single server be judged. Restarts in the first minutes of a group ([`apart`]) pass for its first start. What a node says
//! about itself is believed: that it kept every write, which counts on first contact because nothing better is known, and
//! since when it runs, which its wall clock tells.

use std::time::{Duration, Instant};

/// What the group's configuration says about restarts.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The longest lease that may be asked for.
    pub longest_lease: Duration,
    /// Whether a node that restarted waits for that long before it takes new locks.
    pub delayed_restart: bool,
}

/// For how long somebody may rely on a lock that a node loses now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outstanding {
    /// At most: the longest lease that may be asked for.
    pub longest_lease: Duration,
    /// As far as the locks were observed.
    pub left: Duration,
}

impl Outstanding {
    /// Nothing was observed.
    pub fn unobserved(longest_lease: Duration) -> Self {
        Self {
            longest_lease,
            left: longest_lease,
        }
    }
}

/// What is known of a node's past. Spans are measured with a clock that nobody sets.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    /// When the last lock ends that it may have lost when it was seen to restart without all that it had.
    lost_until: Option<Instant>,
    first: First,
}

/// What it said when it was met for the first time. It stays: what came later, we saw.
#[derive(Clone, Copy, Debug)]
enum First {
    /// The first attempt to reach it has not ended.
    Awaited,
    /// It could not be reached, or did not tell.
    Unknown,
    /// It had been running for this long, at least.
    Ran {
        so_long: Duration,
        at: Instant,
        kept_every_write: bool,
    },
}

/// Whether a node ran before another one started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Yes,
    No,
    Maybe,
}

/// What nodes that are still being tried for the first time count as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Unknown,
    RanBefore,
    RanNot,
}

/// By how much the starts of two nodes have to differ so that one of them ran before the other: a new group is not started
/// in one moment, and nodes tell whole seconds.
pub fn apart(longest_lease: Duration) -> Duration {
    (longest_lease / 12).clamp(Duration::from_secs(2), Duration::from_mins(5))
}

impl Past {
    /// By how much a node that counts whole seconds may say too much.
    const ROUNDING: Duration = Duration::from_secs(1);

    /// Nothing is known yet.
    pub fn unknown() -> Self {
        Self {
            lost_until: None,
            first: First::Awaited,
        }
    }

    /// The node could not be reached.
    pub fn missed(&mut self) {
        if matches!(self.first, First::Awaited) {
            self.first = First::Unknown;
        }
    }

    /// The node said for how long it has been running, if it did, and whether it puts every write on its disk before it
    /// answers.
    pub fn met(&mut self, uptime: Option<Duration>, keeps_every_write: bool, at: Instant) {
        match (self.first, uptime) {
            (First::Ran { .. }, _) => {}
            (First::Awaited | First::Unknown, None) => self.first = First::Unknown,
            (First::Awaited | First::Unknown, Some(uptime)) => {
                self.first = First::Ran {
                    so_long: uptime.saturating_sub(Self::ROUNDING),
                    at,
                    kept_every_write: keeps_every_write,
                };
            }
        }
    }

    /// It restarted, and may not have kept all that it had: somebody may rely on a lock that it lost for so long.
    pub fn forgot(&mut self, at: Instant, relied_on_for: Duration) {
        // What it lost at an earlier restart may last longer.
        self.lost_until = self.lost_until.max(at.checked_add(relied_on_for));
    }

    /// An operator says that it lost nothing, neither when it was seen to restart nor before it was met.
    pub fn vouched_for(&mut self) {
        self.lost_until = None;
        if let First::Ran {
            kept_every_write, ..
        } = &mut self.first
        {
            *kept_every_write = true;
        }
    }

    /// It had been running for so long when it was first met, long ago, and had kept every write or not.
    pub fn ran(&mut self, so_long: Duration, kept_every_write: bool, at: Instant) {
        self.first = First::Ran {
            so_long,
            at,
            kept_every_write,
        };
    }

    /// For how long it has been running since the start before it was first met, and whether it had kept every write then.
    pub fn running_for(&self, now: Instant) -> Option<(Duration, bool)> {
        match self.first {
            First::Ran {
                so_long,
                at,
                kept_every_write,
            } => Some((
                so_long + now.saturating_duration_since(at),
                kept_every_write,
            )),
            First::Awaited | First::Unknown => None,
        }
    }

    /// For how much longer somebody may rely on a lock that it was seen to forget.
    pub fn seen(&self, now: Instant) -> Option<Duration> {
        Some(self.lost_until?.saturating_duration_since(now))
    }

    /// For how much longer somebody may rely on a lock that it forgot when it started, if it did.
    fn young(&self, rules: Rules, now: Instant) -> Option<Duration> {
        match self.first {
            First::Ran {
                so_long,
                at,
                kept_every_write: false,
            } => {
                let age = so_long + now.saturating_duration_since(at);
                Some(rules.longest_lease.saturating_sub(age))
            }
            First::Ran { .. } | First::Awaited | First::Unknown => None,
        }
    }

    fn ran_before(&self, other: &Self, rules: Rules, now: Instant, awaited: Awaited) -> Before {
        let age = |first| match first {
            First::Ran { so_long, at, .. } => Some(so_long + now.saturating_duration_since(at)),
            First::Awaited | First::Unknown => None,
        };
        match (self.first, awaited) {
            (First::Awaited, Awaited::RanBefore) => Before::Yes,
            (First::Awaited, Awaited::RanNot) => Before::No,
            (First::Awaited, Awaited::Unknown) | (First::Unknown, _) => Before::Maybe,
            (
                First::Ran {
                    kept_every_write, ..
                },
                _,
            ) => match (age(self.first), age(other.first)) {
                (Some(this), Some(other)) if this >= other + apart(rules.longest_lease) => {
                    Before::Yes
                }
                _ if kept_every_write => Before::Maybe,
                _ => Before::No,
            },
        }
    }
}

/// For how much longer a lock may be forgotten on a node of a group whose owner still relies on it, if that may be.
pub fn hazard(all: &[Past], place: usize, rules: Rules, now: Instant) -> Option<Duration> {
    left(all, place, rules, now, Awaited::Unknown)
}

/// For how long a node is asked for no new locks, if it is not. As long as other nodes are being tried for the first time,
/// the worst of them is assumed.
pub fn abstains(all: &[Past], place: usize, rules: Rules, now: Instant) -> Option<Duration> {
    left(all, place, rules, now, Awaited::RanBefore).filter(|_| rules.delayed_restart)
}

/// Whether that depends on nodes that are still being tried for the first time.
pub fn is_open(all: &[Past], place: usize, rules: Rules, now: Instant) -> bool {
    let is_left_out = |awaited| left(all, place, rules, now, awaited).is_some();
    rules.delayed_restart && is_left_out(Awaited::RanBefore) != is_left_out(Awaited::RanNot)
}

fn left(
    all: &[Past],
    place: usize,
    rules: Rules,
    now: Instant,
    awaited: Awaited,
) -> Option<Duration> {
    let this = &all[place];
    let young = this
        .young(rules, now)
        .filter(|_| rules.delayed_restart && was_in_use(all, place, rules, now, awaited));
    let left = this.seen(now).max(young)?;
    (!left.is_zero()).then_some(left)
}

/// Whether the group was in use, as far as can be told, before a node of it started.
fn was_in_use(all: &[Past], place: usize, rules: Rules, now: Instant, awaited: Awaited) -> bool {
    let ran_before = |wanted: Before| {
        let others = all.iter().enumerate().filter(|(other, _)| *other != place);
        others
            .filter(|(_, past)| past.ran_before(&all[place], rules, now, awaited) == wanted)
            .count()
    };
    let (did, may_have) = (ran_before(Before::Yes), ran_before(Before::Maybe));
    did > 0 && did + may_have >= crate::domain::quorum::majority(all.len())
}

#[cfg(test)]
#[path = "restart_tests.rs"]
mod tests;
