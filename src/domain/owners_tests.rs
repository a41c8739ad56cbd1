//! What the locks of a host or process add up to.

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
        "acquired_at_is": "first-seen",
        "observed_at": at(1_000),
        "nodes": [],
        "renewals": {"count": 0, "source": "feed"},
        "evidence": [],
    }))
    .unwrap()
}

fn owners(locks: &[Lock], by: OwnersBy) -> Owners {
    let asked = OwnersAsked {
        by,
        ..OwnersAsked::default()
    };
    Owners::of(locks.iter(), &asked, Timestamp::from_millis(2_000))
}

fn names(owners: &Owners) -> Vec<(&str, u32, u32)> {
    let rows = owners.rows.iter();
    rows.map(|row| (row.name.as_str(), row.labels, row.locks))
        .collect()
}

#[test]
fn a_host_is_what_stands_before_process_and_thread() {
    for (label, name) in [
        ("batch-7 pid 4121", "batch-7"),
        ("api-3 thread 87", "api-3"),
        ("web-1 pid 7 thread 9", "web-1"),
        ("worker-7d9f", "worker-7d9f"),
        (" pid 7", " pid 7"),
        ("02:42:ac:11:00:07", "02:42:ac:11:00:07"),
    ] {
        assert_eq!(host(label), name, "{label}");
    }
}

#[test]
fn processes_of_a_host_are_one_row_or_several() {
    let locks = [
        lock(1, &[Some("web-2 pid 1")], &[], "sure"),
        lock(2, &[Some("web-2 pid 2")], &[], "sure"),
        lock(3, &[Some("web-1 pid 1")], &[], "sure"),
    ];
    let by_host = owners(&locks, OwnersBy::Host);
    assert_eq!(names(&by_host), [("web-2", 2, 2), ("web-1", 1, 1)]);
    assert_eq!(by_host.rows[0].groups, ["even", "odd"]);
    assert_eq!(by_host.rows[0].oldest, Timestamp::from_millis(1));
    let by_label = owners(&locks, OwnersBy::Label);
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
fn a_lock_that_several_threads_hold_together_is_one_lock() {
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
        names(&owners(&locks, OwnersBy::Host)),
        [("api-1", 2, 1), ("api-2", 1, 1)]
    );
}

#[test]
fn those_who_need_attention_come_first_and_so_do_their_locks() {
    let mut locks: Vec<Lock> = (1..=30)
        .map(|n| lock(n, &[Some("calm pid 1")], &[], "sure"))
        .collect();
    locks.push(lock(40, &[Some("calm pid 2")], &["at-risk"], "sure"));
    locks.push(lock(50, &[Some("stuck pid 1")], &["no-expiry"], "sure"));
    locks.push(lock(51, &[Some("stuck pid 1")], &[], "sure"));
    let owners = owners(&locks, OwnersBy::Host);
    assert_eq!(names(&owners), [("stuck", 1, 2), ("calm", 2, 31)]);
    let (stuck, calm) = (&owners.rows[0], &owners.rows[1]);
    assert_eq!((stuck.attention, calm.at_risk), (1, 1));
    assert_eq!(stuck.named[0].key.text(), "lock:050");
    assert_eq!(calm.named.len(), MOST_NAMED);
    assert_eq!(calm.named[0].key.text(), "lock:001");
}

#[test]
fn owners_without_a_label_are_not_taken_for_one_and_possible_locks_say_nothing() {
    let locks = [
        lock(1, &[None], &[], "sure"),
        lock(2, &[None, None], &[], "sure"),
        lock(3, &[Some("x")], &[], "possible"),
    ];
    let owners = owners(&locks, OwnersBy::Host);
    assert_eq!(owners.rows, []);
    assert_eq!(owners.unnamed.map(|row| row.locks), Some(2));
}

#[test]
fn what_a_dead_host_still_holds_is_found_by_its_name_or_a_label_of_it() {
    let locks = [
        lock(1, &[Some("web-2 pid 7")], &[], "sure"),
        lock(2, &[Some("web-1 pid 9")], &[], "sure"),
        lock(3, &[None], &[], "sure"),
    ];
    let find = |text: &str| {
        let asked = OwnersAsked {
            text: text.to_owned(),
            ..OwnersAsked::default()
        };
        Owners::of(locks.iter(), &asked, Timestamp::from_millis(2_000))
    };
    assert_eq!(names(&find("WEB-2")), [("web-2", 1, 1)]);
    assert_eq!(names(&find("pid 9")), [("web-1", 1, 1)]);
    assert_eq!(find("nobody").total, 0);
    assert!(find("web").unnamed.is_none() && find("").unnamed.is_some());
}

#[test]
fn rows_come_in_the_order_that_is_asked_for() {
    let locks = [
        lock(1, &[Some("b")], &[], "sure"),
        lock(2, &[Some("a")], &["at-risk", "no-expiry"], "sure"),
        lock(3, &[Some("b")], &[], "sure"),
    ];
    let first = |sort| {
        let asked = OwnersAsked {
            sort,
            ..OwnersAsked::default()
        };
        let owners = Owners::of(locks.iter(), &asked, Timestamp::from_millis(2_000));
        owners.rows[0].name.clone()
    };
    for (sort, name) in [
        (OwnersSort::Attention, "a"),
        (OwnersSort::Name, "a"),
        (OwnersSort::Locks, "b"),
        (OwnersSort::Oldest, "b"),
        (OwnersSort::AtRisk, "a"),
    ] {
        assert_eq!(first(sort), name, "{sort:?}");
    }
}
