//! The secret token that proves ownership of a lock.

use data_encoding::HEXLOWER;
use zeroize::{Zeroize as _, Zeroizing};

use super::detected_lock::fingerprint;
use crate::domain::Fingerprint;

/// The maximum length of the label in a token, in characters.
const MAX_LABEL_CHARS: usize = 64;

/// The secret with which an owner extends and releases a lock. Its `Debug` output is redacted.
///
/// Generate a new one for every acquire: the rollback of a failed attempt identifies it by its
/// token.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token(Vec<u8>);

impl Token {
    /// Generates an unguessable token that contains the owner's label: `lockkeeper:<label>:<32 hex
    /// digits>`.
    pub fn generate(label: &str) -> Self {
        // `:` separates the parts of a token, so it must not occur in the label.
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '@' | '-');
        let label: String = label
            .chars()
            .take(MAX_LABEL_CHARS)
            .map(|c| if is_allowed(c) { c } else { '-' })
            .collect();
        let label = if label.is_empty() { "unnamed" } else { &label };
        // The hex text is a second copy of the secret, so it is erased when dropped.
        let secret = Zeroizing::new(HEXLOWER.encode(&rand::random::<[u8; 16]>()));
        Self(format!("lockkeeper:{label}:{}", *secret).into_bytes())
    }

    /// Generates a new token with the same label. A token that was not generated here is returned
    /// unchanged.
    pub fn regenerate(&self) -> Self {
        let label = std::str::from_utf8(&self.0)
            .ok()
            .and_then(|text| text.strip_prefix("lockkeeper:")?.rsplit_once(':'))
            .map(|(label, _)| label);
        label.map_or_else(|| self.clone(), Self::generate)
    }

    /// Creates a token from bytes that a caller supplied.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The secret bytes. For requests to a node and for the one response that returns the token.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The label of a token that was generated here; empty for any other.
    pub fn label(&self) -> &str {
        let text = std::str::from_utf8(&self.0).unwrap_or_default();
        text.strip_prefix("lockkeeper:")
            .and_then(|rest| rest.rsplit_once(':'))
            .map_or("", |(label, _)| label)
    }

    /// The fingerprint that is displayed in place of the token.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.0)
    }
}

/// Zeroed on drop, so that freed memory does not reveal tokens to a core dump or a later
/// allocation.
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
    fn a_generated_token_contains_the_label_and_a_random_secret() {
        let (first, second) = (
            Token::generate("api-3@host:7/x y"),
            Token::generate("api-3@host:7/x y"),
        );
        let text = String::from_utf8(first.expose().to_vec()).unwrap();
        let parts: Vec<&str> = text.split(':').collect();
        assert_eq!(parts[..2], ["lockkeeper", "api-3@host-7-x-y"]);
        assert!(parts[2].len() == 32 && parts[2].bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(first, second);
        assert_eq!(first.label(), "api-3@host-7-x-y");
        assert_eq!(Token::from_bytes([0xff, b':']).label(), "");
        assert!(!format!("{first:?}").contains(parts[2]));
    }

    #[test]
    fn a_regenerated_token_has_the_same_label_and_another_secret() {
        let first = Token::generate("api-3@host");
        let second = first.regenerate();
        assert!(second.expose().starts_with(b"lockkeeper:api-3@host:"));
        assert!(first != second && first.expose().len() == second.expose().len());
        let foreign = Token::from_bytes("theirs");
        assert!(foreign.regenerate() == foreign);
    }

    #[test]
    fn a_label_is_truncated_and_never_empty() {
        assert!(Token::generate(&"ü".repeat(1000)).expose().len() <= 11 + 64 + 1 + 32);
        assert!(
            Token::generate("")
                .expose()
                .starts_with(b"lockkeeper:unnamed:")
        );
    }
}
