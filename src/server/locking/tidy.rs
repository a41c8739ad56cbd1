//! Clears away what a failed attempt may have left behind, on nodes that did not answer in time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Token;
use crate::domain::LockKey;
use crate::server::nodes::node::Node;
use crate::server::nodes::scripts::{RELEASE, Told};
use crate::server::nodes::trouble::Missed;

/// The first and the longest pause between two tries.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// How often a node may say that there is nothing of ours before it is believed.
const DENIALS: u32 = 6;

/// Deletes the lock on one node if the token is its owner's.
pub async fn release_on(node: &Node, key: &LockKey, token: &Token) -> Result<Told, Missed> {
    let release = node.act(node.command_timeout(), |mut line| async move {
        RELEASE
            .key(key.as_bytes())
            .arg(token.expose())
            .invoke_async(&mut line.connection)
            .await
    });
    release.await
}

/// Goes on releasing in the background until the node says it is done, or the lease has ended by itself.
pub fn release_later(
    nodes: Vec<Arc<Node>>,
    key: LockKey,
    token: Token,
    lease_ends: Instant,
    stop: CancellationToken,
) {
    // A guard may be dropped when the runtime is already gone; then the lease has to do.
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    for node in nodes {
        let (key, token, stop) = (key.clone(), token.clone(), stop.clone());
        runtime.spawn(async move {
            let until_the_lease_ends = timeout_at(lease_ends, until_released(&node, &key, &token));
            stop.run_until_cancelled(until_the_lease_ends).await
        });
    }
}

async fn until_released(node: &Node, key: &LockKey, token: &Token) {
    let (mut pause, mut denials) = (PAUSES.0, 0);
    while denials < DENIALS {
        node.until_up().await;
        match release_on(node, key, token).await {
            Ok(Told::Done) | Err(Missed::Refused { .. }) => return,
            // Not there may also mean not there yet: what was sent over the lost connection can arrive late.
            Ok(Told::NotThere | Told::OtherOwner { .. } | Told::WrongType { .. }) => denials += 1,
            Err(Missed::NotAsked { .. } | Missed::Unanswered { .. }) => {}
        }
        sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}
