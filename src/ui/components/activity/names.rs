//! How the page writes owners and times.

use crate::domain::{Fingerprint, Timestamp};
use crate::ui::format;

/// The label of an owner, or the start of its fingerprint.
pub fn owner_name(label: Option<&str>, fingerprint: &Fingerprint) -> String {
    match label {
        Some(label) => format::shorten(&format::escape_invisible(label), 36),
        None => fingerprint.short().to_owned(),
    }
}

/// What identifies an owner in the picture: the label, which all holds of a process share, or the
/// fingerprint.
pub fn owner_key<'a>(label: Option<&'a str>, fingerprint: &'a Fingerprint) -> &'a str {
    label.unwrap_or(fingerprint.as_str())
}

/// The time of a label on the axis, in UTC: `03:07`, `03:07:09`, or `11-26` for a date.
pub fn axis_label(at: Timestamp, is_date: bool, has_seconds: bool) -> String {
    let text = at.to_string();
    let part = match (is_date, has_seconds) {
        (true, _) => text.get(5..10),
        (false, true) => text.get(11..19),
        (false, false) => text.get(11..16),
    };
    part.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_the_precision_of_the_axis() {
        let at = Timestamp::from_millis(1_795_200_485_556);
        assert_eq!(axis_label(at, false, true), "18:48:05");
        assert_eq!(axis_label(at, false, false), "18:48");
        assert_eq!(axis_label(at, true, false), "11-20");
    }
}
