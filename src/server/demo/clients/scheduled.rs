//! Jobs that run on a schedule under a lock that is not renewed: it ends by itself.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::{Nodes, pause, secs, tokens};
use crate::server::clock::Clock;

/// A task under `ShedLock`, once a minute: at most 60 s, at least 50 s, though its work takes less.
///
/// `lockAtLeastFor` is why the key outlives the task: at its end the task only shortens the lease.
pub async fn reminders(mut nodes: Nodes) {
    const KEY: &str = "job-lock:prod:send-reminders";
    loop {
        let begun = Instant::now();
        let value = tokens::shedlock(Clock::real().now(), "worker-7d9f").into_bytes();
        if nodes.take(KEY, &value, secs(60)).await {
            pause(12_000..20_000).await;
            let mut shorten = redis::cmd("SET");
            let left = Duration::from_secs(50).saturating_sub(begun.elapsed());
            shorten
                .arg(KEY)
                .arg(&value)
                .arg("XX")
                .arg("PX")
                .arg(left.as_secs() * 1000);
            nodes.each::<redis::Value>(&shorten).await;
        }
        sleep_until(begun + secs(60)).await;
    }
}

/// A job that takes a lock for 40 s and never renews it, though its work may take longer: at risk every time.
pub async fn thumbnails(mut nodes: Nodes) {
    loop {
        let taken = nodes
            .take("lock:thumbnails:rebuild", b"media-2|31337", secs(40))
            .await;
        sleep(secs(if taken { 45 } else { 5 })).await;
    }
}

/// A unique job of Laravel's: queued once in five minutes, however often it is asked for.
pub async fn export(mut nodes: Nodes) {
    const KEY: &str = "laravel_unique_job:App\\Jobs\\ExportOrders:eu";
    loop {
        let token = tokens::letters(16).into_bytes();
        let taken = nodes.take(KEY, &token, secs(300)).await;
        sleep(secs(if taken { 120 } else { 15 })).await;
        if taken {
            nodes.release(KEY, &token).await;
        }
        pause(5_000..20_000).await;
    }
}
