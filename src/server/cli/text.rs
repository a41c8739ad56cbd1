//! Text for people: hostile names made harmless, tables and lists aligned, colour only where it is wanted.

use std::io::IsTerminal as _;
use std::time::Duration;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

pub use crate::domain::text::visible;
use crate::domain::{Lease, LockKey, Owner, Timestamp};
use crate::server::config;

/// Columns are padded up to this width; what is longer sticks out.
const WIDEST_COLUMN: usize = 60;
/// Names are cut to this width on a terminal. Elsewhere they stay whole: a script may be reading.
const WIDEST_ON_TERMINAL: usize = 60;

/// The name of a lock: harmless text, percent-encoded where it is binary, `""` where it is empty.
pub fn name(key: &LockKey) -> String {
    if key.as_bytes().is_empty() {
        return "\"\"".to_owned();
    }
    visible(&key.text())
}

/// The same in a sentence, where the middle of a long one is left out.
pub fn short_name(key: &LockKey) -> String {
    cut(&name(key), WIDEST_ON_TERMINAL)
}

/// What to call an owner: its label, else a dash. The fingerprint stands beside it.
pub fn label(owner: Option<&Owner>) -> String {
    let label = owner.and_then(|owner| owner.label.as_deref());
    label.map_or_else(|| "-".to_owned(), visible)
}

/// An owner in a sentence: label and fingerprint.
pub fn owner(owner: &Owner) -> String {
    match &owner.label {
        Some(label) => format!("{} ({})", visible(label), owner.fingerprint),
        None => format!("owner {}", owner.fingerprint),
    }
}

/// A span of time in two figures at most: `350ms`, `24s`, `1m 12s`, `7h 3m`.
pub fn span(ms: u64) -> String {
    let rounded = match ms {
        0..10_000 => ms,
        10_000..3_600_000 => ms / 1_000 * 1_000,
        3_600_000..86_400_000 => ms / 60_000 * 60_000,
        _ => ms / 3_600_000 * 3_600_000,
    };
    humantime::format_duration(Duration::from_millis(rounded)).to_string()
}

/// What is left of a lease.
pub fn lease(lease: Lease, now: Timestamp) -> String {
    match lease.remaining_ms(now) {
        None => "no expiry".to_owned(),
        Some(0) => "over".to_owned(),
        Some(ms) => span(ms),
    }
}

/// How a piece of text is shown where colours are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    Plain,
    /// Headings and what is there for completeness.
    Quiet,
    /// As it should be.
    Good,
    /// Worth a look.
    Odd,
    /// Somebody has to look.
    Bad,
}

/// Whether to colour, and how wide a name may be.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    colour: bool,
    narrow: bool,
}

impl Page {
    /// Neither colours nor cuts.
    #[cfg(test)]
    pub const PLAIN: Self = Self {
        colour: false,
        narrow: false,
    };

    /// What standard output wants.
    pub fn of_stdout() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        // https://no-color.org: set and not empty.
        let unwanted = config::variable("NO_COLOR").is_some_and(|value| !value.is_empty())
            || config::variable("TERM").is_some_and(|value| value == "dumb");
        Self {
            colour: is_terminal && !unwanted,
            narrow: is_terminal,
        }
    }

    /// The text in its colour.
    pub fn paint(self, text: &str, style: Style) -> String {
        let code = match style {
            Style::Quiet => "2",
            Style::Good => "32",
            Style::Odd => "33",
            Style::Bad => "31;1",
            Style::Plain => return text.to_owned(),
        };
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// A table; the first row is its heading.
    pub fn table(self, heading: &[&str], rows: &[Vec<(String, Style)>]) -> String {
        let quiet = |text: &&str| ((*text).to_owned(), Style::Quiet);
        let mut all = vec![heading.iter().map(quiet).collect::<Vec<_>>()];
        all.extend(rows.iter().map(|row| {
            row.iter()
                .map(|(text, style)| (self.cut(text), *style))
                .collect()
        }));
        let width = |column: usize| {
            let cells = all.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|(text, _)| text.width()).max().unwrap_or(0);
            widest.min(WIDEST_COLUMN)
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

    /// Names and values below each other, the values aligned.
    pub fn facts(self, facts: &[(&str, String)]) -> String {
        let widest = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        facts.iter().fold(String::new(), |mut out, (name, value)| {
            out.push_str(&self.paint(name, Style::Quiet));
            out.extend(std::iter::repeat_n(' ', widest - name.len() + 2));
            out.push_str(value);
            out.push('\n');
            out
        })
    }

    fn cut(self, text: &str) -> String {
        if self.narrow {
            cut(text, WIDEST_ON_TERMINAL)
        } else {
            text.to_owned()
        }
    }
}

/// At most `most` columns: the middle of a longer text is left out, its ends stay.
fn cut(text: &str, most: usize) -> String {
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
    fn nothing_in_a_name_reaches_the_terminal_as_a_command() {
        assert_eq!(
            visible("\x1b[31mred\x07\r\n\u{9b}2J\u{202e}lock"),
            "\\u{1b}[31mred\\u{7}\\r\\n\\u{9b}2J\\u{202e}lock"
        );
        assert_eq!(visible("lock:🔒/münchen"), "lock:🔒/münchen");
        assert_eq!(name(&LockKey::new([0xff, b'a'])), "%FFa");
        assert_eq!(name(&LockKey::new([])), "\"\"");
    }

    #[test]
    fn columns_line_up_by_what_is_seen() {
        let row =
            |a: &str, b: &str| vec![(a.to_owned(), Style::Plain), (b.to_owned(), Style::Plain)];
        let rows = [row("锁", "x"), row("lock", "y")];
        assert_eq!(
            Page::PLAIN.table(&["A", "B"], &rows),
            "A     B\n锁    x\nlock  y\n"
        );
    }

    #[test]
    fn a_name_that_is_too_long_keeps_its_ends() {
        assert_eq!(cut("lock:invoice:2026:customer", 11), "lock:…tomer");
        assert_eq!(cut("锁锁锁锁锁锁", 7), "锁…锁");
        assert_eq!(cut("short", 11), "short");
    }

    #[test]
    fn spans_have_two_figures() {
        let spans = [
            (350, "350ms"),
            (24_900, "24s"),
            (72_000, "1m 12s"),
            (25_399_000, "7h 3m"),
        ];
        for (ms, words) in spans {
            assert_eq!(span(ms), words);
        }
    }
}
