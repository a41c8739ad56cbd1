//! Two clients that wait for each other.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{ClientNodes, RESTART_DELAY, pause, secs, tokens};
use crate::server::clock::Clock;

/// The lease of the held lock, as the watchdog of Redisson renews it.
const LEASE: Duration = Duration::from_secs(30);

/// One of two threads that each hold a Redisson fair lock and wait for that of the other. Once one of
/// the locks is released by force, the other thread acquires it, and both locks are released.
pub async fn thread(
    mut nodes: ClientNodes,
    thread: u32,
    held: &'static str,
    awaited: &'static str,
) {
    let renew = include_str!("redisson_renew.lua");
    loop {
        let owner = format!("{}:{thread}", tokens::uuid());
        while !acquire_fair(&mut nodes, held, &owner).await {
            pause(700..1_200).await;
        }
        // The other thread holds its lock too from here on.
        while nodes.count_existing(awaited).await == 0 {
            pause(100..200).await;
        }
        let mut renewed_at = Instant::now();
        let is_acquired = loop {
            if acquire_fair(&mut nodes, awaited, &owner).await {
                break true;
            }
            if renewed_at.elapsed() >= secs(10) {
                renewed_at = Instant::now();
                if nodes.run_script(renew, held, owner.as_bytes(), LEASE).await == 0 {
                    break false;
                }
            }
            pause(700..1_200).await;
        };
        if is_acquired {
            pause(2_000..4_000).await;
            for key in [held, awaited] {
                let mut release = redis::cmd("DEL");
                nodes.query_each::<u64>(release.arg(key)).await;
            }
        } else {
            let mut leave_queue = redis::pipe();
            let (queue, deadlines) = fair_queue(awaited);
            leave_queue.cmd("LREM").arg(queue).arg(0).arg(&owner);
            leave_queue.cmd("ZREM").arg(deadlines).arg(&owner);
            nodes.run_pipeline(&leave_queue).await;
        }
        sleep(RESTART_DELAY).await;
    }
}

/// Acquires a Redisson fair lock, or joins its queue.
async fn acquire_fair(nodes: &mut ClientNodes, key: &str, owner: &str) -> bool {
    let (queue, deadlines) = fair_queue(key);
    let mut acquire = redis::cmd("EVAL");
    acquire.arg(include_str!("fair_acquire.lua")).arg(3);
    acquire.arg(key).arg(queue).arg(deadlines);
    acquire.arg(owner).arg(30_000);
    acquire.arg(Clock::system().now().millis() + 300_000);
    nodes.query_each::<u64>(&acquire).await == [Some(1)]
}

/// The keys of the queue of a Redisson fair lock.
fn fair_queue(key: &str) -> (String, String) {
    (
        format!("redisson_lock_queue:{{{key}}}"),
        format!("redisson_lock_timeout:{{{key}}}"),
    )
}
