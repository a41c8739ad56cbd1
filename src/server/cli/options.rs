//! What the commands share on the command line: where the nodes are, which lock is meant, spans of time.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use strum::VariantArray;

use super::Failure;
use crate::domain::{LockId, LockKey};
use crate::server::config::{self, Config, ConfigError};

/// Where the nodes are.
#[derive(Clone, Args)]
pub struct Nodes {
    /// The configuration file.
    #[arg(long, value_name = "FILE", conflicts_with = "redis")]
    config: Option<PathBuf>,
    /// A Redis server; several make one Redlock group "default".
    #[arg(long, value_name = "URL")]
    redis: Vec<String>,
}

impl Nodes {
    /// The configuration that is meant.
    pub fn read(self) -> Result<Config, Failure> {
        self.config()
            .map_err(|why| Failure::unusable(why.to_string()))
    }

    /// What it says by now. Where somebody was named before, that must not have become anybody.
    pub fn read_again(self, was_open: bool) -> Result<Config, ConfigError> {
        let config = self.config()?;
        if config.access.is_open() && !was_open {
            return Err(ConfigError(
                "nobody is named any more; to let everybody in, start the console again".to_owned(),
            ));
        }
        Ok(config)
    }

    /// The file that it is in, if it is in one.
    pub fn path(&self) -> Option<PathBuf> {
        if self.redis.is_empty() {
            config::path(self.config.clone())
        } else {
            None
        }
    }

    fn config(self) -> Result<Config, ConfigError> {
        if self.redis.is_empty() {
            config::from_file(self.config)
        } else {
            config::from_urls(&self.redis)
        }
    }
}

/// What every verb that goes straight to Redis is told.
#[derive(Args)]
pub struct Straight {
    #[command(flatten)]
    pub nodes: Nodes,
    /// Answer in JSON, one document on standard output. A failure is one, too: {"code", "detail", "advice", …}; where
    /// standard output is a command's, on standard error.
    #[arg(long)]
    pub json: bool,
}

/// Which lock is meant.
#[derive(Args)]
pub struct Which {
    /// The lock's name, byte for byte, behind its group in the configuration. GROUP may be left out while only one is
    /// configured; with --redis it is "default".
    #[arg(value_name = "[GROUP] KEY", num_args = 1..=2, required = true)]
    names: Vec<OsString>,
    /// KEY is percent-encoded: for names with bytes that cannot be typed (%00, %FF, a leading %2D).
    #[arg(long)]
    key_encoded: bool,
}

impl Which {
    /// The lock. Where no group is named, it is the only one of the configuration.
    pub fn id(&self, nodes: &Nodes) -> Result<LockId, Failure> {
        let (group, key) = match self.names.as_slice() {
            [group, key] => (Some(group), key),
            [key] => (None, key),
            _ => unreachable!("clap takes one name or two"),
        };
        let key = self.key(key)?;
        let group = match group {
            Some(group) => group.to_string_lossy().into_owned(),
            None => only_group(nodes.clone().read()?)?,
        };
        Ok(LockId { group, key })
    }

    fn key(&self, name: &OsString) -> Result<LockKey, Failure> {
        let key = if self.key_encoded {
            let decoded = name.to_str().and_then(LockKey::decode);
            decoded.ok_or_else(|| {
                Failure::unusable("KEY has a `%` that is not followed by two hex digits")
            })?
        } else {
            LockKey::new(name.as_bytes())
        };
        if key.as_bytes().is_empty() {
            return Err(Failure::unusable("KEY is empty; give the lock a name"));
        }
        Ok(key)
    }
}

/// The name of the only group.
fn only_group(config: Config) -> Result<String, Failure> {
    let mut names: Vec<String> = config.groups.into_iter().map(|group| group.name).collect();
    match names.len() {
        1 => Ok(names.remove(0)),
        n => Err(Failure::unusable(format!(
            "GROUP is missing, and the configuration has {n} groups: {}",
            names.join(", ")
        ))
        .advise("Name the group before KEY.")),
    }
}

/// Reads a span of time, like `500ms`, `30s` or `1h 30m`.
pub fn span(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "this is not a span of time; write 500ms, 30s or \"1h 30m\"".to_owned())
}

/// A span in whole milliseconds.
pub fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
/// Reads one of the words of an enum.
pub fn word<T>(text: &str) -> Result<T, String>
where
    T: FromStr + VariantArray + Copy + Into<&'static str>,
{
    let known = || {
        T::VARIANTS
            .iter()
            .map(|&one| one.into())
            .collect::<Vec<_>>()
    };
    text.parse()
        .map_err(|_| format!("it is one of {}", known().join(", ")))
}
