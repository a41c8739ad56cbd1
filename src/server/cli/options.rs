//! Arguments and parsers shared by several commands.

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

/// Where the configuration comes from.
#[derive(Clone, Args)]
pub struct ConfigSource {
    /// The configuration file.
    #[arg(long, value_name = "FILE", conflicts_with = "redis")]
    config: Option<PathBuf>,
    /// The URL of a Redis server, which forms the group "default". Several make a Redlock group.
    #[arg(long, value_name = "URL")]
    redis: Vec<String>,
}

impl ConfigSource {
    /// Loads the configuration.
    pub fn load(self) -> Result<Config, Failure> {
        self.config()
            .map_err(|why| Failure::invalid_input(why.to_string()))
    }

    /// Loads the configuration again. It must not disable authentication unless it was disabled
    /// before.
    pub fn reload(self, was_auth_disabled: bool) -> Result<Config, ConfigError> {
        let config = self.config()?;
        if config.access.is_auth_disabled() && !was_auth_disabled {
            return Err(ConfigError(
                "the file has no users and tokens any more; to disable authentication, restart the console".to_owned(),
            ));
        }
        Ok(config)
    }

    /// The path of the configuration file, if there is one.
    pub fn file_path(&self) -> Option<PathBuf> {
        if self.redis.is_empty() {
            config::find_file(self.config.clone())
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

/// The arguments of every command that runs directly on the nodes.
#[derive(Args)]
pub struct CommonArgs {
    #[command(flatten)]
    pub source: ConfigSource,
    /// Print one JSON document on standard output, also for a failure: {"code", "detail", "advice",
    /// …}. `run` prints it on standard error.
    #[arg(long)]
    pub json: bool,
}

/// The arguments that name a lock.
#[derive(Args)]
pub struct LockArgs {
    /// The group in the configuration and the exact name of the lock. GROUP can be omitted if only
    /// one group is configured; with --redis it is "default".
    #[arg(value_name = "[GROUP] KEY", num_args = 1..=2, required = true)]
    names: Vec<OsString>,
    /// KEY is percent-encoded, for names with bytes that cannot be typed (%00, %FF, a leading %2D).
    #[arg(long)]
    key_encoded: bool,
}

impl LockArgs {
    /// Creates the arguments from the optional group and the key.
    pub fn new(names: Vec<OsString>, key_encoded: bool) -> Self {
        Self { names, key_encoded }
    }

    /// The lock. Without a group, the only one in the configuration is used.
    pub fn lock_id(&self, source: &ConfigSource) -> Result<LockId, Failure> {
        let (group, key) = match self.names.as_slice() {
            [group, key] => (Some(group), key),
            [key] => (None, key),
            _ => unreachable!("clap accepts one or two names"),
        };
        let key = self.key(key)?;
        let group = match group {
            Some(group) => group.to_string_lossy().into_owned(),
            None => only_group(source.clone().load()?)?,
        };
        Ok(LockId { group, key })
    }

    fn key(&self, name: &OsString) -> Result<LockKey, Failure> {
        let key = if self.key_encoded {
            let decoded = name.to_str().and_then(LockKey::decode);
            decoded.ok_or_else(|| {
                Failure::invalid_input("KEY has a `%` that is not followed by two hex digits")
            })?
        } else {
            LockKey::new(name.as_bytes())
        };
        if key.as_bytes().is_empty() {
            return Err(Failure::invalid_input("KEY is empty; give the lock a name"));
        }
        Ok(key)
    }
}

/// The name of the only group.
fn only_group(config: Config) -> Result<String, Failure> {
    let mut names: Vec<String> = config.groups.into_iter().map(|group| group.name).collect();
    match names.len() {
        1 => Ok(names.remove(0)),
        n => Err(Failure::invalid_input(format!(
            "GROUP is required, because the configuration has {n} groups: {}",
            names.join(", ")
        ))
        .with_advice("Name the group before KEY.")),
    }
}

/// Parses a duration, like `500ms`, `30s` or `1h 30m`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "invalid duration; write 500ms, 30s or \"1h 30m\"".to_owned())
}

/// Converts a duration to whole milliseconds, saturating.
pub fn as_whole_millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
/// Parses the slug of an enum variant.
pub fn parse_variant<T>(text: &str) -> Result<T, String>
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
        .map_err(|_| format!("must be one of {}", known().join(", ")))
}
