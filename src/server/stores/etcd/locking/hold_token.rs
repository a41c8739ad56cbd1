//! The tokens of holds. The token of a request can be anything; its hash is the lease. The token of an
//! acquired lock is what identifies its owner.

use sha2::Digest as _;

use crate::domain::{Fingerprint, LockKey};
use crate::server::stores::etcd::client::{KeyValue, LeaseId};
use crate::server::stores::etcd::formats::owner_bytes;
use crate::server::stores::{Token, fingerprint};

/// What a token says about the key of its hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenParts {
    pub(super) lease: LeaseId,
    /// Known once the lock was acquired.
    pub(super) create_revision: Option<i64>,
}

impl TokenParts {
    pub(super) fn of(token: &Token) -> Self {
        Self::of_stored(token.expose()).unwrap_or_else(|| Self::of_request(token))
    }

    /// The token of a request, which can be anything. The lease follows from all of its bytes, so it
    /// is never the lease of another client.
    pub(super) fn of_request(token: &Token) -> Self {
        let digest = sha2::Sha256::digest(token.expose());
        let bytes = digest[..8].try_into().expect("a digest has 32 bytes");
        Self {
            lease: LeaseId((i64::from_be_bytes(bytes) & i64::MAX).max(1)),
            create_revision: None,
        }
    }

    /// The token of an acquired lock: `<create_revision>:<name>/<lease in hex>`.
    fn of_stored(token: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(token).ok()?;
        let (revision, key) = text.split_once(':')?;
        let (_, lease) = key.rsplit_once('/')?;
        let lease = i64::from_str_radix(lease, 16).ok().filter(|id| *id > 0)?;
        Some(Self {
            lease: LeaseId(lease),
            create_revision: Some(revision.parse().ok()?),
        })
    }

    /// The key of the hold.
    pub(super) fn key(self, name: &LockKey) -> Vec<u8> {
        let lease = self.lease.hex();
        [name.as_bytes(), b"/", lease.as_bytes()].concat()
    }

    /// Whether this key is the one of the hold.
    pub(super) fn is_of(self, kv: &KeyValue) -> bool {
        let is_revision = |revision| revision == kv.create_revision;
        kv.lease == self.lease && self.create_revision.is_none_or(is_revision)
    }
}

/// Identifies a hold by each of its tokens.
pub fn hold_id(token: &Token) -> Fingerprint {
    fingerprint(TokenParts::of(token).lease.hex().as_bytes())
}

/// The token of an acquired lock. It is what identifies the owner, so its fingerprint is that of the
/// owner as it is shown.
pub(super) fn stored_token(kv: &KeyValue) -> Option<Token> {
    let bytes = owner_bytes(kv);
    std::str::from_utf8(bytes.expose()).ok()?;
    Some(Token::from_bytes(bytes.expose()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tokens_of_a_hold_have_the_same_lease() {
        let requested = Token::generate("api-3");
        let parts = TokenParts::of(&requested);
        let name = LockKey::from("jobs/a");
        let kv = KeyValue {
            key: parts.key(&name),
            create_revision: 17,
            lease: parts.lease,
            ..KeyValue::default()
        };
        let stored = stored_token(&kv).unwrap();
        assert_eq!(stored.fingerprint(), owner_bytes(&kv).fingerprint());
        assert_eq!(TokenParts::of(&stored).create_revision, Some(17));
        assert!(parts.is_of(&kv) && TokenParts::of(&stored).is_of(&kv));
        assert_eq!(hold_id(&requested), hold_id(&stored));
        let later = KeyValue {
            create_revision: 18,
            ..kv
        };
        assert!(!TokenParts::of(&stored).is_of(&later));
    }

    #[test]
    fn a_token_of_a_caller_is_a_lease_too() {
        for text in ["", "mine", "7:mine", "7:a/b/zz", "7:a/0"] {
            let parts = TokenParts::of(&Token::from_bytes(text));
            assert!(
                parts.lease.0 > 0 && parts.create_revision.is_none(),
                "{text}"
            );
        }
    }
}
