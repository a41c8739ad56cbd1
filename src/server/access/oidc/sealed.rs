//! What is kept of a sign-in where several consoles read it: sealed with what only the browser has that began it.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};

/// Seals and opens what was kept under one `state`.
pub struct Seal(LessSafeKey);

impl Seal {
    /// Of this `state`.
    pub fn of(state: &str) -> Self {
        let extracted = Salt::new(HKDF_SHA256, b"lockkeeper sign-in").extract(state.as_bytes());
        let expanded = extracted
            .expand(&[b"pending"], &CHACHA20_POLY1305)
            .expect("a key is not too long for it");
        Self(LessSafeKey::new(UnboundKey::from(expanded)))
    }

    /// Nothing where it cannot be written.
    pub fn close(&self, text: &[u8]) -> Option<Vec<u8>> {
        let (nonce, mut text): ([u8; NONCE_LEN], _) = (rand::random(), text.to_vec());
        let once = Nonce::assume_unique_for_key(nonce);
        let sealed = self
            .0
            .seal_in_place_append_tag(once, Aad::empty(), &mut text);
        sealed.ok()?;
        Some([&nonce[..], &text].concat())
    }

    /// Nothing where it was sealed with something else, or changed since.
    pub fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = text.to_vec();
        let opened = self.0.open_in_place(nonce, Aad::empty(), &mut text);
        opened.ok().map(|opened| opened.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_state_opens_it() {
        let sealed = Seal::of("a").close(b"a verifier").unwrap();
        assert!(!sealed.windows(8).any(|part| part == b"verifier"));
        assert_eq!(Seal::of("a").open(&sealed).unwrap(), b"a verifier");
        assert!(Seal::of("b").open(&sealed).is_none());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(Seal::of("a").open(&changed).is_none(), "{at}");
        }
    }
}
