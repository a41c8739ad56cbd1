//! What of a key's bytes may be shown: numbers and words that no library takes for a token. Everything else is masked.

use super::recognise_named;
use super::recognised::fingerprint;
use crate::domain::raw::{RawKey, RawPart, RawText};
use crate::server::config::Naming;
use crate::server::sighting::{Sighting, Ttl, Value};

/// Words that libraries write beside their owners.
const WORDS: [&[u8]; 6] = [b"mode", b"read", b"write", b"token", b"count", b"value"];
/// A number with more digits may be somebody's token.
const LONGEST_NUMBER: usize = 13;

/// A key without its secrets. Of one that no format recognises, nothing but its type, its size and its expiry is shown: it is
/// anybody's data, and the fingerprint of a short value is as good as the value.
pub fn shown(sighting: &Sighting, naming: Naming<'_>) -> RawKey {
    if recognise_named(sighting, naming).is_none() {
        return hidden(sighting);
    }
    let single = |name: RawText| RawPart {
        name: Some(name),
        value: None,
    };
    let (kind, parts) = match &sighting.value {
        // A string is what its owner wrote, also where it is a number.
        Value::Text(bytes) => ("string", vec![single(masked(bytes))]),
        Value::Hash(fields) => {
            let part = |(field, value): &(Vec<u8>, Vec<u8>)| RawPart {
                name: Some(word(field)),
                value: Some(number(value)),
            };
            ("hash", fields.iter().map(part).collect())
        }
        Value::Set(members) => (
            "set",
            members.iter().map(|one| single(masked(one))).collect(),
        ),
        Value::SortedSet(members) => {
            let part = |(member, score): &(Vec<u8>, f64)| RawPart {
                name: Some(masked(member)),
                value: Some(RawText::Shown(score.to_string())),
            };
            ("zset", members.iter().map(part).collect())
        }
        Value::List(elements) => (
            "list",
            elements.iter().map(|one| single(masked(one))).collect(),
        ),
        Value::TooLarge => ("", Vec::new()),
        Value::Other { type_name } => (type_name.as_str(), Vec::new()),
    };
    key_of(sighting, kind, parts)
}

fn hidden(sighting: &Sighting) -> RawKey {
    let size = |bytes: &[u8]| RawText::Hidden {
        bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
    };
    let single = |bytes: &Vec<u8>| RawPart {
        name: Some(size(bytes)),
        value: None,
    };
    let (kind, parts) = match &sighting.value {
        Value::Text(bytes) => ("string", vec![single(bytes)]),
        Value::Hash(fields) => {
            let part = |(field, value): &(Vec<u8>, Vec<u8>)| RawPart {
                name: Some(size(field)),
                value: Some(size(value)),
            };
            ("hash", fields.iter().map(part).collect())
        }
        Value::Set(members) => ("set", members.iter().map(single).collect()),
        Value::SortedSet(members) => (
            "zset",
            members
                .iter()
                .map(|(member, _score)| single(member))
                .collect(),
        ),
        Value::List(elements) => ("list", elements.iter().map(single).collect()),
        Value::TooLarge => ("", Vec::new()),
        Value::Other { type_name } => (type_name.as_str(), Vec::new()),
    };
    key_of(sighting, kind, parts)
}

fn key_of(sighting: &Sighting, kind: &str, parts: Vec<RawPart>) -> RawKey {
    RawKey {
        kind: Some(kind.to_owned()).filter(|kind| !kind.is_empty()),
        ttl_ms: match sighting.ttl {
            Ttl::Ms(ms) => Some(ms),
            Ttl::Never => None,
        },
        parts,
    }
}

fn masked(bytes: &[u8]) -> RawText {
    RawText::Masked {
        fingerprint: fingerprint(bytes),
        bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
    }
}

/// A field: the words of libraries, else an owner.
fn word(bytes: &[u8]) -> RawText {
    match std::str::from_utf8(bytes) {
        Ok(text) if WORDS.contains(&bytes) => RawText::Shown(text.to_owned()),
        Ok(_) | Err(_) => masked(bytes),
    }
}

/// A field's value: how often, until when, or a word.
fn number(bytes: &[u8]) -> RawText {
    let is_number = bytes.len() <= LONGEST_NUMBER && bytes.iter().all(u8::is_ascii_digit);
    match std::str::from_utf8(bytes) {
        Ok(text) if is_number => RawText::Shown(text.to_owned()),
        Ok(_) | Err(_) => word(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn key(value: Value) -> RawKey {
        let at = Timestamp::from_millis(0);
        let sighting = Sighting::alone("lock:a".into(), value, Ttl::Ms(9_000), at);
        shown(&sighting, Naming::default())
    }

    #[test]
    fn an_owner_is_masked_and_what_stands_beside_it_is_shown() {
        let owner = b"8743c9c0-0795-4907-87fd-6c719a6b4586:87:write".to_vec();
        let raw = key(Value::Hash(vec![
            (owner.clone(), b"2".to_vec()),
            (b"mode".to_vec(), b"write".to_vec()),
        ]));
        assert_eq!(
            (raw.kind.as_deref(), raw.ttl_ms),
            (Some("hash"), Some(9_000))
        );
        assert_eq!(raw.parts[0].name, Some(masked(&owner)));
        assert_eq!(raw.parts[0].value, Some(RawText::Shown("2".into())));
        assert_eq!(raw.parts[1].value, Some(RawText::Shown("write".into())));
    }

    #[test]
    fn no_byte_of_a_token_leaves_in_any_shape() {
        let token = b"secret-of-somebody".to_vec();
        for value in [
            Value::Text(token.clone()),
            Value::Text(b"1795200000".to_vec()),
            Value::Hash(vec![(b"token".to_vec(), token.clone())]),
            Value::Set(vec![token.clone()]),
            Value::SortedSet(vec![(token.clone(), 1.5)]),
            Value::List(vec![token]),
        ] {
            let told = serde_json::to_string(&key(value)).unwrap();
            assert!(!told.contains("secret"), "{told}");
            assert!(!told.contains("1795200000"), "{told}");
        }
    }

    #[test]
    fn of_what_is_no_lock_nothing_but_type_and_size_is_shown() {
        for value in [
            Value::Text(b"493027".to_vec()),
            Value::Hash(vec![(b"salary".to_vec(), b"91000".to_vec())]),
            Value::Hash(vec![(b"token".to_vec(), b"7".to_vec())]),
            Value::SortedSet(vec![(b"alice".to_vec(), 18250.0)]),
            Value::List(vec![b"4711".to_vec()]),
        ] {
            let at = Timestamp::from_millis(0);
            let sighting = Sighting::alone("user:42".into(), value, Ttl::Ms(9_000), at);
            let raw = shown(&sighting, Naming::default());
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
