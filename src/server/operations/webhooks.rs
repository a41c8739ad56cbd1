//! The configured webhooks, and test events to them.

use super::Operations;
use super::audit_scope::audit_principal;
use crate::domain::operation_error::InvalidValue;
use crate::domain::{
    AuditDetail, OperationError, OperationKind, Permission, Scope, WebhookAttempt, WebhookView,
};
use crate::server::access::Principal;
use crate::server::audit::{AuditOutcome, AuditRequest};

/// Longer names are truncated in the audit log, in characters: a client without permissions can
/// choose them.
const MAX_AUDITED_CHARS: usize = 64;

impl Operations {
    /// The webhooks of the configuration. Requires the role `admin`: they concern all groups.
    pub fn list_webhooks(&self, principal: &Principal) -> Result<Vec<WebhookView>, OperationError> {
        principal.authorize(Permission::Administer, Scope::console())?;
        Ok(self.webhooks.views())
    }

    /// Sends a test event to a webhook and returns the result of the attempt.
    pub async fn test_webhook(
        &self,
        principal: &Principal,
        name: &str,
    ) -> Result<WebhookAttempt, OperationError> {
        let mut record = AuditRequest::new(OperationKind::TestWebhook, audit_principal(principal));
        record.detail = Some(AuditDetail::Webhook {
            webhook: name.chars().take(MAX_AUDITED_CHARS).collect(),
        });
        let prepared = self.prepare_test(principal, name);
        self.audit_refusal(&record, prepared)?;
        let audit_entry = self.audit.begin(record).await?;
        let result = self.webhooks.send_test(name, self.index.now()).await;
        let result = result.ok_or_else(|| unknown_webhook(name));
        audit_entry.end(&match &result {
            Ok(_) => AuditOutcome::done(&[]),
            Err(error) => AuditOutcome::from_error(error),
        });
        result
    }

    fn prepare_test(&self, principal: &Principal, name: &str) -> Result<(), OperationError> {
        principal.authorize(Permission::Administer, Scope::console())?;
        let views = self.webhooks.views();
        let is_known = views.iter().any(|webhook| webhook.name == name);
        is_known.then_some(()).ok_or_else(|| unknown_webhook(name))
    }
}

fn unknown_webhook(name: &str) -> OperationError {
    let cause = InvalidValue::UnknownWebhook {
        name: name.chars().take(MAX_AUDITED_CHARS).collect(),
    };
    OperationError::invalid_field("webhook", cause)
}
