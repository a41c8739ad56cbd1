//! Tests of buckets: membership, totals and order.

use std::sync::Arc;

use strum::VariantArray as _;

use super::*;
use crate::domain::search::Predicate;
use crate::domain::testing::{self, NOW};
use crate::domain::{Filter, IndexState, Owner, SearchQuery, Sort, WindowQuery};

fn owner(label: Option<&str>) -> Owner {
    Owner {
        label: label.map(str::to_owned),
        ..testing::owner(1)
    }
}

fn lock(group: &str, key: &str, labels: &[Option<&str>], held_ms: i64, flags: &[Flag]) -> Lock {
    Lock {
        id: LockId {
            group: group.into(),
            key: key.into(),
        },
        owners: labels.iter().copied().map(owner).collect(),
        flags: flags.to_vec(),
        acquired_at: NOW.plus_millis(-held_ms),
        ..testing::lock(&[1], NOW, NOW)
    }
}

fn index() -> IndexState {
    let (web, cron) = (Some("web-3 thread 1"), Some("cron-1 pid 7"));
    let locks = [
        lock("orders", "lock:invoice:1", &[web], 10, &[]),
        lock(
            "orders",
            "lock:invoice:2",
            &[Some("web-3 thread 2")],
            20,
            &[],
        ),
        lock("orders", "lock:payout:eu", &[cron], 5, &[Flag::NoExpiry]),
        lock("jobs", "nightly", &[None], 90, &[]),
        lock("jobs", "lock:invoice:3", &[web, cron], 1, &[]),
    ];
    let locks = locks.into_iter();
    IndexState {
        groups: Vec::new(),
        locks: locks
            .map(|lock| (lock.id.clone(), Arc::new(lock)))
            .collect(),
    }
}

fn query(group_by: GroupBy) -> WindowQuery {
    WindowQuery {
        order: Sort::default().default_order(),
        group_by: Some(group_by),
        limit: 10,
        ..WindowQuery::default()
    }
}

fn bucket_rows(query: &WindowQuery, index: &IndexState) -> Vec<(String, u32, u32)> {
    let window = query.evaluate(index, None, NOW);
    assert!(window.locks.is_empty(), "buckets replace locks");
    let rows = window.buckets.unwrap().rows.into_iter();
    rows.map(|row| (row.name, row.lock_count, row.attention))
        .collect()
}

fn rows(rows: &[(&str, u32, u32)]) -> Vec<(String, u32, u32)> {
    let rows = rows.iter();
    rows.map(|(name, locks, attention)| ((*name).to_owned(), *locks, *attention))
        .collect()
}

#[test]
fn buckets_that_need_attention_come_first_then_those_with_the_oldest_hold() {
    let index = index();
    for (group_by, expected) in [
        (
            GroupBy::Prefix,
            rows(&[("lock:payout:", 1, 1), ("", 1, 0), ("lock:invoice:", 3, 0)]),
        ),
        // A lock with two owners is in both buckets. Locks without a label share one bucket.
        (
            GroupBy::Owner,
            rows(&[("cron-1", 2, 1), ("", 1, 0), ("web-3", 3, 0)]),
        ),
        (GroupBy::Group, rows(&[("orders", 3, 1), ("jobs", 2, 0)])),
    ] {
        assert_eq!(
            bucket_rows(&query(group_by), &index),
            expected,
            "{group_by:?}"
        );
    }
}

#[test]
fn a_bucket_is_sorted_by_its_first_lock_and_has_counts() {
    let index = index();
    let by_key = WindowQuery {
        sort: Sort::Key,
        order: SortOrder::Asc,
        ..query(GroupBy::Prefix)
    };
    let buckets = by_key.evaluate(&index, None, NOW).buckets.unwrap();
    let names: Vec<&str> = buckets.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["lock:invoice:", "", "lock:payout:"]);
    assert_eq!((buckets.offset, buckets.total), (0, 3));
    let invoices = &buckets.rows[0];
    assert_eq!(invoices.first_lock.group, "jobs");
    assert_eq!(invoices.verdicts, BTreeMap::from([("held".to_owned(), 3)]));
    assert_eq!(invoices.oldest_acquired_at, NOW.plus_millis(-20));
    let flags = &buckets.rows[2].flags;
    assert_eq!(*flags, BTreeMap::from([("no-expiry".to_owned(), 1)]));
}

#[test]
fn buckets_are_paginated() {
    let index = index();
    for (from, limit, names) in [
        (0, 1, vec!["lock:payout:"]),
        (1, 1, vec![""]),
        (1, 5, vec!["lock:payout:", "", "lock:invoice:"]),
        (9, 2, vec!["", "lock:invoice:"]),
    ] {
        let query = WindowQuery {
            offset: from,
            limit,
            ..query(GroupBy::Prefix)
        };
        let window = query.evaluate(&index, None, NOW);
        let buckets = window.buckets.unwrap();
        let actual: Vec<&str> = buckets.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(actual, names, "{from} {limit}");
        assert_eq!((buckets.total, window.total, window.counts.all), (3, 5, 5));
    }
}

#[test]
fn only_locks_that_match_the_filter_are_grouped() {
    let index = index();
    let narrowed = WindowQuery {
        filter: Filter {
            search: "group:orders held>8ms".parse().unwrap(),
            ..Filter::default()
        },
        ..query(GroupBy::Prefix)
    };
    assert_eq!(
        bucket_rows(&narrowed, &index),
        rows(&[("lock:invoice:", 2, 0)])
    );
}

#[test]
fn the_search_of_a_bucket_finds_as_many_locks_as_the_bucket_counts() {
    let index = index();
    for &group_by in GroupBy::VARIANTS {
        for (name, locks, attention) in bucket_rows(&query(group_by), &index) {
            let search: SearchQuery =
                Predicate::for_bucket(group_by, &name).map_or_else(SearchQuery::default, |ask| {
                    SearchQuery::default()
                        .with_term(ask)
                        .to_string()
                        .parse()
                        .unwrap()
                });
            let filtered = WindowQuery {
                filter: Filter {
                    search,
                    group: (group_by == GroupBy::Group).then(|| name.clone()),
                    ..Filter::default()
                },
                group_by: None,
                ..query(group_by)
            };
            let window = filtered.evaluate(&index, None, NOW);
            assert_eq!(
                (window.total, window.counts.attention),
                (locks, attention),
                "{group_by:?} {name:?}"
            );
        }
    }
}
