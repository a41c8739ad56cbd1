//! Tells one webhook its events, one after the other: each until it is taken, or is too old to be of use.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::post::{NotTaken, post};
use super::{Event, Webhook};
use crate::server::clock::Clock;
use crate::server::http_client::HttpClient;

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// How long the last attempt may take when the console stops.
const LAST_TIMEOUT: Duration = Duration::from_secs(3);

/// Delivers until nobody tells anything any more.
pub(super) async fn deliver(webhook: Arc<Webhook>, mut queue: Receiver<Event>, clock: Clock) {
    let config = &webhook.config;
    let client = HttpClient::new(config.roots.as_ref(), config.timeout);
    // Jitter, so that the consoles of a large site do not come back in step.
    let pauses = ExponentialBuilder::default()
        .with_min_delay(config.retry_after)
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .with_jitter();
    loop {
        let event = match queue.recv().await {
            Ok(event) => event,
            // Those that had no room: whoever told the next one counted them.
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        webhook.is_delivering.store(true, Ordering::Relaxed);
        let is_fresh = || clock.now().since(event.at()) < config.give_up_after;
        let attempt = || async {
            let taken = post(&client, config, &event, clock.now()).await;
            if let Err(NotTaken::Now(_)) = &taken {
                webhook.count("attempt-failed");
            }
            taken
        };
        let told = attempt
            .retry(pauses)
            .when(|why| matches!(why, NotTaken::Now(_)) && is_fresh())
            .notify(|why, _| tracing::debug!(webhook.name = %config.name, event.id = event.id(), %why, "an event could not be told yet"))
            .await;
        if let Err(why) = &told {
            tracing::warn!(webhook.name = %config.name, event.id = event.id(), %why, "an event could not be told and is given up");
        }
        webhook.count(told.map_or("given-up", |()| "delivered"));
        webhook.is_delivering.store(false, Ordering::Relaxed);
    }
}

/// Makes one attempt, without a place in the queue.
pub(super) async fn deliver_once(webhook: &Webhook, event: &Event) {
    let config = &webhook.config;
    let client = HttpClient::new(config.roots.as_ref(), config.timeout.min(LAST_TIMEOUT));
    match post(&client, config, event, event.at()).await {
        Ok(()) => webhook.count("delivered"),
        Err(why) => {
            tracing::warn!(webhook.name = %config.name, event.id = event.id(), %why, "the last event could not be told");
            webhook.count("given-up");
        }
    }
}
