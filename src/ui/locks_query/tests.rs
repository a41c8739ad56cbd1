//! Tests of the lock list state and its URL.

use super::*;
use crate::domain::{
    AcquiredAtSource, Confidence, Fingerprint, Format, Lease, LockId, Mode, Owner, RenewalSource,
    RenewalStats, Timestamp,
};

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn lock(key: &str, owner: &str, held_ms: i64, lease_ms: i64) -> Lock {
    let fingerprint = Fingerprint::parse("d3c19a0b77e04fd2").unwrap();
    let owner = Owner {
        fingerprint,
        label: Some(owner.to_owned()),
        format: Format::Plain,
        hold_count: None,
    };
    Lock {
        id: LockId {
            group: "orders".into(),
            key: key.into(),
        },
        format: Format::Plain,
        confidence: Confidence::Sure,
        mode: Mode::Exclusive,
        verdict: Verdict::Held,
        flags: Vec::new(),
        owner: Some(owner.clone()),
        owners: vec![owner],
        lease: Lease::until(NOW.plus_millis(lease_ms), NOW),
        acquired_at: NOW.plus_millis(-held_ms),
        acquired_at_source: AcquiredAtSource::FirstSeen,
        observed_at: NOW,
        nodes: Vec::new(),
        renewals: RenewalStats::empty(RenewalSource::Poll),
        holders: Vec::new(),
        evidence: Vec::new(),
        contention_unavailable_reason: None,
    }
}

fn order(search: &str, locks: Vec<Lock>) -> Vec<String> {
    let query = LocksQuery::parse(search);
    let filter = query.window_query(10).filter;
    let shown = query.sort_locks(locks.iter().filter(|lock| filter.matches(lock, NOW)));
    shown
        .iter()
        .map(|lock| lock.key().text().into_owned())
        .collect()
}

fn three() -> Vec<Lock> {
    let mut stuck = lock("lock:c", "api-1", 1_000, 9_000);
    stuck.lease = Lease::Never;
    stuck.flags = vec![Flag::NoExpiry];
    vec![
        lock("lock:a", "api-3", 5_000, 2_000),
        lock("lock:b", "api-2", 90_000, 1_000),
        stuck,
    ]
}

#[test]
fn locks_that_need_attention_come_first_then_the_oldest() {
    assert_eq!(order("", three()), ["lock:c", "lock:b", "lock:a"]);
}

#[test]
fn each_column_has_its_default_direction() {
    assert_eq!(order("sort=key", three()), ["lock:a", "lock:b", "lock:c"]);
    assert_eq!(order("sort=lease", three()), ["lock:b", "lock:a", "lock:c"]);
    assert_eq!(order("sort=held", three()), ["lock:b", "lock:a", "lock:c"]);
    assert_eq!(
        order("sort=held&order=asc", three()),
        ["lock:c", "lock:a", "lock:b"]
    );
    assert_eq!(order("sort=owner", three()), ["lock:c", "lock:b", "lock:a"]);
}

#[test]
fn a_search_finds_names_owners_and_fingerprints() {
    assert_eq!(order("q=LOCK%3Ab", three()), ["lock:b"]);
    assert_eq!(order("q=api-3", three()), ["lock:a"]);
    assert_eq!(order("q=d3c19a&sort=key", three()).len(), 3);
    assert_eq!(order("q=nothing", three()), [""; 0]);
    assert_eq!(order("q=held>1m", three()), ["lock:b"]);
    assert_eq!(order("q=lease%3Anone", three()), ["lock:c"]);
    assert_eq!(
        order("q=verdict%3Afre&group=orders", three()).len(),
        3,
        "nothing is lost"
    );
    assert_eq!(order("group=elsewhere", three()), [""; 0]);
    assert_eq!(order("flag=no-expiry", three()), ["lock:c"]);
    assert_eq!(order("show=attention", three()), ["lock:c"]);
}

