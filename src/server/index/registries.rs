//! Locks that only several of them together explain: Spring Integration's registries write one UUID, the process's, under all of
//! their keys.
//!
//! ```text
//! SET orders-lock:eu  6d1f0c3e-…  PX 60000
//! SET orders-lock:us  6d1f0c3e-…  PX 60000      the same UUID behind the same first segment: a registry
//! ```
//!
//! Each alone is a plain lock. What was once seen to be a registry stays one, also when it holds one lock only.

use std::collections::HashMap;

use crate::domain::{Fingerprint, LockKey};

/// So many are kept in mind; beyond, those that have shown one key only are forgotten.
const MOST: usize = 50_000;

/// One UUID behind one first segment.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Registry {
    group: String,
    segment: Vec<u8>,
    owner: Fingerprint,
}

/// What was seen of it.
#[derive(Debug)]
enum Seen {
    /// One key.
    Once(LockKey),
    /// Several.
    Often,
}

/// What a lock turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing more than it was.
    Nothing,
    /// A registry's, as it was known.
    Known,
    /// A registry's, and so is this lock that was seen before.
    With(LockKey),
}

/// Every UUID that could be a registry's.
#[derive(Debug, Default)]
pub(super) struct Registries(HashMap<Registry, Seen>);

impl Registries {
    /// A plain lock whose owner is a UUID.
    pub(super) fn see(&mut self, group: &str, key: &LockKey, owner: &Fingerprint) -> Found {
        let name = key.as_bytes();
        let Some(colon) = name.iter().position(|&byte| byte == b':') else {
            return Found::Nothing;
        };
        let registry = Registry {
            group: group.to_owned(),
            segment: name[..colon].to_vec(),
            owner: owner.clone(),
        };
        if let Some(seen) = self.0.get_mut(&registry) {
            return match std::mem::replace(seen, Seen::Often) {
                Seen::Often => Found::Known,
                Seen::Once(first) if first == *key => {
                    *seen = Seen::Once(first);
                    Found::Nothing
                }
                Seen::Once(first) => Found::With(first),
            };
        }
        if self.0.len() >= MOST {
            self.0.retain(|_, seen| matches!(seen, Seen::Often));
        }
        if self.0.len() < MOST {
            self.0.insert(registry, Seen::Once(key.clone()));
        }
        Found::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_uuid_behind_one_segment_is_a_registry_from_its_second_key_on() {
        let mut registries = Registries::default();
        let (one, other) = ("0123456789abcdef", "1123456789abcdef");
        let mut see = |group: &str, key: &str, owner: &str| {
            let owner = Fingerprint::parse(owner).unwrap();
            registries.see(group, &key.into(), &owner)
        };
        assert_eq!(see("a", "lock:1", one), Found::Nothing);
        assert_eq!(see("a", "lock:1", one), Found::Nothing, "the same again");
        assert_eq!(see("a", "lock:2", other), Found::Nothing, "another process");
        assert_eq!(see("a", "mutex:1", one), Found::Nothing, "another segment");
        assert_eq!(see("b", "lock:2", one), Found::Nothing, "another group");
        assert_eq!(see("a", "lock", one), Found::Nothing, "no segment");
        assert_eq!(see("a", "lock:2", one), Found::With("lock:1".into()));
        for key in ["lock:1", "lock:2", "lock:3"] {
            assert_eq!(see("a", key, one), Found::Known);
        }
    }
}
