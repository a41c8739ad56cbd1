//! Pictures of who waits for whom.

use super::*;
use crate::domain::Format;

fn who(n: u8) -> Fingerprint {
    Fingerprint::parse(&format!("{n:016x}")).unwrap()
}

/// `a` is held by 1, and 2 and 3 wait for it: `lock("a", 1, &[2, 3])`.
fn lock(key: &str, owner: u8, waiters: &[u8]) -> WaitedFor {
    let id = |key: &str| LockId {
        group: "orders".into(),
        key: key.into(),
    };
    WaitedFor {
        lock: id(key),
        owners: vec![Owner {
            fingerprint: who(owner),
            label: None,
            format: Format::Redisson,
            holds: None,
        }],
        held_since: None,
        waiters: waiters
            .iter()
            .map(|n| Waiter {
                waits_in: WaitsIn::RedissonQueue,
                label: None,
                fingerprint: who(*n),
                since: None,
                until: None,
                holds: Vec::new(),
                deadlock: false,
            })
            .collect(),
        waiting: u32::try_from(waiters.len()).unwrap(),
        blocks: 0,
        depth: 0,
        deadlock: false,
    }
}

/// Name, depth, how many it blocks, whether it is in a circle.
fn arranged(locks: Vec<WaitedFor>) -> Vec<(String, u32, u32, bool)> {
    let locks = Waits::arrange(locks).into_iter();
    let tell = |lock: WaitedFor| {
        let key = lock.lock.key.text().into_owned();
        (key, lock.depth, lock.blocks, lock.deadlock)
    };
    locks.map(tell).collect()
}

fn line(key: &str, depth: u32, blocks: u32, deadlock: bool) -> (String, u32, u32, bool) {
    (key.to_owned(), depth, blocks, deadlock)
}

#[test]
fn what_blocks_most_comes_first_and_what_hangs_on_it_below() {
    // 2 waits for a and holds b, 3 waits for b and holds c, for which 4 and 5 wait. Nobody hangs on d but 9.
    let locks = vec![
        lock("c", 3, &[4, 5]),
        lock("d", 8, &[9]),
        lock("b", 2, &[3]),
        lock("a", 1, &[2]),
    ];
    assert_eq!(
        arranged(locks),
        [
            line("a", 0, 4, false),
            line("d", 0, 1, false),
            line("b", 1, 3, false),
            line("c", 2, 2, false)
        ]
    );
}

#[test]
fn two_who_wait_for_one_another_are_a_deadlock_and_those_behind_them_are_not() {
    // 1 has a and wants b, 2 has b and wants a; 3 wants a too and holds c, for which 4 waits.
    let locks = vec![
        lock("c", 3, &[4]),
        lock("b", 2, &[1]),
        lock("a", 1, &[2, 3]),
        lock("d", 7, &[8]),
    ];
    let arranged = Waits::arrange(locks);
    let told: Vec<_> = arranged
        .iter()
        .map(|lock| (lock.lock.key.text().into_owned(), lock.depth, lock.deadlock))
        .collect();
    let line = |key: &str, depth: u32, deadlock: bool| (key.to_owned(), depth, deadlock);
    assert_eq!(
        told,
        [
            line("a", 0, true),
            line("b", 0, true),
            line("d", 0, false),
            line("c", 1, false)
        ]
    );
    let in_circle: Vec<bool> = arranged[0].waiters.iter().map(|one| one.deadlock).collect();
    assert_eq!(in_circle, [true, false]);
    assert!(arranged[1].waiters[0].deadlock);
}

#[test]
fn a_circle_of_three_is_found_and_stands_in_the_picture_once() {
    let mut locks = Waits::arrange(vec![
        lock("a", 1, &[2]),
        lock("b", 2, &[3]),
        lock("c", 3, &[1]),
    ]);
    assert!(
        locks
            .iter()
            .all(|lock| lock.deadlock && lock.depth == 0 && lock.blocks == 3)
    );
    let ids: BTreeMap<Fingerprint, LockId> = locks
        .iter()
        .map(|lock| (lock.owners[0].fingerprint.clone(), lock.lock.clone()))
        .collect();
    for waiter in locks.iter_mut().flat_map(|lock| &mut lock.waiters) {
        waiter.holds = vec![ids[&waiter.fingerprint].clone()];
    }
    let waits = Waits {
        locks,
        observed_at: Timestamp::from_millis(0),
        unread: Vec::new(),
        is_cut: false,
    };
    let roots: Vec<_> = waits.roots().iter().map(|lock| &lock.lock).collect();
    assert_eq!(roots, [&waits.locks[0].lock]);
}

#[test]
fn who_stands_in_the_queue_of_its_own_lock_waits_for_nobody() {
    assert_eq!(
        arranged(vec![lock("a", 1, &[1, 2])]),
        [line("a", 0, 2, false)]
    );
}

#[test]
fn a_search_shows_whole_chains_and_nothing_of_the_others() {
    let (mut a, b) = (lock("a", 1, &[2, 3]), lock("b", 2, &[4]));
    a.waiters[0].holds = vec![b.lock.clone()];
    let waits = Waits {
        locks: Waits::arrange(vec![a, b, lock("job:c", 7, &[8])]),
        observed_at: Timestamp::from_millis(0),
        unread: vec!["orders/a".into()],
        is_cut: true,
    };
    let shown = |group: Option<&str>, text: &str| {
        let narrowed = waits.narrowed(group, text);
        assert!(narrowed.is_cut && narrowed.unread == waits.unread);
        let keys = narrowed.locks.iter();
        let keys: Vec<_> = keys.map(|lock| lock.lock.key.text().into_owned()).collect();
        keys.join(" ")
    };
    assert_eq!(shown(None, ""), "a job:c b");
    assert_eq!(shown(None, "JOB"), "job:c");
    assert_eq!(
        shown(None, "0000000000000004"),
        "a b",
        "who waits for b waits below a"
    );
    assert_eq!(shown(None, "0000000000000007"), "job:c");
    assert_eq!(shown(Some("orders"), "b"), "a job:c b");
    assert_eq!(shown(Some("other"), ""), "");
    assert_eq!(shown(None, "nothing"), "");
}
