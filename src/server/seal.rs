//! Authenticated encryption of data that is stored or sent where others can read it.
//!
//! The cipher is ChaCha20-Poly1305. The key is derived with HKDF-SHA256 from a secret that only
//! the client has. The console has no key of its own, so any instance can open data that another
//! one sealed.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};

/// Encrypts and decrypts data with a key derived from a secret.
pub struct SealingKey(LessSafeKey);

impl SealingKey {
    /// Derives a key for this purpose from the secret parts.
    ///
    /// Each part is prefixed with its length, so that different splits of the same bytes yield
    /// different keys.
    pub fn derive(purpose: &'static str, parts: &[&[u8]]) -> Self {
        let mut secret = Vec::new();
        for part in parts {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            secret.extend_from_slice(&length.to_be_bytes());
            secret.extend_from_slice(part);
        }
        let extracted = Salt::new(HKDF_SHA256, b"lockkeeper").extract(&secret);
        let info = [purpose.as_bytes()];
        let expanded = extracted
            .expand(&info, &CHACHA20_POLY1305)
            .expect("HKDF-SHA256 can produce 32 bytes");
        Self(LessSafeKey::new(UnboundKey::from(expanded)))
    }

    /// Encrypts the text. `None` if it is too long for the cipher.
    pub fn seal(&self, text: &[u8]) -> Option<Vec<u8>> {
        let (nonce, mut text): ([u8; NONCE_LEN], _) = (rand::random(), text.to_vec());
        let once = Nonce::assume_unique_for_key(nonce);
        self.0
            .seal_in_place_append_tag(once, Aad::empty(), &mut text)
            .ok()?;
        Some([&nonce[..], &text].concat())
    }

    /// Decrypts the text. `None` if it was sealed with another key or was modified.
    pub fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = text.to_vec();
        let opened = self.0.open_in_place(nonce, Aad::empty(), &mut text).ok()?;
        Some(opened.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_purpose_and_parts_open_what_was_sealed() {
        let seal = SealingKey::derive("test", &[b"a", b"bc"]);
        let sealed = seal.seal(b"a verifier").unwrap();
        assert!(!sealed.windows(8).any(|part| part == b"verifier"));
        assert_eq!(seal.open(&sealed).unwrap(), b"a verifier");
        assert_ne!(seal.seal(b"a verifier").unwrap(), sealed);
        for other in [
            SealingKey::derive("another", &[b"a", b"bc"]),
            SealingKey::derive("test", &[b"ab", b"c"]),
            SealingKey::derive("test", &[b"a", b"bc", b""]),
        ] {
            assert!(other.open(&sealed).is_none());
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(seal.open(&changed).is_none(), "{at}");
        }
        assert!(seal.open(&sealed[..5]).is_none());
    }
}
