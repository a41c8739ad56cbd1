//! Key prefixes for client tracking. They must be few and short: each costs the server about 24 ns
//! per write.

/// The maximum number of prefixes per group.
pub const MAX_PREFIXES: usize = 10;

/// Redisson's companion keys have this prefix and contain the lock's name in the middle.
const REDISSON_COMPANION_PREFIX: &[u8] = b"redisson_";

/// The prefixes of all keys that match these patterns, or `None` if a pattern starts with a
/// wildcard or there are too many.
pub fn from_patterns(patterns: &[String]) -> Option<Vec<Vec<u8>>> {
    let mut prefixes = vec![REDISSON_COMPANION_PREFIX.to_vec()];
    for pattern in patterns {
        let prefix = literal_prefix(pattern.as_bytes());
        if prefix.is_empty() {
            return None;
        }
        prefixes.push(prefix);
    }
    let merged = remove_overlaps(prefixes);
    (merged.len() <= MAX_PREFIXES).then_some(merged)
}

/// The literal prefix of a pattern.
fn literal_prefix(pattern: &[u8]) -> Vec<u8> {
    let mut prefix = Vec::new();
    let mut bytes = pattern.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'*' | b'?' | b'[' => break,
            b'\\' => prefix.extend(bytes.next()),
            literal => prefix.push(literal),
        }
    }
    prefix
}

/// Drops prefixes that start with another one: Redis rejects overlapping prefixes.
fn remove_overlaps(mut prefixes: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    prefixes.sort_unstable();
    let mut merged: Vec<Vec<u8>> = Vec::new();
    for prefix in prefixes {
        // After sorting, a prefix directly precedes the prefixes that start with it.
        if !merged.last().is_some_and(|last| prefix.starts_with(last)) {
            merged.push(prefix);
        }
    }
    merged
}

/// The prefixes that cover most of these names, after the `pinned` and the `known` ones. Used on
/// servers whose write rate is too high to track all keys.
pub fn learn_prefixes<'a>(
    pinned: &[Vec<u8>],
    known: &[Vec<u8>],
    names: impl Iterator<Item = &'a [u8]>,
) -> Vec<Vec<u8>> {
    let mut counts: std::collections::BTreeMap<&[u8], usize> = Default::default();
    for name in names {
        *counts.entry(lock_prefix(name)).or_default() += 1;
    }
    let mut by_count: Vec<(&[u8], usize)> = counts.into_iter().collect();
    by_count.sort_by(|(_, one), (_, other)| other.cmp(one));
    let by_count = by_count.into_iter().map(|(prefix, _)| prefix);
    let chosen = pinned.iter().chain(known).map(Vec::as_slice);
    let mut prefixes = Vec::new();
    for prefix in chosen.chain(by_count) {
        let mut candidate = prefixes.clone();
        candidate.push(prefix.to_vec());
        let candidate = remove_overlaps(candidate);
        // The most frequent prefixes come first; rarer ones are added while there is room.
        if candidate.len() <= MAX_PREFIXES {
            prefixes = candidate;
        }
    }
    prefixes
}

/// The prefixes as texts to display.
pub(super) fn to_texts(prefixes: &[Vec<u8>]) -> Vec<String> {
    prefixes
        .iter()
        .map(|prefix| String::from_utf8_lossy(prefix).into_owned())
        .collect()
}

/// The prefix of a name before the part that distinguishes one lock from another: `shop:lock:` of
/// `shop:lock:cart:17`, `jobs:` of `jobs:17:lock`.
fn lock_prefix(name: &[u8]) -> &[u8] {
    const WORDS: [&[u8]; 3] = [b"lock", b"mutex", b"lea"];
    let is_separator = |byte: &u8| !byte.is_ascii_alphanumeric();
    let word_at = |word: &[u8]| {
        let is_here = |part: &[u8]| part.eq_ignore_ascii_case(word);
        name.windows(word.len()).position(is_here)
    };
    let word = WORDS.iter().filter_map(|word| word_at(word)).min();
    let behind_word = word.and_then(|at| {
        let end = name.get(at..)?.iter().position(is_separator)?;
        name.get(..=at + end)
    });
    let first_part = || {
        let end = name.iter().position(is_separator)?;
        name.get(..=end)
    };
    behind_word.or_else(first_part).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(prefixes: &[Vec<u8>]) -> Vec<&str> {
        let text = |prefix| std::str::from_utf8(prefix).unwrap();
        prefixes.iter().map(|prefix| text(prefix)).collect()
    }

    #[test]
    fn patterns_with_a_literal_start_need_few_prefixes() {
        let of = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|&text| text.to_owned()).collect();
            from_patterns(&patterns).map(|found| texts(&found).join(" "))
        };
        for (patterns, expected) in [
            (&["lock:*"][..], Some("lock: redisson_")),
            (&["lock:*", "lock:a*", "lock"], Some("lock redisson_")),
            (&["a\\*b*", "h[ae]llo"], Some("a*b h redisson_")),
            (&["lock:*", "*lock*"], None),
        ] {
            assert_eq!(of(patterns).as_deref(), expected, "{patterns:?}");
        }
        let many_names: Vec<String> = (0..20)
            .map(|n| format!("{}*", char::from(b'a' + n)))
            .collect();
        assert_eq!(from_patterns(&many_names), None);
    }

    #[test]
    fn prefixes_are_learned_from_lock_names() {
        let names = [
            "shop:lock:cart:17",
            "shop:lock:cart:18",
            "jobs:17:lock",
            "lockfile",
        ];
        let learned_prefixes = learn_prefixes(&[], &[], names.iter().map(|name| name.as_bytes()));
        assert_eq!(
            texts(&learned_prefixes),
            ["jobs:", "lockfile", "shop:lock:"]
        );
        let many_names: Vec<String> = (b'a'..=b'z')
            .map(|letter| format!("{}:lock", char::from(letter)))
            .collect();
        let learned_prefixes = learn_prefixes(
            &[b"pinned:".to_vec()],
            &learned_prefixes,
            many_names.iter().map(|name| name.as_bytes()),
        );
        assert_eq!(learned_prefixes.len(), MAX_PREFIXES);
        assert!(
            texts(&learned_prefixes).contains(&"shop:lock:"),
            "known prefixes are kept"
        );
        assert!(texts(&learned_prefixes).contains(&"pinned:"));
    }
}
