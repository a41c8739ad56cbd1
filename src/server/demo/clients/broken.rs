//! Locks in states of a failed Redlock, and clients that crash or hang.

use tokio::time::{Instant, sleep};

use super::{CRASH_LOOP_KEY, ClientNodes, RESTART_DELAY, pause, secs, tokens};

/// The remains of a client that reached two of five nodes and crashed before its rollback. They
/// expire after a minute; then the next client crashes the same way.
pub async fn fragment(mut nodes: ClientNodes) {
    const KEY: &str = "lock:stock:recount";
    loop {
        let placed_at = Instant::now();
        if nodes
            .set_if_absent(KEY, tokens::node_redlock().as_bytes(), secs(60))
            .await
            > 0
        {
            while nodes.count_existing(KEY).await > 0 {
                sleep(secs(1)).await;
            }
            let was_released = placed_at.elapsed() < secs(55);
            if was_released {
                sleep(RESTART_DELAY).await;
            }
        }
        pause(2_000..4_000).await;
    }
}

/// One of two owners that each believe to hold the lock. Each has and renews it on a minority of
/// the nodes.
pub async fn split_owner(mut nodes: ClientNodes) {
    const KEY: &str = "lock:cart:merge";
    loop {
        let token = tokens::node_redlock().into_bytes();
        if nodes.set_if_absent(KEY, &token, secs(30)).await > 0 {
            loop {
                sleep(secs(10)).await;
                if nodes.extend(KEY, &token, secs(30)).await == 0 {
                    break;
                }
            }
            sleep(RESTART_DELAY).await;
        }
        pause(2_000..4_000).await;
    }
}

/// A client that acquires a lock, crashes before it releases it, is restarted as another process
/// after the lease, and crashes again.
pub async fn crash_loop(mut nodes: ClientNodes) {
    loop {
        let pid = rand::random_range(1_000..30_000);
        let token = tokens::madelson("SYNC-1", pid).into_bytes();
        nodes.acquire(CRASH_LOOP_KEY, &token, secs(15)).await;
        while nodes.count_existing(CRASH_LOOP_KEY).await > 0 {
            sleep(secs(1)).await;
        }
        pause(4_000..8_000).await;
    }
}

/// A client that renews its long lease every three seconds until its process hangs. The lock remains
/// until the lease ends.
pub async fn hung_owner(mut nodes: ClientNodes) {
    const KEY: &str = "lock:warehouse:sync";
    const RENEWALS: u32 = 4;
    loop {
        let token = tokens::redsync().into_bytes();
        if nodes.acquire(KEY, &token, secs(900)).await {
            for _ in 0..RENEWALS {
                sleep(secs(3)).await;
                nodes.extend(KEY, &token, secs(900)).await;
            }
            while nodes.count_existing(KEY).await > 0 {
                sleep(secs(1)).await;
            }
            sleep(RESTART_DELAY).await;
        }
        pause(2_000..4_000).await;
    }
}
