//! The input of the dialog that acquires a lock.

use leptos::prelude::untrack;
use serde::{Deserialize, Serialize};

use super::durations::{parse_ms, parse_wait_ms};
use crate::domain::{
    ConsoleLock, Environment, Format, LockId, LockKey, OperationError, Permission, Scope,
};
use crate::ui::calls;
use crate::ui::i18n::operations::acquire as t;
use crate::ui::i18n::terms;
use crate::ui::kit::SelectOption;
use crate::ui::live::Live;

/// The text of the fields. It is stored for the tab until it is sent or the dialog is closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AcquireDraft {
    pub(super) group: String,
    pub(super) key: String,
    pub(super) amount: String,
    pub(super) unit: String,
    pub(super) label: String,
    pub(super) format: String,
    pub(super) wait: String,
    pub(super) auto_renew: bool,
}

impl AcquireDraft {
    /// The default values for a lock of this group.
    pub(super) fn new(live: Live, group: String) -> Self {
        Self {
            key: suggest_key(live, &group),
            group,
            amount: "30".to_owned(),
            unit: "s".to_owned(),
            label: String::new(),
            format: Format::Plain.slug().to_owned(),
            wait: "0".to_owned(),
            auto_renew: false,
        }
    }

    /// Returns why the form cannot be sent. `no_group` is the reason if no group can be chosen.
    pub(super) fn disabled_reason(&self, live: Live, no_group: &str) -> Option<String> {
        if self.group.is_empty() {
            Some(no_group.to_owned())
        } else if self.ttl_ms().is_none() {
            Some(t::lease_required().to_owned())
        } else if parse_wait_ms(&self.wait).is_none() {
            Some(t::wait_required().to_owned())
        } else {
            live.denial_reason(Permission::Acquire, Scope::lock(&self.id()))
        }
    }

    /// Returns the request. `None` if the lease duration is not valid.
    pub(super) fn start_acquire(
        &self,
    ) -> Option<impl Future<Output = Result<ConsoleLock, OperationError>> + use<>> {
        let LockId { group, key } = self.id();
        let format = self.format.parse().unwrap_or(Format::Plain);
        let wait_ms = parse_wait_ms(&self.wait).unwrap_or(0);
        let label = Some(self.label.trim().to_owned()).filter(|label| !label.is_empty());
        let auto_renew = self.auto_renew;
        let ttl_ms = self.ttl_ms()?;
        Some(calls::acquire(
            group, key, format, ttl_ms, wait_ms, label, auto_renew,
        ))
    }

    fn id(&self) -> LockId {
        LockId {
            group: self.group.clone(),
            key: LockKey::from(self.key.as_str()),
        }
    }

    /// The lease duration. `None` if the text is not a duration.
    fn ttl_ms(&self) -> Option<u64> {
        parse_ms(&self.amount, &self.unit)
    }
}

/// The groups in which a lock can be acquired.
pub(super) struct GroupChoices {
    /// All groups.
    pub(super) choices: Vec<SelectOption>,
    /// The group chosen at first: preferably not a production group. Empty if none can be chosen.
    pub(super) initial: String,
    /// Why no group can be chosen: the reason of the first group, because it is usually the same
    /// for all.
    pub(super) unavailable_reason: String,
}

impl GroupChoices {
    /// The current groups.
    pub(super) fn of(live: Live) -> Self {
        let mut choices = Vec::new();
        let (mut first, mut unavailable_reason) = (None::<(bool, String)>, None::<String>);
        untrack(|| {
            live.with_groups(|groups| {
                for group in groups {
                    let scope = Scope::group(&group.name).with_read_only(group.read_only);
                    let disabled_reason = live.denial_reason(Permission::Acquire, scope);
                    let is_production = group.environment == Environment::Production;
                    match &disabled_reason {
                        Some(reason) => {
                            unavailable_reason = unavailable_reason.take().or(Some(reason.clone()))
                        }
                        None if first.as_ref().is_none_or(|(is_first_production, _)| {
                            *is_first_production && !is_production
                        }) =>
                        {
                            first = Some((is_production, group.name.clone()));
                        }
                        None => {}
                    }
                    let environment = terms::environment(group.environment);
                    choices.push(SelectOption {
                        value: group.name.clone(),
                        label: format!("{} · {environment}", group.name),
                        disabled_reason,
                    });
                }
            });
        });
        Self {
            choices,
            initial: first.map(|(_, name)| name).unwrap_or_default(),
            unavailable_reason: unavailable_reason.unwrap_or_else(|| t::no_group().to_owned()),
        }
    }
}

/// Suggests a name that matches the group's key patterns, so that a test lock appears in the table.
fn suggest_key(live: Live, group: &str) -> String {
    let patterns = untrack(|| live.group(group))
        .map(|group| group.coverage.patterns)
        .unwrap_or_default();
    let prefix = patterns.iter().find_map(|pattern| {
        let prefix = pattern.strip_suffix('*')?;
        (!prefix.is_empty() && !prefix.contains(['*', '?', '[', '\\'])).then(|| prefix.to_owned())
    });
    format!("{}test", prefix.unwrap_or_else(|| "lock:".to_owned()))
}
