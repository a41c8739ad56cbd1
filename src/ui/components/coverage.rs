//! How much of the key space was scanned, so that an empty table is not mistaken for the absence of
//! locks.

use leptos::prelude::*;

use crate::domain::{GroupView, ScanCoverage, Timestamp};
use crate::ui::format;
use crate::ui::i18n::coverage as t;
use crate::ui::live::Live;

/// Describes the last scan pass: `pass 3: 1.01 M keys in 21 s, 0.4 ms a call, 5 patterns, 12 s
/// ago`.
pub fn coverage_sentence(coverage: &ScanCoverage, now: Timestamp) -> String {
    let patterns = if coverage.includes_every_key() {
        t::every_name().to_owned()
    } else {
        format::pattern_count(coverage.patterns.len())
    };
    let (Some(started), Some(pass_ms)) = (coverage.pass_started_at, coverage.pass_ms) else {
        return match coverage.progress {
            Some(progress) => t::first_scan_progress(
                format::count(progress.keys_considered),
                format::count(progress.keys_total),
                patterns,
            ),
            None => t::first_scan_pass(patterns),
        };
    };
    let ended = started.plus_millis(i64::try_from(pass_ms).unwrap_or(i64::MAX));
    let keys = match coverage.keys_seen {
        1 => t::one_key().to_owned(),
        more => t::keys(format::count(more)),
    };
    let call = coverage.call_ms.map(format::latency).map(t::per_call);
    let (span, ago) = (format::span(pass_ms), format::ago(ended, now));
    let (nth, call) = (u64::from(coverage.passes), call.unwrap_or_default());
    t::scan_pass(nth, keys, span, call, patterns, ago)
}

/// The number of groups that are listed.
const MAX_GROUPS: usize = 10;

/// For an empty table: the last scan of each group.
#[component]
pub fn ScanSummary() -> impl IntoView {
    let live = Live::expect();
    let summaries = move || {
        let now = live.now.get();
        live.with_groups(|groups| {
            groups
                .iter()
                .take(MAX_GROUPS)
                .map(|group| group_summary(group, now))
                .collect::<Vec<_>>()
        })
    };
    let others = move || {
        let others = live.with_groups(|groups| groups.len().saturating_sub(MAX_GROUPS));
        (others > 0).then(|| view! { <li>{t::other_groups(others)}</li> })
    };
    view! {
        <ul class="flex flex-col gap-2">
            {move || {
                summaries()
                    .into_iter()
                    .map(|(summary, patterns)| {
                        view! {
                            <li>
                                {summary} <br /> {t::patterns()} <code class="font-mono wrap-anywhere text-ink">{patterns}</code>
                            </li>
                        }
                    })
                    .collect_view()
            }}
            {others}
        </ul>
        <p>{t::not_observed_hint()}</p>
    }
}

fn group_summary(group: &GroupView, now: Timestamp) -> (String, String) {
    let node_count = group.nodes.len();
    let up = group.nodes_up();
    let (nodes, coverage) = (
        format::node_count(node_count),
        coverage_sentence(&group.coverage, now),
    );
    let summary = t::group_summary(&group.name, up, nodes, coverage);
    (summary, group.coverage.patterns.join("  "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ScanProgress;

    #[test]
    fn the_sentence_reports_the_scan_pass_and_its_age() {
        let now = Timestamp::from_millis(1_000_000);
        let mut coverage = ScanCoverage {
            patterns: vec!["lock:*".into()],
            ..ScanCoverage::default()
        };
        assert_eq!(
            coverage_sentence(&coverage, now),
            "first scan not completed yet, 1 pattern"
        );
        coverage.progress = Some(ScanProgress {
            keys_considered: 412_000,
            keys_total: 1_010_000,
        });
        assert_eq!(
            coverage_sentence(&coverage, now),
            "first scan: 412 k of 1.01 M keys, 1 pattern"
        );
        coverage.progress = None;
        coverage.keys_seen = 1_010_000;
        coverage.pass_started_at = Some(now.plus_millis(-24_000));
        coverage.pass_ms = Some(12_000);
        coverage.passes = 3;
        coverage.call_ms = Some(0.384);
        assert_eq!(
            coverage_sentence(&coverage, now),
            "scan pass 3: 1.01 M keys in 12 s, 0.4 ms per call, 1 pattern, 12 s ago"
        );
    }
}
