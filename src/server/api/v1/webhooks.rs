//! `…/webhooks`: the configured webhooks.

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::ToSchema;

use super::error_responses::{CommonErrors, MutationErrors};
use crate::domain::{WebhookAttempt, WebhookView};
use crate::server::access::Principal;
use crate::server::api::problem::{ApiError, Problem};
use crate::server::state::AppState;

/// The configured webhooks.
#[derive(Serialize, ToSchema)]
pub struct WebhookList {
    /// The webhooks, in the order of the configuration.
    webhooks: Vec<WebhookView>,
}

/// Returns the configured webhooks with the latest delivery of each. Requires the role `admin`.
#[utoipa::path(get, path = "/api/v1/webhooks", operation_id = "list_webhooks", tag = "observation",
    responses(CommonErrors,
    (status = 200, description = "The webhooks", body = WebhookList),
))]
pub async fn webhooks(
    State(state): State<AppState>,
    principal: Principal,
) -> Result<Json<WebhookList>, ApiError> {
    let webhooks = state.operations.list_webhooks(&principal)?;
    Ok(Json(WebhookList { webhooks }))
}

/// Sends an event of the type `test` to a webhook, in one attempt that bypasses its queue, and
/// returns the result. Requires the role `admin`. In PagerDuty it opens an incident.
#[utoipa::path(post, path = "/api/v1/webhooks/{webhook}/test", operation_id = "test_webhook", tag = "operations",
    params(("webhook" = String, Path, description = "The webhook's name.")),
    responses(CommonErrors, MutationErrors,
    (status = 200, description = "The result of the attempt: `error` is null if the receiver accepted the event", body = WebhookAttempt),
    (status = 422, description = "`impossible`: there is no webhook of this name", body = Problem, content_type = "application/problem+json"),
))]
pub async fn test_webhook(
    State(state): State<AppState>,
    principal: Principal,
    Path(webhook): Path<String>,
) -> Result<Json<WebhookAttempt>, ApiError> {
    let testing = state.operations.test_webhook(&principal, &webhook);
    Ok(Json(testing.await?))
}
