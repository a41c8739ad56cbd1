//! `lockkeeper list`: scans every node once and lists the locks.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::options::{CommonArgs, parse_duration, parse_variant};
use super::output::{json_line, print_stderr, print_stdout, status};
use super::show::{flag_names, verdict_style};
use super::standalone::Standalone;
use super::text::{self, Style, TextFormat, escape_invisible};
use super::{Failure, pluralize};
use crate::domain::{
    Bucket, Buckets, Confidence, Filter, Flag, Format, GroupBy, GroupView, Lock, NodeState,
    Observation, SearchError, SearchQuery, Sort, SortOrder, Timestamp, Verdict, VisibleGroups,
};
use crate::server::clock::Clock;
use crate::server::index::OneShotScan;
use crate::server::operations::{ListQuery, Listing};

/// The delay before progress is shown, and the interval of its updates.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// The number of patterns in the coverage report if locks were found.
const MAX_PATTERNS_SHOWN: usize = 3;

/// The arguments of `list`.
#[derive(Args)]
pub struct ListArgs {
    /// Only this group.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// A search: words, and terms like verdict:held owner:web-3 held>10m lock:invoice:*
    #[arg(long, visible_alias = "q", value_name = "SEARCH", value_parser = parse_search)]
    query: Option<SearchQuery>,
    /// Only this verdict: held, partial, split, unknown.
    #[arg(long, value_name = "VERDICT", value_parser = parse_variant::<Verdict>)]
    verdict: Option<Verdict>,
    /// Only with this flag: no-expiry, at-risk, overdue, endless, contended, split, fragment,
    /// restart-hazard.
    #[arg(long, value_name = "FLAG", value_parser = parse_variant::<Flag>)]
    flag: Option<Flag>,
    /// Only this format: plain, redisson, redis-py …
    #[arg(long, value_name = "FORMAT", value_parser = parse_variant::<Format>)]
    format: Option<Format>,
    /// Only this confidence: sure, likely, possible [default: sure and likely].
    #[arg(long, value_name = "DEGREE", value_parser = parse_variant::<Confidence>)]
    confidence: Option<Confidence>,
    /// Only owners with this text in the label, or with a fingerprint that starts with it.
    #[arg(long, value_name = "TEXT")]
    owner: Option<String>,
    /// The sort order: attention, key, lease, held, owner, contention, renewals.
    #[arg(long, value_name = "WORD", default_value = "attention", value_parser = parse_variant::<Sort>)]
    sort: Sort,
    /// asc or desc [default: depends on --sort].
    #[arg(long, value_name = "ORDER", value_parser = parse_variant::<SortOrder>)]
    order: Option<SortOrder>,
    /// Count the locks by prefix, owner (host) or group instead of listing them.
    #[arg(long, value_name = "WORD", value_parser = parse_variant::<GroupBy>)]
    by: Option<GroupBy>,
    /// The maximum number of lines [default: all].
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// The time limit for the scan; locks found until then are shown.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    common: CommonArgs,
}

impl ListArgs {
    pub fn prints_json(&self) -> bool {
        self.common.json
    }

    fn to_query(&self) -> ListQuery {
        let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        ListQuery {
            filter: Filter {
                visible_groups: VisibleGroups::All,
                group: self.group.clone(),
                search: self.query.clone().unwrap_or_default(),
                verdict: self.verdict,
                flag: self.flag,
                attention: false,
                format: self.format,
                confidence: self.confidence,
                owner: non_empty(&self.owner),
            },
            sort: self.sort,
            order: self.order.unwrap_or(self.sort.default_order()),
            group_by: self.by,
            limit: self.limit.unwrap_or(usize::MAX),
            cursor: None,
        }
    }
}

fn parse_search(text: &str) -> Result<SearchQuery, SearchError> {
    text.parse()
}

