//! `lockkeeper clear-restart-hazard`: clears the restart hazard of a node that lost no locks.

use clap::Args;

use super::Failure;
use super::options::CommonArgs;
use super::output::{json_line, print_stdout};
use super::standalone::Standalone;
use super::text::{self, TextFormat};

/// The arguments of `clear-restart-hazard`.
#[derive(Args)]
pub struct ClearRestartHazardArgs {
    /// The group in the configuration; with --redis it is "default".
    #[arg(value_name = "GROUP")]
    group: String,
    /// The node's name in the configuration.
    #[arg(value_name = "NODE")]
    node: String,
    /// Why no lock was lost; recorded in the audit log.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The name of the node again; required if the group's environment is production.
    #[arg(long, value_name = "NODE")]
    confirm: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

impl ClearRestartHazardArgs {
    pub fn prints_json(&self) -> bool {
        self.common.json
    }
}

pub async fn run(options: ClearRestartHazardArgs) -> Result<(), Failure> {
    let standalone = Standalone::start(options.common.source, Some(&options.group))?;
    standalone.wait_for_all_nodes().await;
    let (reason, confirm) = (&options.reason, options.confirm.as_deref());
    let operations = &standalone.operations;
    let clearing = operations.clear_restart_hazard(
        &standalone.principal,
        &options.group,
        &options.node,
        reason,
        confirm,
    );
    let (view, record) = clearing.await.map_err(|error| Failure::from(&error))?;
    let file = standalone.restarts.as_ref().ok_or_else(|| {
        Failure::failed("there is no state directory to store the result in".to_owned())
    })?;
    file.record_cleared_hazard(record).map_err(|why| {
        Failure::failed(format!("cannot write {}: {why}", file.path().display()))
            .with_advice("Run the command as the user of the console, or make the file writable.")
    })?;
    standalone.finish_background_work().await;
    if options.common.json {
        return print_stdout(&json_line(&view));
    }
    print_stdout(
        &TextFormat::for_stdout().fields(&[
            ("node", text::escape_invisible(&view.name)),
            ("address", text::escape_invisible(&view.address)),
            (
                "new locks",
                if view.quorum_eligible {
                    "accepted"
                } else {
                    "rejected"
                }
                .to_owned(),
            ),
            (
                "stored in",
                text::escape_invisible(&file.path().display().to_string()),
            ),
        ]),
    )
}
