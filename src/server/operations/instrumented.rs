//! Metrics, tracing and webhooks around the operations.

use super::Operations;
use crate::domain::{LockId, OperationError, OperationKind};
use crate::server::webhooks::{OperationEvent, WebhookEvent};

impl Operations {
    /// Runs an operation within its metrics and tracing span, then notifies the webhooks of its
    /// result.
    pub(super) async fn instrumented<T>(
        &self,
        kind: OperationKind,
        id: &LockId,
        operation: impl Future<Output = Result<T, OperationError>>,
        event: impl FnOnce(&Result<T, OperationError>) -> OperationEvent,
    ) -> Result<T, OperationError> {
        let in_progress = self.telemetry.operations.start(kind, &id.group);
        let result = in_progress.instrument(operation).await;
        in_progress.finish(&result);
        self.notify_webhooks(kind, id, || event(&result));
        result
    }

    /// Notifies the webhooks of an operation, if any is subscribed to it.
    pub(super) fn notify_webhooks(
        &self,
        kind: OperationKind,
        id: &LockId,
        event: impl FnOnce() -> OperationEvent,
    ) {
        if self.webhooks.is_subscribed(kind, &id.group) {
            let event = WebhookEvent::operation(event(), self.index().now());
            self.webhooks.enqueue_operation(kind, &id.group, &event);
        }
    }
}
