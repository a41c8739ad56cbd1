//! Who may do what: one rule for the button and for the server, with the reason where it says no.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use thiserror::Error;

use super::{Fault, LockId, LockKey, glob};

/// How much somebody is trusted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Role {
    /// Sees, never acts.
    Viewer,
    /// Acquires locks, and releases those of others.
    Operator,
    /// Everything, the console itself included.
    Admin,
}

impl Role {
    /// The word in the configuration and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum Verb {
    /// See groups, nodes, locks and their past.
    See,
    /// See what the nodes store under a lock's name: type, fields and numbers, tokens masked.
    ReadRaw,
    /// Take a lock.
    Acquire,
    /// Renew a lock with its token.
    Extend,
    /// Give a lock back with its token.
    Release,
    /// Release somebody else's lock.
    ForceRelease,
    /// Say that a node lost no locks.
    Vouch,
    /// Record for some seconds what everybody asks of a node.
    Sample,
    /// Read who did what.
    ReadAudit,
    /// Look after the console itself.
    Administer,
}

impl Verb {
    /// The least role that may.
    pub fn needs(self) -> Role {
        match self {
            Self::See => Role::Viewer,
            Self::ReadRaw
            | Self::Acquire
            | Self::Extend
            | Self::Release
            | Self::ForceRelease
            | Self::Vouch
            | Self::Sample
            | Self::ReadAudit => Role::Operator,
            Self::Administer => Role::Admin,
        }
    }

    /// Whether it changes something on the nodes, or what is given on them: refused where the configuration says that nothing is
    /// changed.
    pub fn is_act(self) -> bool {
        match self {
            Self::Acquire | Self::Extend | Self::Release | Self::ForceRelease | Self::Vouch => true,
            Self::See | Self::ReadRaw | Self::Sample | Self::ReadAudit | Self::Administer => false,
        }
    }

    /// What it is, in the words of a refusal.
    fn words(self) -> &'static str {
        match self {
            Self::See => "see locks",
            Self::ReadRaw => "read what the nodes store",
            Self::Acquire => "acquire locks",
            Self::Extend => "extend locks",
            Self::Release => "release locks",
            Self::ForceRelease => "release the locks of others",
            Self::Vouch => "vouch for nodes",
            Self::Sample => "record what a node is asked",
            Self::ReadAudit => "read the audit",
            Self::Administer => "look after the console",
        }
    }
}

/// Where somebody wants to do it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    group: Option<&'a str>,
    key: Option<&'a LockKey>,
    is_read_only: bool,
}

impl<'a> Place<'a> {
    /// The console as a whole.
    pub fn console() -> Self {
        Self {
            group: None,
            key: None,
            is_read_only: false,
        }
    }

    /// A group.
    pub fn group(name: &'a str) -> Self {
        Self {
            group: Some(name),
            ..Self::console()
        }
    }

    /// A lock.
    pub fn lock(id: &'a LockId) -> Self {
        Self {
            key: Some(&id.key),
            ..Self::group(&id.group)
        }
    }

    /// The same, in a group that may be read-only in the configuration.
    pub fn read_only(self, is_read_only: bool) -> Self {
        Self {
            is_read_only,
            ..self
        }
    }
}

/// What somebody may do: a role, and where it counts.
///
/// Groups limit what is seen and done. Patterns of names limit what is done: whoever may look at a group sees all of its
/// locks, for a lock that is held by somebody else is what they need to know of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// The role.
    pub role: Role,
    /// The groups in which it counts; null is all.
    pub groups: Option<Arc<[String]>>,
    /// The patterns (Redis globs) of the locks that may be acted on; null is all.
    pub keys: Option<Arc<[String]>>,
}

/// Why somebody may not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WhyNot {
    /// The role is not enough.
    #[error("the role `{}` may not {}; that takes `{}`", has.slug(), verb.words(), verb.needs().slug())]
    Role {
        /// What was wanted.
        verb: Verb,
        /// The role that is there.
        has: Role,
    },
    /// The rights are for other groups.
    #[error("you have no rights in the group {group:?}")]
    Group {
        /// The group that was asked for.
        group: String,
    },
    /// The rights are for other locks.
    #[error("your rights do not cover this lock's name, only {}", patterns.join(", "))]
    Key {
        /// What they cover.
        patterns: Arc<[String]>,
    },
    /// Nobody may.
    #[error("the group {group:?} is read-only in the configuration")]
    ReadOnly {
        /// Which group.
        group: String,
    },
}

impl From<WhyNot> for Fault {
    fn from(why: WhyNot) -> Self {
        Self::Forbidden {
            why: why.to_string(),
        }
    }
}

impl Rights {
    /// This role, everywhere.
    pub fn everywhere(role: Role) -> Self {
        Self {
            role,
            groups: None,
            keys: None,
        }
    }

    /// The rule: whether that may be done there, or why not.
    pub fn may(&self, verb: Verb, place: Place<'_>) -> Result<(), WhyNot> {
        if self.role < verb.needs() {
            return Err(WhyNot::Role {
                verb,
                has: self.role,
            });
        }
        let Some(group) = place.group else {
            return Ok(());
        };
        let is_mine = |groups: &Arc<[String]>| groups.iter().any(|mine| mine == group);
        if !self.groups.as_ref().is_none_or(is_mine) {
            return Err(WhyNot::Group {
                group: group.to_owned(),
            });
        }
        if !verb.is_act() {
            return Ok(());
        }
        if place.is_read_only {
            return Err(WhyNot::ReadOnly {
                group: group.to_owned(),
            });
        }
        match (&self.keys, place.key) {
            (Some(patterns), Some(key)) if !glob::any_matches(patterns, key.as_bytes()) => {
                Err(WhyNot::Key {
                    patterns: Arc::clone(patterns),
                })
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Which groups may be seen.
    pub fn sight(&self) -> Sight {
        match &self.groups {
            Some(groups) => Sight::Only(Arc::clone(groups)),
            None => Sight::Everything,
        }
    }
}

/// Which groups somebody may see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sight {
    /// All.
    #[default]
    Everything,
    /// These.
    Only(Arc<[String]>),
}

impl Sight {
    /// Only this group.
    pub fn of(group: &str) -> Self {
        Self::Only(Arc::from([group.to_owned()]))
    }

    /// Whether this group is among them.
    pub fn shows(&self, group: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(groups) => groups.iter().any(|shown| shown == group),
        }
    }
}

#[cfg(test)]
#[path = "role_tests.rs"]
mod tests;
