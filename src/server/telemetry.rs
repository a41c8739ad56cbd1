//! Logs: to standard error, so that standard output stays free for answers.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Turns logging on. `filter` is what `--log` says, like `info` or `lockkeeper=debug`.
pub fn start(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|why| format!("--log {filter:?} is not a filter: {why}"))?;
    // A second start (in tests) keeps the first one's settings.
    let _already_on = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // No escape sequences in a file or a pipe.
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
    Ok(())
}
