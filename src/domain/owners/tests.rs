//! Tests of the owner list.

use serde_json::json;

use super::*;

fn lock(n: i64, labels: &[Option<&str>], flags: &[&str], confidence: &str) -> Lock {
    let at = |ms: i64| Timestamp::from_millis(ms);
    let owner = |(nth, label): (usize, &Option<&str>)| json!({"fingerprint": format!("{:016x}", n * 100 + nth as i64), "label": label, "format": "plain"});
    serde_json::from_value(json!({
        "group": if n % 2 == 0 { "even" } else { "odd" },
        "key": format!("lock:{n:03}"),
        "format": "plain",
        "confidence": confidence,
        "mode": "exclusive",
        "verdict": "held",
        "flags": flags,
        "owners": labels.iter().enumerate().map(owner).collect::<Vec<_>>(),
        "expires_at": at(1_000_000),
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

fn owners(locks: &[Lock], by: OwnerGrouping) -> OwnerList {
    let query = OwnerQuery {
        group_by: by,
        ..OwnerQuery::default()
    };
    OwnerList::from_locks(locks.iter(), &query, Timestamp::from_millis(2_000))
}

fn names(owners: &OwnerList) -> Vec<(&str, u32, u32)> {
    let rows = owners.rows.iter();
    rows.map(|row| (row.name.as_str(), row.label_count, row.lock_count))
        .collect()
}

#[test]
fn the_mac_address_of_a_docker_container_tells_its_address() {
    for (label, address) in [
        ("02:42:ac:11:00:07", Some("172.17.0.7")),
        ("02:42:0A:00:01:ff pid 7", Some("10.0.1.255")),
        // Other network cards, and texts that only resemble one.
        ("02:fc:ac:11:00:07", None),
        ("02:42:ac:11:00", None),
        ("02:42:ac:11:00:07:01", None),
        ("02:42:ac:11:00:7", None),
        ("02:42:ac:11:00:+7", None),
        ("web-1", None),
        ("", None),
    ] {
        let found = container_address(label).map(|address| address.to_string());
        assert_eq!(found.as_deref(), address, "{label:?}");
    }
}

#[test]
fn the_host_is_the_part_of_the_label_before_process_and_thread() {
    for (label, name) in [
        ("batch-7 pid 4121", "batch-7"),
        ("api-3 thread 87", "api-3"),
        ("web-1 pid 7 thread 9", "web-1"),
        ("worker-7d9f", "worker-7d9f"),
        (" pid 7", " pid 7"),
        ("billing@10.0.0.5/4711", "billing@10.0.0.5"),
        ("billing/4711", "billing"),
        ("/4711", "/4711"),
        ("jobs/nightly", "jobs/nightly"),
        ("jobs/", "jobs/"),
        ("02:42:ac:11:00:07", "02:42:ac:11:00:07"),
        ("MAC 02:fc:00:00:00:01", "MAC 02:fc:00:00:00:01"),
        // Identifiers of kazoo, of jobs and of other clients that name their process.
        ("web-1:pid42", "web-1"),
        ("web-1/pid42", "web-1"),
        ("web-1|pid:42", "web-1"),
        ("web-1 pid=42", "web-1"),
        ("web-1:stupid42", "web-1:stupid42"),
        ("pid42", "pid42"),
        // A host with a process id or a port.
        ("web-1/42", "web-1"),
        ("web-1:42", "web-1"),
        ("web-1|42", "web-1"),
        ("db.example.com:5432", "db.example.com"),
        ("10.0.0.5:41234", "10.0.0.5"),
        ("[fe80::1]:41234", "[fe80::1]"),
        ("10.0.0.5", "10.0.0.5"),
        // The row of Liquibase, and the holds of a client of the console in Redis.
        ("web-1 (10.0.0.1)", "web-1"),
        ("web-1 (fe80::1)", "web-1"),
        ("web-1 (blue)", "web-1 (blue)"),
        ("web-1 (console)", "web-1"),
        // These can mean something else.
        ("jobs:3", "jobs:3"),
        ("order-service:3", "order-service:3"),
        ("fe80::1:42", "fe80::1:42"),
        ("2026-11-27:1", "2026-11-27:1"),
        ("a:b1:7", "a:b1:7"),
        ("worker-3", "worker-3"),
        ("web-1-42", "web-1-42"),
        ("web-1-pid42", "web-1-pid42"),
        ("4711@web-1", "4711@web-1"),
    ] {
        assert_eq!(host(label), name, "{label}");
    }
}

#[test]
fn processes_of_a_host_are_grouped_by_host_or_by_label() {
    let locks = [
        lock(1, &[Some("web-2 pid 1")], &[], "sure"),
        lock(2, &[Some("web-2 pid 2")], &[], "sure"),
        lock(3, &[Some("web-1 pid 1")], &[], "sure"),
    ];
    let by_host = owners(&locks, OwnerGrouping::Host);
    assert_eq!(names(&by_host), [("web-2", 2, 2), ("web-1", 1, 1)]);
    assert_eq!(by_host.rows[0].groups, ["even", "odd"]);
    assert_eq!(
        by_host.rows[0].oldest_acquired_at,
        Timestamp::from_millis(1)
    );
    let by_label = owners(&locks, OwnerGrouping::Label);
    assert_eq!(
        names(&by_label),
        [
            ("web-2 pid 1", 1, 1),
            ("web-2 pid 2", 1, 1),
            ("web-1 pid 1", 1, 1)
        ]
    );
}

#[test]
fn a_lock_that_several_threads_of_a_host_share_counts_once() {
    let locks = [lock(
        1,
        &[
            Some("api-1 thread 1"),
            Some("api-1 thread 2"),
            Some("api-2 thread 1"),
        ],
        &[],
        "sure",
    )];
    assert_eq!(
        names(&owners(&locks, OwnerGrouping::Host)),
        [("api-1", 2, 1), ("api-2", 1, 1)]
    );
}

#[test]
fn owners_and_locks_that_need_attention_come_first() {
    let mut locks: Vec<Lock> = (1..=30)
        .map(|n| lock(n, &[Some("calm pid 1")], &[], "sure"))
        .collect();
    locks.push(lock(40, &[Some("calm pid 2")], &["at-risk"], "sure"));
    locks.push(lock(50, &[Some("stuck pid 1")], &["no-expiry"], "sure"));
    locks.push(lock(51, &[Some("stuck pid 1")], &[], "sure"));
    let owners = owners(&locks, OwnerGrouping::Host);
    assert_eq!(names(&owners), [("stuck", 1, 2), ("calm", 2, 31)]);
    let (stuck, calm) = (&owners.rows[0], &owners.rows[1]);
    assert_eq!((stuck.attention, calm.at_risk), (1, 1));
    assert_eq!(stuck.top_locks[0].key.text(), "lock:050");
    assert_eq!(calm.top_locks.len(), MAX_LISTED_LOCKS);
    assert_eq!(calm.top_locks[0].key.text(), "lock:001");
}

#[test]
fn unlabeled_owners_are_counted_separately_and_possible_locks_are_ignored() {
    let locks = [
        lock(1, &[None], &[], "sure"),
        lock(2, &[None, None], &[], "sure"),
        lock(3, &[Some("x")], &[], "possible"),
    ];
    let owners = owners(&locks, OwnerGrouping::Host);
    assert_eq!(owners.rows, []);
    assert_eq!(owners.unlabeled.map(|row| row.lock_count), Some(2));
}

#[test]
fn rows_are_found_by_name_and_by_label() {
    let locks = [
        lock(1, &[Some("web-2 pid 7")], &[], "sure"),
        lock(2, &[Some("web-1 pid 9")], &[], "sure"),
        lock(3, &[None], &[], "sure"),
    ];
    let find = |text: &str| {
        let query = OwnerQuery {
            text: text.to_owned(),
            ..OwnerQuery::default()
        };
        OwnerList::from_locks(locks.iter(), &query, Timestamp::from_millis(2_000))
    };
    assert_eq!(names(&find("WEB-2")), [("web-2", 1, 1)]);
    assert_eq!(names(&find("pid 9")), [("web-1", 1, 1)]);
    assert_eq!(find("no-such-user").total, 0);
    assert!(find("web").unlabeled.is_none() && find("").unlabeled.is_some());
}

#[test]
fn rows_are_sorted_as_requested() {
    let locks = [
        lock(1, &[Some("b")], &[], "sure"),
        lock(2, &[Some("a")], &["at-risk", "no-expiry"], "sure"),
        lock(3, &[Some("b")], &[], "sure"),
    ];
    let first = |sort| {
        let query = OwnerQuery {
            sort,
            ..OwnerQuery::default()
        };
        let owners = OwnerList::from_locks(locks.iter(), &query, Timestamp::from_millis(2_000));
        owners.rows[0].name.clone()
    };
    for (sort, name) in [
        (OwnerSort::Attention, "a"),
        (OwnerSort::Name, "a"),
        (OwnerSort::Locks, "b"),
        (OwnerSort::Oldest, "b"),
        (OwnerSort::AtRisk, "a"),
    ] {
        assert_eq!(first(sort), name, "{sort:?}");
    }
}
