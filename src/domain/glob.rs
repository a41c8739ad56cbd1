//! Glob patterns with the semantics of Redis.
//!
//! The console matches patterns itself because one `SCAN` over all keys costs a node less than one
//! `SCAN … MATCH` per pattern. Measured on Redis 7.0.15 with a million keys: 510 ms of CPU time for
//! all keys, 480 to 560 ms for each pattern.

/// Whether `name` matches `pattern`, with the rules of `SCAN … MATCH` (`stringmatchlen` in `util.c`
/// of Redis).
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // On a mismatch, matching restarts behind the last star, which then consumes one more byte.
    // Only the last star needs to be retried, which bounds the time to O(pattern × name).
    let mut retry: Option<(&[u8], &[u8])> = None;
    let (mut pattern, mut name) = (pattern, name);
    loop {
        let step = match pattern.split_first() {
            Some((b'*', rest)) => {
                retry = Some((rest, name));
                Some((rest, name))
            }
            Some(_) => name
                .split_first()
                .and_then(|(&byte, rest)| Some((match_element(pattern, byte)?, rest))),
            None if name.is_empty() => return true,
            None => None,
        };
        (pattern, name) = match step {
            Some(step) => step,
            None => match retry {
                Some((after_star, [_, longer @ ..])) => {
                    retry = Some((after_star, longer));
                    (after_star, longer)
                }
                Some((_, [])) | None => return false,
            },
        };
    }
}

/// Whether `name` matches one of the patterns.
pub fn any_matches(patterns: &[String], name: &[u8]) -> bool {
    patterns
        .iter()
        .any(|pattern| matches(pattern.as_bytes(), name))
}

/// Returns a pattern that matches exactly this name.
pub fn literal(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// Matches `byte` against the first element of the pattern and returns the rest of the pattern.
fn match_element(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [b'?', rest @ ..] => Some(rest),
        [b'[', rest @ ..] => match_class(rest, byte),
        [b'\\', escaped, rest @ ..] => (*escaped == byte).then_some(rest),
        [literal, rest @ ..] => (*literal == byte).then_some(rest),
        [] => None,
    }
}

/// Matches `byte` against a character class after its `[` and returns the rest of the pattern.
fn match_class(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (is_negated, mut pattern) = match pattern {
        [b'^', rest @ ..] => (true, rest),
        _ => (false, pattern),
    };
    let mut is_member = false;
    loop {
        pattern = match pattern {
            [b'\\', escaped, rest @ ..] => {
                is_member |= *escaped == byte;
                rest
            }
            [b']', rest @ ..] => return (is_member != is_negated).then_some(rest),
            // Like Redis, an unterminated class ends with the pattern.
            [] => return (is_member != is_negated).then_some(pattern),
            [from, b'-', to, rest @ ..] => {
                is_member |= (*from.min(to)..=*from.max(to)).contains(&byte);
                rest
            }
            [literal, rest @ ..] => {
                is_member |= *literal == byte;
                rest
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_like_in_redis() {
        for (pattern, name, expected) in [
            ("lock:*", "lock:a", true),
            ("lock:*", "lock:", true),
            ("lock:*", "block:a", false),
            ("*[lL][oO][cC][kK]*", "my-Lock-1", true),
            ("*[lL][oO][cC][kK]*", "lo-ck", false),
            ("*a*b*c", "xaybzc", true),
            ("*a*b*c", "xaybz", false),
            ("*ab", "aab", true),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h[^e]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("[a-c]x", "bx", true),
            ("[c-a]x", "bx", true),
            ("[a-c]x", "dx", false),
            ("[\\]]", "]", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("[ab", "a", true),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("**", "anything", true),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} on {name}"
            );
        }
    }

    #[test]
    fn a_malicious_pattern_does_not_cause_exponential_backtracking() {
        assert!(!matches(b"*a*a*a*a*a*a*a*a*b", &[b'a'; 10_000]));
    }
}
