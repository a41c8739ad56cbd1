//! The fields `role`, `groups` and `keys` of users, tokens and role mappings.

use toml::Spanned;

use super::ConfigError;
use super::source::SourceFile;
use crate::domain::RoleGrant;
use crate::domain::role::Role;

/// The permissions in the fields of one table.
pub(super) fn grant_from_fields(
    role: Role,
    groups: Option<Vec<String>>,
    keys: Option<Vec<String>>,
) -> RoleGrant {
    RoleGrant {
        role,
        groups: groups.map(Into::into),
        keys: keys.map(Into::into),
    }
}

/// Rejects names of groups that do not exist; `table` is the table that lists them.
pub(super) fn check_groups<T>(
    source: &SourceFile<'_>,
    known: &[String],
    table: &Spanned<T>,
    listed: Option<&[String]>,
) -> Result<(), ConfigError> {
    let unknown = listed
        .unwrap_or_default()
        .iter()
        .find(|name| !known.contains(name));
    match unknown {
        Some(name) => {
            let why = format!("unknown group {name:?}; `groups` must name groups of this file");
            Err(source.error(table, &why))
        }
        None => Ok(()),
    }
}
