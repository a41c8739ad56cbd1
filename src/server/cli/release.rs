//! `lockkeeper release`: releases a lock with the owner's token.

use clap::Args;
use serde_json::json;

use super::Failure;
use super::options::{CommonArgs, LockArgs};
use super::output::{json_line, node_outcomes, print_stdout};
use super::standalone::{Standalone, lock_failure};
use super::text::{self, TextFormat};
use super::token::TokenSource;
use crate::domain::{LockId, ReleaseResult};

/// The arguments of `release`.
#[derive(Args)]
pub struct ReleaseArgs {
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    token: TokenSource,
    #[command(flatten)]
    common: CommonArgs,
}

impl ReleaseArgs {
    pub fn prints_json(&self) -> bool {
        self.common.json
    }
}

pub async fn run(options: ReleaseArgs) -> Result<(), Failure> {
    let (id, token) = (
        options.lock.lock_id(&options.common.source)?,
        options.token.read()?,
    );
    let standalone = Standalone::start(options.common.source, Some(&id.group))?;
    standalone.wait_for_all_nodes().await;
    let released = standalone
        .operations
        .release(&standalone.principal, &id, &token)
        .await;
    let released = released.map_err(lock_failure(&id))?;
    print_stdout(&if options.common.json {
        let mut result = json!({
            "outcome": released.outcome(),
            "nodes": released.nodes,
            "at": released.at,
        });
        if let Some(holds) = released.hold_count {
            result["hold_count"] = holds.into();
        }
        json_line(&result)
    } else {
        TextFormat::for_stdout().fields(&release_fields(&id, &released))
    })
}

/// The result of a release, as text.
pub fn release_fields(id: &LockId, released: &ReleaseResult) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("lock", text::lock_name(&id.key)),
        ("nodes", node_outcomes(&released.nodes)),
    ];
    if let Some(holds) = released.hold_count {
        // A re-entrant lock must be released as many times as it was acquired.
        fields.push(("releases left", holds.to_string()));
    }
    fields
}
