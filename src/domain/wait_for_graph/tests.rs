//! Tests of the wait-for graph.

use super::*;
use crate::domain::Format;

fn fingerprint(n: u8) -> Fingerprint {
    Fingerprint::parse(&format!("{n:016x}")).unwrap()
}

/// `a` is held by 1, and 2 and 3 wait for it: `lock("a", 1, &[2, 3])`.
fn lock(key: &str, owner: u8, waiters: &[u8]) -> BlockingLock {
    let id = |key: &str| LockId {
        group: "orders".into(),
        key: key.into(),
    };
    BlockingLock {
        lock: id(key),
        owners: vec![Owner {
            fingerprint: fingerprint(owner),
            label: None,
            format: Format::Redisson,
            hold_count: None,
        }],
        held_since: None,
        waiters: waiters
            .iter()
            .map(|n| Waiter {
                queue: WaitQueue::RedissonQueue,
                label: None,
                fingerprint: fingerprint(*n),
                waiting_since: None,
                expires_at: None,
                held_locks: Vec::new(),
                deadlock: false,
            })
            .collect(),
        waiter_count: u32::try_from(waiters.len()).unwrap(),
        blocked_waiter_count: 0,
        depth: 0,
        deadlock: false,
    }
}

/// Name, depth, number of blocked waiters, deadlock.
fn sorted(locks: Vec<BlockingLock>) -> Vec<(String, u32, u32, bool)> {
    let locks = WaitForGraph::sorted_by_impact(locks).into_iter();
    let to_row = |lock: BlockingLock| {
        let key = lock.lock.key.text().into_owned();
        (key, lock.depth, lock.blocked_waiter_count, lock.deadlock)
    };
    locks.map(to_row).collect()
}

fn row(key: &str, depth: u32, blocks: u32, deadlock: bool) -> (String, u32, u32, bool) {
    (key.to_owned(), depth, blocks, deadlock)
}

#[test]
fn locks_are_sorted_by_depth_and_by_the_number_of_blocked_waiters() {
    // 2 waits for a and holds b, 3 waits for b and holds c, 4 and 5 wait for c. Only 9 waits for d.
    let locks = vec![
        lock("c", 3, &[4, 5]),
        lock("d", 8, &[9]),
        lock("b", 2, &[3]),
        lock("a", 1, &[2]),
    ];
    assert_eq!(
        sorted(locks),
        [
            row("a", 0, 4, false),
            row("d", 0, 1, false),
            row("b", 1, 3, false),
            row("c", 2, 2, false)
        ]
    );
}

#[test]
fn a_cycle_of_two_is_a_deadlock_and_its_dependents_are_not() {
    // 1 holds a and waits for b, 2 holds b and waits for a; 3 waits for a and holds c, 4 waits for
    // c.
    let locks = vec![
        lock("c", 3, &[4]),
        lock("b", 2, &[1]),
        lock("a", 1, &[2, 3]),
        lock("d", 7, &[8]),
    ];
    let sorted = WaitForGraph::sorted_by_impact(locks);
    let rows: Vec<_> = sorted
        .iter()
        .map(|lock| (lock.lock.key.text().into_owned(), lock.depth, lock.deadlock))
        .collect();
    let row = |key: &str, depth: u32, deadlock: bool| (key.to_owned(), depth, deadlock);
    assert_eq!(
        rows,
        [
            row("a", 0, true),
            row("b", 0, true),
            row("d", 0, false),
            row("c", 1, false)
        ]
    );
    let in_cycle: Vec<bool> = sorted[0]
        .waiters
        .iter()
        .map(|waiter| waiter.deadlock)
        .collect();
    assert_eq!(in_cycle, [true, false]);
    assert!(sorted[1].waiters[0].deadlock);
}

#[test]
fn a_cycle_of_three_is_found_and_has_one_root() {
    let mut locks = WaitForGraph::sorted_by_impact(vec![
        lock("a", 1, &[2]),
        lock("b", 2, &[3]),
        lock("c", 3, &[1]),
    ]);
    assert!(
        locks
            .iter()
            .all(|lock| lock.deadlock && lock.depth == 0 && lock.blocked_waiter_count == 3)
    );
    let ids: BTreeMap<Fingerprint, LockId> = locks
        .iter()
        .map(|lock| (lock.owners[0].fingerprint, lock.lock.clone()))
        .collect();
    for waiter in locks.iter_mut().flat_map(|lock| &mut lock.waiters) {
        waiter.held_locks = vec![ids[&waiter.fingerprint].clone()];
    }
    let waits = WaitForGraph {
        locks,
        observed_at: Timestamp::from_millis(0),
        unread_nodes: Vec::new(),
        truncated: false,
    };
    let roots: Vec<_> = waits.roots().iter().map(|lock| &lock.lock).collect();
    assert_eq!(roots, [&waits.locks[0].lock]);
}

#[test]
fn an_owner_in_the_queue_of_its_own_lock_does_not_wait() {
    assert_eq!(sorted(vec![lock("a", 1, &[1, 2])]), [row("a", 0, 2, false)]);
}

#[test]
fn a_search_returns_complete_chains_only() {
    let (mut a, b) = (lock("a", 1, &[2, 3]), lock("b", 2, &[4]));
    a.waiters[0].held_locks = vec![b.lock.clone()];
    let waits = WaitForGraph {
        locks: WaitForGraph::sorted_by_impact(vec![a, b, lock("job:c", 7, &[8])]),
        observed_at: Timestamp::from_millis(0),
        unread_nodes: vec!["orders/a".into()],
        truncated: true,
    };
    let shown = |group: Option<&str>, text: &str| {
        let filtered = waits.filtered(group, text);
        assert!(filtered.truncated && filtered.unread_nodes == waits.unread_nodes);
        let keys = filtered.locks.iter();
        let keys: Vec<_> = keys.map(|lock| lock.lock.key.text().into_owned()).collect();
        keys.join(" ")
    };
    assert_eq!(shown(None, ""), "a job:c b");
    assert_eq!(shown(None, "JOB"), "job:c");
    assert_eq!(
        shown(None, "0000000000000004"),
        "a b",
        "a waiter for b depends on a"
    );
    assert_eq!(shown(None, "0000000000000007"), "job:c");
    assert_eq!(shown(Some("orders"), "b"), "a job:c b");
    assert_eq!(shown(Some("other"), ""), "");
    assert_eq!(shown(None, "nothing"), "");
}
