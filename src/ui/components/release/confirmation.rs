//! What is typed to confirm a release in production: the lock's name, or its owner's fingerprint where the name cannot be typed.

use crate::domain::{Fingerprint, LockKey};
use crate::ui::format;
use crate::ui::words::act as words;

/// Longer names are not typed out by anybody.
const MOST: usize = 200;

/// What has to be typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// What is asked for.
    pub label: &'static str,
    /// Why it is not the name, where it is not.
    pub hint: &'static str,
    /// The text that is expected.
    pub expected: String,
}

impl Confirmation {
    /// What confirms the release of this lock. An empty name would be confirmed by typing nothing, so it never is.
    pub fn of(key: &LockKey, fingerprint: &Fingerprint) -> Self {
        let name = key.text();
        let typable =
            !name.trim().is_empty() && name.trim() == name && format::visible(&name) == name;
        if typable && name.chars().count() <= MOST {
            return Self {
                label: words::type_name(),
                hint: "",
                expected: name.into_owned(),
            };
        }
        Self {
            label: words::type_fingerprint(),
            hint: words::cannot_be_typed(),
            expected: fingerprint.as_str().to_owned(),
        }
    }

    /// Whether this was typed.
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
