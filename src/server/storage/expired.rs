//! Deletes expired rows.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::Storage;
use crate::server::clock::Clock;

/// The interval. Readers check the expiry of a row themselves.
const INTERVAL: Duration = Duration::from_mins(1);
/// The tables whose rows expire.
const DELETE_STATEMENTS: [&str; 4] = [
    "DELETE FROM session WHERE expires_at < $1",
    "DELETE FROM sign_in_attempt WHERE expires_at < $1",
    "DELETE FROM idempotency_record WHERE expires_at < $1",
    // Prefixes without a lock for 90 days, on which no admin decided. Their group may no longer be
    // configured.
    "DELETE FROM lock_prefix WHERE state = 'learned' AND name IS NULL AND last_seen_at < $1 - 7776000000",
];

/// Deletes expired rows periodically.
pub async fn delete_expired(storage: Storage, clock: Clock) {
    let mut tick = interval(INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let now = clock.now().millis();
        let deleted = storage.write(move |db| {
            Box::pin(async move {
                for delete in DELETE_STATEMENTS {
                    sqlx::query(delete).bind(now).execute(&mut *db).await?;
                }
                Ok(())
            })
        });
        if let Err(error) = deleted.await {
            tracing::debug!("deleting expired rows failed; retrying in a minute: {error}");
        }
    }
}
