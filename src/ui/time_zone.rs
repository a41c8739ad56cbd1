//! The time zone of displayed times: UTC, or the zone of the browser. Stored in the browser.
//!
//! The server renders UTC, and so does the browser during hydration. Texts that depend on the zone
//! are functions, which run again when the stored choice is applied.

use leptos::prelude::*;

use super::live::Live;
use super::preferences::Preference;
use crate::domain::Timestamp;

/// Whether times are in the zone of the browser. A copyable handle.
#[derive(Clone, Copy)]
pub struct TimeZone(RwSignal<bool>);

impl TimeZone {
    /// Provides UTC, and in the browser the stored choice.
    pub fn provide() {
        let zone = Self(RwSignal::new(false));
        provide_context(zone);
        // Hydration keeps the texts that the server rendered, so the choice is applied afterwards: in
        // the frame after the first snapshot, with which all pages are rendered.
        let live = Live::expect();
        let has_snapshot = Memo::new(move |_| live.has_snapshot());
        let apply = move || zone.apply(&Preference::TimeZone.get());
        Effect::new(move || {
            if has_snapshot.get() {
                request_animation_frame(apply);
            }
        });
    }

    /// The zone from the context.
    pub fn expect() -> Self {
        expect_context()
    }

    /// Applies a value of the preference.
    pub fn apply(self, value: &str) {
        let is_local = value == "local";
        if self.0.get_untracked() != is_local {
            self.0.set(is_local);
        }
    }
}

/// The minutes by which the selected zone is ahead of UTC at a time. Tracks the selection.
pub fn offset_minutes(at: Timestamp) -> i64 {
    let is_local = use_context::<TimeZone>().is_some_and(|zone| zone.0.get());
    match is_local {
        true => browser_offset_minutes(at),
        false => 0,
    }
}

/// The time whose UTC digits are those of `at` in the selected zone. Tracks the selection.
pub fn shifted(at: Timestamp) -> Timestamp {
    at.plus_millis(offset_minutes(at) * 60_000)
}

/// The name of a zone: `UTC`, `UTC+2` or `UTC-3:30`.
pub fn name(offset_minutes: i64) -> String {
    let (hours, minutes) = (offset_minutes.abs() / 60, offset_minutes.abs() % 60);
    let sign = if offset_minutes < 0 { '-' } else { '+' };
    match (hours, minutes) {
        (0, 0) => "UTC".to_owned(),
        (_, 0) => format!("UTC{sign}{hours}"),
        (_, _) => format!("UTC{sign}{hours}:{minutes:02}"),
    }
}

#[cfg(target_arch = "wasm32")]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "dates of JavaScript are floats, and an offset is less than a day"
)]
fn browser_offset_minutes(at: Timestamp) -> i64 {
    let date = js_sys::Date::new(&(at.millis() as f64).into());
    -(date.get_timezone_offset() as i64)
}

/// The server does not know the zone of the browser.
#[cfg(not(target_arch = "wasm32"))]
fn browser_offset_minutes(_: Timestamp) -> i64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_named_by_its_offset() {
        for (minutes, expected) in [
            (0, "UTC"),
            (120, "UTC+2"),
            (330, "UTC+5:30"),
            (-210, "UTC-3:30"),
            (-30, "UTC-0:30"),
        ] {
            assert_eq!(name(minutes), expected);
        }
    }
}
