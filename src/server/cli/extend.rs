//! `lockkeeper extend`: extends a lease with the owner's token.

use std::time::Duration;

use clap::Args;

use super::Failure;
use super::options::{CommonArgs, LockArgs, as_whole_millis, parse_duration};
use super::output::{json_line, node_outcomes, print_stdout};
use super::standalone::{Standalone, lock_failure};
use super::text::{self, TextFormat};
use super::token::TokenSource;

/// The arguments of `extend`.
#[derive(Args)]
pub struct ExtendArgs {
    #[command(flatten)]
    lock: LockArgs,
    /// The new lease, starting now, like 500ms, 30s or 5m.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    ttl: Duration,
    #[command(flatten)]
    token: TokenSource,
    #[command(flatten)]
    common: CommonArgs,
}

impl ExtendArgs {
    pub fn prints_json(&self) -> bool {
        self.common.json
    }
}

pub async fn run(options: ExtendArgs) -> Result<(), Failure> {
    let (id, token) = (
        options.lock.lock_id(&options.common.source)?,
        options.token.read()?,
    );
    let standalone = Standalone::start(options.common.source, Some(&id.group))?;
    standalone.wait_for_all_nodes().await;
    let ttl_ms = as_whole_millis(options.ttl);
    let extended = standalone
        .operations
        .extend(&standalone.principal, &id, &token, ttl_ms)
        .await;
    let extended = extended.map_err(lock_failure(&id))?;
    if options.common.json {
        return print_stdout(&json_line(&extended));
    }
    let fields = [
        ("lock", text::lock_name(&id.key)),
        (
            "valid for",
            format!(
                "{}, until {}",
                text::format_ms(extended.validity_ms),
                extended.expires_at
            ),
        ),
        ("nodes", node_outcomes(&extended.nodes)),
    ];
    print_stdout(&TextFormat::for_stdout().fields(&fields))
}
