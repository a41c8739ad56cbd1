//! Tells one webhook its events, one after the other: each until it is taken, or is too old to be of use.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Webhook;
use super::post::{NotTaken, Post};
use crate::server::clock::Clock;

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// Delivers for ever.
pub(super) async fn deliver(webhook: Arc<Webhook>, clock: Clock) {
    let post = Post::new(&webhook.config);
    let (config, name) = (&webhook.config, &webhook.config.name);
    loop {
        let event = webhook.queue.first().await;
        let mut pause = config.retry_after;
        let outcome = loop {
            let why = match post.send(config, &event, clock.now()).await {
                Ok(()) => break "delivered",
                Err(NotTaken::Ever) => {
                    tracing::warn!(webhook.name = %name, event.id = event.id(), "the webhook is gone (410): an event is not told");
                    break "given-up";
                }
                Err(NotTaken::Now(why)) => why,
            };
            webhook.outcomes.add("attempt-failed");
            if clock.now().since(event.at()) >= config.give_up_after {
                tracing::warn!(webhook.name = %name, event.id = event.id(), %why, "an event could not be told in time and is given up");
                break "given-up";
            }
            tracing::debug!(webhook.name = %name, event.id = event.id(), %why, "an event could not be told yet");
            // Jitter, so that the consoles of a large site do not come back in step.
            sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        };
        webhook.outcomes.add(outcome);
        webhook.queue.done();
    }
}
