//! The configured webhooks, and the results of their deliveries.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

use super::{Flag, OperationKind, Timestamp};

/// The format of the requests to a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum WebhookFormat {
    /// A JSON document, signed as <https://www.standardwebhooks.com> defines it.
    #[default]
    Standard,
    /// A message for an incoming webhook of Slack, or of a chat that accepts the same.
    Slack,
    /// Alerts for version 2 of the Events API of PagerDuty. Raised flags open an incident, and
    /// cleared flags resolve it.
    Pagerduty,
}

impl WebhookFormat {
    /// The word in the configuration and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// A configured webhook. Its URL may contain a secret and is not included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookView {
    /// The name.
    pub name: String,
    /// The format of the requests.
    pub format: WebhookFormat,
    /// The groups whose events are sent; null for all.
    pub groups: Option<Vec<String>>,
    /// The flags that are sent.
    pub flags: Vec<Flag>,
    /// A flag is sent after it has been raised for this many milliseconds.
    pub flag_delay_ms: u64,
    /// The operations that are sent.
    pub operations: Vec<OperationKind>,
    /// Whether lost locks are sent.
    pub lost_locks: bool,
    /// The events that wait for delivery, including the one being sent.
    pub queue_length: u64,
    /// The latest delivery attempt since the console started; null if there was none.
    pub last_attempt: Option<WebhookAttempt>,
}

/// The result of a delivery attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookAttempt {
    /// When the attempt was made.
    pub at: Timestamp,
    /// Why the receiver did not accept the event; null if it did.
    pub error: Option<String>,
}
