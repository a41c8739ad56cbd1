//! Waiting for a lock that somebody else holds.

use std::time::{Duration, Instant};

use super::{Shell, end_of, ended, signal};
use crate::support::ask;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

const LOCK: [&str; 2] = ["default", "lock:payout/eu"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [LOCK.as_slice(), more].concat()
}

#[tokio::test]
async fn who_waits_gets_the_lock_when_it_is_released_and_75_when_it_is_not() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let taken = shell
        .type_in("acquire", &with(&["--ttl", "1m", "--token-file", "token"]))
        .await;
    assert_eq!(taken.status, 0, "{taken:?}");
    let began = Instant::now();
    let late = shell
        .type_in("acquire", &with(&["--ttl", "1m", "--wait", "300ms"]))
        .await;
    assert_eq!(late.status, 75, "{late:?}");
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert!(late.err.contains("held by somebody@"), "{late:?}");

    let waiting = shell.command(
        "acquire",
        &with(&["--ttl", "1m", "--wait", "20s", "--json"]),
    );
    let waiting = tokio::spawn(end_of(waiting));
    let released = shell
        .type_in("release", &with(&["--token-file", "token"]))
        .await;
    assert_eq!(released.status, 0, "{released:?}");
    let taken = waiting.await.unwrap();
    assert_eq!(taken.status, 0, "{taken:?}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn who_is_told_to_end_while_waiting_leaves_nothing_behind() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    // On one node of three somebody else's: each try takes the other two, and gives them back.
    nodes.set(0, LOCK[1].as_bytes(), b"other", None).await;
    nodes.set(1, LOCK[1].as_bytes(), b"other", None).await;
    for (name, status) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let mut client = nodes.0[2].client().await;
        let () = ask(&mut client, "CONFIG RESETSTAT").await;
        let mut waiting = shell.command("acquire", &with(&["--ttl", "1m", "--wait", "1m"]));
        let waiting = waiting.spawn().unwrap();
        eventually_is("a try", async || {
            let mut client = nodes.0[2].client().await;
            let stats: String = ask(&mut client, "INFO commandstats").await;
            ["cmdstat_set:", "cmdstat_eval"]
                .iter()
                .any(|name| stats.contains(name))
        })
        .await;
        signal(&waiting, name);
        assert_eq!(ended(waiting).await.status, status);
        assert_eq!(nodes.get(2, LOCK[1].as_bytes()).await, None);
    }
}
