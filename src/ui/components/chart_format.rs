//! The colour of the ends of holds in charts and history tables.

use crate::domain::HoldEndReason;
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
