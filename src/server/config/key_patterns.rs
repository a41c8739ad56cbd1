//! The key patterns of a group: which names are scanned, which are locks of a given format, and
//! which are excluded.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::source::SourceFile;
use super::values::{Parsed, Pattern};
use super::{ConfigError, GroupConfig, ServiceConfig};
use crate::domain::operation_error::KeySetting;
use crate::domain::prefix::PrefixSet;
use crate::domain::{Format, glob};

/// A pattern whose names are locks of one format, regardless of their values
/// (`[[group.format_override]]`).
#[serde_as]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormatOverride {
    /// A Redis glob pattern.
    #[serde_as(as = "Parsed<Pattern>")]
    pub pattern: String,
    /// The format. A string with a matching name is a lock of this format, even if its value is not
    /// a token of the library.
    pub format: Format,
}

/// The key patterns of a group.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyPatterns<'a> {
    /// The patterns that are scanned, including those of `format_overrides`.
    pub keys: &'a [String],
    /// Whether `keys` was set by the operator. Then a matching name is evidence for a lock.
    pub keys_are_explicit: bool,
    /// The first match applies.
    pub format_overrides: &'a [FormatOverride],
    /// Names that match one of these are not locks.
    pub exclude: &'a [String],
    /// Names with one of these prefixes are not locks either: an admin excluded them on the page.
    pub excluded_prefixes: Option<&'a PrefixSet>,
}

/// The prefix of fencing counters, which the console stores next to locks.
pub const RESERVED_PREFIX: &[u8] = b"lockkeeper:fence:";

/// A pattern that matches every name.
static EVERY_NAME: LazyLock<[String; 1]> = LazyLock::new(|| ["*".to_owned()]);

impl KeyPatterns<'_> {
    /// No format overrides and no exclusions. With `keys_are_explicit`, every name counts as set by
    /// the operator.
    pub fn without_overrides(keys_are_explicit: bool) -> Self {
        Self {
            keys: if keys_are_explicit { &*EVERY_NAME } else { &[] },
            keys_are_explicit,
            ..Self::default()
        }
    }

    /// Whether a scanned pattern matches the name.
    pub fn matches_keys(&self, name: &[u8]) -> bool {
        glob::any_matches(self.keys, name)
    }

    /// Whether a pattern set by the operator matches the name.
    pub fn matches_explicit_keys(&self, name: &[u8]) -> bool {
        self.keys_are_explicit && self.matches_keys(name)
    }

    /// Whether names like this are not locks, by the configuration or by the decision of an admin.
    pub fn is_excluded(&self, name: &[u8]) -> bool {
        let has_prefix = |prefixes: &PrefixSet| prefixes.matches(name);
        glob::any_matches(self.exclude, name) || self.excluded_prefixes.is_some_and(has_prefix)
    }

    /// The first format override that matches the name.
    pub fn format_override(&self, name: &[u8]) -> Option<&FormatOverride> {
        let mut overrides = self.format_overrides.iter();
        overrides.find(|candidate| glob::matches(candidate.pattern.as_bytes(), name))
    }
}

/// Why operations on a name are rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyRestriction<'a> {
    /// The name has the prefix of the console's own keys.
    ReservedPrefix,
    /// The name matches none of these patterns, paths or prefixes, which the operator set.
    Outside(KeySetting, &'a [String]),
}

impl GroupConfig {
    /// The key patterns of the configuration. A running group has prefixes that an admin excluded,
    /// too.
    pub fn key_patterns(&self) -> KeyPatterns<'_> {
        KeyPatterns {
            keys: &self.keys,
            keys_are_explicit: self.keys_are_explicit,
            format_overrides: &self.format_overrides,
            exclude: &self.exclude,
            excluded_prefixes: None,
        }
    }

    /// Why a key with this name must be neither read nor changed; `None` if it may be. The rule
    /// applies to every operation on a single name, because the same Redis may hold sessions,
    /// caches and one-time codes.
    pub fn key_restriction(&self, name: &[u8]) -> Option<KeyRestriction<'_>> {
        if name.starts_with(RESERVED_PREFIX) {
            return Some(KeyRestriction::ReservedPrefix);
        }
        let is_unmatched = self.keys_are_explicit && !glob::any_matches(&self.keys, name);
        if is_unmatched {
            return Some(KeyRestriction::Outside(KeySetting::Keys, &self.keys));
        }
        match &self.service {
            ServiceConfig::Zookeeper(zookeeper) => {
                let is_included =
                    std::str::from_utf8(name).is_ok_and(|path| zookeeper.includes(path));
                (!is_included)
                    .then_some(KeyRestriction::Outside(KeySetting::Roots, &zookeeper.roots))
            }
            ServiceConfig::Etcd(etcd) => (!etcd.includes(name)).then_some(KeyRestriction::Outside(
                KeySetting::Prefixes,
                &etcd.prefixes,
            )),
            ServiceConfig::Redis | ServiceConfig::Postgres(_) => None,
        }
    }
}

