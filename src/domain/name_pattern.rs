//! What many names have in common: `lock:invoice:1842` and `lock:invoice:1843` are both `lock:invoice:*`.

use super::LockKey;

/// Longer names have no pattern: nobody numbers them.
const LONGEST: usize = 256;

/// So many hex digits in a row, one of them a digit, are an id and not a word.
const HEX_ID: usize = 8;

/// Letters and digits mixed over this length are an id as well: a ULID, a nano id, Base64.
const MIXED_ID: usize = 16;

/// The name with everything that numbers it replaced by `*`: UUIDs, ids in hex, other long ids, and digits. Nothing where there
/// is nothing to replace, and for names that are no text or very long.
///
/// ```
/// # use lockkeeper::domain::name_pattern::pattern_of;
/// assert_eq!(pattern_of(&"lock:invoice:1842".into()).as_deref(), Some("lock:invoice:*"));
/// assert_eq!(pattern_of(&"lock:nightly-report".into()), None);
/// ```
pub fn pattern_of(key: &LockKey) -> Option<String> {
    let text = std::str::from_utf8(key.as_bytes()).ok()?;
    if text.len() > LONGEST || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut pattern = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if is_uuid(rest) {
            star(&mut pattern);
            UUID
        } else if first.is_ascii_alphanumeric() {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
            let (run, _) = rest.split_at(end.unwrap_or(rest.len()));
            replace(run, &mut pattern);
            run.len()
        } else {
            pattern.push(first);
            first.len_utf8()
        };
        rest = rest.get(length..).unwrap_or("");
    }
    (pattern != text).then_some(pattern)
}

const UUID: usize = 36;

/// Whether the text begins with `8-4-4-4-12` hex digits that end there.
fn is_uuid(text: &str) -> bool {
    let Some(head) = text.as_bytes().get(..UUID) else {
        return false;
    };
    let fits = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    let ends = |byte: &u8| !byte.is_ascii_alphanumeric();
    head.iter().enumerate().all(fits) && text.as_bytes().get(UUID).is_none_or(ends)
}

/// Letters and digits between two other characters.
fn replace(run: &str, pattern: &mut String) {
    let bytes = run.as_bytes();
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let is_hex = bytes.len() >= HEX_ID && bytes.iter().all(u8::is_ascii_hexdigit);
    if has_digit && (is_hex || bytes.len() >= MIXED_ID) {
        star(pattern);
        return;
    }
    for c in run.chars() {
        if c.is_ascii_digit() {
            star(pattern);
        } else {
            pattern.push(c);
        }
    }
}

/// One star for however many things in a row.
fn star(pattern: &mut String) {
    if !pattern.ends_with('*') {
        pattern.push('*');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_numbers_a_name_is_a_star() {
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
    fn a_name_without_numbers_is_its_own_and_so_is_one_that_is_no_text() {
        for name in ["lock:nightly-report", "", "lock:deadbeef", "*"] {
            assert_eq!(pattern_of(&name.into()), None, "{name}");
        }
        assert_eq!(pattern_of(&LockKey::new([b'1', 0xff])), None);
        assert_eq!(pattern_of(&LockKey::new(vec![b'1'; LONGEST + 1])), None);
    }

    proptest! {
        #[test]
        fn a_pattern_has_no_digits(name in "\\PC{0,60}") {
            let pattern = pattern_of(&name.as_str().into()).unwrap_or_default();
            prop_assert!(!pattern.bytes().any(|byte| byte.is_ascii_digit()), "{pattern}");
        }
    }
}
