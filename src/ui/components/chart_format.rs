//! The format of times and of the ends of holds in charts and history tables.

use crate::domain::{HoldEndReason, Timestamp};
use crate::ui::format;
use crate::ui::kit::Tone;

/// The colour of a hold.
pub fn hold_tone(reason: Option<HoldEndReason>) -> Tone {
    match reason {
        None => Tone::Good,
        Some(HoldEndReason::Released) => Tone::Plain,
        Some(HoldEndReason::Expired | HoldEndReason::TakenOver) => Tone::Warn,
        Some(HoldEndReason::Forced) => Tone::Alarm,
        Some(HoldEndReason::Unknown) => Tone::Unsure,
    }
}

/// Formats a time of day in UTC without the suffix: `03:12:09`.
pub fn utc_time(at: Timestamp) -> String {
    let text = format::time_of_day(at);
    text.trim_end_matches(" UTC").to_owned()
}
