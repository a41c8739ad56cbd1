//! The views of the lock list that all users share.

use super::Operations;
use super::audit_scope::audit_principal;
use crate::domain::operation_error::InvalidValue;
use crate::domain::{AuditDetail, OperationError, OperationKind, Permission, Scope, TeamView};
use crate::server::access::Principal;
use crate::server::audit::{AuditOutcome, AuditRequest};
use crate::server::storage::StorageError;
use crate::server::team_views::{TeamViewStore, TeamViewsFull};

impl Operations {
    /// All views, sorted by name. Every user may read them, including the names of groups and locks
    /// in their filters.
    pub async fn team_views(&self, principal: &Principal) -> Result<Vec<TeamView>, OperationError> {
        principal.authorize(Permission::View, Scope::console())?;
        let views = self.team_view_store()?.list().await;
        views.map_err(storage_error)
    }

    /// Saves a view, or replaces the one of the same name.
    pub async fn save_team_view(
        &self,
        principal: &Principal,
        name: &str,
        path: &str,
    ) -> Result<TeamView, OperationError> {
        let mut record = AuditRequest::new(OperationKind::SaveView, audit_principal(principal));
        let prepared = authorize_change(principal, name).and_then(|()| check_path(path));
        // A rejected path has any length and is not recorded.
        let accepted_path = prepared.is_ok().then(|| path.to_owned());
        record.detail = Some(detail(name, None, accepted_path));
        self.audit_refusal(&record, prepared)?;
        let audit_entry = self.audit.begin(record).await?;
        let view = TeamView {
            name: name.to_owned(),
            path: path.to_owned(),
            saved_by: principal.name().to_owned(),
            saved_at: self.index.now(),
        };
        let result = self.store_team_view(view.clone()).await;
        audit_entry.end(&match &result {
            Ok(before) => AuditOutcome::done(&[]).with_detail(detail(
                name,
                before.clone(),
                Some(path.to_owned()),
            )),
            Err(error) => AuditOutcome::from_error(error),
        });
        result?;
        Ok(view)
    }

    /// Deletes a view. A name without a view is not an error, so that a request can be repeated.
    pub async fn delete_team_view(
        &self,
        principal: &Principal,
        name: &str,
    ) -> Result<(), OperationError> {
        let mut record = AuditRequest::new(OperationKind::DeleteView, audit_principal(principal));
        record.detail = Some(detail(name, None, None));
        self.audit_refusal(&record, authorize_change(principal, name))?;
        let audit_entry = self.audit.begin(record).await?;
        let result = match self.team_view_store() {
            Ok(store) => store.delete(name).await.map_err(storage_error),
            Err(error) => Err(error),
        };
        audit_entry.end(&match &result {
            Ok(before) => AuditOutcome::done(&[]).with_detail(detail(name, before.clone(), None)),
            Err(error) => AuditOutcome::from_error(error),
        });
        result.map(|_| ())
    }

    async fn store_team_view(&self, view: TeamView) -> Result<Option<String>, OperationError> {
        let saved = self.team_view_store()?.save(view).await;
        saved.map_err(storage_error)?.map_err(|TeamViewsFull| {
            let max = TeamView::MAX_VIEWS;
            OperationError::invalid_field("name", InvalidValue::TooManyViews { max })
        })
    }

    fn team_view_store(&self) -> Result<&TeamViewStore, OperationError> {
        let store = self.team_views.as_ref();
        store.ok_or_else(StorageError::operation_error)
    }
}

fn authorize_change(principal: &Principal, name: &str) -> Result<(), OperationError> {
    principal.authorize(Permission::ManageViews, Scope::console())?;
    TeamView::check_name(name).map_err(|cause| OperationError::invalid_field("name", cause))
}

fn check_path(path: &str) -> Result<(), OperationError> {
    TeamView::check_path(path).map_err(|cause| OperationError::invalid_field("path", cause))
}

/// The detail of an audit entry. A longer name, which a client without permissions can choose, is
/// truncated.
fn detail(name: &str, before: Option<String>, path: Option<String>) -> AuditDetail {
    AuditDetail::View {
        view: name.chars().take(TeamView::MAX_NAME_CHARS).collect(),
        before,
        path,
    }
}

fn storage_error(error: StorageError) -> OperationError {
    tracing::warn!("the views of the team cannot be read or written: {error}");
    StorageError::operation_error()
}
