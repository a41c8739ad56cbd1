//! Answers as they are kept where several consoles read them: sealed with what only the client has, for a token is in them.
//!
//! The key is made of the client's Idempotency-Key and, where it came with an API token, of that token; neither is kept there.
//! Whoever reads the shared Redis finds a digest and a sealed text.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use serde::{Deserialize, Serialize};

use super::key::{IdempotencyKey, Print};
use crate::domain::Timestamp;
use crate::server::access::SecretDigest;
use crate::server::operations::Acquired;

/// Seals and opens the answers to one client's one key.
pub(super) struct Seal {
    key: LessSafeKey,
    scope: Print,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    acquired: Acquired,
    ends: Timestamp,
}

impl Seal {
    pub(super) fn of(key: &IdempotencyKey, secret: Option<&SecretDigest>, scope: Print) -> Self {
        let length = u64::try_from(key.bytes().len()).unwrap_or(u64::MAX);
        let mut known = length.to_be_bytes().to_vec();
        known.extend_from_slice(key.bytes());
        known.extend_from_slice(secret.map_or(&[][..], |secret| secret.bytes()));
        let extracted = Salt::new(HKDF_SHA256, &scope).extract(&known);
        let expanded = extracted
            .expand(&[b"lockkeeper answer"], &CHACHA20_POLY1305)
            .expect("a key is not too long for it");
        Self {
            key: LessSafeKey::new(UnboundKey::from(expanded)),
            scope,
        }
    }

    /// Nothing where it cannot be written.
    pub(super) fn close(&self, acquired: &Acquired, ends: Timestamp) -> Option<Vec<u8>> {
        let kept = Kept {
            acquired: acquired.clone(),
            ends,
        };
        let mut text = serde_json::to_vec(&kept).ok()?;
        let nonce: [u8; NONCE_LEN] = rand::random();
        let (sealed, about) = (Nonce::assume_unique_for_key(nonce), Aad::from(self.scope));
        self.key
            .seal_in_place_append_tag(sealed, about, &mut text)
            .ok()?;
        Some([&nonce[..], &text].concat())
    }

    /// Nothing where it was sealed with something else, or changed since.
    pub(super) fn open(&self, sealed: &[u8]) -> Option<(Acquired, Timestamp)> {
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = text.to_vec();
        let opened = self
            .key
            .open_in_place(nonce, Aad::from(self.scope), &mut text);
        let kept: Kept = serde_json::from_slice(opened.ok()?).ok()?;
        Some((kept.acquired, kept.ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Fingerprint;

    fn acquired() -> Acquired {
        Acquired {
            token: "a token that nobody may read".to_owned(),
            fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
            fencing_token: Some(7),
            validity_ms: 1_000,
            expires_at: Timestamp::from_millis(5),
            nodes: Vec::new(),
            valid_until: None,
        }
    }

    fn seal(key: &str, secret: Option<&str>, scope: u8) -> Seal {
        let key = IdempotencyKey::parse(key.as_bytes()).unwrap();
        let secret = secret.map(SecretDigest::of);
        Seal::of(&key, secret.as_ref(), [scope; 32])
    }

    #[test]
    fn an_answer_is_opened_with_the_same_key_and_secret_and_with_nothing_else() {
        let ends = Timestamp::from_millis(9);
        let sealed = seal("k", Some("s"), 1).close(&acquired(), ends).unwrap();
        let text = String::from_utf8_lossy(&sealed);
        assert!(!text.contains("token") && !text.contains("0123456789abcdef"));
        let (opened, until) = seal("k", Some("s"), 1).open(&sealed).unwrap();
        assert_eq!((opened.token, until), (acquired().token, ends));
        for other in [
            seal("l", Some("s"), 1),
            seal("k", Some("t"), 1),
            seal("k", None, 1),
            seal("k", Some("s"), 2),
        ] {
            assert!(other.open(&sealed).is_none());
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(seal("k", Some("s"), 1).open(&changed).is_none(), "{at}");
        }
        assert!(seal("k", Some("s"), 1).open(&sealed[..5]).is_none());
    }

    #[test]
    fn no_two_sealed_answers_look_alike() {
        let (seal, ends) = (seal("k", None, 1), Timestamp::from_millis(9));
        assert_ne!(seal.close(&acquired(), ends), seal.close(&acquired(), ends));
    }
}
