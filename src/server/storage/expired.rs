//! What has an end is deleted after it.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::Storage;
use crate::server::clock::Clock;

/// How often. Whoever reads such a row looks at its end.
const INTERVAL: Duration = Duration::from_mins(1);
/// The tables whose rows have one.
const DELETES: [&str; 3] = [
    "DELETE FROM session WHERE expires_at < $1",
    "DELETE FROM sign_in_attempt WHERE expires_at < $1",
    "DELETE FROM idempotency_record WHERE expires_at < $1",
];

/// Deletes what has ended, again and again.
pub async fn delete_expired(storage: Storage, clock: Clock) {
    let mut tick = interval(INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let now = clock.now().millis();
        let deleted = storage.write(move |db| {
            Box::pin(async move {
                for delete in DELETES {
                    sqlx::query(delete).bind(now).execute(&mut *db).await?;
                }
                Ok(())
            })
        });
        if let Err(why) = deleted.await {
            tracing::debug!("what has ended stays in storage for another minute: {why}");
        }
    }
}
