//! How the locks of a list are grouped.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::{Lock, Owner, owners, prefix};

/// The property that the locks of a bucket have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum GroupBy {
    /// The name up to the part that varies.
    Prefix,
    /// The host in the owner's label.
    Owner,
    /// The group of the lock.
    Group,
}

impl GroupBy {
    /// The name in the API and in URLs.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

impl Lock {
    /// Whether the lock belongs to the bucket with this name.
    pub(super) fn is_in_bucket(&self, group_by: GroupBy, name: &str) -> bool {
        match group_by {
            GroupBy::Prefix => prefix_of(self) == name,
            GroupBy::Group => self.id.group == name,
            GroupBy::Owner if self.owners.is_empty() => name.is_empty(),
            GroupBy::Owner => self.owners.iter().any(|owner| host_of(owner) == name),
        }
    }
}

pub(super) fn prefix_of(lock: &Lock) -> Cow<'_, str> {
    match lock.key().text() {
        Cow::Borrowed(text) => Cow::Borrowed(prefix::key_prefix(text)),
        Cow::Owned(text) => Cow::Owned(prefix::key_prefix(&text).to_owned()),
    }
}

/// The host of an owner; empty for an owner without a label.
pub(super) fn host_of(owner: &Owner) -> &str {
    owner.label.as_deref().map_or("", owners::host)
}
