//! Which locks belong together, what they add up to, and in which order they stand.

use std::sync::Arc;

use strum::VariantArray as _;

use super::*;
use crate::domain::search::Ask;
use crate::domain::testing::{self, NOW};
use crate::domain::{Board, Filter, Owner, Search, Sort, View};

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

fn board() -> Board {
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
    Board {
        groups: Vec::new(),
        locks: locks
            .map(|lock| (lock.id.clone(), Arc::new(lock)))
            .collect(),
    }
}

fn view(by: By) -> View {
    View {
        order: Sort::default().usual_order(),
        by: Some(by),
        limit: 10,
        ..View::default()
    }
}

fn told(view: &View, board: &Board) -> Vec<(String, u32, u32)> {
    let window = view.of(board, None, NOW);
    assert!(
        window.locks.is_empty(),
        "bundles are shown in place of locks"
    );
    let rows = window.bundles.unwrap().rows.into_iter();
    rows.map(|row| (row.name, row.locks, row.attention))
        .collect()
}

fn rows(rows: &[(&str, u32, u32)]) -> Vec<(String, u32, u32)> {
    let rows = rows.iter();
    rows.map(|(name, locks, attention)| ((*name).to_owned(), *locks, *attention))
        .collect()
}

#[test]
fn bundles_that_need_a_person_come_first_then_those_with_the_oldest_hold() {
    let board = board();
    for (by, wanted) in [
        (
            By::Prefix,
            rows(&[("lock:payout:", 1, 1), ("", 1, 0), ("lock:invoice:", 3, 0)]),
        ),
        // A lock of two owners is with both; what nobody can name is one bundle.
        (
            By::Owner,
            rows(&[("cron-1", 2, 1), ("", 1, 0), ("web-3", 3, 0)]),
        ),
        (By::Group, rows(&[("orders", 3, 1), ("jobs", 2, 0)])),
    ] {
        assert_eq!(told(&view(by), &board), wanted, "{by:?}");
    }
}

#[test]
fn a_bundle_stands_where_its_first_lock_would_and_says_what_is_in_it() {
    let board = board();
    let by_key = View {
        sort: Sort::Key,
        order: Order::Asc,
        ..view(By::Prefix)
    };
    let bundles = by_key.of(&board, None, NOW).bundles.unwrap();
    let names: Vec<&str> = bundles.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["lock:invoice:", "", "lock:payout:"]);
    assert_eq!((bundles.from, bundles.total), (0, 3));
    let invoices = &bundles.rows[0];
    assert_eq!(invoices.first.group, "jobs");
    assert_eq!(invoices.verdicts, BTreeMap::from([("held".to_owned(), 3)]));
    assert_eq!(invoices.oldest, NOW.plus_millis(-20));
    let flags = &bundles.rows[2].flags;
    assert_eq!(*flags, BTreeMap::from([("no-expiry".to_owned(), 1)]));
}

#[test]
fn bundles_are_told_a_window_at_a_time() {
    let board = board();
    for (from, limit, names) in [
        (0, 1, vec!["lock:payout:"]),
        (1, 1, vec![""]),
        (1, 5, vec!["lock:payout:", "", "lock:invoice:"]),
        (9, 2, vec!["", "lock:invoice:"]),
    ] {
        let view = View {
            from,
            limit,
            ..view(By::Prefix)
        };
        let window = view.of(&board, None, NOW);
        let bundles = window.bundles.unwrap();
        let told: Vec<&str> = bundles.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(told, names, "{from} {limit}");
        assert_eq!((bundles.total, window.total, window.counts.all), (3, 5, 5));
    }
}

#[test]
fn only_what_the_filter_lets_through_is_bundled() {
    let board = board();
    let narrowed = View {
        filter: Filter {
            search: "group:orders held>8ms".parse().unwrap(),
            ..Filter::default()
        },
        ..view(By::Prefix)
    };
    assert_eq!(told(&narrowed, &board), rows(&[("lock:invoice:", 2, 0)]));
}

#[test]
fn a_bundle_that_is_opened_shows_as_many_locks_as_it_counted() {
    let board = board();
    for &by in By::VARIANTS {
        for (name, locks, attention) in told(&view(by), &board) {
            let search: Search = Ask::for_bundle(by, &name).map_or_else(Search::default, |ask| {
                Search::default().with(ask).to_string().parse().unwrap()
            });
            let opened = View {
                filter: Filter {
                    search,
                    group: (by == By::Group).then(|| name.clone()),
                    ..Filter::default()
                },
                by: None,
                ..view(by)
            };
            let window = opened.of(&board, None, NOW);
            assert_eq!(
                (window.total, window.counts.attention),
                (locks, attention),
                "{by:?} {name:?}"
            );
        }
    }
}
