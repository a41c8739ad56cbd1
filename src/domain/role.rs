//! Roles and permissions. The UI and the server apply the same rule.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use thiserror::Error;

use super::code_tag::json_with_code;
use super::{LockId, LockKey, glob};

/// A role. Each role includes the permissions of the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Role {
    /// Can view, but not modify locks.
    Viewer,
    /// Can also acquire locks and release locks of other owners.
    Operator,
    /// Has all permissions, including the administration of the console.
    Admin,
}

impl Role {
    /// The name in the configuration and in the UI.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// A permission that an operation or a page requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    /// View groups, nodes, locks and their history.
    View,
    /// View the raw contents of a lock's key, with owner values masked.
    ReadRaw,
    /// Acquire a lock.
    Acquire,
    /// Extend a lock with its token.
    Extend,
    /// Release a lock with its token.
    Release,
    /// Release a lock of another owner.
    ForceRelease,
    /// Confirm that a restarted node lost no locks.
    ClearRestartHazard,
    /// Record the commands of a node for some seconds (`MONITOR`).
    Monitor,
    /// Read the audit log.
    ReadAudit,
    /// Save and delete views of the lock list for the team.
    ManageViews,
    /// Pin, exclude and name prefixes of lock names.
    ManagePrefixes,
    /// Administer the console.
    Administer,
}

impl Permission {
    /// The lowest role with this permission.
    pub fn required_role(self) -> Role {
        match self {
            Self::View => Role::Viewer,
            Self::ReadRaw
            | Self::Acquire
            | Self::Extend
            | Self::Release
            | Self::ForceRelease
            | Self::ClearRestartHazard
            | Self::Monitor
            | Self::ReadAudit
            | Self::ManageViews => Role::Operator,
            Self::ManagePrefixes | Self::Administer => Role::Admin,
        }
    }

    /// Whether the operation modifies locks or affects which locks can be acquired. Such operations
    /// are rejected in read-only groups.
    pub fn is_write(self) -> bool {
        match self {
            Self::Acquire
            | Self::Extend
            | Self::Release
            | Self::ForceRelease
            | Self::ClearRestartHazard => true,
            Self::View
            | Self::ReadRaw
            | Self::Monitor
            | Self::ReadAudit
            | Self::ManageViews
            | Self::ManagePrefixes
            | Self::Administer => false,
        }
    }

    /// Whether patterns of lock names limit the operation. An excluded prefix hides locks from every
    /// user, so it needs the permission for their names.
    fn is_limited_by_keys(self) -> bool {
        self.is_write() || self == Self::ManagePrefixes
    }

    /// The operation, for error messages.
    fn description(self) -> &'static str {
        match self {
            Self::View => "view locks",
            Self::ReadRaw => "read raw keys",
            Self::Acquire => "acquire locks",
            Self::Extend => "extend locks",
            Self::Release => "release locks",
            Self::ForceRelease => "release locks of other owners",
            Self::ClearRestartHazard => "clear restart hazards",
            Self::Monitor => "monitor nodes",
            Self::ReadAudit => "read the audit log",
            Self::ManageViews => "change views of the team",
            Self::ManagePrefixes => "change prefixes",
            Self::Administer => "administer the console",
        }
    }
}

/// The scope of an operation: the console, a group or a lock.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    group: Option<&'a str>,
    key: Option<&'a LockKey>,
    is_read_only: bool,
}

impl<'a> Scope<'a> {
    /// The whole console.
    pub fn console() -> Self {
        Self {
            group: None,
            key: None,
            is_read_only: false,
        }
    }

    /// A whole group.
    pub fn group(name: &'a str) -> Self {
        Self {
            group: Some(name),
            ..Self::console()
        }
    }

    /// A single lock.
    pub fn lock(id: &'a LockId) -> Self {
        Self {
            key: Some(&id.key),
            ..Self::group(&id.group)
        }
    }

    /// Sets whether the group is read-only.
    pub fn with_read_only(self, is_read_only: bool) -> Self {
        Self {
            is_read_only,
            ..self
        }
    }
}

/// A role, optionally limited to groups and lock names.
///
/// Groups limit viewing and modifying. Patterns of lock names only limit modifying: a user who can
/// view a group sees all of its locks, including those of other owners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleGrant {
    /// The granted role.
    pub role: Role,
    /// The groups that the role applies to; null for all groups.
    pub groups: Option<Arc<[String]>>,
    /// The patterns (Redis globs) of the locks that can be modified; null for all locks.
    pub keys: Option<Arc<[String]>>,
}

/// Why a permission is denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum PermissionDenied {
    /// The role is too low.
    #[error("the role `{}` cannot {}; the role `{}` is required", role.slug(), permission.description(), permission.required_role().slug())]
    Role {
        /// The missing permission.
        permission: Permission,
        /// The role of the caller.
        role: Role,
    },
    /// The caller's permissions do not include the group.
    #[error("you have no permissions in the group {group:?}")]
    Group {
        /// The name of the group.
        group: String,
    },
    /// The caller's permissions do not include the lock's name.
    #[error("your permissions do not include this lock's name, only {}", patterns.join(", "))]
    Key {
        /// The patterns of the included names.
        patterns: Arc<[String]>,
    },
    /// The group is configured as read-only.
    #[error("the group {group:?} is read-only")]
    ReadOnly {
        /// The name of the group.
        group: String,
    },
}

json_with_code!(PermissionDenied);

impl RoleGrant {
    /// A role without limits.
    pub fn unrestricted(role: Role) -> Self {
        Self {
            role,
            groups: None,
            keys: None,
        }
    }

    /// Checks a permission in a scope.
    ///
    /// Returns the first reason that applies: the role, the group, a read-only group, the lock's
    /// name.
    pub fn authorize(
        &self,
        permission: Permission,
        scope: Scope<'_>,
    ) -> Result<(), PermissionDenied> {
        if self.role < permission.required_role() {
            return Err(PermissionDenied::Role {
                permission,
                role: self.role,
            });
        }
        let Some(group) = scope.group else {
            return Ok(());
        };
        let includes_group = |groups: &Arc<[String]>| groups.iter().any(|granted| granted == group);
        if !self.groups.as_ref().is_none_or(includes_group) {
            return Err(PermissionDenied::Group {
                group: group.to_owned(),
            });
        }
        if permission.is_write() && scope.is_read_only {
            return Err(PermissionDenied::ReadOnly {
                group: group.to_owned(),
            });
        }
        if !permission.is_limited_by_keys() {
            return Ok(());
        }
        match (&self.keys, scope.key) {
            (Some(patterns), Some(key)) if !glob::any_matches(patterns, key.as_bytes()) => {
                Err(PermissionDenied::Key {
                    patterns: Arc::clone(patterns),
                })
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// The groups that the caller can view.
    pub fn visible_groups(&self) -> VisibleGroups {
        match &self.groups {
            Some(groups) => VisibleGroups::Only(Arc::clone(groups)),
            None => VisibleGroups::All,
        }
    }
}

/// The groups that a user can view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum VisibleGroups {
    /// All groups.
    #[default]
    All,
    /// The groups with these names.
    Only(Arc<[String]>),
}

impl VisibleGroups {
    /// A single group.
    pub fn only(group: &str) -> Self {
        Self::Only(Arc::from([group.to_owned()]))
    }

    /// Whether the group can be viewed.
    pub fn contains(&self, group: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(groups) => groups.iter().any(|visible| visible == group),
        }
    }
}

#[cfg(test)]
mod tests;
