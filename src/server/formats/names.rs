//! Names that say "I am a lock".

/// The words that lock libraries and people put into the names of locks.
const WORDS: [&[u8]; 7] = [
    b"lock",
    b"locks",
    b"mutex",
    b"lease",
    b"leader",
    b"redlock",
    b"redismutex",
];

/// Whether one of the words stands in the name on its own, as in `lock:a`, `orders.Lock` or `{lock}/a`.
///
/// On its own: `clock`, `block` and `unlocked` are no locks.
pub fn is_lock_like(key: &[u8]) -> bool {
    key.split(|byte| matches!(byte, b':' | b'.' | b'_' | b'/' | b'-' | b'{' | b'}'))
        .any(|part| WORDS.iter().any(|word| part.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_on_its_own_makes_a_name_lock_like() {
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
    fn a_word_inside_another_does_not() {
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
