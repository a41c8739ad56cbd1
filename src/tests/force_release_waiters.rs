//! Waiting clients of real libraries: a force release wakes them, while a plain deletion of the key
//! would not.

use std::process::Stdio;

use lockkeeper::domain::NodeOutcome;
use lockkeeper::server::stores::redis::formats::fingerprint;
use redis::AsyncCommands as _;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::support::force_release::force_release;
use crate::support::programs;
use crate::support::redis_nodes::RedisNodes;
use crate::support::redisson::NodeRedisson;
use crate::support::run_command;
use crate::support::{WAIT_TIMEOUT, wait_until};

#[tokio::test]
async fn a_force_release_wakes_node_redisson_before_the_observed_lease_ends() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let (mut owner, mut waiter) = (
        NodeRedisson::start(&nodes.0[0]),
        NodeRedisson::start(&nodes.0[0]),
    );
    assert_eq!(owner.call("lock order:42 600000").await, "locked");
    let field = owner.call("field order:42").await;
    waiter.send("lock order:42 600000").await;
    let channel = "redisson_lock__channel:{order:42}";
    waiter.wait_until_listening(&nodes.0[0], channel).await;
    let forced = force_release(&group, &"order:42".into(), &fingerprint(field.as_bytes())).await;
    assert_eq!(forced.nodes[0].outcome, NodeOutcome::Released);
    let woken = tokio::time::timeout(WAIT_TIMEOUT, waiter.receive()).await;
    assert_eq!(woken.unwrap(), "locked");
    assert_eq!(owner.call("unlock order:42").await, "RedissonLockError");
}

#[tokio::test]
async fn a_force_release_wakes_python_redis_lock_which_would_wait_forever() {
    const STUCK: &str = "sxC0yahykS7gF2Mw5Bu6WBW5";
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let () = client.set("lock:prl", STUCK).await.unwrap();
    let mut waiter = Command::new(programs::python_with_lock_clients())
        .arg(programs::client_script("python_redis_lock_waits.py"))
        .arg(nodes.0[0].port().to_string())
        .arg("prl")
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(waiter.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "waits");
    wait_until("the waiter is blocked", async || {
        let clients: String = run_command(&mut client, "CLIENT LIST").await;
        clients.contains("cmd=blpop")
    })
    .await;
    let forced = force_release(&group, &"lock:prl".into(), &fingerprint(STUCK.as_bytes())).await;
    assert_eq!(forced.nodes[0].outcome, NodeOutcome::Released);
    let woken = tokio::time::timeout(WAIT_TIMEOUT, lines.next_line()).await;
    assert_eq!(woken.unwrap().unwrap().unwrap(), "has it");
}
