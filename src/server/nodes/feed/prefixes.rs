//! How names begin that a server is asked to tell of: few and short, because each costs it some 24 ns at every write.

/// A server is asked for no more prefixes than this by one group.
pub const MOST: usize = 10;

/// What Redisson's companions begin with; they carry the lock's name in the middle.
const COMPANIONS: &[u8] = b"redisson_";

/// How all names begin that match these patterns; nothing where some begin with anything.
pub fn of_patterns(patterns: &[String]) -> Option<Vec<Vec<u8>>> {
    let mut starts = vec![COMPANIONS.to_vec()];
    for pattern in patterns {
        let start = literal_start(pattern.as_bytes());
        if start.is_empty() {
            return None;
        }
        starts.push(start);
    }
    let merged = merge(starts);
    (merged.len() <= MOST).then_some(merged)
}

/// What a pattern asks for literally before anything may follow.
fn literal_start(pattern: &[u8]) -> Vec<u8> {
    let mut start = Vec::new();
    let mut bytes = pattern.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'*' | b'?' | b'[' => break,
            b'\\' => start.extend(bytes.next()),
            literal => start.push(literal),
        }
    }
    start
}

/// Drops every start that begins with another: a server refuses those that overlap.
fn merge(mut starts: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    starts.sort_unstable();
    let mut merged: Vec<Vec<u8>> = Vec::new();
    for start in starts {
        // Sorted, whatever begins with another comes behind it.
        if !merged.last().is_some_and(|last| start.starts_with(last)) {
            merged.push(start);
        }
    }
    merged
}

/// The beginnings that cover most of these names, `known` ones first: what a server that writes too much is asked for.
pub fn learn<'a>(known: &[Vec<u8>], names: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let mut counts: std::collections::BTreeMap<&[u8], usize> = Default::default();
    for name in names {
        *counts.entry(beginning(name)).or_default() += 1;
    }
    let mut best: Vec<(&[u8], usize)> = counts.into_iter().collect();
    best.sort_by(|(_, one), (_, other)| other.cmp(one));
    let mut starts = known.to_vec();
    for (start, _) in best {
        let mut more = starts.clone();
        more.push(start.to_vec());
        let more = merge(more);
        if more.len() <= MOST {
            starts = more;
        }
    }
    starts
}

/// A name up to the part that tells one lock from another: `shop:lock:` of `shop:lock:cart:17`, `jobs:` of `jobs:17:lock`.
fn beginning(name: &[u8]) -> &[u8] {
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
    fn patterns_that_begin_literally_need_few_prefixes() {
        let of = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|&text| text.to_owned()).collect();
            of_patterns(&patterns).map(|found| texts(&found).join(" "))
        };
        for (patterns, expected) in [
            (&["lock:*"][..], Some("lock: redisson_")),
            (&["lock:*", "lock:a*", "lock"], Some("lock redisson_")),
            (&["a\\*b*", "h[ae]llo"], Some("a*b h redisson_")),
            (&["lock:*", "*lock*"], None),
        ] {
            assert_eq!(of(patterns).as_deref(), expected, "{patterns:?}");
        }
        let many: Vec<String> = (0..20)
            .map(|n| format!("{}*", char::from(b'a' + n)))
            .collect();
        assert_eq!(of_patterns(&many), None);
    }

    #[test]
    fn names_of_locks_teach_how_they_begin() {
        let names = [
            "shop:lock:cart:17",
            "shop:lock:cart:18",
            "jobs:17:lock",
            "lockfile",
        ];
        let learnt = learn(&[], names.iter().map(|name| name.as_bytes()));
        assert_eq!(texts(&learnt), ["jobs:", "lockfile", "shop:lock:"]);
        let many: Vec<String> = (b'a'..=b'z')
            .map(|letter| format!("{}:lock", char::from(letter)))
            .collect();
        let learnt = learn(&learnt, many.iter().map(|name| name.as_bytes()));
        assert_eq!(learnt.len(), MOST);
        assert!(
            texts(&learnt).contains(&"shop:lock:"),
            "what is told stays told"
        );
    }
}
