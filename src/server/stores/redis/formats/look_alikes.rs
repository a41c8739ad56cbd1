//! Keys that look like locks but are not: throttles, sessions, cached values, counters, and
//! companion keys of locks ([`companions`]).
//!
//! | rejected | reason |
//! |---|---|
//! | companion keys, by name | they belong to a lock with its own key |
//! | `lockkeeper:fence:*` | a fencing counter of this console |
//! | `bull:*:stalled-check`, `rq:clean_registries:*`, `rq:scheduler_lock`, `*:timer` … | throttles without an owner |
//! | `PHPREDIS_SESSION:<id>`, `spring:session:*`, `sess:*` | sessions (a session's lock, `…_LOCK`, is a lock) |
//! | JSON, PHP, pickle, msgpack, zlib, gzip, zstd, xz | cached values; tokens have no structure |
//! | a bare number or `true` | a counter, semaphore or switch, unless it has a TTL *and* a lock-like name |

use super::{NameHint, companions, msgpack, shapes};
use crate::server::config::RESERVED_PREFIX;

/// Whether the console itself writes this key. Such keys are excluded regardless of the configured
/// patterns.
pub fn is_console_key(key: &[u8]) -> bool {
    key.starts_with(RESERVED_PREFIX)
}

/// Prefixes of keys that are not locks.
const PREFIXES: [&[u8]; 4] = [
    b"rq:clean_registries:",
    b"spring:session:",
    b"sess:",
    b"symfony_check_support_time",
];

/// Suffixes of keys that are not locks.
const SUFFIXES: [&[u8]; 3] = [b":stalled-check", b"symfony_check_support_time", b":timer"];

/// Whether a key with this name is not a lock.
pub fn is_excluded_name(key: &[u8]) -> bool {
    let is_session = key.starts_with(b"PHPREDIS_SESSION:") && !key.ends_with(b"_LOCK");
    PREFIXES.iter().any(|prefix| key.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| key.ends_with(suffix))
        || companions::is_companion(key)
        // rq-scheduler stores its start time in this key and deletes it unconditionally.
        || key == b"rq:scheduler_lock"
        || is_session
}

/// Whether the bytes contain `part`.
pub fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Whether the value is not a token.
pub fn is_excluded_value(value: &[u8], has_ttl: bool, name_hint: NameHint) -> bool {
    is_json(value)
        || (is_php(value) && !(is_laravel_token(value) && name_hint.is_lock_like))
        || is_binary_format(value)
        || msgpack::is_msgpack(value)
        || is_counter_or_switch(value, has_ttl, name_hint)
}

/// A JSON object, array or string. JSON is UTF-8, unlike random bytes that start with a brace.
fn is_json(value: &[u8]) -> bool {
    let is_enclosed = matches!(
        value.trim_ascii(),
        [b'{', .., b'}'] | [b'[', .., b']'] | [b'"', .., b'"']
    );
    // A truncated value has no closing bracket.
    let is_opened =
        value.starts_with(b"{\"") || value.starts_with(b"[{") || value.starts_with(b"[\"");
    (is_enclosed || is_opened) && std::str::from_utf8(value).is_ok()
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

/// A serialised Laravel token: 16 letters and digits.
pub fn is_laravel_token(value: &[u8]) -> bool {
    let token = value
        .strip_prefix(b"s:16:\"")
        .and_then(|rest| rest.strip_suffix(b"\";"));
    token.is_some_and(|token| token.len() == 16 && token.iter().all(u8::is_ascii_alphanumeric))
}

/// Pickle (which ends with a full stop), gzip, zlib, zstd or xz, by their magic bytes. Flask-Caching
/// writes an exclamation mark before the pickle, dogpile.cache its metadata. The magic bytes of zlib
/// are short: one in 65,536 random tokens of rslock starts with them.
fn is_binary_format(value: &[u8]) -> bool {
    matches!(
        value,
        [0x80, 0x00..=0x05, .., b'.']
            | [b'!', 0x80, 0x00..=0x05, .., b'.']
            | [0x1f, 0x8b, 0x08, ..]
            | [0x78, 0x9c, ..]
            | [0x28, 0xb5, 0x2f, 0xfd, ..]
            | [0xfd, b'7', b'z', b'X', b'Z', 0x00, ..]
    ) || value.starts_with(b"{\"ct\": ")
}

/// An integer or a boolean word. A timestamp without a TTL is not excluded, because legacy locks
/// have such values.
fn is_counter_or_switch(value: &[u8], has_ttl: bool, name_hint: NameHint) -> bool {
    if has_ttl && name_hint.is_lock_like {
        return false;
    }
    let may_be_timestamp = !has_ttl && matches!(value.len(), 10 | 13) && !value.starts_with(b"-");
    (shapes::is_integer(value) && !may_be_timestamp)
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

#[cfg(test)]
mod tests;
