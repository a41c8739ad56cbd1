//! Scheduled jobs under a lock that is not renewed and expires.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::{ClientNodes, pause, secs, tokens};
use crate::server::clock::Clock;

/// A task under `ShedLock`, once a minute, locked for at most 60 s and at least 50 s.
///
/// Because of `lockAtLeastFor`, the key outlives the task: at its end, the task only shortens the
/// lease.
pub async fn reminders(mut nodes: ClientNodes) {
    const KEY: &str = "job-lock:prod:send-reminders";
    loop {
        let started_at = Instant::now();
        let value = tokens::shedlock(Clock::system().now(), "worker-7d9f").into_bytes();
        if nodes.acquire(KEY, &value, secs(60)).await {
            pause(12_000..20_000).await;
            let mut shorten = redis::cmd("SET");
            let left = Duration::from_secs(50).saturating_sub(started_at.elapsed());
            shorten
                .arg(KEY)
                .arg(&value)
                .arg("XX")
                .arg("PX")
                .arg(left.as_secs() * 1000);
            nodes.query_each::<redis::Value>(&shorten).await;
        }
        sleep_until(started_at + secs(60)).await;
    }
}

/// A job that acquires a lock for 40 s and never renews it, although it may run longer: at risk in
/// every run.
pub async fn thumbnails(mut nodes: ClientNodes) {
    loop {
        let acquired = nodes
            .acquire("lock:thumbnails:rebuild", b"media-2|31337", secs(40))
            .await;
        sleep(secs(if acquired { 45 } else { 5 })).await;
    }
}

/// A unique job of Laravel: queued at most once in five minutes.
pub async fn export(mut nodes: ClientNodes) {
    const KEY: &str = "laravel_unique_job:App\\Jobs\\ExportOrders:eu";
    loop {
        let token = tokens::laravel(16).into_bytes();
        let acquired = nodes.acquire(KEY, &token, secs(300)).await;
        sleep(secs(if acquired { 120 } else { 15 })).await;
        if acquired {
            nodes.release(KEY, &token).await;
        }
        pause(5_000..20_000).await;
    }
}
