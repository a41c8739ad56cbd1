//! Collects holds, flags, outages and gaps of the past, and puts them into the order in which a
//! console would have recorded them.

use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use super::counters;
use crate::domain::{
    Fingerprint, Flag, Format, GapCause, Hold, HoldEndReason, LockId, NodeState, RecordedHold,
    RecordingGap, StartSource, Timestamp,
};
use crate::server::history::PastHistory;
use crate::server::index::HistoryRecord;

/// Changes when the week is to look different.
const SEED: u64 = 307;

/// A history that grows.
pub(super) struct Timeline {
    /// The start.
    pub from: Timestamp,
    /// The end.
    pub to: Timestamp,
    random: Xoshiro256PlusPlus,
    records: Vec<(Timestamp, HistoryRecord)>,
    gaps: Vec<RecordingGap>,
}

/// A lock of the demo.
#[derive(Clone, Copy, Debug)]
pub(super) struct DemoLock {
    pub group: &'static str,
    pub key: &'static str,
    pub format: Format,
    /// The lease and the interval of its renewals, for a client that renews.
    pub renewal: Option<(Duration, Duration)>,
}

impl DemoLock {
    /// The group and the name.
    pub fn id(&self) -> LockId {
        LockId {
            group: self.group.to_owned(),
            key: self.key.into(),
        }
    }
}

/// A hold, and how it ended.
#[derive(Clone, Debug)]
pub(super) struct PastHold {
    pub label: Option<String>,
    pub from: Timestamp,
    pub to: Timestamp,
    pub end: HoldEndReason,
    pub attempts: Option<u64>,
}

impl Timeline {
    /// An empty history.
    pub fn new(from: Timestamp, to: Timestamp) -> Self {
        Self {
            from,
            to,
            random: Xoshiro256PlusPlus::seed_from_u64(SEED),
            records: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// A number from the seed.
    pub fn number(&mut self, range: std::ops::Range<u64>) -> u64 {
        self.random.random_range(range)
    }

    /// A duration from the seed.
    pub fn duration(&mut self, range: std::ops::Range<Duration>) -> Duration {
        self.random.random_range(range)
    }

    /// Adds a hold of a new owner. A gap in the recording ends it, with an unknown reason; a hold
    /// that lasted after the gap was seen again after it.
    pub fn add_hold(&mut self, lock: &DemoLock, hold: PastHold) {
        let owner = format!("{:016x}", self.random.random::<u64>());
        let owner = Fingerprint::parse(&owner).expect("16 hexadecimal digits are a fingerprint");
        let mut from = (hold.from, StartSource::Appeared);
        for gap in self.gaps.clone() {
            let gap_to = gap.to.unwrap_or(self.to);
            if gap_to <= from.0 || hold.to <= gap.from {
                continue;
            }
            if from.0 < gap.from {
                let before = PastHold {
                    to: gap.from,
                    end: HoldEndReason::Unknown,
                    ..hold.clone()
                };
                self.add_part(lock, &owner, from, before);
            }
            from = (gap_to, StartSource::FirstSeen);
        }
        if from.0 < hold.to {
            self.add_part(lock, &owner, from, hold);
        }
    }

    fn add_part(
        &mut self,
        lock: &DemoLock,
        owner: &Fingerprint,
        (from, source): (Timestamp, StartSource),
        hold: PastHold,
    ) {
        let held_ms = hold.to.millis_since(from);
        let (mut renewal_count, mut min_margin_ms) = (0, None);
        if let Some((lease, interval)) = lock.renewal {
            renewal_count = u32::try_from(held_ms / millis(interval)).unwrap_or(u32::MAX);
            let late_ms = self.random.random_range(0..200);
            let margin_ms = millis(lease.saturating_sub(interval)) - late_ms;
            min_margin_ms = u64::try_from(margin_ms).ok().filter(|_| renewal_count > 0);
        }
        let is_first_seen = source == StartSource::FirstSeen;
        let recorded = RecordedHold {
            id: lock.id(),
            format: lock.format,
            hold: Hold {
                fingerprint: *owner,
                label: hold.label,
                started_at: from,
                started_at_source: source,
                started_at_uncertainty_ms: (!is_first_seen).then_some(20),
                ended_at: Some(hold.to),
                end_reason: Some(hold.end),
                renewal_count,
            },
            min_margin_ms,
            attempts: hold.attempts,
        };
        self.records
            .push((hold.to, HistoryRecord::HoldEnded(recorded)));
    }

    /// Adds a period in which a lock had a flag.
    pub fn add_flag(&mut self, lock: &DemoLock, flag: Flag, from: Timestamp, to: Timestamp) {
        for (at, is_raised) in [(from, true), (to, false)] {
            let id = lock.id();
            let record = HistoryRecord::Flag {
                id,
                flag,
                is_raised,
                at,
            };
            self.records.push((at, record));
        }
    }

    /// Adds an outage of a node: its states, one after another.
    pub fn add_outage(
        &mut self,
        group: &str,
        node: &str,
        from: Timestamp,
        states: &[(NodeState, Duration)],
    ) {
        let mut at = from;
        let up = (NodeState::Up, Duration::ZERO);
        for (state, span) in states.iter().copied().chain([up]) {
            let record = HistoryRecord::Node {
                group: group.to_owned(),
                node: node.to_owned(),
                state,
                at,
            };
            self.records.push((at, record));
            at = at.plus(span);
        }
    }

    /// Adds a gap. Holds that are added later are split by it.
    pub fn add_gap(&mut self, from: Timestamp, span: Duration, cause: GapCause) {
        let to = Some(from.plus(span));
        self.gaps.push(RecordingGap { from, to, cause });
        self.gaps.sort_by_key(|gap| gap.from);
    }

    /// The history, in the order of the times.
    pub fn into_history(mut self) -> PastHistory {
        self.records.sort_by_key(|(at, _)| *at);
        let counters = counters::count(&self.records, &self.gaps, self.from, self.to);
        PastHistory {
            from: self.from,
            to: self.to,
            counters,
            records: self.records,
            gaps: self.gaps,
        }
    }
}

/// A duration in milliseconds.
pub(super) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
