//! Healthy owners: they take a lock, renew it in time, and notice when it is no longer theirs.

use std::time::Duration;

use tokio::time::sleep;

use super::{BACK_AFTER, Nodes, pause, secs, tokens};

/// Holds a string lock on a quorum of the nodes and extends it again and again, as Redlock clients do.
pub async fn keep(
    mut nodes: Nodes,
    key: &'static str,
    token: fn() -> String,
    lease: Duration,
    every: Duration,
) {
    loop {
        let token = token().into_bytes();
        if !nodes.take(key, &token, lease).await {
            pause(1_000..3_000).await;
            continue;
        }
        loop {
            sleep(every).await;
            let extended = nodes.extend(key, &token, lease).await;
            if !nodes.is_quorum(extended) {
                break;
            }
        }
        // It is gone, or too few nodes are left: what remains is given back, as every Redlock does.
        nodes.release(key, &token).await;
        sleep(BACK_AFTER).await;
    }
}

/// Holds a Redisson lock, taken `holds` times over by one thread; its watchdog renews 30 s every 10 s.
pub async fn watchdog(mut nodes: Nodes, key: &'static str, thread: u32, holds: u32) {
    const LEASE: Duration = Duration::from_secs(30);
    loop {
        let owner = format!("{}:{thread}", tokens::uuid()).into_bytes();
        let mut taken = 0;
        for _ in 0..holds {
            taken += nodes
                .run(include_str!("redisson_take.lua"), key, &owner, LEASE)
                .await;
        }
        if taken == 0 {
            pause(1_000..3_000).await;
            continue;
        }
        loop {
            sleep(secs(10)).await;
            if nodes
                .run(include_str!("redisson_renew.lua"), key, &owner, LEASE)
                .await
                == 0
            {
                break;
            }
        }
        sleep(BACK_AFTER).await;
    }
}

/// A `BullMQ` worker that holds a job and renews 30 s every 15 s. A visitor who frees it makes the job run twice.
pub async fn worker(mut nodes: Nodes, job: u32) {
    const LEASE: Duration = Duration::from_secs(30);
    let (data, key) = (
        format!("bull:thumbnails:{job}"),
        format!("bull:thumbnails:{job}:lock"),
    );
    loop {
        let mut keep = redis::cmd("HSET");
        keep.arg(&data)
            .arg("name")
            .arg("resize")
            .arg("data")
            .arg("{}");
        nodes.each::<u64>(&keep).await;
        let token = format!("{}:{}", tokens::uuid(), job % 10).into_bytes();
        if !nodes.take(&key, &token, LEASE).await {
            pause(1_000..3_000).await;
            continue;
        }
        let mut is_ours = true;
        for _ in 0..rand::random_range(4..12) {
            sleep(secs(15)).await;
            is_ours = nodes.extend(&key, &token, LEASE).await == 1;
            if !is_ours {
                break;
            }
        }
        if is_ours {
            nodes.release(&key, &token).await;
        }
        pause(2_000..8_000).await;
    }
}
