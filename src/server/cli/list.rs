//! `lockkeeper list`: goes over every node once and shows the locks that are there.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::answer::{document, note, show as print, status};
use super::direct::Direct;
use super::options::{Straight, span, word};
use super::show::{flags, verdict_style};
use super::text::{self, Page, Style, visible};
use super::{Failure, counted};
use crate::domain::{
    Answer, Bundle, Bundles, By, Confidence, Filter, Flag, Format, GroupView, Lock, NodeState,
    Order, Search, SearchError, Sight, Sort, Timestamp, Verdict,
};
use crate::server::clock::Clock;
use crate::server::index::Survey;
use crate::server::operations::{ListQuery, Listing};

/// When people are told how far it is, and how often from then on.
const PROGRESS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(200));

/// So many patterns are named where locks were found.
const PATTERNS_NAMED: usize = 3;

/// What `list` is told.
#[derive(Args)]
pub struct List {
    /// Only this group.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// A search: words, and terms like verdict:held owner:web-3 held>10m lock:invoice:*
    #[arg(long, visible_alias = "q", value_name = "SEARCH", value_parser = search)]
    query: Option<Search>,
    /// Only this verdict: held, partial, split, unknown.
    #[arg(long, value_name = "VERDICT", value_parser = word::<Verdict>)]
    verdict: Option<Verdict>,
    /// Only with this flag: no-expiry, at-risk, overdue, endless, contended, split, fragment, restart-hazard.
    #[arg(long, value_name = "FLAG", value_parser = word::<Flag>)]
    flag: Option<Flag>,
    /// Only this layout: plain, redisson, redis-py …
    #[arg(long, value_name = "FORMAT", value_parser = word::<Format>)]
    format: Option<Format>,
    /// Only this confidence: sure, likely, possible [default: sure and likely].
    #[arg(long, value_name = "DEGREE", value_parser = word::<Confidence>)]
    confidence: Option<Confidence>,
    /// Only this owner: part of the label, or the beginning of the fingerprint.
    #[arg(long, value_name = "TEXT")]
    owner: Option<String>,
    /// attention, key, lease, held, owner, contention, renewals.
    #[arg(long, value_name = "WORD", default_value = "attention", value_parser = word::<Sort>)]
    sort: Sort,
    /// asc or desc [default: the end that people want to see first].
    #[arg(long, value_name = "ORDER", value_parser = word::<Order>)]
    order: Option<Order>,
    /// One line for all locks of a prefix, an owner's host or a group, with their counts: prefix, owner, group.
    #[arg(long, value_name = "WORD", value_parser = word::<By>)]
    by: Option<By>,
    /// At most so many locks, or lines of them [default: all].
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// How long to go over the nodes before showing what was found so far.
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span)]
    timeout: Duration,
    #[command(flatten)]
    straight: Straight,
}

impl List {
    pub fn wants_json(&self) -> bool {
        self.straight.json
    }

    fn listed(&self) -> ListQuery {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        ListQuery {
            filter: Filter {
                sight: Sight::Everything,
                group: self.group.clone(),
                search: self.query.clone().unwrap_or_default(),
                verdict: self.verdict,
                flag: self.flag,
                attention: false,
                format: self.format,
                confidence: self.confidence,
                owner: given(&self.owner),
            },
            sort: self.sort,
            order: self.order.unwrap_or(self.sort.usual_order()),
            by: self.by,
            limit: self.limit.unwrap_or(usize::MAX),
            cursor: None,
        }
    }
}

fn search(text: &str) -> Result<Search, SearchError> {
    text.parse()
}

/// Lists; the exit status is 0 only if no held lock can be missing.
pub async fn run(options: List) -> Result<u8, Failure> {
    let query = options.listed();
    let direct = Direct::start(options.straight.nodes, options.group.as_deref())?;
    let began = Clock::real().now();
    let surveys = survey(&direct, Instant::now() + options.timeout).await;
    let listing = direct
        .operations
        .list(&direct.actor, &query)
        .await
        .map_err(|fault| Failure::from(&fault))?;
    let groups = direct.operations.groups(&direct.actor);
    let is_complete = groups
        .iter()
        .zip(&surveys)
        .all(|(group, survey)| misses_nothing(group, survey));
    let printed = if options.straight.json {
        let mut answer = json!(listing);
        answer["groups"] = json!(groups);
        answer["complete"] = json!(is_complete);
        document(&answer)
    } else {
        table(&listing, began)
    };
    print(&printed)?;
    if !options.straight.json {
        note(&coverage(&listing, &groups, &surveys));
    }
    Ok(if is_complete { 0 } else { status::FAILED })
}

/// Goes over all groups at once.
pub(super) async fn survey(direct: &Direct, deadline: Instant) -> Vec<Survey> {
    let index = direct.operations.index();
    let all = direct
        .groups
        .iter()
        .map(|group| index.survey(group, deadline));
    let surveying = futures::future::join_all(all);
    tokio::pin!(surveying);
    let mut tick = interval_at(Instant::now() + PROGRESS.0, PROGRESS.1);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let people_watch = std::io::stderr().is_terminal();
    let mut told = false;
    let surveys = loop {
        tokio::select! {
            surveys = &mut surveying => break surveys,
            _ = tick.tick(), if people_watch => {
                let found = index.snapshot().lock_count();
                note(&format!("\r\x1b[Kgoing over the nodes, {} so far …", counted(found, "lock")));
                told = true;
            }
        }
    };
    if told {
        note("\r\x1b[K");
    }
    surveys
}

