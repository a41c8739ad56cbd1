//! Locks as they look when Redlock goes wrong: the remains of a failed acquire, and two owners at once.

use tokio::time::{Instant, sleep};

use super::{BACK_AFTER, Nodes, pause, secs, tokens};

/// What a client left that reached two of five nodes and died before it could clean up. It expires after a minute; then
/// the next one dies the same way.
pub async fn fragment(mut nodes: Nodes) {
    const KEY: &str = "lock:stock:recount";
    loop {
        let placed_at = Instant::now();
        if nodes
            .place(KEY, tokens::node_redlock().as_bytes(), secs(60))
            .await
            > 0
        {
            while nodes.shown_on(KEY).await > 0 {
                sleep(secs(1)).await;
            }
            let was_released = placed_at.elapsed() < secs(55);
            if was_released {
                sleep(BACK_AFTER).await;
            }
        }
        pause(2_000..4_000).await;
    }
}

/// One of two owners who both believe that they hold the lock, each with a minority of the nodes, each renewing.
pub async fn half(mut nodes: Nodes) {
    const KEY: &str = "lock:cart:merge";
    loop {
        let token = tokens::node_redlock().into_bytes();
        if nodes.place(KEY, &token, secs(30)).await > 0 {
            loop {
                sleep(secs(10)).await;
                if nodes.extend(KEY, &token, secs(30)).await == 0 {
                    break;
                }
            }
            sleep(BACK_AFTER).await;
        }
        pause(2_000..4_000).await;
    }
}
