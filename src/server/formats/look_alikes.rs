//! What looks like a lock and is not: throttles, sessions, cached values, counters, and companions of locks ([`companions`]).
//!
//! | refused | because |
//! |---|---|
//! | a companion by its name | it belongs to a lock that has a key of its own |
//! | `lockkeeper:fence:*` | our own counter beside a lock |
//! | `bull:*:stalled-check`, `rq:clean_registries:*`, `rq:scheduler_lock`, `*:timer` … | "not before" marks: nobody holds them |
//! | `PHPREDIS_SESSION:<id>`, `spring:session:*`, `sess:*` | sessions (the lock of one, `…_LOCK`, is a lock) |
//! | JSON, PHP, pickle, gzip, zstd | a cached value; tokens have no structure |
//! | a bare number or `true` | a counter, a semaphore, a switch — unless it has a TTL *and* the name of a lock |

use super::{Hint, companions, shapes};
use crate::server::config::RESERVED;

/// Whether this is a counter of our own, whatever a pattern says.
pub fn is_ours(key: &[u8]) -> bool {
    key.starts_with(RESERVED)
}

/// Starts of names that belong to no lock.
const PREFIXES: [&[u8]; 4] = [
    b"rq:clean_registries:",
    b"spring:session:",
    b"sess:",
    b"symfony_check_support_time",
];

/// Ends of names that belong to no lock.
const SUFFIXES: [&[u8]; 3] = [b":stalled-check", b"symfony_check_support_time", b":timer"];

/// Whether the name belongs to no lock.
pub fn is_by_name(key: &[u8]) -> bool {
    let is_session = key.starts_with(b"PHPREDIS_SESSION:") && !key.ends_with(b"_LOCK");
    PREFIXES.iter().any(|prefix| key.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| key.ends_with(suffix))
        || companions::is_one(key)
        // rq-scheduler writes the moment at which it became the scheduler and deletes it without looking.
        || key == b"rq:scheduler_lock"
        || is_session
}

/// Whether the part stands somewhere in the bytes.
pub fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Whether no token looks like this.
pub fn is_by_value(value: &[u8], has_ttl: bool, hint: Hint) -> bool {
    is_json(value)
        || (is_php(value) && !(is_laravel_token(value) && hint.lock_like_name))
        || is_packed(value)
        || is_bare(value, has_ttl, hint)
}

/// An object, a list or a quoted text. JSON is UTF-8; random bytes that happen to start with a brace are not.
fn is_json(value: &[u8]) -> bool {
    let looks = matches!(
        value.trim_ascii(),
        [b'{', .., b'}'] | [b'[', .., b']'] | [b'"', .., b'"']
    );
    let opens = value.starts_with(b"{\"") || value.starts_with(b"[{") || value.starts_with(b"[\"");
    (looks || opens) && std::str::from_utf8(value).is_ok()
}

/// PHP's `serialize()`: `a:2:{`, `O:8:"stdClass"`, `s:5:"`, `i:7;`, `b:1;`, `d:0.5;`, `N;`.
fn is_php(value: &[u8]) -> bool {
    match value {
        [b'a' | b'O' | b'C' | b'E' | b's', b':', digit, rest @ ..] => {
            let after = rest.iter().find(|byte| !byte.is_ascii_digit());
            digit.is_ascii_digit()
                && after == Some(&b':')
                && matches!(value.last(), Some(b'}' | b';'))
        }
        [b'i' | b'b' | b'd', b':', b'0'..=b'9' | b'-', .., b';'] | b"N;" => true,
        _ => false,
    }
}

/// Laravel's lock token when its cache serialises: 16 letters and digits.
pub fn is_laravel_token(value: &[u8]) -> bool {
    let token = value
        .strip_prefix(b"s:16:\"")
        .and_then(|rest| rest.strip_suffix(b"\";"));
    token.is_some_and(|token| token.len() == 16 && token.iter().all(u8::is_ascii_alphanumeric))
}

/// Python's pickle (it ends with a full stop), gzip and zstd, by their first bytes.
fn is_packed(value: &[u8]) -> bool {
    matches!(
        value,
        [0x80, 0x00..=0x05, .., b'.'] | [0x1f, 0x8b, 0x08, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..]
    )
}

/// A whole number or a switch. Without a TTL a moment may pass on: it is what a legacy lock writes.
fn is_bare(value: &[u8], has_ttl: bool, hint: Hint) -> bool {
    if has_ttl && hint.lock_like_name {
        return false;
    }
    let may_be_moment = !has_ttl && matches!(value.len(), 10 | 13) && !value.starts_with(b"-");
    (shapes::is_integer(value) && !may_be_moment)
        || [
            &b"true"[..],
            b"false",
            b"null",
            b"on",
            b"off",
            b"yes",
            b"no",
        ]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}