/// Whether a lock that is held must have been seen: every quorum has a node among those that were gone over.
fn misses_nothing(group: &GroupView, survey: &Survey) -> bool {
    let quorum = usize::try_from(group.quorum).unwrap_or(usize::MAX);
    survey.gone_over.len() + quorum > group.nodes.len()
}

/// The bundles, as many lines. A look that has just begun knows of no hold how old it is, unless the lock itself says so.
fn bundled(bundles: &Bundles, now: Timestamp, began: Timestamp) -> String {
    let plain = |text: String| (text, Style::Plain);
    let counts = |counts: &BTreeMap<String, u32>| {
        let counts = counts.iter().map(|(of, many)| format!("{of} {many}"));
        counts.collect::<Vec<_>>().join(", ")
    };
    let row = |bundle: &Bundle| {
        let name = match bundle.name.as_str() {
            "" => "-".to_owned(),
            name => visible(name),
        };
        let oldest = match bundle.oldest < began {
            true => {
                let held_ms = now.since(bundle.oldest).as_millis();
                text::span(u64::try_from(held_ms).unwrap_or(u64::MAX))
            }
            false => "-".to_owned(),
        };
        vec![
            plain(name),
            plain(bundle.locks.to_string()),
            match bundle.attention {
                0 => plain("-".to_owned()),
                many => (many.to_string(), Style::Odd),
            },
            plain(oldest),
            plain(counts(&bundle.verdicts)),
            (counts(&bundle.flags), Style::Odd),
        ]
    };
    let rows: Vec<Vec<(String, Style)>> = bundles.rows.iter().map(row).collect();
    let by = bundles.by.slug().to_uppercase();
    let heading = [
        by.as_str(),
        "LOCKS",
        "ATTENTION",
        "OLDEST",
        "VERDICTS",
        "FLAGS",
    ];
    match rows.is_empty() {
        true => String::new(),
        false => Page::of_stdout().table(&heading, &rows),
    }
}

fn table(listing: &Listing, began: Timestamp) -> String {
    if let Some(bundles) = &listing.bundles {
        return bundled(bundles, listing.observed_at, began);
    }
    if listing.locks.is_empty() {
        return String::new();
    }
    let row = |lock: &Arc<Lock>| row(lock, listing.observed_at);
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
    Page::of_stdout().table(&heading, &rows)
}

fn row(lock: &Lock, now: Timestamp) -> Vec<(String, Style)> {
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
        .filter(|node| matches!(node.answer, Answer::Holds { .. }));
    let plain = |text: String| (text, Style::Plain);
    vec![
        plain(visible(&lock.id.group)),
        plain(text::name(lock.key())),
        (lock.verdict.slug().to_owned(), verdict_style(lock.verdict)),
        plain(text::lease(lock.lease, now)),
        plain(format!("{fingerprint}{and_more}")),
        plain(text::label(owner)),
        plain(lock.format.to_string()),
        plain(format!("{}/{}", holding.count(), lock.nodes.len())),
        (flags(lock), Style::Odd),
    ]
}

/// What was seen and what was not, for standard error.
fn coverage(listing: &Listing, groups: &[GroupView], surveys: &[Survey]) -> String {
    let total = usize::try_from(listing.total).unwrap_or(usize::MAX);
    // Bundles stand for all of their locks.
    let shown = match &listing.bundles {
        Some(_) => total,
        None => listing.locks.len(),
    };
    let mut out = if shown < total {
        format!("{shown} of {}", counted(total, "lock"))
    } else {
        counted(shown, "lock")
    };
    if shown == 0 {
        out.push_str(" observed, which does not prove that none is held");
    }
    out.push('\n');
    for (group, survey) in groups.iter().zip(surveys) {
        out.push_str(&of_group(group, survey, shown == 0));
    }
    out
}

/// Which patterns there are is worth a long line only to somebody who misses a lock.
fn of_group(group: &GroupView, survey: &Survey, with_all_patterns: bool) -> String {
    let coverage = &group.coverage;
    let patterns = coverage.patterns.iter().map(|pattern| visible(pattern));
    let some = match with_all_patterns || patterns.len() <= PATTERNS_NAMED + 1 {
        true => patterns.len(),
        false => PATTERNS_NAMED,
    };
    let more = match patterns.len() - some {
        0 => String::new(),
        more => format!(" and {more} more patterns"),
    };
    let mut out = format!(
        "{}: {} of {} gone over, {} of {} match {}{more}\n",
        group.name,
        survey.gone_over.len(),
        counted(group.nodes.len(), "node"),
        coverage.keys_matched,
        counted(
            usize::try_from(coverage.keys_seen).unwrap_or(usize::MAX),
            "key"
        ),
        patterns.take(some).collect::<Vec<_>>().join(" "),
    );
    for node in &group.nodes {
        let why = match node.state {
            NodeState::Up if survey.gone_over.contains(&node.name) => continue,
            NodeState::Up => {
                "not gone over whole: not in time (see --timeout), not allowed, or it has too many names".to_owned()
            }
            NodeState::Down | NodeState::Loading | NodeState::Refused => {
                let reason = node.reason.as_deref().unwrap_or("no answer");
                format!("{}: {}", node.state.slug(), visible(reason))
            }
        };
        out.push_str(&format!(
            "  {} ({}) {why}\n",
            node.name,
            visible(&node.address)
        ));
    }
    if !misses_nothing(group, survey) {
        out.push_str("  too few nodes: locks that are held may be missing here\n");
    }
    out
}
