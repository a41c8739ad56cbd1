//! Clears away what a failed attempt may have left behind, on nodes that did not answer in time.

use std::sync::Arc;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::acquire::Want;
use crate::server::nodes::node::Node;
use crate::server::nodes::scripts::Told;
use crate::server::nodes::trouble::Missed;

/// The first and the longest pause between two tries.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// How often a node may say that there is nothing of ours before it is believed.
const DENIALS: u32 = 6;

/// How many remains are looked after at once. With a node down for long under heavy use there would be no end of them;
/// those beyond end with their leases.
static AT_ONCE: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(10_000)));

/// Takes back what a failed acquire may have left on one node.
pub async fn withdraw(node: &Node, want: &Want) -> Result<Told, Missed> {
    let withdraw = node.act(node.command_timeout(), |line| async move {
        want.layout.withdraw(line, &want.key, &want.token).await
    });
    withdraw.await
}

/// Goes on withdrawing in the background until the node says it is done, or the lease has ended by itself.
pub fn release_later(
    nodes: Vec<Arc<Node>>,
    want: Want,
    lease_ends: Instant,
    stop: CancellationToken,
) {
    // A guard may be dropped when the runtime is already gone; then the lease has to do.
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    let want = Arc::new(want);
    for node in nodes {
        let Ok(place) = Arc::clone(&AT_ONCE).try_acquire_owned() else {
            return;
        };
        let (want, stop) = (Arc::clone(&want), stop.clone());
        runtime.spawn(async move {
            let until_the_lease_ends = timeout_at(lease_ends, until_withdrawn(&node, &want));
            let _ended = stop.run_until_cancelled(until_the_lease_ends).await;
            drop(place);
        });
    }
}

async fn until_withdrawn(node: &Node, want: &Want) {
    let (mut pause, mut denials) = (PAUSES.0, 0);
    while denials < DENIALS {
        node.until_up().await;
        match withdraw(node, want).await {
            Ok(Told::Done) | Err(Missed::Refused { .. }) => return,
            // Not there may also mean not there yet: what was sent over the lost connection can arrive late.
            Ok(Told::NotThere | Told::OtherOwner { .. } | Told::WrongType { .. }) => denials += 1,
            Err(Missed::NotAsked { .. } | Missed::Unanswered { .. }) => {}
        }
        sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}
