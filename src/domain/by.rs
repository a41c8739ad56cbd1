//! What locks of a list are bundled by.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::{Lock, Owner, owners, prefix};

/// What locks of a bundle have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum By {
    /// What their names begin with, up to the part that varies.
    Prefix,
    /// The host that holds them, as far as their owners' labels tell.
    Owner,
    /// Their group.
    Group,
}

impl By {
    /// The word in the API and in URLs.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

impl Lock {
    /// Whether the lock is in the bundle of this name.
    pub(super) fn is_bundled(&self, by: By, name: &str) -> bool {
        match by {
            By::Prefix => prefix_of(self) == name,
            By::Group => self.id.group == name,
            By::Owner if self.owners.is_empty() => name.is_empty(),
            By::Owner => self.owners.iter().any(|owner| host_of(owner) == name),
        }
    }
}

pub(super) fn prefix_of(lock: &Lock) -> Cow<'_, str> {
    match lock.key().text() {
        Cow::Borrowed(text) => Cow::Borrowed(prefix::of(text)),
        Cow::Owned(text) => Cow::Owned(prefix::of(&text).to_owned()),
    }
}

/// The host of an owner; nobody can tell which of those without a label are one.
pub(super) fn host_of(owner: &Owner) -> &str {
    owner.label.as_deref().map_or("", owners::host)
}
