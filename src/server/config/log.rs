//! The `[log]` table.

use serde::Deserialize;

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Human-readable lines.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The `[log]` table in the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogTable {
    /// The format of log lines; `--log-format` takes precedence.
    #[serde(default)]
    pub(super) format: LogFormat,
}
