//! `run` when the lock is lost: the command is ended.

use std::time::{Duration, Instant};

use super::{Shell, sleeping_pids, unique_sleep_seconds, wait_for_output};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

const LOCK: &str = "lock:job";

/// The token of another owner.
const OTHER_TOKEN: &[u8] = b"lockkeeper:next:9f86d081884c7d659a2feaa0c55ad015";

/// Records SIGTERM and exits.
const EXITS_ON_TERM: &str =
    "trap 'echo TERM >> received; exit 0' TERM; : > begun; while :; do sleep 0.01; done";
/// Records SIGTERM and continues.
const IGNORES_TERM: &str =
    "trap 'echo TERM >> received' TERM; : > begun; while :; do sleep 0.01; done";

#[tokio::test]
async fn a_deleted_lock_ends_the_command_with_76() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let child = shell
        .start_run(&["default", LOCK, "--ttl", "1s"], EXITS_ON_TERM)
        .await;
    for n in 0..3 {
        nodes.delete(n, LOCK.as_bytes()).await;
    }
    let output = wait_for_output(child).await;
    assert_eq!(
        (output.status, shell.read("received").as_str()),
        (76, "TERM\n"),
        "{output:?}"
    );
    assert!(
        output.stderr.contains("the lock was lost")
            && output
                .stderr
                .contains("the lock no longer exists on the nodes"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_lock_of_another_owner_ends_the_command_and_is_not_changed() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let child = shell
        .start_run(&["default", LOCK, "--ttl", "1s"], EXITS_ON_TERM)
        .await;
    nodes
        .set_on_first(3, LOCK.as_bytes(), OTHER_TOKEN, Some(60_000))
        .await;
    let output = wait_for_output(child).await;
    assert_eq!(output.status, 76);
    assert!(
        output.stderr.contains("another owner holds the lock: next"),
        "{output:?}"
    );
    for n in 0..3 {
        assert_eq!(nodes.get(n, LOCK.as_bytes()).await.unwrap(), OTHER_TOKEN);
    }
}

#[tokio::test]
async fn losing_one_node_of_three_does_not_end_the_command() {
    let mut nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let script = ": > begun; while [ ! -e end ]; do sleep 0.01; done; exit 3";
    let child = shell
        .start_run(&["default", LOCK, "--ttl", "1s"], script)
        .await;
    nodes.0[2].kill().await;
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(2_500) {
        assert!(nodes.get(0, LOCK.as_bytes()).await.is_some());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    std::fs::write(shell.path("end"), "").unwrap();
    let output = wait_for_output(child).await;
    assert_eq!((output.status, output.stderr.as_str()), (3, ""));
}

#[tokio::test]
async fn a_command_that_ignores_sigterm_is_killed_with_its_children() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let time = unique_sleep_seconds();
    let script = format!("trap '' TERM; sleep {time} & {IGNORES_TERM}");
    let options = ["default", LOCK, "--ttl", "1s", "--kill-after", "500ms"];
    let child = shell.start_run(&options, &script).await;
    nodes.delete(0, LOCK.as_bytes()).await;
    let started = Instant::now();
    let output = wait_for_output(child).await;
    assert_eq!(
        (output.status, shell.read("received").as_str()),
        (76, "TERM\n"),
        "{output:?}"
    );
    assert!(
        started.elapsed() >= Duration::from_millis(500),
        "SIGKILL is not sent before --kill-after"
    );
    assert_eq!(sleeping_pids(&time), Vec::<u32>::new());
}

#[tokio::test]
async fn after_a_loss_of_the_quorum_the_command_ends_before_the_lease_expires() {
    for (end, handles_term) in [("exit 0", true), ("", true), ("", false)] {
        let mut nodes = RedisNodes::start(3).await;
        let shell = Shell::new(&nodes);
        let ttl = Duration::from_secs(3);
        let trap = if handles_term {
            format!("echo TERM >> received; {end}")
        } else {
            String::new()
        };
        let script =
            format!("trap '{trap}' TERM; : > begun; while :; do : > alive; sleep 0.01; done");
        let child = shell
            .start_run(&["default", LOCK, "--ttl", "3s"], &script)
            .await;
        std::fs::write(shell.path("cut"), "").unwrap();
        nodes.0[1].kill().await;
        nodes.0[2].kill().await;
        let output = wait_for_output(child).await;
        assert_eq!(output.status, 76, "{output:?}");
        assert!(
            output.stderr.contains("no renewal succeeded in time"),
            "{output:?}"
        );
        let written = |name: &str| shell.path(name).metadata().unwrap().modified().unwrap();
        let after = |name: &str| written(name).duration_since(written("cut")).unwrap();
        // The last renewal was before the nodes were killed, so at most one lease is left.
        assert!(after("alive") < ttl, "alive after {:?}", after("alive"));
        if handles_term {
            let terminated_after = after("received");
            assert!(
                terminated_after + ttl / 4 < ttl,
                "SIGTERM after {terminated_after:?}"
            );
            assert!(
                terminated_after > ttl / 4,
                "SIGTERM at the first failed renewal: {terminated_after:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_short_hang_of_the_nodes_does_not_end_the_command() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let script = ": > begun; while [ ! -e end ]; do sleep 0.01; done; exit 3";
    let child = shell
        .start_run(&["default", LOCK, "--ttl", "6s"], script)
        .await;
    nodes.0[0].pause().await;
    // Longer than the renewal interval, a third of the lease: renewals fail.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    nodes.0[0].resume().await;
    wait_until("a renewal", async || {
        let mut client = nodes.0[0].client().await;
        let left: i64 = redis::cmd("PTTL")
            .arg(LOCK)
            .query_async(&mut client)
            .await
            .unwrap();
        assert!(left > 0, "the lock was lost");
        left > 4_500
    })
    .await;
    std::fs::write(shell.path("end"), "").unwrap();
    let output = wait_for_output(child).await;
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (3, ""),
        "{output:?}"
    );
}