/// Reads the format overrides of a group and checks that their patterns are unique.
pub(super) fn read_format_overrides(
    source: &SourceFile<'_>,
    tables: Vec<Spanned<FormatOverride>>,
) -> Result<Vec<FormatOverride>, ConfigError> {
    let mut overrides: Vec<FormatOverride> = Vec::new();
    for table in tables {
        let existing = overrides
            .iter()
            .find(|known| known.pattern == table.get_ref().pattern);
        if let Some(FormatOverride { pattern, format }) = existing {
            let why = format!(
                "duplicate pattern \"{pattern}\", already assigned to `{format}`; remove one"
            );
            return Err(source.error(&table, &why));
        }
        overrides.push(table.into_inner());
    }
    Ok(overrides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::config::{EtcdConfig, ServiceCredentials, ZookeeperConfig, parse};

    fn group(lines: &str) -> Result<super::super::GroupConfig, String> {
        let text =
            format!("[[group]]\nname = \"a\"\nnode = [{{ url = \"redis://h:1\" }}]\n{lines}");
        let mut config = parse("l.toml", &text, &|_| None).map_err(|error| error.to_string())?;
        Ok(config.groups.remove(0))
    }

    #[test]
    fn a_format_override_is_read_and_its_pattern_is_scanned() {
        let group = group(
            "exclude = [\"lock:ui:*\"]\n[[group.format_override]]\npattern = \"orders:*\"\nformat = \"redsync\"",
        )
        .unwrap();
        let expected = FormatOverride {
            pattern: "orders:*".into(),
            format: Format::Redsync,
        };
        assert_eq!(group.format_overrides, [expected]);
        assert_eq!(group.exclude, ["lock:ui:*"]);
        assert!(group.keys.contains(&"orders:*".to_owned()));
        assert!(
            !group.keys_are_explicit,
            "a format override does not make `keys` explicit"
        );
    }

    #[test]
    fn every_error_has_its_position() {
        let errors = [
            (
                "[[group.format_override]]\npattern = \"a:*\"\nformat = \"redision\"",
                "l.toml:6:10: unknown variant `redision`, expected one of `plain`, `redis-py`,",
            ),
            (
                "[[group.format_override]]\npattern = \"\"\nformat = \"plain\"",
                "l.toml:5:11: an empty pattern",
            ),
            (
                "[[group.format_override]]\npattern = \"a\"\nformat = \"plain\"\n[[group.format_override]]\npattern = \"a\"\nformat = \"rq\"",
                "l.toml:7:1: duplicate pattern \"a\", already assigned to `plain`",
            ),
            (
                "[[group.format_override]]\npattern = \"a\"",
                "l.toml:4:1: missing field `format`",
            ),
            (
                "[[group.format_override]]\npattern = \"a\"\nformat = \"plain\"\nkey = 1",
                "l.toml:7:1: unknown field `key`",
            ),
            ("exclude = [\"a\", \"\"]", "l.toml:4:17: an empty pattern"),
            ("exclude = \"a\"", "l.toml:4:11: invalid type"),
        ];
        for (lines, expected) in errors {
            let error = group(lines).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn names_outside_of_keys_and_reserved_names_are_restricted() {
        let with_keys = group(
            "keys = [\"lock:*\"]\n[[group.format_override]]\npattern = \"orders:*\"\nformat = \"redsync\"",
        )
        .unwrap();
        let keys = ["lock:*".to_owned(), "orders:*".to_owned()];
        for (name, restriction) in [
            ("lock:a", None),
            ("orders:1", None),
            (
                "sess:1",
                Some(KeyRestriction::Outside(KeySetting::Keys, &keys)),
            ),
            ("", Some(KeyRestriction::Outside(KeySetting::Keys, &keys))),
            (
                "lockkeeper:fence:{lock:a}",
                Some(KeyRestriction::ReservedPrefix),
            ),
        ] {
            assert_eq!(
                with_keys.key_restriction(name.as_bytes()),
                restriction,
                "{name}"
            );
        }
        let without_keys = group("").unwrap();
        assert_eq!(without_keys.key_restriction(b"sess:1"), None);
        assert_eq!(
            without_keys.key_restriction(b"lockkeeper:fence:x"),
            Some(KeyRestriction::ReservedPrefix)
        );
    }

    #[test]
    fn names_outside_of_roots_and_prefixes_are_restricted() {
        let mut zookeeper = group("").unwrap();
        zookeeper.service = ServiceConfig::Zookeeper(ZookeeperConfig {
            servers: Vec::new(),
            roots: vec!["/locks".to_owned()],
            tls: false,
            admin_port: None,
            credentials: ServiceCredentials::default(),
        });
        let roots = ["/locks".to_owned()];
        let outside = Some(KeyRestriction::Outside(KeySetting::Roots, &roots));
        for (name, restriction) in [
            ("/locks", None),
            ("/locks/a", None),
            ("/locks-of-others/a", outside.clone()),
            ("/kafka/controller", outside.clone()),
            ("", outside),
        ] {
            assert_eq!(zookeeper.key_restriction(name.as_bytes()), restriction);
        }
        let mut etcd = group("").unwrap();
        etcd.service = ServiceConfig::Etcd(EtcdConfig {
            endpoints: Vec::new(),
            prefixes: vec!["jobs/".to_owned()],
            credentials: ServiceCredentials::default(),
        });
        let prefixes = ["jobs/".to_owned()];
        let outside = Some(KeyRestriction::Outside(KeySetting::Prefixes, &prefixes));
        for (name, restriction) in [
            ("jobs/a", None),
            ("jobs", None),
            ("jobs-of-others", outside.clone()),
            ("job", outside),
        ] {
            assert_eq!(etcd.key_restriction(name.as_bytes()), restriction);
        }
    }
}
