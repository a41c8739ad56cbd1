//! One owner's time with a lock: while it lasts, and after it ended.

use std::sync::Arc;

use super::Seen;
use crate::domain::{
    AcquiredAt, Fingerprint, Hold, Holder, HowEnded, Lock, Mode, Start, Timestamp, Verdict,
};

/// Longer than this without a sighting, and nobody knows what happened in between.
const UNSEEN_MS: i64 = 5_000;
/// The last moments before a deadline are within the jitter of look and clock.
const EXPIRY_JITTER_MS: i64 = 200;
/// Who is still there this long after a forced release was not released, or has put its lock back.
const RESURRECTED_AFTER_MS: i64 = 2_000;
/// A start is known if it is at most so uncertain: on a small keyspace that is only looked at now and then, a pass over it
/// begins every second or so, and is told a second later …
const KNOWN_WITHIN_MS: u64 = 2_000;
/// … or at most this part of the hold.
const KNOWN_WITHIN_PART: u64 = 10;

/// A fingerprint in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who([u8; 8]);

impl Who {
    pub(super) fn of(fingerprint: &Fingerprint) -> Option<Self> {
        let number = u64::from_str_radix(fingerprint.as_str(), 16).ok()?;
        Some(Self(number.to_be_bytes()))
    }

    fn fingerprint(self) -> Fingerprint {
        let text = format!("{:016x}", u64::from_be_bytes(self.0));
        Fingerprint::parse(&text).expect("16 hex digits")
    }
}

/// One who has it.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) who: Who,
    pub(super) label: Option<Arc<str>>,
    pub(super) from: Timestamp,
    pub(super) from_is: Start,
    pub(super) within_ms: Option<u32>,
    pub(super) renewals: u32,
    /// It was seen with a quorum.
    pub(super) was_held: bool,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) forced_at: Option<Timestamp>,
}

/// One who had it.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) who: Who,
    pub(super) label: Option<Arc<str>>,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    pub(super) within_ms: Option<u32>,
    pub(super) renewals: u32,
    pub(super) from_is: Start,
    pub(super) how: HowEnded,
}

impl Open {
    pub(super) fn begin(who: Who, from: Timestamp, is: AcquiredAt, within: Option<i64>) -> Self {
        let (from_is, within_ms) = match (is, within) {
            (AcquiredAt::Claimed, _) => (Start::Claimed, Some(0)),
            (AcquiredAt::FirstSeen, Some(ms)) if ms <= UNSEEN_MS => {
                (Start::Appeared, u32::try_from(ms).ok())
            }
            (AcquiredAt::FirstSeen, Some(_) | None) => (Start::FirstSeen, None),
        };
        Self {
            who,
            label: None,
            from,
            from_is,
            within_ms,
            renewals: 0,
            was_held: false,
            expires_at: None,
            forced_at: None,
        }
    }

    /// The wall clock was set by so many milliseconds: how long this hold lasts is not changed by that.
    pub(super) fn shift(&mut self, ms: i64) {
        self.from = self.from.plus_millis(ms);
        self.expires_at = self.expires_at.map(|at| at.plus_millis(ms));
        self.forced_at = self.forced_at.map(|at| at.plus_millis(ms));
    }

    pub(super) fn goes_on(&mut self, lock: &Lock, holder: Option<&Holder>, asked_at: Timestamp) {
        let (count, expires_at) = match holder {
            Some(holder) => (holder.renewals.count, holder.expires_at),
            None => (lock.renewals.count, lock.lease.expires_at()),
        };
        self.renewals = self.renewals.max(count);
        self.was_held |= lock.verdict == Verdict::Held;
        self.expires_at = expires_at;
        self.forced_at = self
            .forced_at
            .filter(|at| asked_at.millis_since(*at) < RESURRECTED_AFTER_MS);
    }

    /// How it ended, and when, where the lock is there and this owner is not.
    pub(super) fn left(&self, lock: &Lock, seen: Seen) -> (HowEnded, Timestamp) {
        let at = seen.asked_at;
        if let Some(expires) = self.expires_at
            && at.millis_since(expires) >= -EXPIRY_JITTER_MS
        {
            return (HowEnded::Expired, expires.min(at));
        }
        let unseen_ms = seen.before.map_or(0, |before| at.millis_since(before));
        match lock.mode {
            _ if unseen_ms > UNSEEN_MS && !seen.told => (HowEnded::Unknown, at),
            Mode::Exclusive => (HowEnded::TakenOver, at),
            Mode::Shared => (HowEnded::Released, at),
        }
    }

    /// It is over: by force, if that was told.
    pub(super) fn end(self, how: HowEnded, until: Timestamp) -> Ended {
        Ended {
            how: self.forced_at.map_or(how, |_| HowEnded::Forced),
            until: until.max(self.from),
            who: self.who,
            label: self.label,
            from: self.from,
            within_ms: self.within_ms,
            renewals: self.renewals,
            from_is: self.from_is,
        }
    }

    pub(super) fn tell(&self) -> Hold {
        Hold {
            fingerprint: self.who.fingerprint(),
            label: self.label.as_deref().map(str::to_owned),
            from: self.from,
            from_is: self.from_is,
            from_within_ms: self.within_ms.map(u64::from),
            until: None,
            ending: None,
            renewals: self.renewals,
        }
    }
}

impl Ended {
    /// How long it lasted, if that says what is usual: it was seen to begin and to end, and nobody cut it short.
    pub(super) fn tells_what_is_usual(&self) -> Option<u64> {
        let lasted = u64::try_from(self.until.millis_since(self.from)).unwrap_or(0);
        let within = u64::from(self.within_ms?);
        let is_known = within <= KNOWN_WITHIN_MS.max(lasted / KNOWN_WITHIN_PART);
        let is_usual = match self.how {
            HowEnded::Released | HowEnded::Expired | HowEnded::TakenOver => true,
            HowEnded::Forced | HowEnded::Unknown => false,
        };
        (is_known && is_usual).then_some(lasted)
    }

    pub(super) fn tell(&self) -> Hold {
        Hold {
            fingerprint: self.who.fingerprint(),
            label: self.label.as_deref().map(str::to_owned),
            from: self.from,
            from_is: self.from_is,
            from_within_ms: self.within_ms.map(u64::from),
            until: Some(self.until),
            ending: Some(self.how),
            renewals: self.renewals,
        }
    }
}

/// What one hold takes that ended.
#[cfg(test)]
pub(super) const BYTES_OF_A_HOLD: usize = size_of::<Ended>();