#[test]
fn every_state_round_trips_through_the_url() {
    for search in [
        "",
        "q=a%20b%25",
        "q=a+b",
        "group=orders&verdict=split",
        "flag=no-expiry&sort=key&order=desc",
        "show=attention&sort=held",
        "q=x&group_by=prefix&offset=120",
        "by=owner",
    ] {
        let query = LocksQuery::parse(search);
        let path = query.path();
        assert_eq!(
            LocksQuery::parse(path.split_once('?').map_or("", |(_, search)| search)),
            query,
            "{search}"
        );
    }
    assert_eq!(LocksQuery::parse("q=a+b").text, "a b");
}

#[test]
fn a_changed_filter_resets_the_offset_and_a_bucket_opens_as_a_list() {
    let far = LocksQuery::parse("q=held%3E1m&sort=key&group_by=prefix&offset=120");
    for next in [
        far.with_text("x".to_owned()),
        far.with_group(Some("orders".to_owned())),
        far.with_status(StatusFilter::Attention),
        far.with_sort(Sort::Held),
        far.toggle_sort(Sort::Held),
        far.with_group_by(Some(GroupBy::Owner)),
    ] {
        assert_eq!(next.offset, 0, "{next:?}");
        assert!(next.group_by.is_some(), "{next:?}");
    }
    for (by, name, path) in [
        (
            GroupBy::Prefix,
            "lock:a b:",
            "/?q=held%3E1m%20prefix%3A%22lock%3Aa%20b%3A%22&sort=key",
        ),
        (GroupBy::Owner, "", "/?q=held%3E1m%20host%3A%22%22&sort=key"),
        (
            GroupBy::Group,
            "orders",
            "/?q=held%3E1m&group=orders&sort=key",
        ),
    ] {
        assert_eq!(far.narrowed_to_bucket(by, name).path(), path);
    }
}

#[test]
fn an_old_bookmark_still_opens() {
    assert_eq!(
        LocksQuery::parse("?verdict=free&sort=colour&page=3&q=%zz"),
        LocksQuery::default()
    );
}

#[test]
fn a_second_click_reverses_the_direction() {
    let by_key = LocksQuery::default().toggle_sort(Sort::Key);
    assert_eq!(by_key.order(), SortOrder::Asc);
    assert_eq!(by_key.toggle_sort(Sort::Key).order(), SortOrder::Desc);
    assert_eq!(by_key.toggle_sort(Sort::Key).toggle_sort(Sort::Key), by_key);
    assert_eq!(
        by_key
            .toggle_sort(Sort::Key)
            .toggle_sort(Sort::Lease)
            .order(),
        SortOrder::Asc
    );
}

#[test]
fn contended_locks_are_sorted_by_demand_unless_another_order_was_selected() {
    let contended = StatusFilter::Flag(Flag::Contended);
    let query = LocksQuery::default().with_status(contended);
    assert_eq!(query.sort, Sort::Contention);
    assert_eq!(query.with_status(StatusFilter::All), LocksQuery::default());
    let by_name = LocksQuery::default().with_sort(Sort::Key);
    assert_eq!(by_name.with_status(contended).sort, Sort::Key);
    let reversed = query.toggle_sort(Sort::Contention);
    assert_eq!(
        reversed.with_status(StatusFilter::All).sort,
        Sort::Contention
    );
}

#[test]
fn a_group_of_the_search_is_selected_in_the_menu_and_replaced_by_it() {
    let query = LocksQuery::parse("q=group%3Aorders+lock");
    assert_eq!(query.selected_group().as_deref(), Some("orders"));
    let other = query.with_selected_group(Some("jobs".into()));
    assert_eq!(other.path(), "/?q=lock&group=jobs");
    assert_eq!(other.selected_group().as_deref(), Some("jobs"));
    assert_eq!(other.with_selected_group(None).path(), "/?q=lock");
    for text in ["-group:orders", "group:orders,jobs", "group:or*", "lock"] {
        let query = LocksQuery::default().with_text(text.to_owned());
        assert_eq!(query.selected_group(), None, "{text}");
        assert_eq!(query.with_selected_group(None), query, "{text}");
    }
}
