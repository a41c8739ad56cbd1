//! Healthy owners: they acquire a lock, renew it in time, and detect its loss.

use std::time::Duration;

use tokio::time::sleep;

use super::{ClientNodes, RESTART_DELAY, pause, secs, tokens};

/// Holds a string lock on a quorum of the nodes and extends it periodically, like a Redlock client.
pub async fn hold_renewed(
    mut nodes: ClientNodes,
    key: &'static str,
    token: fn() -> String,
    lease: Duration,
    interval: Duration,
) {
    loop {
        let token = token().into_bytes();
        if !nodes.acquire(key, &token, lease).await {
            pause(1_000..3_000).await;
            continue;
        }
        loop {
            sleep(interval).await;
            let extended = nodes.extend(key, &token, lease).await;
            if !nodes.is_quorum(extended) {
                break;
            }
        }
        // The lock is gone or the quorum is lost. Redlock clients release what is left on the
        // nodes.
        nodes.release(key, &token).await;
        sleep(RESTART_DELAY).await;
    }
}

/// Holds a Redisson lock, acquired `holds` times by one thread. Its watchdog renews a lease of 30 s
/// every 10 s.
pub async fn redisson_watchdog(mut nodes: ClientNodes, key: &'static str, thread: u32, holds: u32) {
    const LEASE: Duration = Duration::from_secs(30);
    loop {
        let owner = format!("{}:{thread}", tokens::uuid()).into_bytes();
        let mut acquired = 0;
        for _ in 0..holds {
            acquired += nodes
                .run_script(include_str!("redisson_acquire.lua"), key, &owner, LEASE)
                .await;
        }
        if acquired == 0 {
            pause(1_000..3_000).await;
            continue;
        }
        loop {
            sleep(secs(10)).await;
            if nodes
                .run_script(include_str!("redisson_renew.lua"), key, &owner, LEASE)
                .await
                == 0
            {
                break;
            }
        }
        sleep(RESTART_DELAY).await;
    }
}

/// A `BullMQ` worker that holds a job and renews a lease of 30 s every 15 s. If a user releases its
/// lock, the job runs twice.
pub async fn bullmq_worker(mut nodes: ClientNodes, job: u32) {
    const LEASE: Duration = Duration::from_secs(30);
    let (data, key) = (
        format!("bull:thumbnails:{job}"),
        format!("bull:thumbnails:{job}:lock"),
    );
    loop {
        let mut set_job = redis::cmd("HSET");
        set_job
            .arg(&data)
            .arg("name")
            .arg("resize")
            .arg("data")
            .arg("{}");
        nodes.query_each::<u64>(&set_job).await;
        let token = format!("{}:{}", tokens::uuid(), job % 10).into_bytes();
        if !nodes.acquire(&key, &token, LEASE).await {
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
