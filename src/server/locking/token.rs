//! The secret that proves ownership.

use std::fmt::Write as _;

use crate::domain::Fingerprint;

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
        let secret = rand::random::<[u8; 16]>()
            .iter()
            .fold(String::new(), |mut hex, byte| {
                let _infallible = write!(hex, "{byte:02x}");
                hex
            });
        Self(format!("lockkeeper:{label}:{secret}").into_bytes())
    }

    /// A token that somebody brings along.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes themselves: for Redis and for the one answer that hands it out.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// What people see of it.
    pub fn fingerprint(&self) -> Fingerprint {
        crate::server::formats::fingerprint(&self.0)
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
        assert!(!format!("{one:?}").contains(parts[2]));
    }

    #[test]
    fn a_label_is_kept_short_and_is_never_empty() {
        assert!(Token::mint(&"ü".repeat(1000)).expose().len() <= 11 + 64 + 1 + 32);
        assert!(Token::mint("").expose().starts_with(b"lockkeeper:unnamed:"));
    }
}
