//! `lockkeeper force-release --from FILE`: releases many locks.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::advice_text;
use super::super::options::CommonArgs;
use super::super::output::{json_line, node_outcomes, print_stderr, print_stdout, status};
use super::super::standalone::Standalone;
use super::super::text::{self, Style, TextFormat, escape_invisible};
use super::super::{Failure, json_input, pluralize};
use crate::domain::release_advice::AdviceCounts;
use crate::server::operations::{ForceItem, ForceItemResult, ForceReleases};

/// The arguments of a bulk release.
pub struct BulkRelease {
    pub from: PathBuf,
    pub reason: String,
    pub dry_run: bool,
}

/// Releases the locks. The exit status is 0 only if all locks were released, or would be in a dry
/// run.
pub async fn run(options: BulkRelease, common: CommonArgs) -> Result<u8, Failure> {
    const WHAT: &str = "an array of {\"group\", \"key\", \"fingerprint\"}";
    let items: Vec<ForceItem> = json_input::read_json(&options.from, WHAT)?;
    let standalone = Standalone::start(common.source, None)?;
    standalone.wait_for_all_nodes().await;
    let dry_run = options.dry_run;
    let request = ForceReleases {
        items,
        reason: options.reason,
        dry_run,
    };
    let results = standalone
        .operations
        .bulk_force_release(&standalone.principal, request)
        .await;
    let mut results = results.map_err(|error| Failure::from(&error))?;
    let advice = AdviceCounts::of(results.iter().filter_map(|item| item.advice));
    let released = results.iter().filter(|item| item.result.is_ok()).count();
    if common.json {
        let items: Vec<Value> = results
            .iter()
            .map(|item| item_json(item, dry_run))
            .collect();
        let mut answer = json!({ "dry_run": dry_run, "released": released, "items": items });
        if dry_run {
            answer["advice"] = json!(advice);
        }
        print_stdout(&json_line(&answer))?;
    } else {
        let mut heading = vec!["GROUP", "LOCK", "FINGERPRINT", "OUTCOME", "NODES"];
        if dry_run {
            heading.insert(3, "OWNER");
            // Those that would not be released are last.
            results.sort_by_key(|item| (item.advice.is_none(), item.advice));
        }
        let rows: Vec<_> = results.iter().map(|item| item_row(item, dry_run)).collect();
        print_stdout(&TextFormat::for_stdout().table(&heading, &rows))?;
        if dry_run && advice != AdviceCounts::default() {
            print_stderr(&format!("{advice}\n"));
        }
        let done = if dry_run {
            "would be released"
        } else {
            "released"
        };
        print_stderr(&format!(
            "{released} of {} {done}; this does not stop the processes that believe they hold them\n",
            pluralize(results.len(), "lock")
        ));
    }
    Ok(if released == results.len() {
        0
    } else {
        status::FAILED
    })
}

fn outcome_code(item: &ForceItemResult, dry_run: bool) -> &'static str {
    match &item.result {
        Ok(_) if dry_run => "releasable",
        Ok(released) => released.outcome(),
        Err(error) => error.code(),
    }
}

fn item_json(item: &ForceItemResult, dry_run: bool) -> Value {
    let mut json = json!(item.id);
    json["fingerprint"] = json!(item.fingerprint);
    json["outcome"] = json!(outcome_code(item, dry_run));
    if let Some(level) = item.advice {
        json["advice"] = json!(level);
    }
    match &item.result {
        Ok(released) => {
            json["nodes"] = json!(released.nodes);
            json["at"] = json!(released.at);
            if !dry_run {
                let after = released.observed_after.as_ref();
                json["observed_after"] =
                    json!(after.map(|lock| lock.nodes.as_slice()).unwrap_or_default());
            }
        }
        Err(error) => json["problem"] = Failure::for_lock(error, &item.id).to_json(),
    }
    json
}

fn item_row(item: &ForceItemResult, dry_run: bool) -> Vec<(String, Style)> {
    let plain = |text: String| (text, Style::Plain);
    let nodes = match &item.result {
        Ok(released) => node_outcomes(&released.nodes),
        Err(error) => escape_invisible(&error.to_string()),
    };
    let mut row = vec![
        plain(escape_invisible(&item.id.group)),
        plain(text::lock_name(&item.id.key)),
        plain(item.fingerprint.to_string()),
        plain(outcome_code(item, dry_run).to_owned()),
        plain(nodes),
    ];
    if dry_run {
        let level = match item.advice {
            Some(level) => (level.slug().to_owned(), advice_text::style(level)),
            None => plain("-".to_owned()),
        };
        row.insert(3, level);
    }
    row
}
