//! The secret that proves ownership.

use crate::domain::Fingerprint;
use data_encoding::HEXLOWER;
use zeroize::{Zeroize as _, Zeroizing};

use crate::server::formats;

/// The longest label that a token carries.
const LONGEST_LABEL: usize = 64;

/// The secret with which an owner extends and releases. Its `Debug` shows nothing.
///
/// Take a fresh one for every acquire: what is left of a failed attempt is cleared away by its token.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token(Vec<u8>);

impl Token {
    /// A fresh token, unguessable, that names its owner readably: `lockkeeper:<label>:<32 hex digits>`.
    pub fn mint(label: &str) -> Self {
        let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '@' | '-');
        let label: String = label
            .chars()
            .take(LONGEST_LABEL)
            .map(|c| if is_fine(c) { c } else { '-' })
            .collect();
        let label = if label.is_empty() { "unnamed" } else { &label };
        let secret = Zeroizing::new(HEXLOWER.encode(&rand::random::<[u8; 16]>()));
        Self(format!("lockkeeper:{label}:{}", *secret).into_bytes())
    }

    /// A fresh token with the same label. One that was not minted here stays as it is.
    pub fn again(&self) -> Self {
        let label = std::str::from_utf8(&self.0)
            .ok()
            .and_then(|text| text.strip_prefix("lockkeeper:")?.rsplit_once(':'))
            .map(|(label, _)| label);
        label.map_or_else(|| self.clone(), Self::mint)
    }

    /// A token that somebody brings along.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes themselves: for Redis and for the one answer that hands it out.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The readable part of a token that was minted here; empty for any other.
    pub fn label(&self) -> &str {
        let text = std::str::from_utf8(&self.0).unwrap_or_default();
        text.strip_prefix("lockkeeper:")
            .and_then(|rest| rest.rsplit_once(':'))
            .map_or("", |(label, _)| label)
    }

    /// What people see of it.
    pub fn fingerprint(&self) -> Fingerprint {
        formats::fingerprint(&self.0)
    }
}

/// What is freed is not read out of a dump or by the next one to get that memory.
impl Drop for Token {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_owner_and_cannot_be_guessed() {
        let (one, other) = (
            Token::mint("api-3@host:7/x y"),
            Token::mint("api-3@host:7/x y"),
        );
        let text = String::from_utf8(one.expose().to_vec()).unwrap();
        let parts: Vec<&str> = text.split(':').collect();
        assert_eq!(parts[..2], ["lockkeeper", "api-3@host-7-x-y"]);
        assert!(parts[2].len() == 32 && parts[2].bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one, other);
        assert_eq!(one.label(), "api-3@host-7-x-y");
        assert_eq!(Token::from_bytes([0xff, b':']).label(), "");
        assert!(!format!("{one:?}").contains(parts[2]));
    }

    #[test]
    fn another_token_of_the_same_owner_has_the_same_label_and_another_secret() {
        let one = Token::mint("api-3@host");
        let other = one.again();
        assert!(other.expose().starts_with(b"lockkeeper:api-3@host:"));
        assert!(one != other && one.expose().len() == other.expose().len());
        let foreign = Token::from_bytes("theirs");
        assert!(foreign.again() == foreign);
    }

    #[test]
    fn a_label_is_kept_short_and_is_never_empty() {
        assert!(Token::mint(&"ü".repeat(1000)).expose().len() <= 11 + 64 + 1 + 32);
        assert!(Token::mint("").expose().starts_with(b"lockkeeper:unnamed:"));
    }
}
