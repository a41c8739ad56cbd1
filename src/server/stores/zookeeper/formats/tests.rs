//! Tests with the names and data that real clients wrote.

use super::*;
use crate::server::stores::zookeeper::client::SessionId;

const NOW: Timestamp = Timestamp::from_millis(1_795_458_110_000);

fn node(path: &str, data: &str, czxid: i64, session: i64) -> StoredNode {
    StoredNode {
        path: path.to_owned(),
        data: Bytes::copy_from_slice(data.as_bytes()),
        stat: Stat {
            czxid,
            created_ms: 1_795_458_104_869,
            version: 0,
            ephemeral_owner: (session != 0).then_some(SessionId::new(session)),
            child_count: 0,
        },
    }
}

fn queue(names: &[&str]) -> Queue {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    match Shape::of(&names) {
        Shape::Queue(queue) => queue,
        other => panic!("{other:?}"),
    }
}

#[test]
fn contenders_are_ordered_by_their_digits_and_not_by_their_names() {
    let queue = queue(&[
        "_c_613d1e5d-b746-42f1-b24a-92a1915be61b-lock-0000000001",
        "_c_9facbb75-2934-4067-8a15-201f46511f17-lock-0000000000",
        "_c_00000000-b746-42f1-b24a-92a1915be61b-lock-0000000002",
    ]);
    let owners: Vec<&str> = queue.owners().collect();
    assert_eq!(
        owners,
        ["_c_9facbb75-2934-4067-8a15-201f46511f17-lock-0000000000"]
    );
    let waiters: Vec<&str> = queue
        .waiters()
        .map(|name| &name[name.len() - 1..])
        .collect();
    assert_eq!(waiters, ["1", "2"]);
    assert_eq!(
        (queue.format, queue.mode, queue.waiter_count()),
        (Format::Curator, Mode::Exclusive, 2)
    );
}

#[test]
fn readers_share_a_lock_until_the_first_writer() {
    let reader = |n: u32| format!("06e5f14164eb4e07afed0be23349ec0{n}__rlock__000000000{n}");
    let writer = |n: u32| format!("06e5f14164eb4e07afed0be23349ec0{n}__lock__000000000{n}");
    for (names, owners, mode) in [
        (
            vec![reader(1), reader(2), writer(3), reader(4)],
            2,
            Mode::Shared,
        ),
        (vec![writer(1), reader(2), writer(3)], 1, Mode::Exclusive),
        (vec![reader(1)], 1, Mode::Shared),
    ] {
        let queue = Queue::of(&names).unwrap();
        assert_eq!(queue.owners().count(), owners, "{names:?}");
        assert_eq!((queue.format, queue.mode), (Format::KazooReadWrite, mode));
        assert_eq!(queue.waiter_count(), names.len() - owners);
    }
}

#[test]
fn contenders_of_another_library_in_the_same_directory_are_not_in_the_queue() {
    let queue = queue(&[
        "06e5f14164eb4e07afed0be23349ec04__lock__0000000001",
        "_c_9facbb75-2934-4067-8a15-201f46511f17-lock-0000000000",
    ]);
    assert_eq!((queue.format, queue.waiter_count()), (Format::Curator, 0));
}

#[test]
fn the_next_contender_owns_the_lock_when_the_first_is_gone() {
    let names = [
        "06e5f14164eb4e07afed0be23349ec04__lock__0000000000",
        "2c9a14e67c324d1ba0e72d77977703f7__lock__0000000001",
    ];
    let queue = queue(&names);
    let remaining = queue.without(&[names[0]]).unwrap();
    assert_eq!(remaining.owners().collect::<Vec<_>>(), [names[1]]);
    assert_eq!(queue.without(&names), None);
}

