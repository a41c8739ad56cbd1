//! The prefixes under which locks were found, and the decisions of admins about them.

use std::sync::Arc;

use super::Operations;
use super::audit_scope::audit_principal;
use crate::domain::operation_error::InvalidValue;
use crate::domain::{
    AuditDetail, LockId, LockKey, LockPrefix, OperationError, OperationKind, Permission,
    PrefixList, PrefixSettings, Scope, glob,
};
use crate::server::access::Principal;
use crate::server::audit::{AuditOutcome, AuditRequest};
use crate::server::storage::StorageError;
use crate::server::stores::Group;
use crate::server::stores::lock_prefixes::{MAX_PREFIXES, PrefixesFull, settings_change};

/// Longer prefixes are truncated in the audit log, in characters: a client without permissions can
/// choose them.
const MAX_AUDITED_CHARS: usize = 256;

impl Operations {
    /// The prefixes of a group.
    pub fn prefixes(
        &self,
        principal: &Principal,
        group: &str,
    ) -> Result<PrefixList, OperationError> {
        let group = self.visible_group(principal, group)?;
        let list = group.prefixes().list().into_iter();
        Ok(PrefixList {
            group: group.config.name.clone(),
            prefixes: list.map(|prefix| with_config(&group, prefix)).collect(),
            exclude: group.config.exclude.clone(),
            is_loaded: group.prefixes().is_loaded(),
            observed_at: self.index.now(),
        })
    }

    /// Pins, excludes, names or resets a prefix. Locks with an excluded prefix are not listed when
    /// this returns. Fails if the decision cannot be stored.
    pub async fn change_prefix(
        &self,
        principal: &Principal,
        group: &str,
        prefix: &LockKey,
        settings: PrefixSettings,
    ) -> Result<LockPrefix, OperationError> {
        let mut record = AuditRequest::new(OperationKind::ChangePrefix, audit_principal(principal));
        record.group = Some(group);
        let settings = normalized(settings);
        let prepared = self.prepare_prefix_change(principal, group, prefix, &settings);
        let before = prepared.as_ref().ok();
        let before = before.map(|group| group.prefixes().get(prefix).state);
        record.detail = Some(AuditDetail::Prefix {
            prefix: audited_text(prefix),
            before: before.unwrap_or_default(),
            state: settings.state,
            name: settings.name.clone(),
        });
        // A name that is too long or not text belongs to no entry.
        if let (Err(_), Some(AuditDetail::Prefix { name, .. })) = (&prepared, &mut record.detail) {
            *name = None;
        }
        let group = self.audit_refusal(&record, prepared)?;
        let audit_entry = self.audit.begin(record).await?;
        let now = self.index.now();
        let change = settings_change(prefix, settings, principal.name(), now);
        let result = self.apply_prefix_change(&group, &change).await;
        audit_entry.end(&match &result {
            Ok(()) => AuditOutcome::done(&[]),
            Err(error) => AuditOutcome::from_error(error),
        });
        result?;
        tracing::info!(
            action = "change-prefix",
            group = group.config.name,
            ?prefix,
            state = change.state.slug(),
            by = principal.name(),
            "a prefix of lock names was changed"
        );
        Ok(with_config(&group, group.prefixes().get(prefix)))
    }

    fn prepare_prefix_change(
        &self,
        principal: &Principal,
        name: &str,
        prefix: &LockKey,
        settings: &PrefixSettings,
    ) -> Result<Arc<Group>, OperationError> {
        let group = self.visible_group(principal, name)?;
        let id = LockId {
            group: name.to_owned(),
            key: prefix.clone(),
        };
        principal.authorize(Permission::ManagePrefixes, Scope::lock(&id))?;
        check_prefix(prefix)?;
        check_name(settings)?;
        group.prefixes().check_room(prefix).map_err(full_error)?;
        Ok(group)
    }

    async fn apply_prefix_change(
        &self,
        group: &Group,
        change: &LockPrefix,
    ) -> Result<(), OperationError> {
        let name = &group.config.name;
        if let Some(store) = &self.prefix_store {
            let stored = store.write_settings(name, change).await;
            stored.map_err(|error| {
                tracing::warn!("a decision about a prefix cannot be stored: {error}");
                StorageError::operation_error()
            })?;
        }
        group
            .prefixes()
            .apply_settings(change)
            .map_err(full_error)?;
        self.index.remove_excluded(name).await;
        Ok(())
    }
}

fn with_config(group: &Group, prefix: LockPrefix) -> LockPrefix {
    let is_excluded_by_config = glob::any_matches(&group.config.exclude, prefix.prefix.as_bytes());
    LockPrefix {
        is_followed: prefix.is_followed && !is_excluded_by_config,
        is_excluded_by_config,
        ..prefix
    }
}

/// Trims the name; an empty one is none.
fn normalized(settings: PrefixSettings) -> PrefixSettings {
    let name = settings.name.map(|name| name.trim().to_owned());
    PrefixSettings {
        name: name.filter(|name| !name.is_empty()),
        ..settings
    }
}

fn check_prefix(prefix: &LockKey) -> Result<(), OperationError> {
    let invalid = |cause| Err(OperationError::invalid_field("prefix", cause));
    match prefix.as_bytes().len() {
        0 => invalid(InvalidValue::Empty),
        1..=LockPrefix::MAX_BYTES => Ok(()),
        _ => invalid(InvalidValue::TooManyBytes {
            max: LockPrefix::MAX_BYTES,
        }),
    }
}

fn check_name(settings: &PrefixSettings) -> Result<(), OperationError> {
    let name = settings.name.as_deref().unwrap_or_default();
    let invalid = |cause| Err(OperationError::invalid_field("name", cause));
    let max = LockPrefix::MAX_NAME_CHARS;
    if name.chars().count() > max {
        return invalid(InvalidValue::TooManyCharacters { max });
    }
    if name.chars().any(char::is_control) {
        return invalid(InvalidValue::ControlCharacter);
    }
    Ok(())
}

fn full_error(_: PrefixesFull) -> OperationError {
    OperationError::invalid_field(
        "prefix",
        InvalidValue::TooManyPrefixes { max: MAX_PREFIXES },
    )
}

/// The prefix as text for the audit log.
fn audited_text(prefix: &LockKey) -> String {
    let text = prefix.text();
    match text.char_indices().nth(MAX_AUDITED_CHARS) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], prefix.as_bytes().len()),
        None => text.into_owned(),
    }
}
