//! One attempt to tell an event: an HTTP POST. What is answered counts only by its status.

use std::time::Duration;

use http::{Request, StatusCode, header};
use http_body_util::Full;
use tokio::time::timeout;

use super::Event;
use super::sign::signature;
use crate::domain::Timestamp;
use crate::server::config::WebhookConfig;
use crate::server::https::{Asker, USER_AGENT, in_words};

/// Who posts to one webhook.
pub(super) struct Post {
    asker: Asker,
    timeout: Duration,
}

/// Why an event was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    /// It may be, the next time.
    Now(String),
    /// The address says that it will never be (410).
    Ever,
}

impl Post {
    pub(super) fn new(config: &WebhookConfig) -> Self {
        Self {
            asker: Asker::new(config.roots.as_ref()),
            timeout: config.timeout,
        }
    }

    /// Tries once.
    pub(super) async fn send(
        &self,
        config: &WebhookConfig,
        event: &Event,
        now: Timestamp,
    ) -> Result<(), NotTaken> {
        let second = now.millis().div_euclid(1_000);
        let request = Request::post(config.url.expose().clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, USER_AGENT)
            .header("webhook-id", event.id())
            .header("webhook-timestamp", second)
            .header(
                "webhook-signature",
                signature(&config.secret, event.id(), second, event.body()),
            )
            .body(Full::from(event.body().to_owned()))
            .expect("all headers are plain");
        let answer = match timeout(self.timeout, self.asker.ask(request)).await {
            Ok(Ok(answer)) => answer.status(),
            Ok(Err(why)) => return Err(NotTaken::Now(in_words(&why))),
            Err(_elapsed) => {
                let why = format!("no answer within {} ms", self.timeout.as_millis());
                return Err(NotTaken::Now(why));
            }
        };
        match answer {
            taken if taken.is_success() => Ok(()),
            StatusCode::GONE => Err(NotTaken::Ever),
            // Redirects are not followed: whoever may move the address could have events sent anywhere.
            other => Err(NotTaken::Now(format!("answered {other}"))),
        }
    }
}
