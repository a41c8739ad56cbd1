//! How charts and tables of the past show moments and ends.

use crate::domain::{HowEnded, Timestamp};
use crate::ui::format;
use crate::ui::kit::Tone;

/// What the colour of a hold means.
pub fn tone(ending: Option<HowEnded>) -> Tone {
    match ending {
        None => Tone::Good,
        Some(HowEnded::Released) => Tone::Plain,
        Some(HowEnded::Expired | HowEnded::TakenOver) => Tone::Warn,
        Some(HowEnded::Forced) => Tone::Alarm,
        Some(HowEnded::Unknown) => Tone::Unsure,
    }
}

/// `03:12:09`, in UTC.
pub fn time(moment: Timestamp) -> String {
    let text = format::time_of_day(moment);
    text.trim_end_matches(" UTC").to_owned()
}
