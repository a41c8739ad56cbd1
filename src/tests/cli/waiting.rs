//! Waiting for a lock of another owner.

use std::time::{Duration, Instant};

use super::{Shell, output_of, send_signal, wait_for_output};
use crate::support::redis_nodes::RedisNodes;
use crate::support::run_command;
use crate::support::wait_until;

const LOCK: [&str; 2] = ["default", "lock:payout/eu"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [LOCK.as_slice(), more].concat()
}

#[tokio::test]
async fn a_waiter_acquires_a_released_lock_and_exits_with_75_on_timeout() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let acquired = shell
        .run("acquire", &with(&["--ttl", "1m", "--token-file", "token"]))
        .await;
    assert_eq!(acquired.status, 0, "{acquired:?}");
    let started = Instant::now();
    let timed_out = shell
        .run("acquire", &with(&["--ttl", "1m", "--wait", "300ms"]))
        .await;
    assert_eq!(timed_out.status, 75, "{timed_out:?}");
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert!(timed_out.stderr.contains("held by alice@"), "{timed_out:?}");

    let waiting = shell.command(
        "acquire",
        &with(&["--ttl", "1m", "--wait", "20s", "--json"]),
    );
    let waiting = tokio::spawn(output_of(waiting));
    let released = shell
        .run("release", &with(&["--token-file", "token"]))
        .await;
    assert_eq!(released.status, 0, "{released:?}");
    let acquired = waiting.await.unwrap();
    assert_eq!(acquired.status, 0, "{acquired:?}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_waiter_that_is_terminated_leaves_no_lock() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    // Two of three nodes have a lock of another owner: each attempt acquires the third and rolls it
    // back.
    nodes.set(0, LOCK[1].as_bytes(), b"other", None).await;
    nodes.set(1, LOCK[1].as_bytes(), b"other", None).await;
    for (name, status) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let mut client = nodes.0[2].client().await;
        let () = run_command(&mut client, "CONFIG RESETSTAT").await;
        let mut waiting = shell.command("acquire", &with(&["--ttl", "1m", "--wait", "1m"]));
        let waiting = waiting.spawn().unwrap();
        wait_until("an attempt", async || {
            let mut client = nodes.0[2].client().await;
            let stats: String = run_command(&mut client, "INFO commandstats").await;
            ["cmdstat_set:", "cmdstat_eval"]
                .iter()
                .any(|name| stats.contains(name))
        })
        .await;
        send_signal(&waiting, name);
        assert_eq!(wait_for_output(waiting).await.status, status);
        assert_eq!(nodes.get(2, LOCK[1].as_bytes()).await, None);
    }
}
