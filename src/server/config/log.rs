//! The `[log]` table: what log lines look like.

use serde::Deserialize;

/// What log lines look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// A line for people.
    #[default]
    Text,
    /// A JSON object a line, for programs.
    Json,
}

/// The table as it stands in the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// What log lines look like; `--log-format` wins.
    #[serde(default)]
    pub(super) format: LogFormat,
}
