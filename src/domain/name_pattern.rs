//! Patterns of lock names: `lock:invoice:1842` and `lock:invoice:1843` have the pattern
//! `lock:invoice:*`.

use super::LockKey;

/// Longer names have no pattern.
const MAX_NAME_BYTES: usize = 256;

/// The minimum length of a hexadecimal id. It must also contain a digit, so that words like
/// `deadbeef` do not count.
const MIN_HEX_ID: usize = 8;

/// The minimum length of other ids with letters and digits: ULID, Nano ID, Base64.
const MIN_MIXED_ID: usize = 16;

/// Replaces UUIDs, hexadecimal and other long ids, and digits in a name with `*`. Returns `None` if
/// there is nothing to replace, and for names that are not UTF-8 or longer than 256 bytes.
///
/// ```
/// # use lockkeeper::domain::name_pattern::pattern_of;
/// assert_eq!(pattern_of(&"lock:invoice:1842".into()).as_deref(), Some("lock:invoice:*"));
/// assert_eq!(pattern_of(&"lock:nightly-report".into()), None);
/// ```
pub fn pattern_of(key: &LockKey) -> Option<String> {
    let text = std::str::from_utf8(key.as_bytes()).ok()?;
    if text.len() > MAX_NAME_BYTES || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut pattern = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if starts_with_uuid(rest) {
            push_star(&mut pattern);
            UUID_LENGTH
        } else if first.is_ascii_alphanumeric() {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
            let (run, _) = rest.split_at(end.unwrap_or(rest.len()));
            push_run(run, &mut pattern);
            run.len()
        } else {
            pattern.push(first);
            first.len_utf8()
        };
        rest = rest.get(length..).unwrap_or("");
    }
    (pattern != text).then_some(pattern)
}

const UUID_LENGTH: usize = 36;

/// Whether the text starts with a UUID that is not followed by a letter or digit.
fn starts_with_uuid(text: &str) -> bool {
    let Some(head) = text.as_bytes().get(..UUID_LENGTH) else {
        return false;
    };
    let is_expected = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    let is_boundary = |byte: &u8| !byte.is_ascii_alphanumeric();
    head.iter().enumerate().all(is_expected)
        && text.as_bytes().get(UUID_LENGTH).is_none_or(is_boundary)
}

/// Appends a run of letters and digits, with ids and numbers replaced.
fn push_run(run: &str, pattern: &mut String) {
    let bytes = run.as_bytes();
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let is_hex = bytes.len() >= MIN_HEX_ID && bytes.iter().all(u8::is_ascii_hexdigit);
    if has_digit && (is_hex || bytes.len() >= MIN_MIXED_ID) {
        push_star(pattern);
        return;
    }
    for c in run.chars() {
        if c.is_ascii_digit() {
            push_star(pattern);
        } else {
            pattern.push(c);
        }
    }
}

/// Appends a star, unless the pattern already ends with one.
fn push_star(pattern: &mut String) {
    if !pattern.ends_with('*') {
        pattern.push('*');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_and_numbers_are_replaced_by_a_star() {
        for (name, pattern) in [
            ("lock:invoice:1842", "lock:invoice:*"),
            ("lock:user42", "lock:user*"),
            ("lock:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:a", "lock:*:a"),
            ("lock:9f86d081884c7d65:x", "lock:*:x"),
            ("lock:01ARZ3NDEKTSV4RRFFQ69G5FAV", "lock:*"),
            ("report-2026-11-21", "report-*-*-*"),
            ("{order:42}:lock", "{order:*}:lock"),
            ("sperre:größe7", "sperre:größe*"),
        ] {
            assert_eq!(pattern_of(&name.into()).as_deref(), Some(pattern), "{name}");
        }
    }

    #[test]
    fn names_without_numbers_and_binary_or_long_names_have_no_pattern() {
        for name in ["lock:nightly-report", "", "lock:deadbeef", "*"] {
            assert_eq!(pattern_of(&name.into()), None, "{name}");
        }
        assert_eq!(pattern_of(&LockKey::new([b'1', 0xff])), None);
        assert_eq!(
            pattern_of(&LockKey::new(vec![b'1'; MAX_NAME_BYTES + 1])),
            None
        );
    }

    proptest! {
        #[test]
        fn a_pattern_has_no_digits(name in "\\PC{0,60}") {
            let pattern = pattern_of(&name.as_str().into()).unwrap_or_default();
            prop_assert!(!pattern.bytes().any(|byte| byte.is_ascii_digit()), "{pattern}");
        }
    }
}
