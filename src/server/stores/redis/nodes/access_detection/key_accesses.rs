//! Infers from successive readings in which seconds a key was accessed by a client that did not
//! write it. No I/O.
//!
//! Redis stores the second of the last access of each key. If it is later than the last known
//! write, another client accessed the key: a failed attempt, or a reader. A suspected access counts
//! only after the next reading confirms it, because the notification of a write can arrive after
//! its effect is visible. In doubt, an access is missed rather than invented.

use super::super::batch::LruClock;
use crate::server::clock::MonotonicTime;

/// The length of the window in seconds.
pub const WINDOW_SECONDS: i64 = 60;

/// Readings further apart than this do not cover the seconds between them.
const MAX_READING_GAP: i64 = 2;

/// Deadlines that differ by at most this count as equal.
const DEADLINE_TOLERANCE_MS: i64 = 60;

/// A larger idle time means that the server's clock was set back.
const MAX_IDLE: i64 = 1 << 23;

/// The server's LRU clock before and after it replied.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// Accesses are assumed to be no later than this implies.
    pub before: LruClock,
    /// Writes are assumed to be no earlier than this implies.
    pub after: LruClock,
}

/// What the server stores about accesses of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMark {
    /// Seconds since the last access.
    Idle(i64),
    /// A probabilistic counter (LFU), which grows more slowly the larger it is. The first access
    /// always increments it.
    Frequency(i64),
}

/// When a key expires, if it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Not read.
    Unknown,
    /// The key has no expiry.
    Never,
    /// At this time of the console's monotonic clock.
    At(MonotonicTime),
}

/// One reading of a key.
#[derive(Clone, Copy, Debug)]
pub struct AccessReading {
    /// The server's clock.
    pub clocks: Clocks,
    /// The last access.
    pub mark: AccessMark,
    /// When the key expires.
    pub deadline: Deadline,
    /// Whether several keys share the value: then an access to any of them counts for all.
    pub is_shared: Option<bool>,
    /// Whether the feed reports every write of this key.
    pub is_write_reported: bool,
}

/// What a reading requests in addition to the last access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadingFields {
    /// The expiry.
    pub deadline: bool,
    /// Whether other keys share the value.
    pub is_shared: bool,
}

/// Why accesses to one key cannot be detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLimitation {
    /// The value is a small integer that all keys share.
    SharedInteger,
    /// The key has no expiry that a write would change, and writes are not reported.
    WritesNotReported,
}

/// Accesses to a key by other clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessCount {
    /// The number of seconds with an access.
    pub contended_seconds: u32,
    /// The number of seconds observed.
    pub observed_seconds: u32,
}

/// The known accesses to one key.
#[derive(Clone, Debug, Default)]
pub struct KeyAccesses {
    /// The state after the last write; `None` while unknown.
    baseline: Option<Baseline>,
    /// A suspected access that the next reading must confirm: its earliest and latest second.
    suspected: Option<(LruClock, LruClock)>,
    limitation: Option<KeyLimitation>,
    own_read: OwnRead,
    is_unshared: bool,
    /// The second of the last reading. It corresponds to the lowest bit of the fields below.
    latest_reading: Option<LruClock>,
    contended_seconds: u64,
    observed_seconds: u64,
}

/// Whether the next reading may show an access by the console.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OwnRead {
    #[default]
    No,
    /// The console has read the key.
    Done,
    /// The console is reading the key.
    Still,
}

#[derive(Clone, Copy, Debug)]
struct Baseline {
    mark: BaselineMark,
    deadline: Deadline,
}

#[derive(Clone, Copy, Debug)]
enum BaselineMark {
    LastAccess(LruClock),
    Frequency(i64),
}

impl KeyAccesses {
    /// Records a write by any client. The next reading shows its effect.
    pub fn record_write(&mut self) {
        self.baseline = None;
        self.suspected = None;
        self.limitation = None;
        self.is_unshared = false;
    }

    /// Records a read by the console, which is an access but not a write.
    pub fn record_own_read(&mut self, in_progress: bool) {
        self.own_read = if in_progress {
            OwnRead::Still
        } else {
            OwnRead::Done
        };
    }

    /// What the next reading must request.
    pub fn required_fields(&self) -> ReadingFields {
        ReadingFields {
            deadline: self.baseline.is_none() || self.suspected.is_some(),
            is_shared: self.suspected.is_some() && !self.is_unshared,
        }
    }

    /// Why accesses cannot be detected, if they cannot.
    pub fn limitation(&self) -> Option<KeyLimitation> {
        self.limitation
    }

