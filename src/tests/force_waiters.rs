//! Real libraries that wait: a release by force wakes them, where the key's deletion alone would not.

use std::process::Stdio;

use lockkeeper::domain::ActOutcome;
use lockkeeper::server::formats::fingerprint;
use redis::AsyncCommands as _;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::support::ask;
use crate::support::force::force_release;
use crate::support::programs;
use crate::support::redis_nodes::RedisNodes;
use crate::support::redisson::NodeRedisson;
use crate::support::{PATIENCE, eventually_is};

#[tokio::test]
async fn node_redisson_is_woken_long_before_the_lease_that_it_last_saw_is_over() {
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let (mut stuck, mut waits) = (NodeRedisson::on(&nodes.0[0]), NodeRedisson::on(&nodes.0[0]));
    assert_eq!(stuck.does("lock order:42 600000").await, "locked");
    let field = stuck.does("field order:42").await;
    waits.begin("lock order:42 600000").await;
    let mut client = nodes.0[0].client().await;
    eventually_is("it listens", async || {
        let (_, listeners): (String, u32) = redis::cmd("PUBSUB")
            .arg("NUMSUB")
            .arg("redisson_lock__channel:{order:42}")
            .query_async(&mut client)
            .await
            .unwrap();
        listeners == 1
    })
    .await;
    let forced = force_release(&group, &"order:42".into(), &fingerprint(field.as_bytes())).await;
    assert_eq!(forced.nodes[0].outcome, ActOutcome::Released);
    let woken = tokio::time::timeout(PATIENCE, waits.end()).await;
    assert_eq!(woken.unwrap(), "locked");
    assert_eq!(stuck.does("unlock order:42").await, "RedissonLockError");
}

#[tokio::test]
async fn python_redis_lock_is_woken_where_it_would_wait_for_ever() {
    const STUCK: &str = "sxC0yahykS7gF2Mw5Bu6WBW5";
    let nodes = RedisNodes::start(1).await;
    let group = nodes.group().await;
    let mut client = nodes.0[0].client().await;
    let () = client.set("lock:prl", STUCK).await.unwrap();
    let mut waits = Command::new(programs::python_with_lock_clients())
        .arg(programs::script("python_redis_lock_waits.py"))
        .arg(nodes.0[0].port().to_string())
        .arg("prl")
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut says = BufReader::new(waits.stdout.take().unwrap()).lines();
    assert_eq!(says.next_line().await.unwrap().unwrap(), "waits");
    eventually_is("it blocks", async || {
        let clients: String = ask(&mut client, "CLIENT LIST").await;
        clients.contains("cmd=blpop")
    })
    .await;
    let forced = force_release(&group, &"lock:prl".into(), &fingerprint(STUCK.as_bytes())).await;
    assert_eq!(forced.nodes[0].outcome, ActOutcome::Released);
    let woken = tokio::time::timeout(PATIENCE, says.next_line()).await;
    assert_eq!(woken.unwrap().unwrap().unwrap(), "has it");
}
