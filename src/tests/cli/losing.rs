//! `run` when the lock is lost: the command does not go on without it.

use std::time::{Duration, Instant};

use super::{Shell, ended, long_time, sleepers};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

const LOCK: &str = "lock:job";

/// Somebody else's token.
const NEXT: &[u8] = b"lockkeeper:next:9f86d081884c7d659a2feaa0c55ad015";

/// Says TERM when it is told to end, and ends.
const POLITE: &str =
    "trap 'echo TERM >> heard; exit 0' TERM; : > begun; while :; do sleep 0.01; done";
/// Says TERM and goes on.
const STUBBORN: &str = "trap 'echo TERM >> heard' TERM; : > begun; while :; do sleep 0.01; done";

#[tokio::test]
async fn a_lock_that_was_freed_by_somebody_ends_the_command_with_76() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let running = shell.begin(&["default", LOCK, "--ttl", "1s"], POLITE).await;
    for n in 0..3 {
        nodes.delete(n, LOCK.as_bytes()).await;
    }
    let ran = ended(running).await;
    assert_eq!(
        (ran.status, shell.read("heard").as_str()),
        (76, "TERM\n"),
        "{ran:?}"
    );
    assert!(
        ran.err.contains("the lock is lost") && ran.err.contains("it is gone from the nodes"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_lock_that_somebody_else_has_ends_the_command_and_is_left_alone() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let running = shell.begin(&["default", LOCK, "--ttl", "1s"], POLITE).await;
    nodes
        .set_first(3, LOCK.as_bytes(), NEXT, Some(60_000))
        .await;
    let ran = ended(running).await;
    assert_eq!(ran.status, 76);
    assert!(ran.err.contains("another owner has it: next"), "{ran:?}");
    for n in 0..3 {
        assert_eq!(nodes.get(n, LOCK.as_bytes()).await.unwrap(), NEXT);
    }
}

#[tokio::test]
async fn one_node_of_three_is_not_the_lock() {
    let mut nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let script = ": > begun; while [ ! -e end ]; do sleep 0.01; done; exit 3";
    let running = shell.begin(&["default", LOCK, "--ttl", "1s"], script).await;
    nodes.0[2].kill().await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(2_500) {
        assert!(nodes.get(0, LOCK.as_bytes()).await.is_some());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    std::fs::write(shell.path("end"), "").unwrap();
    let ran = ended(running).await;
    assert_eq!((ran.status, ran.err.as_str()), (3, ""));
}

#[tokio::test]
async fn a_command_that_does_not_end_is_killed_with_all_it_started() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let time = long_time();
    let script = format!("trap '' TERM; sleep {time} & {STUBBORN}");
    let options = ["default", LOCK, "--ttl", "1s", "--kill-after", "500ms"];
    let running = shell.begin(&options, &script).await;
    nodes.delete(0, LOCK.as_bytes()).await;
    let began = Instant::now();
    let ran = ended(running).await;
    assert_eq!(
        (ran.status, shell.read("heard").as_str()),
        (76, "TERM\n"),
        "{ran:?}"
    );
    assert!(
        began.elapsed() >= Duration::from_millis(500),
        "it got its time"
    );
    assert_eq!(sleepers(&time), Vec::<u32>::new());
}

#[tokio::test]
async fn when_the_nodes_die_the_command_ends_before_anybody_else_could_have_the_lock() {
    for (end, says_term) in [("exit 0", true), ("", true), ("", false)] {
        let mut nodes = RedisNodes::start(3).await;
        let shell = Shell::on(&nodes);
        let ttl = Duration::from_secs(3);
        let trap = if says_term {
            format!("echo TERM >> heard; {end}")
        } else {
            String::new()
        };
        let script =
            format!("trap '{trap}' TERM; : > begun; while :; do : > alive; sleep 0.01; done");
        let running = shell
            .begin(&["default", LOCK, "--ttl", "3s"], &script)
            .await;
        std::fs::write(shell.path("cut"), "").unwrap();
        nodes.0[1].kill().await;
        nodes.0[2].kill().await;
        let ran = ended(running).await;
        assert_eq!(ran.status, 76, "{ran:?}");
        assert!(ran.err.contains("could not be renewed in time"), "{ran:?}");
        let written = |name: &str| shell.path(name).metadata().unwrap().modified().unwrap();
        let after = |name: &str| written(name).duration_since(written("cut")).unwrap();
        // The last renewal was before the cut: from then on, a lease at most.
        assert!(after("alive") < ttl, "alive after {:?}", after("alive"));
        if says_term {
            let told = after("heard");
            assert!(told + ttl / 4 < ttl, "told after {told:?}");
            assert!(told > ttl / 4, "not at the first missed answer: {told:?}");
        }
    }
}

#[tokio::test]
async fn nodes_that_hang_for_a_moment_cost_nothing() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let script = ": > begun; while [ ! -e end ]; do sleep 0.01; done; exit 3";
    let running = shell.begin(&["default", LOCK, "--ttl", "6s"], script).await;
    nodes.0[0].stop().await;
    // Longer than a third of the lease: renewals fail.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    nodes.0[0].go_on().await;
    eventually_is("a renewal", async || {
        let mut client = nodes.0[0].client().await;
        let left: i64 = redis::cmd("PTTL")
            .arg(LOCK)
            .query_async(&mut client)
            .await
            .unwrap();
        assert!(left > 0, "it was never lost");
        left > 4_500
    })
    .await;
    std::fs::write(shell.path("end"), "").unwrap();
    let ran = ended(running).await;
    assert_eq!((ran.status, ran.err.as_str()), (3, ""), "{ran:?}");
}
