//! Fixtures for unit tests: recorded holds and flags at times relative to `NOW`.

use super::super::testing::{NOW, owner};
use super::super::{Flag, Format, Hold, HoldEndReason, LockId, StartSource};
use super::{Activity, FlagPeriod, HistorySource, RecordedHold};

/// The recorded history of the second before and the minute after `NOW`.
pub fn activity(holds: Vec<RecordedHold>, flags: Vec<FlagPeriod>) -> Activity {
    Activity {
        from: NOW.plus_millis(-1_000),
        to: NOW.plus_millis(60_000),
        holds,
        flags,
        outages: Vec::new(),
        gaps: Vec::new(),
        is_truncated: false,
        source: HistorySource::Storage,
        recorded_since: None,
        counters: Vec::new(),
        made_up_until: None,
    }
}

fn id(key: &str) -> LockId {
    LockId {
        group: "orders".into(),
        key: key.into(),
    }
}

/// A hold, which ended with a release.
pub fn hold(key: &str, owner_number: u8, from: i64, to: Option<i64>) -> RecordedHold {
    let owner = owner(owner_number);
    RecordedHold {
        id: id(key),
        format: Format::Plain,
        hold: Hold {
            fingerprint: owner.fingerprint,
            label: owner.label,
            started_at: NOW.plus_millis(from),
            started_at_source: StartSource::Appeared,
            started_at_uncertainty_ms: Some(0),
            ended_at: to.map(|ms| NOW.plus_millis(ms)),
            end_reason: to.map(|_| HoldEndReason::Released),
            renewal_count: 0,
        },
        min_margin_ms: None,
        attempts: None,
    }
}

/// A period with a flag.
pub fn flag(key: &str, flag: Flag, from: i64, to: Option<i64>) -> FlagPeriod {
    FlagPeriod {
        id: id(key),
        flag,
        from: NOW.plus_millis(from),
        to: to.map(|ms| NOW.plus_millis(ms)),
    }
}
