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
