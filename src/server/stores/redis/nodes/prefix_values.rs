//! What the values under each prefix were so far in a scan pass, so that the next keys with the same
//! prefix need fewer commands.
//!
//! Names of one prefix usually hold values of one kind. The first keys are asked for their encoding;
//! once all of them were strings, the next ones are read at once. Each key is still considered: an
//! exception costs an error reply, and makes the pass ask for encodings under that prefix again.

use std::collections::HashMap;

use crate::domain::{LockKey, prefix};

/// The maximum number of prefixes. Clients choose the names, so the memory for them must be bounded.
const MAX_PREFIXES: usize = 1_000;

/// After this many strings and nothing else, a prefix holds strings.
const MIN_STRINGS: u32 = 20;

/// How a key is read first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstRead {
    /// Its encoding, which tells type and size.
    Encoding,
    /// The first bytes of its value: it is expected to be a string.
    Value,
    /// The first bytes of its value and its expiry: it is expected to be a string like a token, and
    /// only the expiry tells whether it is a lock.
    ValueAndExpiry,
}

/// The values under one prefix.
#[derive(Clone, Copy, Debug, Default)]
struct Values {
    strings: u32,
    /// The strings that look like a token.
    tokens: u32,
    has_others: bool,
}

/// The values under all prefixes.
#[derive(Debug, Default)]
pub struct PrefixValues(HashMap<String, Values>);

impl PrefixValues {
    /// How a key is read with the fewest commands.
    pub fn first_read(&self, key: &LockKey) -> FirstRead {
        match self.0.get(prefix::key_prefix(&key.text())) {
            Some(values) if !values.has_others && values.strings >= MIN_STRINGS => {
                if values.tokens >= values.strings / 2 {
                    FirstRead::ValueAndExpiry
                } else {
                    FirstRead::Value
                }
            }
            Some(_) | None => FirstRead::Encoding,
        }
    }

    /// Records that a key is a string, and whether it looks like a token.
    pub fn record_string(&mut self, key: &LockKey, is_token: bool) {
        if let Some(values) = self.values_of(key) {
            values.strings = values.strings.saturating_add(1);
            values.tokens = values.tokens.saturating_add(is_token.into());
        }
    }

    /// Records that a key is not a string.
    pub fn record_other(&mut self, key: &LockKey) {
        if let Some(values) = self.values_of(key) {
            values.has_others = true;
        }
    }

    fn values_of(&mut self, key: &LockKey) -> Option<&mut Values> {
        let name = key.text();
        let prefix = prefix::key_prefix(&name);
        if !self.0.contains_key(prefix) {
            if self.0.len() >= MAX_PREFIXES {
                return None;
            }
            self.0.insert(prefix.to_owned(), Values::default());
        }
        self.0.get_mut(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> LockKey {
        LockKey::new(name.as_bytes().to_vec())
    }

    #[test]
    fn strings_under_a_prefix_are_read_at_once_after_the_first_ones() {
        let mut values = PrefixValues::default();
        for n in 0..MIN_STRINGS {
            let key = key(&format!("page:{n}"));
            assert_eq!(values.first_read(&key), FirstRead::Encoding);
            values.record_string(&key, false);
        }
        assert_eq!(values.first_read(&key("page:99")), FirstRead::Value);
        assert_eq!(values.first_read(&key("user:99")), FirstRead::Encoding);
    }

    #[test]
    fn the_expiry_is_asked_for_at_once_where_most_strings_look_like_tokens() {
        let mut values = PrefixValues::default();
        for n in 0..2 * MIN_STRINGS {
            values.record_string(&key(&format!("order:{n}")), n % 4 != 0);
        }
        assert_eq!(
            values.first_read(&key("order:99")),
            FirstRead::ValueAndExpiry
        );
    }

    #[test]
    fn another_type_under_a_prefix_brings_back_the_question_for_the_encoding() {
        let mut values = PrefixValues::default();
        for n in 0..2 * MIN_STRINGS {
            values.record_string(&key(&format!("page:{n}")), false);
        }
        values.record_other(&key("page:99"));
        assert_eq!(values.first_read(&key("page:100")), FirstRead::Encoding);
    }

    #[test]
    fn the_number_of_prefixes_is_bounded() {
        let mut values = PrefixValues::default();
        for n in 0..2 * MAX_PREFIXES {
            values.record_string(&key(&format!("tenant-{n}x:page")), false);
        }
        assert_eq!(values.0.len(), MAX_PREFIXES);
    }
}
