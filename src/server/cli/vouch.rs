//! `lockkeeper vouch`: says that a node that may have lost locks did not.

use clap::Args;

use super::Failure;
use super::answer::{document, show};
use super::direct::Direct;
use super::options::Straight;
use super::text::{self, Page};

/// What `vouch` is told.
#[derive(Args)]
pub struct Options {
    /// The group in the configuration; with --redis it is "default".
    #[arg(value_name = "GROUP")]
    group: String,
    /// The node's name in the configuration.
    #[arg(value_name = "NODE")]
    node: String,
    /// Why it is known that no lock was lost; it is written to the audit.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The node's name once more: needed where the group's environment is production.
    #[arg(long, value_name = "NODE")]
    confirm: Option<String>,
    #[command(flatten)]
    straight: Straight,
}

impl Options {
    pub fn wants_json(&self) -> bool {
        self.straight.json
    }
}

pub async fn run(options: Options) -> Result<(), Failure> {
    let direct = Direct::start(options.straight.nodes, Some(&options.group))?;
    direct.all_tried().await;
    let (reason, confirm) = (&options.reason, options.confirm.as_deref());
    let operations = &direct.operations;
    let vouching = operations.vouch(
        &direct.actor,
        &options.group,
        &options.node,
        reason,
        confirm,
    );
    let (view, record) = vouching.await.map_err(|fault| Failure::from(&fault))?;
    let file = direct.restarts.as_ref().ok_or_else(|| {
        Failure::broken("there is no state directory in which it could be noted".to_owned())
    })?;
    file.vouch(record).map_err(|why| {
        Failure::broken(format!(
            "{}: cannot be written: {why}",
            file.path().display()
        ))
        .advise("Run it as the user that the console runs as, or make the file writable.")
    })?;
    direct.settle().await;
    if options.straight.json {
        return show(&document(&view));
    }
    show(&Page::of_stdout().facts(&[
        ("node", text::visible(&view.name)),
        ("address", text::visible(&view.address)),
        (
            "new locks",
            if view.votes { "accepted" } else { "refused" }.to_owned(),
        ),
        (
            "noted in",
            text::visible(&file.path().display().to_string()),
        ),
    ]))
}
