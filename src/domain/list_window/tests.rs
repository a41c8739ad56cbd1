//! Tests of windows and counts.

use serde_json::json;
use strum::VariantArray as _;

use super::*;
use crate::domain::{Flag, Verdict};

const NOW: Timestamp = Timestamp::from_millis(1_000);

fn lock(n: i64, verdict: &str, flags: &[&str], confidence: &str) -> Lock {
    let at = |ms: i64| super::super::Timestamp::from_millis(ms);
    serde_json::from_value(json!({
        "group": if n % 2 == 0 { "even" } else { "odd" },
        "key": format!("lock:{n:03}"),
        "format": "plain",
        "confidence": confidence,
        "mode": "exclusive",
        "verdict": verdict,
        "flags": flags,
        "owners": [],
        "expires_at": at(1_000_000 - n),
        "lease_ms": 1,
        "acquired_at": at(n),
        "acquired_at_source": "first-seen",
        "observed_at": at(1_000),
        "nodes": [],
        "renewals": {"count": 0, "source": "feed"},
        "evidence": [],
    }))
    .unwrap()
}

fn index() -> IndexState {
    let mut locks: Vec<Lock> = (0..50).map(|n| lock(n, "held", &[], "sure")).collect();
    locks.push(lock(50, "split", &["split"], "sure"));
    locks.push(lock(51, "held", &["no-expiry"], "likely"));
    locks.push(lock(52, "held", &[], "possible"));
    let locks = locks.into_iter();
    IndexState {
        groups: Vec::new(),
        locks: locks
            .map(|lock| (lock.id.clone(), Arc::new(lock)))
            .collect(),
    }
}

fn query(sort: Sort, limit: usize) -> WindowQuery {
    WindowQuery {
        sort,
        order: sort.default_order(),
        limit,
        ..WindowQuery::default()
    }
}

fn names(window: &Window) -> Vec<String> {
    let locks = window.locks.iter();
    locks.map(|lock| lock.key().text().into_owned()).collect()
}

#[test]
fn a_window_is_a_range_of_the_sorted_list() {
    let index = index();
    let orders = Sort::VARIANTS
        .iter()
        .flat_map(|sort| SortOrder::VARIANTS.iter().map(move |order| (*sort, *order)));
    for (sort, order) in orders {
        let query = |sort, limit| WindowQuery {
            order,
            ..query(sort, limit)
        };
        let all = query(sort, usize::MAX).evaluate(&index, None, NOW);
        assert_eq!((all.locks.len(), all.total, all.remaining), (52, 52, 52));
        for limit in [0, 1, 7, 52, 53] {
            let window = query(sort, limit).evaluate(&index, None, NOW);
            let first = limit.min(52);
            assert_eq!(names(&window), names(&all)[..first], "{sort:?} {limit}");
            assert_eq!((window.total, window.remaining), (52, 52));
        }
        for from in [0, 1, 30, 45, 51, 52, 1_000] {
            let mut window = query(sort, 7);
            window.offset = from;
            let window = window.evaluate(&index, None, NOW);
            let first = from.min(52 - 7);
            assert_eq!(
                names(&window),
                names(&all)[first..first + 7],
                "{sort:?} {from}"
            );
            assert_eq!((window.offset as usize, window.total), (first, 52));
        }
        let cursor = sort.sort_key(&all.locks[9]);
        let next = query(sort, 5).evaluate(&index, Some(&cursor), NOW);
        assert_eq!(names(&next), names(&all)[10..15], "{sort:?}");
        assert_eq!((next.total, next.remaining), (52, 42));
    }
    let first = query(Sort::Attention, 3).evaluate(&index, None, NOW);
    assert_eq!(names(&first), ["lock:050", "lock:051", "lock:000"]);
}

#[test]
fn the_counts_do_not_depend_on_the_requested_state() {
    let index = index();
    let mut split = query(Sort::Key, 10);
    split.filter.verdict = Some(Verdict::Split);
    let window = split.evaluate(&index, None, NOW);
    assert_eq!((names(&window).len(), window.total), (1, 1));
    let counts = window.counts;
    assert_eq!((counts.all, counts.attention, counts.possible), (52, 2, 1));
    assert_eq!(counts.verdicts["held"], 51);
    assert_eq!(counts.flags[Flag::NoExpiry.slug()], 1);
    assert_eq!(counts.formats["plain"], 52);

    let mut even = query(Sort::Key, 10);
    even.filter.group = Some("even".into());
    even.filter.attention = true;
    let window = even.evaluate(&index, None, NOW);
    assert_eq!((window.total, window.counts.all), (1, 26));

    let mut possible = query(Sort::Key, 10);
    possible.filter.confidence = Some(Confidence::Possible);
    let window = possible.evaluate(&index, None, NOW);
    assert_eq!(names(&window), ["lock:052"]);
    assert_eq!((window.total, window.counts.all), (1, 52));
}

#[test]
fn a_filter_does_not_change_the_unfiltered_counts_but_hidden_groups_are_not_counted() {
    let index = index();
    let mut nothing = query(Sort::Key, 10);
    nothing.filter.search = "nothing".parse().unwrap();
    let window = nothing.evaluate(&index, None, NOW);
    assert_eq!((window.total, window.counts.all), (0, 0));
    let of = |all, attention| UnfilteredCounts { all, attention };
    assert_eq!(window.counts.unfiltered, of(52, 2));

    nothing.filter.visible_groups = crate::domain::VisibleGroups::only("even");
    let window = nothing.evaluate(&index, None, NOW);
    assert_eq!(window.counts.unfiltered, of(26, 1));
}

#[test]
fn a_window_allocates_only_its_own_rows() {
    let window = query(Sort::Key, 5).evaluate(&index(), None, NOW);
    assert_eq!((window.locks.len(), window.locks.capacity()), (5, 5));
}