/// Lists locks. The exit status is 0 only if no held lock can be missing.
pub async fn run(options: ListArgs) -> Result<u8, Failure> {
    let query = options.to_query();
    let standalone = Standalone::start(options.common.source, options.group.as_deref())?;
    if let Err(error) = standalone.load_prefix_settings().await {
        // Without a database the command still lists everything.
        print_stderr(&format!(
            "excluded prefixes are not known, their locks are listed, too: {error}\n"
        ));
    }
    let started_at = Clock::system().now();
    let scans = scan_groups(&standalone, Instant::now() + options.timeout).await;
    let listing = standalone
        .operations
        .list(&standalone.principal, &query)
        .await
        .map_err(|error| Failure::from(&error))?;
    let groups = standalone.operations.groups(&standalone.principal);
    let is_complete = groups
        .iter()
        .zip(&scans)
        .all(|(group, scan)| is_complete(group, scan));
    let printed = if options.common.json {
        let mut json = json!(listing);
        json["groups"] = json!(groups);
        json["complete"] = json!(is_complete);
        json_line(&json)
    } else {
        lock_table(&listing, started_at)
    };
    print_stdout(&printed)?;
    if !options.common.json {
        print_stderr(&coverage_report(&listing, &groups, &scans));
    }
    Ok(if is_complete { 0 } else { status::FAILED })
}

