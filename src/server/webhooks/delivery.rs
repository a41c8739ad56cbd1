//! Delivers the events of one webhook in order. Each event is retried until it is accepted or
//! expires.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::http_post::{DeliveryError, post};
use super::{Webhook, WebhookEvent};
use crate::domain::WebhookAttempt;
use crate::server::clock::Clock;
use crate::server::http_client::HttpClient;

/// The longest pause between two attempts.
const MAX_RETRY_INTERVAL: Duration = Duration::from_mins(5);
/// How long the attempt during shutdown may take: a slow endpoint must not delay the end of the
/// console for long.
const FINAL_TIMEOUT: Duration = Duration::from_secs(3);

/// Delivers until all senders are dropped.
pub(super) async fn deliver(
    webhook: Arc<Webhook>,
    mut queue: Receiver<WebhookEvent>,
    clock: Clock,
) {
    let config = &webhook.config;
    let client = HttpClient::new(config.roots.as_ref(), config.timeout);
    // Jitter keeps many consoles from retrying at the same time after an outage.
    let backoff = ExponentialBuilder::default()
        .with_min_delay(config.retry_interval)
        .with_max_delay(MAX_RETRY_INTERVAL)
        .without_max_times()
        .with_jitter();
    loop {
        let event = match queue.recv().await {
            Ok(event) => event,
            // Dropped events were counted by the sender of the event that replaced them.
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        webhook.is_delivering.store(true, Ordering::Relaxed);
        let is_fresh = || clock.now().since(event.at()) < config.max_age;
        let attempt = || async {
            let result = post(&client, config, &event, clock.now()).await;
            webhook.record_attempt(clock.now(), &result);
            if let Err(DeliveryError::Temporary(_)) = &result {
                webhook.count("attempt-failed");
            }
            result
        };
        let delivered = attempt
            .retry(backoff)
            .when(|error| matches!(error, DeliveryError::Temporary(_)) && is_fresh())
            .notify(|error, _| tracing::debug!(webhook.name = %config.name, event.id = event.id(), %error, "webhook delivery failed; retrying"))
            .await;
        if let Err(error) = &delivered {
            tracing::warn!(webhook.name = %config.name, event.id = event.id(), %error, "webhook delivery failed permanently");
        }
        // An endpoint that is gone (410) counts as expired, too: no further attempt is made.
        webhook.count(delivered.map_or("expired", |()| "delivered"));
        webhook.is_delivering.store(false, Ordering::Relaxed);
    }
}

/// Makes one attempt that bypasses the queue, for a user who waits for its result. It does not count
/// as an event.
pub(super) async fn deliver_test(webhook: &Webhook, event: &WebhookEvent) -> WebhookAttempt {
    let config = &webhook.config;
    let client = HttpClient::new(config.roots.as_ref(), config.timeout);
    let result = post(&client, config, event, event.at()).await;
    webhook.record_attempt(event.at(), &result)
}

/// Makes one attempt that bypasses the queue, with the last event before the console stops.
pub(super) async fn deliver_once(webhook: &Webhook, event: &WebhookEvent) {
    let config = &webhook.config;
    let client = HttpClient::new(config.roots.as_ref(), config.timeout.min(FINAL_TIMEOUT));
    match post(&client, config, event, event.at()).await {
        Ok(()) => webhook.count("delivered"),
        Err(error) => {
            tracing::warn!(webhook.name = %config.name, event.id = event.id(), %error, "delivery of the final audit head failed");
            webhook.count("expired");
        }
    }
}
