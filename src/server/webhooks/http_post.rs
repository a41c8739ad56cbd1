//! One delivery attempt: an HTTP POST. Only the status of the response is evaluated.

use bytes::Bytes;
use http::{Request, StatusCode, header};

use super::WebhookEvent;
use super::payload::payload;
use super::signature::signature;
use crate::domain::{Timestamp, WebhookFormat};
use crate::server::config::WebhookConfig;
use crate::server::http_client::HttpClient;

/// Why a delivery attempt failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeliveryError {
    /// A later attempt may succeed.
    #[error("{0}")]
    Temporary(String),
    /// The endpoint is permanently gone (410).
    #[error("the endpoint is gone (HTTP status 410)")]
    Gone,
}

/// Makes one attempt.
pub(super) async fn post(
    client: &HttpClient,
    config: &WebhookConfig,
    event: &WebhookEvent,
    now: Timestamp,
) -> Result<(), DeliveryError> {
    let Some(body) = payload(config, event) else {
        return Ok(());
    };
    let mut request =
        Request::post(config.url.expose().clone()).header(header::CONTENT_TYPE, "application/json");
    if let (WebhookFormat::Standard, Some(secret)) = (config.format, &config.secret) {
        let timestamp = now.millis().div_euclid(1_000);
        request = request
            .header("webhook-id", event.id())
            .header("webhook-timestamp", timestamp)
            .header(
                "webhook-signature",
                signature(secret, event.id(), timestamp, &body),
            );
    }
    let request = request
        .body(Bytes::from(body))
        .expect("all header values are valid");
    match client.send(request).await.map(|response| response.status()) {
        Ok(status) if status.is_success() => Ok(()),
        Ok(StatusCode::GONE) => Err(DeliveryError::Gone),
        Ok(status) => Err(DeliveryError::Temporary(format!("HTTP status {status}"))),
        Err(error) => Err(DeliveryError::Temporary(error.to_string())),
    }
}
