//! What users, tokens and grants may do: `role`, `groups` and `keys` of their tables.

use toml::Spanned;

use super::ConfigError;
use super::source::Source;
use crate::domain::Rights;
use crate::domain::role::Role;

/// What somebody may do by the fields of one table.
pub(super) fn rights(role: Role, groups: Option<Vec<String>>, keys: Option<Vec<String>>) -> Rights {
    Rights {
        role,
        groups: groups.map(Into::into),
        keys: keys.map(Into::into),
    }
}

/// Refuses names of groups that do not exist; `place` is the table that lists them.
pub(super) fn check_groups<T>(
    source: &Source<'_>,
    known: &[String],
    place: &Spanned<T>,
    listed: Option<&[String]>,
) -> Result<(), ConfigError> {
    let unknown = listed
        .unwrap_or_default()
        .iter()
        .find(|name| !known.contains(name));
    match unknown {
        Some(name) => {
            let why = format!("there is no group {name:?} in this file");
            Err(source.error(place, &why))
        }
        None => Ok(()),
    }
}
