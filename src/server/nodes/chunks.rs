//! How many keys one round trip asks about.

/// Keys per round trip: the server is never busy with us for longer than a millisecond or two.
const MOST_KEYS: usize = 500;

/// Bytes of their names per round trip: a pipeline has each name several times.
const MOST_BYTES: usize = 64 * 1024;

/// These keys in parts, in their order: each is small enough for one round trip. A name with too many bytes is a part by itself.
pub fn chunks<K>(mut keys: &[K], bytes_of: impl Fn(&K) -> usize) -> impl Iterator<Item = &[K]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fitting = keys.iter().take(MOST_KEYS).take_while(|key| {
            bytes += bytes_of(key);
            bytes <= MOST_BYTES
        });
        let many = fitting.count().max(1).min(keys.len());
        let (chunk, rest) = keys.split_at(many);
        keys = rest;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_neither_too_many_keys_nor_too_many_bytes() {
        let lengths = |many: usize, bytes: usize| {
            let names = vec![vec![b'x'; bytes]; many];
            let lengths = chunks(&names, Vec::len).map(<[_]>::len);
            lengths.collect::<Vec<_>>()
        };
        assert_eq!(lengths(0, 10), [0; 0]);
        assert_eq!(lengths(1_100, 10), [500, 500, 100]);
        assert_eq!(lengths(9, 16 * 1024), [4, 4, 1]);
        assert_eq!(lengths(2, 65 * 1024), [1, 1]);
    }
}
