//! Locks in states of a failed Redlock: the remains of a failed acquire, and two concurrent owners.

use tokio::time::{Instant, sleep};

use super::{ClientNodes, RESTART_DELAY, pause, secs, tokens};

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
