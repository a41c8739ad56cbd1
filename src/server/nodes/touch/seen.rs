//! Pure: the last touches of one key, reading after reading, and in which seconds somebody touched it who did not write.
//!
//! Redis keeps of every key the second of its last touch. One that is later than the last write we know of was somebody
//! else's: a try that failed, or a reader. What a reading suggests counts only once the next one bears it out, because news
//! of a write may come a little after its traces. In doubt a second is missed, never made up.

use super::super::trip::TouchClock;
use crate::server::clock::Steady;

/// So far back seconds are kept.
pub const SECONDS: i64 = 60;

/// Readings further apart than this say nothing of the seconds between them.
const CLOSE: i64 = 2;

/// Deadlines that differ by no more than this are the same one, read twice.
const BLUR_MS: i64 = 60;

/// An idle time beyond this is that of a server whose clock was set back.
const LONGEST_IDLE: i64 = 1 << 23;

/// The server's clock for idle times before and after it answered.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// A touch is taken to have been no later than this tells.
    pub before: TouchClock,
    /// A write is taken to have been no earlier.
    pub after: TouchClock,
}

/// What the server keeps of the touches of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Seconds since the last one.
    Idle(i64),
    /// A counter that grows by chance, and the more slowly the larger it is (LFU). The first touch always shows.
    Frequency(i64),
}

/// When a key ends, as far as it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// It was not asked.
    Unknown,
    /// Never.
    Never,
    /// At this moment of our steady clock.
    At(Steady),
}

/// What the server said of one key.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Its clock.
    pub clocks: Clocks,
    /// The last touch.
    pub mark: Mark,
    /// When the key ends.
    pub deadline: Deadline,
    /// How many keys share the value; one that many share is touched by all of them.
    pub shared: Option<bool>,
    /// Whether every write of this key is told to us.
    pub is_told: bool,
}

/// What a reading asks beside the last touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// When the key ends.
    pub deadline: bool,
    /// Whether others share its value.
    pub shared: bool,
}

/// Why touches of one key cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The server keeps small numbers once for all keys.
    SharedNumber,
    /// It has no deadline that a write would move, and nobody tells of writes.
    Untold,
}

/// How often a key was touched by somebody else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figure {
    /// Seconds in which it was.
    pub contended: u32,
    /// Of so many seconds that were watched.
    pub watched: u32,
}

/// What is known of one key's touches.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// What the last write left; nothing while that is not known.
    baseline: Option<Baseline>,
    /// A touch that was no known write, and waits for the next reading: no later and no earlier than this.
    suspect: Option<(TouchClock, TouchClock)>,
    doubt: Option<Doubt>,
    ours: Ours,
    is_alone: bool,
    /// The second of the last reading. The lowest bit below is this second's.
    newest: Option<TouchClock>,
    contended: u64,
    watched: u64,
}

/// Whether the next reading may find a touch of our own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ours {
    #[default]
    No,
    /// We have read the key.
    Done,
    /// We are about to.
    Still,
}

#[derive(Clone, Copy, Debug)]
struct Baseline {
    mark: Left,
    deadline: Deadline,
}

#[derive(Clone, Copy, Debug)]
enum Left {
    Touched(TouchClock),
    Frequency(i64),
}

impl Seen {
    /// It was written, by its owner or somebody else, or read by us: what the next reading finds is the trace of that.
    pub fn written(&mut self) {
        self.baseline = None;
        self.suspect = None;
        self.doubt = None;
        self.is_alone = false;
    }

    /// We read it, or still do: that is a touch, and no write.
    pub fn read_by_us(&mut self, still: bool) {
        self.ours = if still { Ours::Still } else { Ours::Done };
    }

    /// What the next reading is to ask.
    pub fn wants(&self) -> Wanted {
        Wanted {
            deadline: self.baseline.is_none() || self.suspect.is_some(),
            shared: self.suspect.is_some() && !self.is_alone,
        }
    }

    /// Why its touches cannot be told, if they cannot.
    pub fn doubt(&self) -> Option<Doubt> {
        self.doubt
    }

