//! The made-up clients: one task each, with its own connections, alive for as long as the demo runs.
//!
//! They behave like programs that have a bad day: most renew and release as they should, some crash, some leave things
//! behind. None of them goes through the console's own locking.

mod broken;
mod left_behind;
mod nodes;
mod passing;
mod renewing;
mod scheduled;
mod together;
mod tokens;

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::DemoNode;
use nodes::Nodes;

/// The group of five nodes.
pub const ORDERS: &str = "orders";
/// The single node.
pub const JOBS: &str = "jobs";

/// How long a lock that a visitor released stays gone before its client comes back: long enough to see that it worked.
const BACK_AFTER: Duration = Duration::from_secs(180);

/// Sets every client to work until `stop` is cancelled.
pub fn start(nodes: &[DemoNode], tasks: &TaskTracker, stop: &CancellationToken) {
    let orders = || Nodes::of(nodes, ORDERS);
    let jobs = || Nodes::of(nodes, JOBS);
    let some = |names: &[&str]| Nodes::some_of(nodes, ORDERS, names);
    let work = Work { tasks, stop };

    for key in [
        "lock:ledger:close",
        "lock:pricing:feed",
        "lock:search:reindex",
    ] {
        work.begin(renewing::keep(
            orders(),
            key,
            tokens::node_redlock,
            secs(30),
            secs(10),
        ));
    }
    work.begin(renewing::keep(
        orders(),
        "lock:shipment:label-printer",
        tokens::redsync,
        secs(8),
        secs(3),
    ));
    for _ in 0..3 {
        work.begin(passing::payouts(orders()));
    }
    for machine in ["BILLING-1", "BILLING-2", "BILLING-3", "BILLING-4"] {
        work.begin(passing::contender(orders(), machine));
    }
    work.begin(broken::fragment(some(&["b", "d"])));
    work.begin(broken::half(some(&["a", "b"])));
    work.begin(broken::half(some(&["c", "d"])));

    work.begin(renewing::watchdog(jobs(), "redisson:billing:run", 87, 1));
    work.begin(renewing::watchdog(jobs(), "redisson:inventory:sync", 31, 2));
    work.begin(scheduled::reminders(jobs()));
    work.begin(scheduled::thumbnails(jobs()));
    work.begin(together::readers(jobs()));
    for thread in [12, 47, 63] {
        work.begin(together::in_line(jobs(), thread));
    }
    for _ in 0..4 {
        work.begin(together::permit(jobs()));
    }
    for job in [4_181, 4_182] {
        work.begin(renewing::worker(jobs(), job));
    }
    work.begin(scheduled::export(jobs()));
    work.begin(left_behind::nightly_report(jobs()));
    work.begin(left_behind::import(jobs()));
}

struct Work<'a> {
    tasks: &'a TaskTracker,
    stop: &'a CancellationToken,
}

impl Work<'_> {
    fn begin(&self, client: impl Future<Output = ()> + Send + 'static) {
        self.tasks
            .spawn(self.stop.clone().run_until_cancelled_owned(client));
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Sleeps for a random time between two numbers of milliseconds.
async fn pause(millis: std::ops::Range<u64>) {
    tokio::time::sleep(Duration::from_millis(rand::random_range(millis))).await;
}
