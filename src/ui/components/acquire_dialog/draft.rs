//! What is filled in to acquire a lock.

use leptos::prelude::untrack;
use serde::{Deserialize, Serialize};

use super::times::{in_ms, wait_ms};
use crate::domain::{Environment, Fault, Format, LockId, LockKey, Mine, Place, Verb};
use crate::ui::calls;
use crate::ui::kit::Choice;
use crate::ui::live::Live;
use crate::ui::words::act::acquire as words;
use crate::ui::words::verdicts;

/// What is filled in, as it is typed. It is kept for this tab until it is sent or the dialog is closed.
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
    /// What stands there before anything is typed, for a lock of this group.
    pub(super) fn fresh(live: Live, group: String) -> Self {
        Self {
            key: suggestion(live, &group),
            group,
            amount: "30".to_owned(),
            unit: "s".to_owned(),
            label: String::new(),
            format: Format::Plain.slug().to_owned(),
            wait: "0".to_owned(),
            auto_renew: false,
        }
    }

    /// Why it cannot be sent, with the reason for it where no group can be chosen.
    pub(super) fn why_not(&self, live: Live, no_group: &str) -> Option<String> {
        if self.group.is_empty() {
            Some(no_group.to_owned())
        } else if self.ttl_ms().is_none() {
            Some(words::how_long_first().to_owned())
        } else if wait_ms(&self.wait).is_none() {
            Some(words::wait_first().to_owned())
        } else {
            live.why_not(Verb::Acquire, Place::lock(&self.id()))
        }
    }

    /// Acquires it; nothing while the lease has no length.
    pub(super) fn acquire(&self) -> Option<impl Future<Output = Result<Mine, Fault>> + use<>> {
        let LockId { group, key } = self.id();
        let format = self.format.parse().unwrap_or(Format::Plain);
        let wait_ms = wait_ms(&self.wait).unwrap_or(0);
        let label = Some(self.label.trim().to_owned()).filter(|label| !label.is_empty());
        let keeps = self.auto_renew;
        let ttl_ms = self.ttl_ms()?;
        Some(calls::acquire(
            group, key, format, ttl_ms, wait_ms, label, keeps,
        ))
    }

    fn id(&self) -> LockId {
        LockId {
            group: self.group.clone(),
            key: LockKey::from(self.key.as_str()),
        }
    }

    /// How long the lease is to be; nothing while that is no length of time.
    fn ttl_ms(&self) -> Option<u64> {
        in_ms(&self.amount, &self.unit)
    }
}

/// The groups that a lock can be acquired in.
pub(super) struct Groups {
    /// All of them.
    pub(super) choices: Vec<Choice>,
    /// The one that is chosen at first: what is only being tried does not begin in production. Empty where none can be chosen.
    pub(super) first: String,
    /// Why none can be chosen. Of several groups the first one's reason: mostly it is the same.
    pub(super) why_none: String,
}

impl Groups {
    /// The groups as they are now.
    pub(super) fn of(live: Live) -> Self {
        let mut choices = Vec::new();
        let (mut first, mut why_none) = (None::<(bool, String)>, None::<String>);
        untrack(|| {
            live.with_groups(|groups| {
                for group in groups {
                    let place = Place::group(&group.name).read_only(group.read_only);
                    let why_not = live.why_not(Verb::Acquire, place);
                    let is_production = group.environment == Environment::Production;
                    match &why_not {
                        Some(why) => why_none = why_none.take().or(Some(why.clone())),
                        None if first
                            .as_ref()
                            .is_none_or(|(before, _)| *before && !is_production) =>
                        {
                            first = Some((is_production, group.name.clone()));
                        }
                        None => {}
                    }
                    let environment = verdicts::environment(group.environment);
                    choices.push(Choice {
                        value: group.name.clone(),
                        label: format!("{} · {environment}", group.name),
                        why_not,
                    });
                }
            });
        });
        Self {
            choices,
            first: first.map(|(_, name)| name).unwrap_or_default(),
            why_none: why_none.unwrap_or_else(|| words::no_group().to_owned()),
        }
    }
}

/// A name that the group's own patterns will find, so that a test lock shows up in the table.
fn suggestion(live: Live, group: &str) -> String {
    let patterns = untrack(|| live.group(group))
        .map(|group| group.coverage.patterns)
        .unwrap_or_default();
    let prefix = patterns.iter().find_map(|pattern| {
        let prefix = pattern.strip_suffix('*')?;
        (!prefix.is_empty() && !prefix.contains(['*', '?', '[', '\\'])).then(|| prefix.to_owned())
    });
    format!("{}test", prefix.unwrap_or_else(|| "lock:".to_owned()))
}
