//! The beginning of a lock's name that says what it guards: what stands before the part that varies.

/// A part of a name ends with one of these.
const SEPARATORS: [char; 3] = [':', '/', '.'];

/// Shorter parts of hex digits may be words: `e2e`, `db1`.
const SHORTEST_HEX_ID: usize = 8;

/// What a name begins with: all that stands before its first part that is a number or an id, else before its last part.
/// Empty where nothing does.
///
/// ```
/// # use lockkeeper::domain::prefix;
/// assert_eq!(prefix::of("lock:invoice:1842"), "lock:invoice:");
/// assert_eq!(prefix::of("lock:invoice:1842:print"), "lock:invoice:");
/// assert_eq!(prefix::of("lock:payout:eu"), "lock:payout:");
/// assert_eq!(prefix::of("nightly-report"), "");
/// ```
pub fn of(name: &str) -> &str {
    let mut start = 0;
    for end in ends(name) {
        if is_id(&name[start..end - 1]) {
            break;
        }
        start = end;
    }
    &name[..start]
}

/// Where the parts of a name end: so many bytes stand before, the separator with them.
pub fn ends(name: &str) -> impl DoubleEndedIterator<Item = usize> {
    name.match_indices(SEPARATORS).map(|(at, _)| at + 1)
}

/// Whether a part tells one lock from its like: a number, a date, a UUID, a hash.
fn is_id(part: &str) -> bool {
    let part = part.trim_matches(['{', '}']).as_bytes();
    let all = |is: fn(&u8) -> bool| part.iter().all(|byte| *byte == b'-' || is(byte));
    part.iter().any(u8::is_ascii_digit)
        && (all(u8::is_ascii_digit) || part.len() >= SHORTEST_HEX_ID && all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_prefix_ends_before_the_part_that_varies() {
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
            assert_eq!(of(name), prefix, "{name}");
        }
    }
}
