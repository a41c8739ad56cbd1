//! `lockkeeper force-releases`: frees many locks that others hold, each only if its owner is still the one that was seen.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::answer::{acts, document, note, show, status};
use super::direct::Direct;
use super::options::Nodes;
use super::text::{self, Page, Style, visible};
use super::{Failure, counted, documents};
use crate::server::operations::{ForceItem, ForceReleases, ForcedItem};

/// What `force-releases` is told.
#[derive(Args)]
pub struct Options {
    /// The file that says which: a JSON array of {"group", "key", "fingerprint"}, at most 500; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Why the locks are broken; it is logged.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Do nothing, and say what would come of it.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    nodes: Nodes,
    /// Answer in JSON, one document on standard output, in the API's shape.
    #[arg(long)]
    json: bool,
}

impl Options {
    pub fn wants_json(&self) -> bool {
        self.json
    }
}

/// Releases them; the exit status is 0 only if every one was released, or would be.
pub async fn run(options: Options) -> Result<u8, Failure> {
    const WHAT: &str = "an array of {\"group\", \"key\", \"fingerprint\"}";
    let items: Vec<ForceItem> = documents::read(&options.from, WHAT)?;
    let direct = Direct::start(options.nodes, None)?;
    direct.all_tried().await;
    let dry_run = options.dry_run;
    let request = ForceReleases {
        items,
        reason: options.reason,
        dry_run,
    };
    let forced = direct
        .operations
        .force_releases(&direct.actor, request)
        .await;
    let forced = forced.map_err(|fault| Failure::from(&fault))?;
    let released = forced.iter().filter(|item| item.end.is_ok()).count();
    if options.json {
        let items: Vec<Value> = forced.iter().map(|item| told(item, dry_run)).collect();
        let answer = json!({ "dry_run": dry_run, "released": released, "items": items });
        show(&document(&answer))?;
    } else {
        let heading = ["GROUP", "LOCK", "FINGERPRINT", "OUTCOME", "NODES"];
        let rows: Vec<_> = forced.iter().map(|item| row(item, dry_run)).collect();
        show(&Page::of_stdout().table(&heading, &rows))?;
        let done = if dry_run {
            "would be released"
        } else {
            "released"
        };
        note(&format!(
            "{released} of {} {done}; this stops none of the processes that believe they hold them\n",
            counted(forced.len(), "lock")
        ));
    }
    Ok(if released == forced.len() {
        0
    } else {
        status::FAILED
    })
}

fn outcome(item: &ForcedItem, dry_run: bool) -> &'static str {
    match &item.end {
        Ok(_) if dry_run => "releasable",
        Ok(released) => released.outcome(),
        Err(fault) => fault.code(),
    }
}

fn told(item: &ForcedItem, dry_run: bool) -> Value {
    let mut told = json!(item.id);
    told["fingerprint"] = json!(item.fingerprint);
    told["outcome"] = json!(outcome(item, dry_run));
    match &item.end {
        Ok(released) => {
            told["nodes"] = json!(released.nodes);
            told["at"] = json!(released.at);
            if !dry_run {
                let after = released.seen_after.as_ref();
                told["seen_after"] =
                    json!(after.map(|lock| lock.nodes.as_slice()).unwrap_or_default());
            }
        }
        Err(fault) => told["problem"] = Failure::of(fault, &item.id).json(),
    }
    told
}

fn row(item: &ForcedItem, dry_run: bool) -> Vec<(String, Style)> {
    let plain = |text: String| (text, Style::Plain);
    let nodes = match &item.end {
        Ok(released) => acts(&released.nodes),
        Err(fault) => visible(&fault.to_string()),
    };
    vec![
        plain(visible(&item.id.group)),
        plain(text::name(&item.id.key)),
        plain(item.fingerprint.to_string()),
        plain(outcome(item, dry_run).to_owned()),
        plain(nodes),
    ]
}
