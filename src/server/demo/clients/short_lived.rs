//! Short-lived locks: many keys held for seconds, and one key with four contending clients.

use super::{ClientNodes, pause, secs, tokens};

/// Pays out one order after another, each under its own lock for a few seconds.
pub async fn payouts(mut nodes: ClientNodes) {
    loop {
        let key = format!("lock:payout:{}", rand::random_range(4_100..4_160u32));
        let token = tokens::redsync().into_bytes();
        if nodes.acquire(&key, &token, secs(8)).await {
            pause(1_000..6_000).await;
            nodes.release(&key, &token).await;
        }
        pause(300..2_000).await;
    }
}

/// One of several clients that retry `SET NX` on the same key and release it soon after acquiring
/// it.
pub async fn contender(mut nodes: ClientNodes, machine: &'static str) {
    const KEY: &str = "lock:invoice:1842";
    let pid = rand::random_range(1_000..30_000);
    loop {
        let token = tokens::madelson(machine, pid).into_bytes();
        if nodes.acquire(KEY, &token, secs(10)).await {
            pause(2_000..5_000).await;
            nodes.release(KEY, &token).await;
            // Long enough for the other clients to acquire the lock.
            pause(800..1_500).await;
        } else {
            pause(150..400).await;
        }
    }
}
