//! The text that confirms a release in production: the lock's name, or the owner's fingerprint if
//! the name cannot be typed.

use crate::domain::{Fingerprint, LockKey};
use crate::ui::format;
use crate::ui::i18n::operations as t;

/// Longer names are not practical to type.
const MAX_TYPED_CHARS: usize = 200;

/// The text that the user must type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// The label of the field.
    pub label: &'static str,
    /// Why the fingerprint is required instead of the name. Empty for a name.
    pub hint: &'static str,
    /// The expected text.
    pub expected: String,
}

impl Confirmation {
    /// Chooses the text for a lock. An empty name cannot serve as confirmation, because an empty
    /// field would match it.
    pub fn of(key: &LockKey, fingerprint: &Fingerprint) -> Self {
        let name = key.text();
        let is_typable = !name.trim().is_empty()
            && name.trim() == name
            && format::escape_invisible(&name) == name;
        if is_typable && name.chars().count() <= MAX_TYPED_CHARS {
            return Self {
                label: t::type_name(),
                hint: "",
                expected: name.into_owned(),
            };
        }
        Self {
            label: t::type_fingerprint(),
            hint: t::name_cannot_be_typed(),
            expected: fingerprint.as_str().to_owned(),
        }
    }

    /// Whether the typed text matches.
    pub fn is_met(&self, typed: &str) -> bool {
        typed == self.expected
            || (!self.hint.is_empty()
                && typed.replace(' ', "").eq_ignore_ascii_case(&self.expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_name_is_typed_exactly() {
        let fingerprint = Fingerprint::parse("41ab77c091d2e3f8").unwrap();
        let name = Confirmation::of(&"lock:invoice:1842".into(), &fingerprint);
        assert!(name.is_met("lock:invoice:1842"));
        assert!(!name.is_met("lock:invoice:184"));
        assert!(!name.is_met("Lock:invoice:1842"));
    }

    #[test]
    fn a_name_that_cannot_be_typed_is_replaced_by_the_fingerprint() {
        let fingerprint = Fingerprint::parse("41ab77c091d2e3f8").unwrap();
        for key in ["", " ", "a\nb", "padded ", &"x".repeat(10_000)] {
            let confirmation = Confirmation::of(&key.into(), &fingerprint);
            assert!(!confirmation.is_met(""), "{key:?}");
            assert!(!confirmation.is_met(key));
            assert!(confirmation.is_met("41AB 77c0 91d2 e3f8"));
        }
    }

    #[test]
    fn bytes_are_typed_the_way_they_are_shown() {
        let fingerprint = Fingerprint::parse("41ab77c091d2e3f8").unwrap();
        assert!(Confirmation::of(&LockKey::new([0xff, b'a']), &fingerprint).is_met("%FFa"));
    }
}
