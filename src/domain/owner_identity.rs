//! What identifies an owner across locks, groups, lock services and restarts: its host, or its
//! fingerprint if it has no label.

use serde::{Deserialize, Serialize};

use super::owners::host;
use super::{Fingerprint, Owner};

/// The identity of an owner. It is no secret: it appears in URLs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "by", content = "name", rename_all = "kebab-case")]
pub enum OwnerIdentity {
    /// All owners whose label names this host. All processes of a host are one owner, in every
    /// group and with every library.
    Host(String),
    /// The owner with this fingerprint. It survives no restart of its process.
    Fingerprint(Fingerprint),
}

impl OwnerIdentity {
    /// The identity of an owner of a lock.
    pub fn of(label: Option<&str>, fingerprint: &Fingerprint) -> Self {
        match label {
            Some(label) => Self::Host(host(label).to_owned()),
            None => Self::Fingerprint(*fingerprint),
        }
    }

    /// Whether an owner with this label and fingerprint has the identity.
    pub fn matches(&self, label: Option<&str>, fingerprint: &Fingerprint) -> bool {
        match self {
            Self::Host(name) => label.is_some_and(|label| host(label) == name),
            Self::Fingerprint(expected) => expected == fingerprint,
        }
    }

    /// Whether an owner of a lock has the identity.
    pub fn matches_owner(&self, owner: &Owner) -> bool {
        self.matches(owner.label.as_deref(), &owner.fingerprint)
    }

    /// The host or the fingerprint.
    pub fn name(&self) -> &str {
        match self {
            Self::Host(name) => name,
            Self::Fingerprint(fingerprint) => fingerprint.as_str(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::owner;
    use super::*;

    #[test]
    fn processes_of_a_host_are_one_owner_and_unlabelled_owners_are_not() {
        let fingerprint = owner(1).fingerprint;
        let host = OwnerIdentity::of(Some("web-2 pid 7"), &fingerprint);
        assert_eq!(host, OwnerIdentity::Host("web-2".into()));
        let other = owner(2).fingerprint;
        for (label, is_same) in [
            (Some("web-2 pid 7"), true),
            (Some("web-2 pid 8 thread 1"), true),
            (Some("web-2"), true),
            (Some("web-21 pid 7"), false),
            (Some("web-2x"), false),
            (None, false),
        ] {
            assert_eq!(host.matches(label, &other), is_same, "{label:?}");
        }
        let unlabelled = OwnerIdentity::of(None, &fingerprint);
        assert!(unlabelled.matches(None, &fingerprint));
        assert!(!unlabelled.matches(None, &other));
    }

    #[test]
    fn a_process_is_one_owner_whichever_lock_service_its_locks_are_in() {
        let fingerprint = owner(1).fingerprint;
        let host = OwnerIdentity::Host("web-1".into());
        for (service, label, is_same) in [
            ("Redis", "web-1 pid 42", true),
            ("Redisson, thread", "web-1 thread 87", true),
            (
                "Redis, acquired through the console",
                "web-1 (console)",
                true,
            ),
            ("ZooKeeper, kazoo", "web-1:pid42", true),
            ("ZooKeeper, Curator with its own data", "web-1", true),
            ("etcd, contender", "web-1/42", true),
            ("etcd, a value with a port", "web-1:2380", true),
            (
                "PostgreSQL, application without an address",
                "web-1/4711",
                true,
            ),
            ("PostgreSQL, Liquibase", "web-1 (10.0.0.1)", true),
            ("PostgreSQL, ShedLock", "web-1", true),
            // The name of an application and an address name no host.
            ("PostgreSQL, connection", "web-1@10.0.0.1/4711", false),
            ("ZooKeeper, Curator", "10.0.0.1", false),
            ("another host", "web-1a:pid42", false),
            ("another host", "web-1-2 pid 42", false),
        ] {
            let identity = OwnerIdentity::of(Some(label), &fingerprint);
            assert_eq!(identity == host, is_same, "{service}: {label}");
            let matches = host.matches(Some(label), &fingerprint);
            assert_eq!(matches, is_same, "{service}: {label}");
        }
    }

    #[test]
    fn a_label_that_looks_like_a_fingerprint_is_still_a_host() {
        let fingerprint = owner(1).fingerprint;
        let forged = OwnerIdentity::of(Some(fingerprint.as_str()), &owner(2).fingerprint);
        assert!(!forged.matches(None, &fingerprint));
        assert_eq!(forged.name(), fingerprint.as_str());
    }
}
