//! Recognises the lock registries of Spring Integration. A registry writes one UUID, that of its
//! process, as the value of all of its keys.
//!
//! ```text
//! SET orders-lock:eu  6d1f0c3e-…  PX 60000
//! SET orders-lock:us  6d1f0c3e-…  PX 60000      same UUID and same first segment: a registry
//! ```
//!
//! A single key looks like a plain lock. A registry stays recognised, even when it holds only one
//! lock later.

use std::collections::HashMap;

use crate::domain::{Fingerprint, LockKey};

/// Candidates kept at most. Beyond that, candidates with a single key are dropped.
const MAX_REGISTRIES: usize = 50_000;

/// A candidate: one UUID under one first key segment.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Registry {
    group: String,
    segment: Vec<u8>,
    owner: Fingerprint,
}

/// The keys seen with this UUID.
#[derive(Debug)]
enum KeysSeen {
    /// One key.
    One(LockKey),
    /// Two or more.
    Several,
}

/// The result of checking a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RegistryMatch {
    /// Not known to belong to a registry.
    NotARegistry,
    /// Belongs to a registry that was recognised before.
    Known,
    /// Belongs to a registry recognised just now, together with this earlier key.
    Discovered(LockKey),
}

/// All registries and candidates.
#[derive(Debug, Default)]
pub(super) struct SpringRegistries(HashMap<Registry, KeysSeen>);

impl SpringRegistries {
    /// Records a plain lock whose owner is a UUID.
    pub(super) fn record(
        &mut self,
        group: &str,
        key: &LockKey,
        owner: &Fingerprint,
    ) -> RegistryMatch {
        let name = key.as_bytes();
        let Some(colon) = name.iter().position(|&byte| byte == b':') else {
            return RegistryMatch::NotARegistry;
        };
        let registry = Registry {
            group: group.to_owned(),
            segment: name[..colon].to_vec(),
            owner: *owner,
        };
        if let Some(keys) = self.0.get_mut(&registry) {
            // Taken out to move the first key, and restored if it is the same key again.
            return match std::mem::replace(keys, KeysSeen::Several) {
                KeysSeen::Several => RegistryMatch::Known,
                KeysSeen::One(first) if first == *key => {
                    *keys = KeysSeen::One(first);
                    RegistryMatch::NotARegistry
                }
                KeysSeen::One(first) => RegistryMatch::Discovered(first),
            };
        }
        if self.0.len() >= MAX_REGISTRIES {
            // Recognised registries are kept, because their locks would change their format
            // otherwise.
            self.0.retain(|_, keys| matches!(keys, KeysSeen::Several));
        }
        if self.0.len() < MAX_REGISTRIES {
            self.0.insert(registry, KeysSeen::One(key.clone()));
        }
        RegistryMatch::NotARegistry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_under_one_segment_is_a_registry_from_its_second_key() {
        let mut registries = SpringRegistries::default();
        let (one, other) = ("0123456789abcdef", "1123456789abcdef");
        let mut record = |group: &str, key: &str, owner: &str| {
            let owner = Fingerprint::parse(owner).unwrap();
            registries.record(group, &key.into(), &owner)
        };
        assert_eq!(record("a", "lock:1", one), RegistryMatch::NotARegistry);
        assert_eq!(
            record("a", "lock:1", one),
            RegistryMatch::NotARegistry,
            "the same again"
        );
        assert_eq!(
            record("a", "lock:2", other),
            RegistryMatch::NotARegistry,
            "another process"
        );
        assert_eq!(
            record("a", "mutex:1", one),
            RegistryMatch::NotARegistry,
            "another segment"
        );
        assert_eq!(
            record("b", "lock:2", one),
            RegistryMatch::NotARegistry,
            "another group"
        );
        assert_eq!(
            record("a", "lock", one),
            RegistryMatch::NotARegistry,
            "no segment"
        );
        assert_eq!(
            record("a", "lock:2", one),
            RegistryMatch::Discovered("lock:1".into())
        );
        for key in ["lock:1", "lock:2", "lock:3"] {
            assert_eq!(record("a", key, one), RegistryMatch::Known);
        }
    }
}
