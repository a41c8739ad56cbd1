//! Redacts the raw contents of a key. Only numbers and words that no library uses as a token are
//! shown; everything else is masked.

use super::{detect_with_patterns, fingerprint};
use crate::domain::raw::{RawKey, RawPart, RawText};
use crate::server::config::KeyPatterns;
use crate::server::stores::redis::key_state::{KeyState, RedisValue, Ttl};

/// Field names and values that libraries write in addition to the owners.
const VISIBLE_WORDS: [&[u8]; 6] = [b"mode", b"read", b"write", b"token", b"count", b"value"];
/// A longer number may be a token. Timestamps in milliseconds have 13 digits.
const MAX_NUMBER_DIGITS: usize = 13;

/// Redacts a key. For a key that is not a lock, only type, size and TTL are shown: it is unrelated
/// data, and the fingerprint of a short value reveals the value.
pub fn redact(state: &KeyState, patterns: KeyPatterns<'_>) -> RawKey {
    if detect_with_patterns(state, patterns).is_none() {
        return hide(state);
    }
    let single = |name: RawText| RawPart {
        name: Some(name),
        value: None,
    };
    let (kind, parts) = match &state.value {
        // The value of a string is the owner, even if it is a number.
        RedisValue::Text(bytes) => ("string", vec![single(mask(bytes))]),
        RedisValue::Hash(fields) => {
            let part = |(field, value): &(Vec<u8>, Vec<u8>)| RawPart {
                name: Some(redact_field(field)),
                value: Some(redact_value(value)),
            };
            ("hash", fields.iter().map(part).collect())
        }
        RedisValue::Set(members) => (
            "set",
            members.iter().map(|member| single(mask(member))).collect(),
        ),
        RedisValue::SortedSet(members) => {
            let part = |(member, score): &(Vec<u8>, f64)| RawPart {
                name: Some(mask(member)),
                value: Some(RawText::Shown(score.to_string())),
            };
            ("zset", members.iter().map(part).collect())
        }
        RedisValue::List(elements) => (
            "list",
            elements.iter().map(|member| single(mask(member))).collect(),
        ),
        RedisValue::TooLarge => ("", Vec::new()),
        RedisValue::Other { type_name } => (type_name.as_str(), Vec::new()),
    };
    raw_key(state, kind, parts)
}

fn hide(state: &KeyState) -> RawKey {
    let size = |bytes: &[u8]| RawText::Hidden {
        bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
    };
    let single = |bytes: &Vec<u8>| RawPart {
        name: Some(size(bytes)),
        value: None,
    };
    let (kind, parts) = match &state.value {
        RedisValue::Text(bytes) => ("string", vec![single(bytes)]),
        RedisValue::Hash(fields) => {
            let part = |(field, value): &(Vec<u8>, Vec<u8>)| RawPart {
                name: Some(size(field)),
                value: Some(size(value)),
            };
            ("hash", fields.iter().map(part).collect())
        }
        RedisValue::Set(members) => ("set", members.iter().map(single).collect()),
        RedisValue::SortedSet(members) => (
            "zset",
            members
                .iter()
                .map(|(member, _score)| single(member))
                .collect(),
        ),
        RedisValue::List(elements) => ("list", elements.iter().map(single).collect()),
        RedisValue::TooLarge => ("", Vec::new()),
        RedisValue::Other { type_name } => (type_name.as_str(), Vec::new()),
    };
    raw_key(state, kind, parts)
}

fn raw_key(state: &KeyState, kind: &str, parts: Vec<RawPart>) -> RawKey {
    RawKey {
        kind: Some(kind.to_owned()).filter(|kind| !kind.is_empty()),
        ttl_ms: match state.ttl {
            Ttl::Ms(ms) => Some(ms),
            Ttl::Never => None,
        },
        parts,
    }
}

fn mask(bytes: &[u8]) -> RawText {
    RawText::Masked {
        fingerprint: fingerprint(bytes),
        bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
    }
}

/// A field name: a known word, else an owner.
fn redact_field(bytes: &[u8]) -> RawText {
    match std::str::from_utf8(bytes) {
        Ok(text) if VISIBLE_WORDS.contains(&bytes) => RawText::Shown(text.to_owned()),
        Ok(_) | Err(_) => mask(bytes),
    }
}

/// A field value: a count, a timestamp or a known word.
fn redact_value(bytes: &[u8]) -> RawText {
    let is_number = bytes.len() <= MAX_NUMBER_DIGITS && bytes.iter().all(u8::is_ascii_digit);
    match std::str::from_utf8(bytes) {
        Ok(text) if is_number => RawText::Shown(text.to_owned()),
        Ok(_) | Err(_) => redact_field(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn key(value: RedisValue) -> RawKey {
        let at = Timestamp::from_millis(0);
        let state = KeyState::without_companions("lock:a".into(), value, Ttl::Ms(9_000), at);
        redact(&state, KeyPatterns::default())
    }

    #[test]
    fn an_owner_is_masked_and_counts_and_known_words_are_shown() {
        let owner = b"8743c9c0-0795-4907-87fd-6c719a6b4586:87:write".to_vec();
        let raw = key(RedisValue::Hash(vec![
            (owner.clone(), b"2".to_vec()),
            (b"mode".to_vec(), b"write".to_vec()),
        ]));
        assert_eq!(
            (raw.kind.as_deref(), raw.ttl_ms),
            (Some("hash"), Some(9_000))
        );
        assert_eq!(raw.parts[0].name, Some(mask(&owner)));
        assert_eq!(raw.parts[0].value, Some(RawText::Shown("2".into())));
        assert_eq!(raw.parts[1].value, Some(RawText::Shown("write".into())));
    }

    #[test]
    fn no_part_of_a_token_is_shown_for_any_type() {
        let token = b"secret-of-an-owner".to_vec();
        for value in [
            RedisValue::Text(token.clone()),
            RedisValue::Text(b"1795200000".to_vec()),
            RedisValue::Hash(vec![(b"token".to_vec(), token.clone())]),
            RedisValue::Set(vec![token.clone()]),
            RedisValue::SortedSet(vec![(token.clone(), 1.5)]),
            RedisValue::List(vec![token]),
        ] {
            let json = serde_json::to_string(&key(value)).unwrap();
            assert!(!json.contains("secret"), "{json}");
            assert!(!json.contains("1795200000"), "{json}");
        }
    }

    #[test]
    fn only_type_and_size_of_other_keys_are_shown() {
        for value in [
            RedisValue::Text(b"493027".to_vec()),
            RedisValue::Hash(vec![(b"salary".to_vec(), b"91000".to_vec())]),
            RedisValue::Hash(vec![(b"token".to_vec(), b"7".to_vec())]),
            RedisValue::SortedSet(vec![(b"alice".to_vec(), 18250.0)]),
            RedisValue::List(vec![b"4711".to_vec()]),
        ] {
            let at = Timestamp::from_millis(0);
            let state = KeyState::without_companions("user:42".into(), value, Ttl::Ms(9_000), at);
            let raw = redact(&state, KeyPatterns::default());
            let is_hidden = |text: &Option<RawText>| {
                text.as_ref()
                    .is_none_or(|text| matches!(text, RawText::Hidden { .. }))
            };
            let mut parts = raw.parts.iter();
            assert!(
                parts.all(|part| is_hidden(&part.name) && is_hidden(&part.value)),
                "{raw:?}"
            );
        }
    }
}