/// Scans all groups concurrently and shows progress on a terminal.
pub(super) async fn scan_groups(standalone: &Standalone, deadline: Instant) -> Vec<OneShotScan> {
    let index = standalone.operations.index();
    let all = standalone
        .groups
        .iter()
        .map(|group| index.scan_once(group, deadline));
    let scanning = futures::future::join_all(all);
    tokio::pin!(scanning);
    let mut tick = interval_at(Instant::now() + PROGRESS_DELAY, PROGRESS_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let is_terminal = std::io::stderr().is_terminal();
    let mut shows_progress = false;
    let scans = loop {
        tokio::select! {
            scans = &mut scanning => break scans,
            _ = tick.tick(), if is_terminal => {
                let found = index.snapshot().lock_count();
                print_stderr(&format!("\r\x1b[Kscanning the nodes, {} so far …", pluralize(found, "lock")));
                shows_progress = true;
            }
        }
    };
    if shows_progress {
        print_stderr("\r\x1b[K");
    }
    scans
}

/// Whether no held lock can be missing: every possible quorum contains a scanned node.
fn is_complete(group: &GroupView, scan: &OneShotScan) -> bool {
    let quorum = usize::try_from(group.quorum).unwrap_or(usize::MAX);
    scan.scanned_nodes.len() + quorum > group.nodes.len()
}

/// Formats the buckets, one per line. A hold's age is shown only if the lock itself contains its
/// start, because this command has just started to observe.
fn bucket_table(buckets: &Buckets, now: Timestamp, started_at: Timestamp) -> String {
    let plain = |text: String| (text, Style::Plain);
    let counts = |counts: &BTreeMap<String, u32>| {
        let counts = counts.iter().map(|(name, count)| format!("{name} {count}"));
        counts.collect::<Vec<_>>().join(", ")
    };
    let row = |bucket: &Bucket| {
        let name = match bucket.name.as_str() {
            "" => "-".to_owned(),
            name => escape_invisible(name),
        };
        let oldest = match bucket.oldest_acquired_at < started_at {
            true => {
                let held_ms = now.since(bucket.oldest_acquired_at).as_millis();
                text::format_ms(u64::try_from(held_ms).unwrap_or(u64::MAX))
            }
            false => "-".to_owned(),
        };
        vec![
            plain(name),
            plain(bucket.lock_count.to_string()),
            match bucket.attention {
                0 => plain("-".to_owned()),
                count => (count.to_string(), Style::Warning),
            },
            plain(oldest),
            plain(counts(&bucket.verdicts)),
            (counts(&bucket.flags), Style::Warning),
        ]
    };
    let rows: Vec<Vec<(String, Style)>> = buckets.rows.iter().map(row).collect();
    let group_by = buckets.group_by.slug().to_uppercase();
    let heading = [
        group_by.as_str(),
        "LOCKS",
        "ATTENTION",
        "OLDEST",
        "VERDICTS",
        "FLAGS",
    ];
    match rows.is_empty() {
        true => String::new(),
        false => TextFormat::for_stdout().table(&heading, &rows),
    }
}

fn lock_table(listing: &Listing, started_at: Timestamp) -> String {
    if let Some(buckets) = &listing.buckets {
        return bucket_table(buckets, listing.observed_at, started_at);
    }
    if listing.locks.is_empty() {
        return String::new();
    }
    let row = |lock: &Arc<Lock>| lock_row(lock, listing.observed_at);
    let rows: Vec<Vec<(String, Style)>> = listing.locks.iter().map(row).collect();
    let heading = [
        "GROUP",
        "LOCK",
        "VERDICT",
        "LEASE",
        "FINGERPRINT",
        "OWNER",
        "FORMAT",
        "NODES",
        "FLAGS",
    ];
    TextFormat::for_stdout().table(&heading, &rows)
}

fn lock_row(lock: &Lock, now: Timestamp) -> Vec<(String, Style)> {
    let owner = lock.owner.as_ref().or(lock.owners.first());
    let more = lock.owners.len().saturating_sub(1);
    let fingerprint = owner.map_or("-", |owner| owner.fingerprint.as_str());
    let and_more = if more > 0 {
        format!(" +{more}")
    } else {
        String::new()
    };
    let holding = lock
        .nodes
        .iter()
        .filter(|node| matches!(node.observation, Observation::Holds { .. }));
    let plain = |text: String| (text, Style::Plain);
    vec![
        plain(escape_invisible(&lock.id.group)),
        plain(text::lock_name(lock.key())),
        (lock.verdict.slug().to_owned(), verdict_style(lock.verdict)),
        plain(text::remaining_lease(lock.lease, now)),
        plain(format!("{fingerprint}{and_more}")),
        plain(text::owner_label(owner)),
        plain(lock.format.to_string()),
        plain(format!("{}/{}", holding.count(), lock.nodes.len())),
        (flag_names(lock), Style::Warning),
    ]
}

/// The scanned and unreachable nodes, for standard error.
fn coverage_report(listing: &Listing, groups: &[GroupView], scans: &[OneShotScan]) -> String {
    let total = usize::try_from(listing.total).unwrap_or(usize::MAX);
    // Buckets count all of their locks.
    let shown = match &listing.buckets {
        Some(_) => total,
        None => listing.locks.len(),
    };
    let mut out = if shown < total {
        format!("{shown} of {}", pluralize(total, "lock"))
    } else {
        pluralize(shown, "lock")
    };
    if shown == 0 {
        out.push_str(" observed (this does not prove that no lock is held)");
    }
    out.push('\n');
    for (group, scan) in groups.iter().zip(scans) {
        out.push_str(&group_coverage(group, scan, shown == 0));
    }
    out
}

/// The coverage of one group. All patterns are listed only if no lock was found, because they may
/// be the reason.
fn group_coverage(group: &GroupView, scan: &OneShotScan, with_all_patterns: bool) -> String {
    let coverage = &group.coverage;
    let patterns = coverage
        .patterns
        .iter()
        .map(|pattern| escape_invisible(pattern));
    let named = match with_all_patterns || patterns.len() <= MAX_PATTERNS_SHOWN + 1 {
        true => patterns.len(),
        false => MAX_PATTERNS_SHOWN,
    };
    let more = match patterns.len() - named {
        0 => String::new(),
        more => format!(" and {more} more patterns"),
    };
    let what = if coverage.includes_every_key() {
        "can be locks".to_owned()
    } else {
        let named: Vec<_> = patterns.take(named).collect();
        format!("match {}", named.join(" "))
    };
    let mut out = format!(
        "{}: {} of {} scanned, {} of {} {what}{more}\n",
        group.name,
        scan.scanned_nodes.len(),
        pluralize(group.nodes.len(), "node"),
        coverage.keys_matched,
        pluralize(
            usize::try_from(coverage.keys_seen).unwrap_or(usize::MAX),
            "key"
        ),
    );
    for node in &group.nodes {
        let why = match node.state {
            NodeState::Up if scan.scanned_nodes.contains(&node.name) => continue,
            NodeState::Up => {
                "not scanned completely: timeout (see --timeout), missing permission, or too many keys".to_owned()
            }
            NodeState::Down | NodeState::Loading | NodeState::Refused => {
                let reason = node.reason.as_ref().map(ToString::to_string);
                let reason = reason.as_deref().unwrap_or("no answer");
                format!("{}: {}", node.state.slug(), escape_invisible(reason))
            }
        };
        out.push_str(&format!(
            "  {} ({}) {why}\n",
            node.name,
            escape_invisible(&node.address)
        ));
    }
    if !is_complete(group, scan) {
        out.push_str("  too few nodes were scanned; held locks may be missing\n");
    }
    out
}
