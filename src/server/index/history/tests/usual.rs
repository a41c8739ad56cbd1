//! What is usual, and what is kept of it.

use super::*;

fn overdue_after_ms(story: &Story, id: &LockId) -> Option<u64> {
    let expected = story.histories.expected(id);
    expected.map(|expected| expected.overdue_after_ms)
}

#[test]
fn what_is_usual_for_a_lock_comes_from_holds_that_were_seen_whole() {
    let mut story = Story::begin();
    for ms in [4_000, 5_000, 6_000, 4_000] {
        story.once("lock:report", 1, ms);
    }
    let overdue = |story: &mut Story| {
        story.gone_over();
        story.held("lock:report", 2, 600_000);
        overdue_after_ms(story, &id("lock:report"))
    };
    assert_eq!(overdue(&mut story), None, "four are not enough");
    // Cut short by force, or with an unknown start: they say nothing of what is usual.
    story.after(90_000);
    story
        .histories
        .forced(&id("lock:report"), &who(2), story.now);
    story.gone("lock:report", Ending::Released);
    story.after(60_000).held("lock:report", 3, 600_000);
    story.after(90_000).gone("lock:report", Ending::Unknown);
    let usual = story.history("lock:report").usual.unwrap();
    assert_eq!((usual.count, usual.max_ms), (4, 6_000));

    story.once("lock:report", 1, 5_000);
    assert_eq!(overdue(&mut story), Some(18_000), "three times the p90");
    story.gone("lock:report", Ending::Released);
    let usual = story.history("lock:report").usual.unwrap();
    assert_eq!(
        (usual.p50_ms, usual.p90_ms, usual.p99_ms, usual.of),
        (4_000, 6_000, 6_000, UsualOf::Lock)
    );
}

#[test]
fn a_lock_with_too_few_holds_goes_by_its_pattern() {
    let mut story = Story::begin();
    for n in 0..5 {
        story.once(&format!("lock:invoice:{n}"), 1, 1_000);
    }
    story.gone_over();
    story.held("lock:invoice:77", 2, 600_000);
    let after = overdue_after_ms(&story, &id("lock:invoice:77"));
    assert_eq!(after, Some(11_000), "ten seconds beyond the p90");
    let usual = story.history("lock:invoice:77").usual.unwrap();
    assert_eq!((usual.count, usual.of), (5, UsualOf::Pattern));
    assert_eq!(usual.pattern.as_deref(), Some("lock:invoice:*"));
    let other = overdue_after_ms(&story, &id("lock:payout:77"));
    assert_eq!(other, None);
}

#[test]
fn so_many_holds_of_a_lock_are_kept_for_so_long() {
    let mut story = Story::begin();
    for _ in 0..MOST_HOLDS_OF_A_LOCK + 20 {
        story.once("lock:a", 1, 10);
    }
    let history = story.history("lock:a");
    assert_eq!(history.holds.len(), MOST_HOLDS_OF_A_LOCK);
    assert_eq!(history.retention.since, START);
    let day = i64::try_from(SPAN.as_millis()).unwrap();
    story.after(day + 1).held("lock:b", 1, 1_000);
    assert_eq!(story.history("lock:a").holds, []);
    let state = story.histories.state();
    assert_eq!((state.locks, state.holds, state.labels.len()), (1, 0, 1));
}

#[test]
fn beyond_the_bounds_the_locks_that_changed_longest_ago_are_forgotten_first() {
    let mut story = Story::within(50, 1_000);
    story.held("lock:long", 1, 600_000);
    for n in 0..100 {
        story.once(&format!("lock:x{n}"), n, 10);
    }
    assert!(story.histories.state().locks <= 50);
    assert_eq!(story.holds("lock:long").len(), 1, "somebody has it");
    assert_eq!(story.holds("lock:x0"), []);
    assert_eq!(story.holds("lock:x99").len(), 1);
    assert!(story.history("lock:long").retention.since > START);

    for n in 0..10 {
        for _ in 0..200 {
            story.once(&format!("lock:y{n}"), n, 10);
        }
    }
    let state = story.histories.state();
    assert!(state.holds <= 1_000, "{}", state.holds);
    let counted: usize = state.groups["orders"].locks.values().map(Past::len).sum();
    assert_eq!(state.holds, counted);
    assert!(state.groups["orders"].patterns.len() <= 3);
}

#[test]
fn a_lock_that_was_forgotten_and_is_still_held_comes_back_without_a_made_up_start() {
    let mut story = Story::begin();
    story.held("lock:a", 1, 60_000);
    story.histories.state().groups.clear();
    story.after(3_000).held("lock:a", 1, 60_000);
    let hold = story.history("lock:a").holds.remove(0);
    assert_eq!((hold.from, hold.from_is), (START, Start::FirstSeen));
}

/// Measured on x86-64 Linux: 100,000 locks with one hold and an owner each, then a million holds more.
#[test]
#[ignore = "measures memory of the whole process; run it alone, with --nocapture"]
fn memory_is_what_the_comment_says() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kb = line.and_then(|line| line.split_whitespace().nth(1));
        kb.unwrap().parse::<usize>().unwrap() * 1024
    };
    eprintln!("an ended hold: {} bytes", holds::BYTES_OF_A_HOLD);
    const LOCKS: usize = 100_000;
    let mut story = Story::begin();
    story.gone_over();
    let template = story.lock("lock:x", 1, 60_000);
    let lock = |n: usize| Lock {
        id: id(&format!("lock:invoice:{n:08}")),
        ..template.clone()
    };
    let see = |story: &Story, n: usize| {
        let lock = std::sync::Arc::new(lock(n));
        story.publish(&Change::Appeared { lock }, None);
    };
    let go = |story: &Story, n: usize| {
        let gone = Change::Gone {
            id: lock(n).id,
            ending: Ending::Released,
            at: story.now,
        };
        story.publish(&gone, None);
    };
    let before = resident();
    (0..LOCKS).for_each(|n| see(&story, n));
    let held = resident();
    eprintln!("a lock that is held: {} bytes", (held - before) / LOCKS);
    (0..LOCKS).for_each(|n| go(&story, n));
    let once = resident();
    eprintln!("a lock with one hold: {} bytes", (once - before) / LOCKS);
    for _ in 0..3 {
        (0..LOCKS).for_each(|n| see(&story, n));
        (0..LOCKS).for_each(|n| go(&story, n));
    }
    let full = resident();
    eprintln!("a lock with four holds: {} bytes", (full - before) / LOCKS);
}
