//! What the operator says about the names of a group's locks: which are locks of which format, and which are none.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::source::Source;
use super::values::{Pattern, Text};
use super::{ConfigError, GroupConfig};
use crate::domain::{Format, glob};

/// A pattern whose names are locks of one format, whatever their values look like (`[[group.format]]`).
#[serde_as]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Redis' glob.
    #[serde_as(as = "Text<Pattern>")]
    pub pattern: String,
    /// The format. A string under such a name is a lock of it even where its owner wrote a token of his own.
    pub format: Format,
}

/// What the operator says about the names of a group's locks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Naming<'a> {
    /// The patterns that are scanned, those of the pins included.
    pub keys: &'a [String],
    /// They are the operator's own: that a name matches one of them speaks for a lock.
    pub is_explicit: bool,
    /// The first that matches decides.
    pub pins: &'a [Pin],
    /// What matches one of these is no lock.
    pub ignore: &'a [String],
}

/// How the names of fencing counters begin, which the console writes beside locks.
pub const RESERVED: &[u8] = b"lockkeeper:fence:";

/// The pattern that every name matches.
static EVERY_NAME: LazyLock<[String; 1]> = LazyLock::new(|| ["*".to_owned()]);

impl Naming<'_> {
    /// No pins and nothing ignored; where `is_explicit`, the operator named every name.
    pub fn unpinned(is_explicit: bool) -> Self {
        Self {
            keys: if is_explicit { &*EVERY_NAME } else { &[] },
            is_explicit,
            ..Self::default()
        }
    }

    /// Whether one of the scanned patterns matches the name.
    pub fn is_scanned(&self, name: &[u8]) -> bool {
        glob::any_matches(self.keys, name)
    }

    /// Whether a pattern that the operator wrote matches the name.
    pub fn is_named_by_operator(&self, name: &[u8]) -> bool {
        self.is_explicit && self.is_scanned(name)
    }

    /// The pin that decides on the name.
    pub fn pin(&self, name: &[u8]) -> Option<&Pin> {
        let mut pins = self.pins.iter();
        pins.find(|pin| glob::matches(pin.pattern.as_bytes(), name))
    }
}

/// The patterns outside of which a group refuses every operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outside<'a> {
    /// The name is one that the console itself writes.
    Reserved,
    /// The name matches none of these, which the operator wrote.
    Keys(&'a [String]),
}

impl GroupConfig {
    /// What it says about the names of locks.
    pub fn naming(&self) -> Naming<'_> {
        Naming {
            keys: &self.keys,
            is_explicit: self.keys_are_explicit,
            pins: &self.pins,
            ignore: &self.ignore,
        }
    }

    /// Why a key of this name may be neither read nor changed; nothing where it may be. This is the one rule for every
    /// operation on a single name: the same Redis may hold sessions, caches and one-time codes, which are nobody's locks.
    pub fn outside(&self, name: &[u8]) -> Option<Outside<'_>> {
        if name.starts_with(RESERVED) {
            return Some(Outside::Reserved);
        }
        let is_outside = self.keys_are_explicit && !glob::any_matches(&self.keys, name);
        is_outside.then_some(Outside::Keys(&self.keys))
    }
}

/// Reads the pins of a group, of which no two may have the same pattern.
pub(super) fn read_pins(
    source: &Source<'_>,
    tables: Vec<Spanned<Pin>>,
) -> Result<Vec<Pin>, ConfigError> {
    let mut pins: Vec<Pin> = Vec::new();
    for table in tables {
        let known = pins
            .iter()
            .find(|pin| pin.pattern == table.get_ref().pattern);
        if let Some(Pin { pattern, format }) = known {
            let why = format!("the pattern \"{pattern}\" is pinned to `{format}` already");
            return Err(source.error(&table, &why));
        }
        pins.push(table.into_inner());
    }
    Ok(pins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::config::parse;

    fn group(lines: &str) -> Result<super::super::GroupConfig, String> {
        let text =
            format!("[[group]]\nname = \"a\"\nnode = [{{ url = \"redis://h:1\" }}]\n{lines}");
        let mut config = parse("l.toml", &text, &|_| None).map_err(|error| error.to_string())?;
        Ok(config.groups.remove(0))
    }

    #[test]
    fn a_pattern_is_pinned_to_its_format_and_scanned() {
        let group = group(
            "ignore = [\"lock:ui:*\"]\n[[group.format]]\npattern = \"orders:*\"\nformat = \"redsync\"",
        )
        .unwrap();
        let pin = Pin {
            pattern: "orders:*".into(),
            format: Format::Redsync,
        };
        assert_eq!(group.pins, [pin]);
        assert_eq!(group.ignore, ["lock:ui:*"]);
        assert!(group.keys.contains(&"orders:*".to_owned()));
        assert!(!group.keys_are_explicit, "the other patterns are not his");
    }

    #[test]
    fn every_mistake_has_its_place() {
        let errors = [
            (
                "[[group.format]]\npattern = \"a:*\"\nformat = \"redision\"",
                "l.toml:6:10: unknown variant `redision`, expected one of `plain`, `redis-py`,",
            ),
            (
                "[[group.format]]\npattern = \"\"\nformat = \"plain\"",
                "l.toml:5:11: an empty pattern",
            ),
            (
                "[[group.format]]\npattern = \"a\"\nformat = \"plain\"\n[[group.format]]\npattern = \"a\"\nformat = \"rq\"",
                "l.toml:7:1: the pattern \"a\" is pinned to `plain` already",
            ),
            (
                "[[group.format]]\npattern = \"a\"",
                "l.toml:4:1: missing field `format`",
            ),
            (
                "[[group.format]]\npattern = \"a\"\nformat = \"plain\"\nkey = 1",
                "l.toml:7:1: unknown field `key`",
            ),
            ("ignore = [\"a\", \"\"]", "l.toml:4:16: an empty pattern"),
            ("ignore = \"a\"", "l.toml:4:10: invalid type"),
        ];
        for (lines, expected) in errors {
            let error = group(lines).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_name_outside_of_keys_and_one_of_the_consoles_own_is_refused() {
        let named = group(
            "keys = [\"lock:*\"]\n[[group.format]]\npattern = \"orders:*\"\nformat = \"redsync\"",
        )
        .unwrap();
        let keys = ["lock:*".to_owned(), "orders:*".to_owned()];
        for (name, outside) in [
            ("lock:a", None),
            ("orders:1", None),
            ("sess:1", Some(Outside::Keys(&keys))),
            ("", Some(Outside::Keys(&keys))),
            ("lockkeeper:fence:{lock:a}", Some(Outside::Reserved)),
        ] {
            assert_eq!(named.outside(name.as_bytes()), outside, "{name}");
        }
        let any = group("").unwrap();
        assert_eq!(any.outside(b"sess:1"), None);
        assert_eq!(any.outside(b"lockkeeper:fence:x"), Some(Outside::Reserved));
    }
}
