//! Text output: escapes control characters in names, aligns tables and fields, and uses colour on
//! terminals.

use std::io::IsTerminal as _;
use std::time::Duration;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

pub use crate::domain::text::escape_invisible;
use crate::domain::{Lease, LockKey, Owner, Timestamp};
use crate::server::config;

/// Columns are padded up to this width; longer values overflow.
const MAX_COLUMN_WIDTH: usize = 60;
/// Names are truncated to this width on a terminal. In a pipe they are not, because a script may
/// parse them.
const MAX_NAME_WIDTH: usize = 60;

/// The name of a lock: escaped, percent-encoded if it is binary, `""` if it is empty.
pub fn lock_name(key: &LockKey) -> String {
    if key.as_bytes().is_empty() {
        return "\"\"".to_owned();
    }
    escape_invisible(&key.text())
}

/// The name of a lock, truncated in the middle if it is long.
pub fn short_lock_name(key: &LockKey) -> String {
    truncate_middle(&lock_name(key), MAX_NAME_WIDTH)
}

/// The label of an owner, or `-`.
pub fn owner_label(owner: Option<&Owner>) -> String {
    let label = owner.and_then(|owner| owner.label.as_deref());
    label.map_or_else(|| "-".to_owned(), escape_invisible)
}

/// The label and fingerprint of an owner.
pub fn describe_owner(owner: &Owner) -> String {
    match &owner.label {
        Some(label) => format!("{} ({})", escape_invisible(label), owner.fingerprint),
        None => format!("owner {}", owner.fingerprint),
    }
}

/// Formats a duration with at most two units: `350ms`, `24s`, `1m 12s`, `7h 3m`.
pub fn format_ms(ms: u64) -> String {
    let rounded = match ms {
        0..10_000 => ms,
        10_000..3_600_000 => ms / 1_000 * 1_000,
        3_600_000..86_400_000 => ms / 60_000 * 60_000,
        _ => ms / 3_600_000 * 3_600_000,
    };
    humantime::format_duration(Duration::from_millis(rounded)).to_string()
}

/// The remaining lease.
pub fn remaining_lease(lease: Lease, now: Timestamp) -> String {
    match lease.remaining_ms(now) {
        None if lease == Lease::Session => "session".to_owned(),
        None => "no expiry".to_owned(),
        Some(0) => "expired".to_owned(),
        Some(ms) => format_ms(ms),
    }
}

/// The style of a text on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Default colour.
    Plain,
    /// Headings and secondary information.
    Dim,
    /// Healthy.
    Success,
    /// Unusual.
    Warning,
    /// Needs attention.
    Error,
}

/// Whether colour is used and long names are truncated.
#[derive(Clone, Copy, Debug)]
pub struct TextFormat {
    uses_color: bool,
    truncates_names: bool,
}

impl TextFormat {
    /// No colour and no truncation.
    #[cfg(test)]
    pub const PLAIN: Self = Self {
        uses_color: false,
        truncates_names: false,
    };

    /// The format for standard output.
    pub fn for_stdout() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        // https://no-color.org: set and not empty.
        let unwanted = config::os_env_var("NO_COLOR").is_some_and(|value| !value.is_empty())
            || config::os_env_var("TERM").is_some_and(|value| value == "dumb");
        Self {
            uses_color: is_terminal && !unwanted,
            truncates_names: is_terminal,
        }
    }

    /// Applies a style.
    pub fn paint(self, text: &str, style: Style) -> String {
        let code = match style {
            Style::Dim => "2",
            Style::Success => "32",
            Style::Warning => "33",
            Style::Error => "31;1",
            Style::Plain => return text.to_owned(),
        };
        if self.uses_color && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Formats a table with a heading.
    pub fn table(self, heading: &[&str], rows: &[Vec<(String, Style)>]) -> String {
        let quiet = |text: &&str| ((*text).to_owned(), Style::Dim);
        let mut all = vec![heading.iter().map(quiet).collect::<Vec<_>>()];
        all.extend(rows.iter().map(|row| {
            row.iter()
                .map(|(text, style)| (self.truncate(text), *style))
                .collect()
        }));
        let width = |column: usize| {
            let cells = all.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|(text, _)| text.width()).max().unwrap_or(0);
            widest.min(MAX_COLUMN_WIDTH)
        };
        let widths: Vec<usize> = (0..heading.len()).map(width).collect();
        let mut out = String::new();
        for row in &all {
            let mut line = String::new();
            for (column, (text, style)) in row.iter().enumerate() {
                line.push_str(&self.paint(text, *style));
                if column + 1 < row.len() {
                    let gap = widths[column].saturating_sub(text.width()) + 2;
                    line.extend(std::iter::repeat_n(' ', gap));
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// Formats names and values, one pair per line, with aligned values.
    pub fn fields(self, fields: &[(&str, String)]) -> String {
        let widest = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        fields.iter().fold(String::new(), |mut out, (name, value)| {
            out.push_str(&self.paint(name, Style::Dim));
            out.extend(std::iter::repeat_n(' ', widest - name.len() + 2));
            out.push_str(value);
            out.push('\n');
            out
        })
    }

    fn truncate(self, text: &str) -> String {
        if self.truncates_names {
            truncate_middle(text, MAX_NAME_WIDTH)
        } else {
            text.to_owned()
        }
    }
}

/// Truncates a text to `max_width` columns by replacing its middle with `…`.
fn truncate_middle(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let half = (most - 1) / 2;
    let mut taken = 0;
    let mut fits = |c: &char| {
        taken += c.width().unwrap_or(0);
        taken <= half
    };
    let head: String = text.chars().take_while(&mut fits).collect();
    taken = 0;
    let mut fits = |c: &char| {
        taken += c.width().unwrap_or(0);
        taken <= half
    };
    let tail: Vec<char> = text.chars().rev().take_while(&mut fits).collect();
    format!("{head}…{}", tail.into_iter().rev().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_in_names_are_escaped() {
        assert_eq!(
            escape_invisible("\x1b[31mred\x07\r\n\u{9b}2J\u{202e}lock"),
            "\\u{1b}[31mred\\u{7}\\r\\n\\u{9b}2J\\u{202e}lock"
        );
        assert_eq!(escape_invisible("lock:🔒/münchen"), "lock:🔒/münchen");
        assert_eq!(lock_name(&LockKey::new([0xff, b'a'])), "%FFa");
        assert_eq!(lock_name(&LockKey::new([])), "\"\"");
    }

    #[test]
    fn columns_are_aligned_by_display_width() {
        let row =
            |a: &str, b: &str| vec![(a.to_owned(), Style::Plain), (b.to_owned(), Style::Plain)];
        let rows = [row("锁", "x"), row("lock", "y")];
        assert_eq!(
            TextFormat::PLAIN.table(&["A", "B"], &rows),
            "A     B\n锁    x\nlock  y\n"
        );
    }

    #[test]
    fn a_long_name_is_truncated_in_the_middle() {
        assert_eq!(
            truncate_middle("lock:invoice:2026:customer", 11),
            "lock:…tomer"
        );
        assert_eq!(truncate_middle("锁锁锁锁锁锁", 7), "锁…锁");
        assert_eq!(truncate_middle("short", 11), "short");
    }

    #[test]
    fn durations_have_at_most_two_units() {
        let spans = [
            (350, "350ms"),
            (24_900, "24s"),
            (72_000, "1m 12s"),
            (25_399_000, "7h 3m"),
        ];
        for (ms, words) in spans {
            assert_eq!(format_ms(ms), words);
        }
    }
}
