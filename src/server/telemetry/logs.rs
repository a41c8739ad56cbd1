//! Logs: to standard error, so that standard output stays free for answers; as lines for people or as JSON for programs.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::server::config::LogFormat;

/// Turns logging on. `filter` is what `--log` says, like `info` or `lockkeeper=debug`.
pub fn start(filter: &str, format: LogFormat) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|why| format!("--log {filter:?} is not a filter: {why}"))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // A second start (in tests) keeps the first one's settings.
    let _already_on = match format {
        // No escape sequences in a file or a pipe.
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).try_init(),
        // One object a line, the fields of an event beside its message.
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    Ok(())
}
