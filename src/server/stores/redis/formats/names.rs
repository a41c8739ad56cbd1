//! Lock-like names.

use super::look_alikes::contains;

/// The words that commonly occur in the names of locks.
const LOCK_WORDS: [&[u8]; 7] = [
    b"lock",
    b"locks",
    b"mutex",
    b"lease",
    b"leader",
    b"redlock",
    b"redismutex",
];

/// Words that show that a random value is not the token of a lock: credentials, one-time codes,
/// identifiers and cached values.
const WORDS_OF_OTHER_DATA: [&[u8]; 47] = [
    b"apikey",
    b"auth",
    b"cache",
    b"cached",
    b"captcha",
    b"challenge",
    b"checksum",
    b"code",
    b"codes",
    b"confirmation",
    b"cookie",
    b"csrf",
    b"digest",
    b"etag",
    b"fingerprint",
    b"fragment",
    b"hash",
    b"html",
    b"idempotency",
    b"invite",
    b"jwt",
    b"limit",
    b"limiter",
    b"magic",
    b"md5",
    b"nonce",
    b"oauth",
    b"otp",
    b"password",
    b"pin",
    b"presence",
    b"rate",
    b"ratelimit",
    b"remember",
    b"reset",
    b"response",
    b"sess",
    b"session",
    b"sessions",
    b"sha1",
    b"sid",
    b"throttle",
    b"ticket",
    b"token",
    b"tokens",
    b"verification",
    b"verify",
];

/// Whether the name indicates that the value is something other than the token of a lock.
pub fn indicates_other_data(key: &[u8]) -> bool {
    is_function_call(key)
        || parts(key).any(|part| {
            WORDS_OF_OTHER_DATA
                .iter()
                .any(|word| part.eq_ignore_ascii_case(word))
        })
}

/// The name under which aiocache stores the result of a function: `shop.pricesget_price(7,)[]`, with
/// the arguments and the named arguments. Source: `aiocache/decorators.py`.
fn is_function_call(key: &[u8]) -> bool {
    key.ends_with(b"]") && contains(key, b"(") && contains(key, b")[")
}

/// Whether one of the words is a separate part of the name, as in `lock:a`, `orders.Lock` or
/// `{lock}/a`, but not in `clock`, `block` or `unlocked`.
pub fn is_lock_like(key: &[u8]) -> bool {
    parts(key).any(|part| {
        LOCK_WORDS
            .iter()
            .any(|word| part.eq_ignore_ascii_case(word))
    })
}

/// The parts of a name between its separators.
fn parts(key: &[u8]) -> impl Iterator<Item = &[u8]> {
    key.split(|byte| matches!(byte, b':' | b'.' | b'_' | b'/' | b'-' | b'{' | b'}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sessions_codes_and_cache_entries_indicate_other_data() {
        for name in [
            "session:7",
            "user:7:Session",
            "csrf-token",
            "page_cache",
            "otp/7",
            "shop.catalogget_digest(7, 'eu')[]",
            "shop.catalogget_digest()[('locale', 'eu')]",
        ] {
            assert!(indicates_other_data(name.as_bytes()), "{name}");
        }
        for name in [
            "orders:42",
            "hotpot:7",
            "caches",
            "video:transcode:88",
            "import(7)",
            "a[0]",
            "",
        ] {
            assert!(!indicates_other_data(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_name_with_a_separate_lock_word_is_lock_like() {
        let names = [
            "lock",
            "lock:a",
            "a.lock",
            "my_LOCKS-x",
            "a/mutex",
            "x:lease:y",
            "Leader",
            "redlock:a",
            "job-lock:default:mail",
            "{lock:a}:b",
            "PHPREDIS_SESSION:abc_LOCK",
        ];
        for name in names {
            assert!(is_lock_like(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_lock_word_inside_another_word_does_not_count() {
        for name in [
            "",
            "clock:last-sync",
            "block:7",
            "unlocked",
            "leaderboard:eu",
            "release:3",
            "mutexes",
            "stock:lockers",
        ] {
            assert!(!is_lock_like(name.as_bytes()), "{name}");
        }
    }
}
