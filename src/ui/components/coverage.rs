//! How much of the keyspace was seen: the sentence that keeps an empty table honest.

use leptos::prelude::*;

use crate::domain::{Coverage, GroupView, Timestamp};
use crate::ui::format;
use crate::ui::live::Live;
use crate::ui::words::seen as words;

/// What the last pass over the keyspace saw: `pass 3: 1.01 M keys in 21 s, 0.38 ms a call, 5 patterns, 12 s ago`.
pub fn sentence(coverage: &Coverage, now: Timestamp) -> String {
    let patterns = format::counted(coverage.patterns.len(), "pattern");
    let (Some(started), Some(pass_ms)) = (coverage.pass_started_at, coverage.pass_ms) else {
        return words::first_pass(patterns);
    };
    let ended = started.plus_millis(i64::try_from(pass_ms).unwrap_or(i64::MAX));
    let keys = match coverage.keys_seen {
        1 => words::one_key().to_owned(),
        more => words::keys(format::count(more)),
    };
    let call = coverage.call_ms.map(format::latency).map(words::a_call);
    let (span, ago) = (format::span(pass_ms), format::ago(ended, now));
    let (nth, call) = (u64::from(coverage.passes), call.unwrap_or_default());
    words::pass(nth, keys, span, call, patterns, ago)
}

/// So many groups are told of, one by one.
const MOST: usize = 10;

/// For an empty table: what was scanned, where and when, group by group.
#[component]
pub fn WhatWasScanned() -> impl IntoView {
    let live = Live::expect();
    let lines = move || {
        let now = live.now.get();
        live.with_groups(|groups| {
            groups
                .iter()
                .take(MOST)
                .map(|group| line(group, now))
                .collect::<Vec<_>>()
        })
    };
    let others = move || {
        let others = live.with_groups(|groups| groups.len().saturating_sub(MOST));
        (others > 0).then(|| view! { <li>{words::other_groups(others)}</li> })
    };
    view! {
        <ul class="flex flex-col gap-2">
            {move || {
                lines()
                    .into_iter()
                    .map(|(told, patterns)| {
                        view! {
                            <li>
                                {told} <br /> {words::patterns()} <code class="font-mono wrap-anywhere text-ink">{patterns}</code>
                            </li>
                        }
                    })
                    .collect_view()
            }}
            {others}
        </ul>
        <p>{words::no_proof()}</p>
    }
}

fn line(group: &GroupView, now: Timestamp) -> (String, String) {
    let asked = group.nodes.len();
    let up = group.nodes_up();
    let (nodes, seen) = (
        format::counted(asked, "node"),
        sentence(&group.coverage, now),
    );
    let told = words::answering(&group.name, up, nodes, seen);
    (told, group.coverage.patterns.join("  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_how_much_was_seen_and_when() {
        let now = Timestamp::from_millis(1_000_000);
        let mut coverage = Coverage {
            patterns: vec!["lock:*".into()],
            ..Coverage::default()
        };
        assert_eq!(
            sentence(&coverage, now),
            "the first pass over the keys has not ended yet, 1 pattern"
        );
        coverage.keys_seen = 1_010_000;
        coverage.pass_started_at = Some(now.plus_millis(-24_000));
        coverage.pass_ms = Some(12_000);
        coverage.passes = 3;
        coverage.call_ms = Some(0.384);
        assert_eq!(
            sentence(&coverage, now),
            "pass 3: 1.01 M keys in 12 s, 0.38 ms a call, 1 pattern, 12 s ago"
        );
    }
}
