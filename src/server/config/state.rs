//! The `[state]` table: the Redis that several consoles share.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::node::{self, NodeTable};
use super::source::Source;
use super::values::{Period, Rule, Text, Wrong, seconds};
use super::{ConfigError, NodeConfig, RedisUrl};

/// What the keys begin with, unless it is said.
const PREFIX: &str = "lockkeeper:";
/// The longest prefix, in bytes.
const LONGEST_PREFIX: usize = 64;

/// Where sessions, back-off and repeated answers are, for all consoles that name the same Redis.
#[derive(Clone, Debug)]
pub struct StateConfig {
    /// The server: standalone, or the address under which a primary is always found. Never a cluster.
    pub server: NodeConfig,
    /// What all of its keys begin with; consoles with the same one share.
    pub prefix: String,
    /// How long one call may take.
    pub timeout: Duration,
}

impl StateConfig {
    /// The state is on this server.
    pub fn at(url: RedisUrl) -> Self {
        Self {
            server: NodeConfig::new("state", url),
            prefix: PREFIX.to_owned(),
            timeout: Duration::from_secs(1),
        }
    }

    /// The pattern that its keys match, for those who look for locks.
    pub fn pattern(&self) -> String {
        let mut pattern = String::new();
        for letter in self.prefix.chars() {
            if matches!(letter, '*' | '?' | '[' | ']' | '\\') {
                pattern.push('\\');
            }
            pattern.push(letter);
        }
        pattern + "*"
    }
}

/// The table as it stands in the file.
#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    url: RedisUrl,
    password_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    certificate_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    #[serde_as(as = "Option<Text<Prefix>>")]
    prefix: Option<String>,
    #[serde_as(as = "Text<Period>")]
    #[serde(default = "seconds::<1>")]
    timeout: Duration,
}

struct Prefix;

impl Rule for Prefix {
    type Value = String;

    fn read(text: &str) -> Result<String, Wrong> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || text.len() > LONGEST_PREFIX || !is_plain {
            return Err(
                "`prefix` has 1 to 64 visible ASCII characters, like \"lockkeeper:\"".into(),
            );
        }
        Ok(text.to_owned())
    }
}

/// Reads the table; without one, nothing is shared.
pub(super) fn read(
    source: &Source<'_>,
    table: Option<Spanned<Table>>,
) -> Result<Option<StateConfig>, ConfigError> {
    let Some(spanned) = table else {
        return Ok(None);
    };
    let span = spanned.span();
    let table = spanned.into_inner();
    let node = NodeTable {
        name: Some("state".to_owned()),
        url: table.url,
        password_file: table.password_file,
        ca_file: table.ca_file,
        certificate_file: table.certificate_file,
        key_file: table.key_file,
        read_from: None,
    };
    let server = node::read(node, 0).map_err(|why| ConfigError(source.at(span, &why)))?;
    Ok(Some(StateConfig {
        server,
        prefix: table.prefix.unwrap_or_else(|| PREFIX.to_owned()),
        timeout: table.timeout,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::domain::glob;

    const GROUP: &str = "[[group]]\nname = \"a\"\nnode = [{ url = \"redis://h:1\" }]\n";

    fn read(table: &str) -> Result<super::super::Config, String> {
        parse("l.toml", &format!("{GROUP}{table}"), &|_| {
            Some("secret".into())
        })
        .map_err(|why| why.to_string())
    }

    #[test]
    fn without_the_table_nothing_is_shared() {
        assert!(read("").unwrap().state.is_none());
    }

    #[test]
    fn it_is_read_as_a_node_is_and_its_keys_are_no_locks() {
        let config =
            read("[state]\nurl = \"redis://:${PASSWORD}@s:6380/2\"\nprefix = \"my[lock]:\"")
                .unwrap();
        let state = config.state.unwrap();
        let info = state.server.connection().unwrap();
        assert_eq!(info.redis_settings().password(), Some("secret"));
        assert_eq!(state.server.url.database(), 2);
        assert_eq!(state.timeout, Duration::from_secs(1));
        let ignored = &config.groups[0].ignore;
        assert!(glob::any_matches(ignored, b"my[lock]:session:x"));
        assert!(!glob::any_matches(ignored, b"myl:session:x"));
        assert!(!format!("{state:?}").contains("secret"));
    }

    #[test]
    fn every_mistake_has_its_place() {
        for (table, says) in [
            ("[state]", "l.toml:4:1: missing field `url`"),
            (
                "[state]\nurl = \"http://h\"",
                "l.toml:5:7: \"http://\" is not Redis",
            ),
            (
                "[state]\nurl = \"redis://h:1\"\nprefix = \"\"",
                "l.toml:6:10: `prefix` has 1 to 64",
            ),
            (
                "[state]\nurl = \"redis://h:1\"\nca_file = \"/none\"",
                "l.toml:4:1: certificates are for TLS",
            ),
            (
                "[state]\nurl = \"redis://h:1\"\ntimeout = \"0s\"",
                "l.toml:6:11: this span of time",
            ),
            (
                "[state]\nurl = \"redis://h:1\"\nshare = true",
                "l.toml:6:1: unknown field `share`",
            ),
        ] {
            let error = read(table).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