    /// Records a reading.
    pub fn record_reading(&mut self, reading: &AccessReading) {
        let now = reading.clocks.before;
        let since = self.latest_reading.map_or(0, |latest_reading| {
            reading.clocks.after.seconds_since(latest_reading)
        });
        if since < 0 {
            // The server's clock was set back, so recorded seconds are no longer comparable.
            *self = Self::default();
        }
        let before = self.latest_reading;
        self.advance(now);
        let current = match reading.mark {
            AccessMark::Frequency(counter) => Some((BaselineMark::Frequency(counter), now, now)),
            AccessMark::Idle(idle) if idle < MAX_IDLE => {
                let latest = last_access(reading.clocks.after, idle);
                let earliest = last_access(now, idle);
                Some((BaselineMark::LastAccess(latest), earliest, latest))
            }
            AccessMark::Idle(_) => None,
        };
        let Some((current, earliest, latest)) = current else {
            self.record_write();
            return;
        };
        let Some(baseline) = self.baseline else {
            self.baseline = Some(Baseline {
                mark: current,
                deadline: reading.deadline,
            });
            if self.own_read == OwnRead::Done {
                self.own_read = OwnRead::No;
            }
            self.mark_observed(before, now, now);
            return;
        };
        if self.suspected.is_some() && self.is_write(baseline.deadline, reading) {
            self.record_write();
            self.baseline = Some(Baseline {
                mark: current,
                deadline: reading.deadline,
            });
            self.mark_observed(before, now, now);
            return;
        }
        if let Some((earliest, latest)) = self.suspected.take() {
            match self.find_limitation(reading) {
                Some(limitation) => self.limitation = Some(limitation),
                None => self.mark_contended(earliest),
            }
            if let BaselineMark::LastAccess(last_access_at) = baseline.mark
                && latest.seconds_since(last_access_at) > 0
            {
                self.baseline = Some(Baseline {
                    mark: BaselineMark::LastAccess(latest),
                    ..baseline
                });
            }
        }
        let mark = self.baseline.unwrap_or(baseline).mark;
        let is_newer = match (mark, current) {
            (BaselineMark::LastAccess(then), BaselineMark::LastAccess(_)) => {
                earliest.seconds_since(then) > 0
            }
            (BaselineMark::Frequency(then), BaselineMark::Frequency(now)) => now > then,
            // The eviction policy was changed.
            (BaselineMark::LastAccess(_), BaselineMark::Frequency(_))
            | (BaselineMark::Frequency(_), BaselineMark::LastAccess(_)) => {
                self.record_write();
                return;
            }
        };
        if let (BaselineMark::Frequency(_), Some(baseline)) = (current, &mut self.baseline) {
            // The counter also decays by one per minute.
            baseline.mark = current;
        }
        let may_be_own_read = self.own_read != OwnRead::No;
        if self.own_read == OwnRead::Done {
            self.own_read = OwnRead::No;
        }
        if may_be_own_read {
            if let Some(baseline) = &mut self.baseline {
                baseline.mark = current;
            }
        } else if is_newer && self.limitation.is_none() {
            self.suspected = Some((earliest, latest));
        }
        let last = if is_newer { Some(earliest) } else { before };
        self.mark_observed(before, last.unwrap_or(now), now);
    }

    /// The accesses within the window that ends at `now`.
    pub fn access_count(&self, now: LruClock) -> AccessCount {
        let Some(latest_reading) = self.latest_reading else {
            return AccessCount::default();
        };
        let age = now.seconds_since(latest_reading).clamp(0, WINDOW_SECONDS);
        let mask = (1_u64 << (WINDOW_SECONDS - age)) - 1;
        AccessCount {
            contended_seconds: (self.contended_seconds & mask).count_ones(),
            observed_seconds: ((self.observed_seconds | self.contended_seconds) & mask)
                .count_ones(),
        }
    }

    fn advance(&mut self, now: LruClock) {
        let shift = self
            .latest_reading
            .map_or(0, |latest_reading| now.seconds_since(latest_reading));
        let shift = u32::try_from(shift).unwrap_or(0);
        // A shift by 64 or more overflows, which means that the whole window has passed.
        self.contended_seconds = self.contended_seconds.checked_shl(shift).unwrap_or(0);
        self.observed_seconds = self.observed_seconds.checked_shl(shift).unwrap_or(0);
        if shift > 0 || self.latest_reading.is_none() {
            self.latest_reading = Some(now);
        }
    }

    /// Whether a changed deadline shows that the suspected access was a write.
    fn is_write(&self, then: Deadline, reading: &AccessReading) -> bool {
        match (then, reading.deadline) {
            (Deadline::At(then), Deadline::At(now)) => {
                now.millis_since(then).unsigned_abs() > DEADLINE_TOLERANCE_MS.unsigned_abs()
            }
            (Deadline::Never, Deadline::Never) => false,
            // Without PTTL, an access counts as a write unless the feed would have reported it.
            (_, Deadline::Unknown) | (Deadline::Unknown, _) => !reading.is_write_reported,
            (Deadline::At(_), Deadline::Never) | (Deadline::Never, Deadline::At(_)) => true,
        }
    }

    fn find_limitation(&mut self, reading: &AccessReading) -> Option<KeyLimitation> {
        match reading.is_shared {
            // Not requested because it is known, or not permitted.
            None if !self.is_unshared => return Some(KeyLimitation::SharedInteger),
            Some(true) => return Some(KeyLimitation::SharedInteger),
            Some(false) | None => self.is_unshared = true,
        }
        let is_unreported = reading.deadline == Deadline::Never && !reading.is_write_reported;
        is_unreported.then_some(KeyLimitation::WritesNotReported)
    }

    fn mark_contended(&mut self, second: LruClock) {
        if let Some(bit) = self.bit(second) {
            self.contended_seconds |= bit;
        }
    }

    /// Marks the seconds that this reading covers: those since the previous reading, or, if that is
    /// too long ago, those since the last access.
    fn mark_observed(&mut self, before: Option<LruClock>, last_access_at: LruClock, now: LruClock) {
        let Some(before) = before else { return };
        let apart = now.seconds_since(before);
        let first = if apart <= MAX_READING_GAP {
            apart - 1
        } else {
            now.seconds_since(last_access_at).clamp(0, apart - 1)
        };
        for ago in 0..=first.min(WINDOW_SECONDS - 1) {
            self.observed_seconds |= 1_u64 << ago;
        }
    }

    fn bit(&self, second: LruClock) -> Option<u64> {
        let ago = self.latest_reading?.seconds_since(second);
        (0..WINDOW_SECONDS).contains(&ago).then(|| 1_u64 << ago)
    }
}

/// The second of the last access.
fn last_access(clock: LruClock, idle: i64) -> LruClock {
    // After its clock has wrapped around, the server reports one second too few
    // (`estimateObjectIdleTime`).
    let lost = i64::from(idle > clock.0);
    clock.before(idle + lost)
}

#[cfg(test)]
mod tests;
