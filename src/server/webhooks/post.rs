//! One attempt to tell an event: an HTTP POST. What is answered counts only by its status.

use bytes::Bytes;
use http::{Request, StatusCode, header};

use super::Event;
use super::sign::signature;
use crate::domain::Timestamp;
use crate::server::config::WebhookConfig;
use crate::server::http_client::HttpClient;

/// Why an event was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotTaken {
    /// It may be, the next time.
    #[error("{0}")]
    Now(String),
    /// The address says that it will never be (410).
    #[error("the webhook is gone (410)")]
    Ever,
}

/// Tries once.
pub(super) async fn post(
    client: &HttpClient,
    config: &WebhookConfig,
    event: &Event,
    now: Timestamp,
) -> Result<(), NotTaken> {
    let second = now.millis().div_euclid(1_000);
    let request = Request::post(config.url.expose().clone())
        .header(header::CONTENT_TYPE, "application/json")
        .header("webhook-id", event.id())
        .header("webhook-timestamp", second)
        .header(
            "webhook-signature",
            signature(&config.secret, event.id(), second, event.body()),
        )
        .body(Bytes::from(event.body().to_owned()))
        .expect("all headers are plain");
    match client.send(request).await.map(|answer| answer.status()) {
        Ok(taken) if taken.is_success() => Ok(()),
        Ok(StatusCode::GONE) => Err(NotTaken::Ever),
        Ok(other) => Err(NotTaken::Now(format!("answered {other}"))),
        Err(why) => Err(NotTaken::Now(why.to_string())),
    }
}