    /// Takes what the server said.
    pub fn take(&mut self, reading: &Reading) {
        let now = reading.clocks.before;
        let since = self
            .newest
            .map_or(0, |newest| reading.clocks.after.seconds_since(newest));
        if since < 0 {
            // The server's clock was set back: its seconds are others now.
            *self = Self::default();
        }
        let before = self.newest;
        self.advance(now);
        let left = match reading.mark {
            Mark::Frequency(counter) => Some((Left::Frequency(counter), now, now)),
            Mark::Idle(idle) if idle < LONGEST_IDLE => {
                let high = touched(reading.clocks.after, idle);
                let low = touched(now, idle);
                Some((Left::Touched(high), low, high))
            }
            Mark::Idle(_) => None,
        };
        let Some((left, low, high)) = left else {
            self.written();
            return;
        };
        let Some(baseline) = self.baseline else {
            self.baseline = Some(Baseline {
                mark: left,
                deadline: reading.deadline,
            });
            if self.ours == Ours::Done {
                self.ours = Ours::No;
            }
            self.was_watched(before, now, now);
            return;
        };
        if self.suspect.is_some() && self.is_a_write(baseline.deadline, reading) {
            self.written();
            self.baseline = Some(Baseline {
                mark: left,
                deadline: reading.deadline,
            });
            self.was_watched(before, now, now);
            return;
        }
        if let Some((low, high)) = self.suspect.take() {
            match self.doubt_about(reading) {
                Some(doubt) => self.doubt = Some(doubt),
                None => self.was_contended(low),
            }
            if let Left::Touched(touched) = baseline.mark
                && high.seconds_since(touched) > 0
            {
                self.baseline = Some(Baseline {
                    mark: Left::Touched(high),
                    ..baseline
                });
            }
        }
        let mark = self.baseline.unwrap_or(baseline).mark;
        let is_news = match (mark, left) {
            (Left::Touched(then), Left::Touched(_)) => low.seconds_since(then) > 0,
            (Left::Frequency(then), Left::Frequency(now)) => now > then,
            // The policy was changed.
            (Left::Touched(_), Left::Frequency(_)) | (Left::Frequency(_), Left::Touched(_)) => {
                self.written();
                return;
            }
        };
        if let (Left::Frequency(_), Some(baseline)) = (left, &mut self.baseline) {
            // It also falls, by one a minute.
            baseline.mark = left;
        }
        let may_be_ours = self.ours != Ours::No;
        if self.ours == Ours::Done {
            self.ours = Ours::No;
        }
        if may_be_ours {
            if let Some(baseline) = &mut self.baseline {
                baseline.mark = left;
            }
        } else if is_news && self.doubt.is_none() {
            self.suspect = Some((low, high));
        }
        let last = if is_news { Some(low) } else { before };
        self.was_watched(before, last.unwrap_or(now), now);
    }

    /// How often it was touched, as of this second.
    pub fn figure(&self, now: TouchClock) -> Figure {
        let Some(newest) = self.newest else {
            return Figure::default();
        };
        let age = now.seconds_since(newest).clamp(0, SECONDS);
        let kept = (1_u64 << (SECONDS - age)) - 1;
        Figure {
            contended: (self.contended & kept).count_ones(),
            watched: ((self.watched | self.contended) & kept).count_ones(),
        }
    }

    fn advance(&mut self, now: TouchClock) {
        let by = self.newest.map_or(0, |newest| now.seconds_since(newest));
        let by = u32::try_from(by).unwrap_or(0);
        self.contended = self.contended.checked_shl(by).unwrap_or(0);
        self.watched = self.watched.checked_shl(by).unwrap_or(0);
        if by > 0 || self.newest.is_none() {
            self.newest = Some(now);
        }
    }

    /// Whether the deadline tells that the suspect was a write: it moved.
    fn is_a_write(&self, then: Deadline, reading: &Reading) -> bool {
        match (then, reading.deadline) {
            (Deadline::At(then), Deadline::At(now)) => {
                now.millis_since(then).unsigned_abs() > BLUR_MS.unsigned_abs()
            }
            (Deadline::Never, Deadline::Never) => false,
            // May not be asked: then only who is told can tell.
            (_, Deadline::Unknown) | (Deadline::Unknown, _) => !reading.is_told,
            (Deadline::At(_), Deadline::Never) | (Deadline::Never, Deadline::At(_)) => true,
        }
    }

    fn doubt_about(&mut self, reading: &Reading) -> Option<Doubt> {
        match reading.shared {
            // Not asked because it is known, or may not be asked.
            None if !self.is_alone => return Some(Doubt::SharedNumber),
            Some(true) => return Some(Doubt::SharedNumber),
            Some(false) | None => self.is_alone = true,
        }
        let untold = reading.deadline == Deadline::Never && !reading.is_told;
        untold.then_some(Doubt::Untold)
    }

    fn was_contended(&mut self, second: TouchClock) {
        if let Some(bit) = self.bit(second) {
            self.contended |= bit;
        }
    }

    /// The seconds up to now of which this reading tells: those since the one before, or where that is long ago those
    /// since the last touch, in which nobody touched it.
    fn was_watched(&mut self, before: Option<TouchClock>, touched: TouchClock, now: TouchClock) {
        let Some(before) = before else { return };
        let apart = now.seconds_since(before);
        let first = if apart <= CLOSE {
            apart - 1
        } else {
            now.seconds_since(touched).clamp(0, apart - 1)
        };
        for ago in 0..=first.min(SECONDS - 1) {
            self.watched |= 1_u64 << ago;
        }
    }

    fn bit(&self, second: TouchClock) -> Option<u64> {
        let ago = self.newest?.seconds_since(second);
        (0..SECONDS).contains(&ago).then(|| 1_u64 << ago)
    }
}

/// The second of the last touch.
fn touched(clock: TouchClock, idle: i64) -> TouchClock {
    // Once its clock has turned over the server tells one second too few (`estimateObjectIdleTime`).
    let lost = i64::from(idle > clock.0);
    clock.before(idle + lost)
}

#[cfg(test)]
#[path = "seen_tests.rs"]
mod tests;
