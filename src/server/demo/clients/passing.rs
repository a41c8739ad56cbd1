//! Locks that come and go: short ones under many names, and one that four clients want all the time.

use super::{Nodes, pause, secs, tokens};

/// Pays out one order after the other, each under a lock of its own for a few seconds.
pub async fn payouts(mut nodes: Nodes) {
    loop {
        let key = format!("lock:payout:{}", rand::random_range(4_100..4_160u32));
        let token = tokens::redsync().into_bytes();
        if nodes.take(&key, &token, secs(8)).await {
            pause(1_000..6_000).await;
            nodes.release(&key, &token).await;
        }
        pause(300..2_000).await;
    }
}

/// One of several clients that try for the same lock with `SET NX` until it is theirs, and soon hand it over.
pub async fn contender(mut nodes: Nodes, machine: &'static str) {
    const KEY: &str = "lock:invoice:1842";
    let pid = rand::random_range(1_000..30_000);
    loop {
        let token = tokens::machine(machine, pid).into_bytes();
        if nodes.take(KEY, &token, secs(10)).await {
            pause(2_000..5_000).await;
            nodes.release(KEY, &token).await;
            // Long enough for the others to get their turn.
            pause(800..1_500).await;
        } else {
            pause(150..400).await;
        }
    }
}
