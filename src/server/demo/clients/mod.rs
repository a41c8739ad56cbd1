//! The simulated clients: one task each, with its own connections, for as long as the demo runs.
//!
//! Most of them renew and release correctly; some crash or abandon locks. None of them uses the
//! console's own locking.

mod abandoned;
mod broken;
mod deadlock;
mod nodes;
mod renewing;
mod scheduled;
mod shared_locks;
mod short_lived;
mod tokens;

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::DemoNode;
use nodes::ClientNodes;

/// The group of five nodes.
pub const ORDERS: &str = "orders";
/// The single node.
pub const JOBS: &str = "jobs";

/// The lock of the client that crashes again and again.
pub const CRASH_LOOP_KEY: &str = "lock:feed:import";

/// How long a client waits after a user released its lock: long enough to see the effect.
pub(super) const RESTART_DELAY: Duration = Duration::from_secs(180);

/// Starts every client. They run until `stop` is cancelled.
pub fn start(nodes: &[DemoNode], tasks: &TaskTracker, stop: &CancellationToken) {
    let orders = || ClientNodes::of(nodes, ORDERS);
    let jobs = || ClientNodes::of(nodes, JOBS);
    let some = |names: &[&str]| ClientNodes::some_of(nodes, ORDERS, names);
    let spawner = ClientSpawner { tasks, stop };

    for key in [
        "lock:ledger:close",
        "lock:pricing:feed",
        "lock:search:reindex",
    ] {
        spawner.spawn_client(renewing::hold_renewed(
            orders(),
            key,
            tokens::node_redlock,
            secs(30),
            secs(10),
        ));
    }
    spawner.spawn_client(renewing::hold_renewed(
        orders(),
        "lock:shipment:label-printer",
        tokens::redsync,
        secs(8),
        secs(3),
    ));
    for _ in 0..3 {
        spawner.spawn_client(short_lived::payouts(orders()));
    }
    for machine in ["BILLING-1", "BILLING-2", "BILLING-3", "BILLING-4"] {
        spawner.spawn_client(short_lived::contender(orders(), machine));
    }
    spawner.spawn_client(broken::fragment(some(&["b", "d"])));
    spawner.spawn_client(broken::split_owner(some(&["a", "b"])));
    spawner.spawn_client(broken::split_owner(some(&["c", "d"])));
    spawner.spawn_client(broken::hung_owner(orders()));

    spawner.spawn_client(renewing::redisson_watchdog(
        jobs(),
        "redisson:billing:run",
        87,
        1,
    ));
    spawner.spawn_client(renewing::redisson_watchdog(
        jobs(),
        "redisson:inventory:sync",
        31,
        2,
    ));
    let (pay, ship) = ("redisson:order:77:pay", "redisson:order:77:ship");
    spawner.spawn_client(deadlock::thread(jobs(), 17, pay, ship));
    spawner.spawn_client(deadlock::thread(jobs(), 29, ship, pay));
    spawner.spawn_client(broken::crash_loop(jobs()));
    spawner.spawn_client(scheduled::reminders(jobs()));
    spawner.spawn_client(scheduled::thumbnails(jobs()));
    spawner.spawn_client(shared_locks::readers(jobs()));
    for thread in [12, 47, 63] {
        spawner.spawn_client(shared_locks::fair_waiter(jobs(), thread));
    }
    for _ in 0..4 {
        spawner.spawn_client(shared_locks::permit(jobs()));
    }
    for job in [4_181, 4_182] {
        spawner.spawn_client(renewing::bullmq_worker(jobs(), job));
    }
    spawner.spawn_client(scheduled::export(jobs()));
    spawner.spawn_client(abandoned::nightly_report(jobs()));
    spawner.spawn_client(abandoned::legacy_import(jobs()));
}

struct ClientSpawner<'a> {
    tasks: &'a TaskTracker,
    stop: &'a CancellationToken,
}

impl ClientSpawner<'_> {
    fn spawn_client(&self, client: impl Future<Output = ()> + Send + 'static) {
        self.tasks
            .spawn(self.stop.clone().run_until_cancelled_owned(client));
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Sleeps for a random number of milliseconds in the range.
pub(super) async fn pause(millis: std::ops::Range<u64>) {
    tokio::time::sleep(Duration::from_millis(rand::random_range(millis))).await;
}
