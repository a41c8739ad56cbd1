//! The prefix of a lock's name: the part before the id.

/// The separators between the parts of a name.
const SEPARATORS: [char; 3] = [':', '/', '.'];

/// The minimum length of a hexadecimal id. Shorter parts can be words: `e2e`, `db1`.
const MIN_HEX_ID: usize = 8;

/// The part of a name before its first number or id, or else before its last part. Empty for names
/// without a separator.
///
/// ```
/// # use lockkeeper::domain::prefix;
/// assert_eq!(prefix::key_prefix("lock:invoice:1842"), "lock:invoice:");
/// assert_eq!(prefix::key_prefix("lock:invoice:1842:print"), "lock:invoice:");
/// assert_eq!(prefix::key_prefix("lock:payout:eu"), "lock:payout:");
/// assert_eq!(prefix::key_prefix("nightly-report"), "");
/// ```
pub fn key_prefix(name: &str) -> &str {
    let mut start = 0;
    for end in segment_ends(name) {
        if is_id(&name[start..end - 1]) {
            break;
        }
        start = end;
    }
    &name[..start]
}

/// The end of each part of a name, as a byte offset behind its separator.
pub fn segment_ends(name: &str) -> impl DoubleEndedIterator<Item = usize> {
    name.match_indices(SEPARATORS).map(|(at, _)| at + 1)
}

/// Whether a part is an id: a number, a date, a UUID or a hash.
fn is_id(part: &str) -> bool {
    let part = part.trim_matches(['{', '}']).as_bytes();
    let all = |is: fn(&u8) -> bool| part.iter().all(|byte| *byte == b'-' || is(byte));
    part.iter().any(u8::is_ascii_digit)
        && (all(u8::is_ascii_digit) || part.len() >= MIN_HEX_ID && all(u8::is_ascii_hexdigit))
}

/// A set of prefixes, to match names against. The cost of a match is logarithmic in their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixSet(Vec<Vec<u8>>);

impl PrefixSet {
    /// Builds the set. Prefixes that start with another one are dropped: they match nothing else.
    pub fn new(prefixes: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut sorted: Vec<Vec<u8>> = prefixes.into_iter().collect();
        sorted.sort_unstable();
        // After sorting, a prefix directly precedes those that start with it.
        sorted.dedup_by(|next, kept| next.starts_with(kept));
        Self(sorted)
    }

    /// Whether there are no prefixes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the name starts with one of the prefixes.
    pub fn matches(&self, name: &[u8]) -> bool {
        // No prefix starts with another one, so only the last one that is not greater than the name
        // can match.
        let end = self.0.partition_point(|prefix| prefix.as_slice() <= name);
        end > 0 && name.starts_with(&self.0[end - 1])
    }

    /// The prefixes, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::{PrefixSet, key_prefix};

    #[test]
    fn a_name_matches_a_set_if_it_starts_with_one_of_the_prefixes() {
        let prefixes = ["orders:", "orders:eu:", "b", "\u{0}\n", "carts:"];
        let set = PrefixSet::new(prefixes.map(|prefix| prefix.as_bytes().to_vec()));
        for (name, is_match) in [
            ("orders:eu:7", true),
            ("orders:fr:7", true),
            ("orders:", true),
            ("orders", false),
            ("bull", true),
            ("\u{0}\nx", true),
            ("cart:7", false),
            ("", false),
        ] {
            assert_eq!(set.matches(name.as_bytes()), is_match, "{name:?}");
        }
        assert!(!PrefixSet::default().matches(b"x"));
    }

    #[test]
    fn a_prefix_ends_before_the_id() {
        for (name, prefix) in [
            ("", ""),
            ("lock", ""),
            ("lock:", "lock:"),
            ("lock:a", "lock:"),
            ("lock:invoice:1842", "lock:invoice:"),
            ("lock:invoice:1842:lines:7", "lock:invoice:"),
            ("bull:mail:91:lock", "bull:mail:"),
            ("jobs/nightly/report", "jobs/nightly/"),
            ("app.orders.7", "app.orders."),
            ("v2:lock:eu", "v2:lock:"),
            ("e2e:db1:run", "e2e:db1:"),
            ("day:2026-11-22:close", "day:"),
            ("cart:0b6fe1a2-7c3d-4a55-9a0e-3f1d6c7b8a90:pay", "cart:"),
            ("file:9f86d081884c7d65:lock", "file:"),
            ("{orders:7}:lock", "{orders:"),
            ("lock:{42}:x", "lock:"),
            ("1842:lock", ""),
            ("锁:发票:甲", "锁:发票:"),
            ("::", "::"),
        ] {
            assert_eq!(key_prefix(name), prefix, "{name}");
        }
    }
}