#[test]
fn the_owner_of_a_mutex_has_its_data_as_label_and_the_time_of_its_node() {
    let path = "/locks/kazoo/orders/06e5f14164eb4e07afed0be23349ec04__lock__0000000000";
    let holder = node(path, "web-1:pid42", 7, 0x10_0000_d126_1000);
    let owners = [(holder, Lease::Session, None)];
    let lock = lock(Format::Kazoo, Mode::Exclusive, &owners, 1).unwrap();
    assert_eq!(lock.owners[0].owner.label.as_deref(), Some("web-1:pid42"));
    assert_eq!(lock.lease, Lease::Session);
    assert_eq!(lock.waiter_count, Some(1));
    assert_eq!(
        lock.claimed_at,
        Some(Timestamp::from_millis(1_795_458_104_869))
    );
    // The same path with another transaction is another hold.
    assert_ne!(
        owner_bytes(path, 7).fingerprint(),
        owner_bytes(path, 8).fingerprint()
    );
    assert_eq!(
        lock.owners[0].owner.fingerprint,
        owner_bytes(path, 7).fingerprint()
    );
}

#[test]
fn a_label_is_the_text_of_the_data_or_the_host_of_the_connection() {
    for (data, host, expected) in [
        (&b"10.0.0.7"[..], Some("10.9.9.9"), Some("10.0.0.7")),
        (b"127.0.0.1", Some("10.9.9.9"), Some("10.9.9.9")),
        (b"127.0.0.1", None, Some("127.0.0.1")),
        (b"b'sem-3'", None, Some("sem-3")),
        (b"", Some("10.9.9.9"), Some("10.9.9.9")),
        (b"", None, None),
        (b"\xff\xfe", None, None),
        (b"a\nb", None, None),
    ] {
        assert_eq!(label(data, host).as_deref(), expected, "{data:?}");
    }
    assert_eq!(
        label("ü".repeat(500).as_bytes(), None)
            .unwrap()
            .chars()
            .count(),
        MAX_LABEL_CHARS
    );
}

#[test]
fn a_node_of_shedlock_is_a_lock_until_the_time_in_it() {
    let held = node("/shedlock/report", "2026-11-23T19:00:00.000Z", 3, 0);
    let lock = shedlock(&held, NOW).unwrap();
    assert_eq!(
        lock.lease.expires_at().unwrap().to_string(),
        "2026-11-23T19:00:00.000Z"
    );
    let mut renewed = held.clone();
    renewed.stat.version = 1;
    assert_ne!(
        shedlock(&renewed, NOW).unwrap().owners[0].bytes,
        lock.owners[0].bytes
    );
    for other in ["2026-11-23T17:00:00.000Z", "", "orders", "2026"] {
        assert_eq!(
            shedlock(&node("/shedlock/report", other, 3, 0), NOW),
            None,
            "{other}"
        );
    }
}

#[test]
fn the_newest_lease_of_the_first_waiter_is_not_held_yet() {
    let leases = vec![
        node("/sem/leases/a", "worker-7", 5, 1),
        node("/sem/leases/b", "worker-8", 6, 2),
        node("/sem/leases/c", "worker-8", 7, 2),
    ];
    let first = node("/sem/locks/x", "", 8, 2).stat;
    let held = without_waiting_lease(leases.clone(), Some(&first));
    let paths: Vec<&str> = held.iter().map(|lease| &*lease.path).collect();
    assert_eq!(paths, ["/sem/leases/a", "/sem/leases/b"]);
    assert_eq!(without_waiting_lease(leases.clone(), None), leases);
}

#[test]
fn the_shape_of_a_path_follows_from_its_children() {
    let shape = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        Shape::of(&names)
    };
    assert_eq!(shape(&[]), Shape::Leaf);
    assert_eq!(shape(&["leases", "locks"]), Shape::CuratorSemaphore);
    assert_eq!(shape(&["locks", "b"]), Shape::Directory);
    let lease = "06e5f14164eb4e07afed0be23349ec04";
    assert_eq!(
        shape(&[lease]),
        Shape::KazooSemaphore(vec![lease.to_owned()])
    );
    assert_eq!(shape(&[lease, "b"]), Shape::Directory);
}
