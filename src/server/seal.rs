//! Data that is kept or sent where others may read it, encrypted.
//!
//! The cipher is ChaCha20-Poly1305, with a key that is derived (HKDF-SHA256) from something that only the client has. The console keeps no key of its own, so any console can open what another one sealed.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};

/// Seals and opens data for whoever has the same secret.
pub struct Seal(LessSafeKey);

impl Seal {
    /// For this purpose, with a key that is derived from all of these parts.
    ///
    /// Each part counts with its length: what ends one part cannot begin the next.
    pub fn of(purpose: &'static str, parts: &[&[u8]]) -> Self {
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
            .expect("the length of a key is one that HKDF can produce");
        Self(LessSafeKey::new(UnboundKey::from(expanded)))
    }

    /// The text, sealed; nothing if it is too long for the cipher.
    pub fn close(&self, text: &[u8]) -> Option<Vec<u8>> {
        let (nonce, mut text): ([u8; NONCE_LEN], _) = (rand::random(), text.to_vec());
        let once = Nonce::assume_unique_for_key(nonce);
        self.0
            .seal_in_place_append_tag(once, Aad::empty(), &mut text)
            .ok()?;
        Some([&nonce[..], &text].concat())
    }

    /// The text again; nothing if it was sealed with something else, or changed since.
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
        let seal = Seal::of("test", &[b"a", b"bc"]);
        let sealed = seal.close(b"a verifier").unwrap();
        assert!(!sealed.windows(8).any(|part| part == b"verifier"));
        assert_eq!(seal.open(&sealed).unwrap(), b"a verifier");
        assert_ne!(seal.close(b"a verifier").unwrap(), sealed);
        for other in [
            Seal::of("another", &[b"a", b"bc"]),
            Seal::of("test", &[b"ab", b"c"]),
            Seal::of("test", &[b"a", b"bc", b""]),
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
