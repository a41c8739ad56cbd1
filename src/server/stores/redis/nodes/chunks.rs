//! Splits keys into chunks that are small enough for one round trip.

/// Keys per round trip. Keeps the server busy with one pipeline for 1–2 ms at most.
const MAX_KEYS: usize = 500;

/// Bytes of key names per round trip. A pipeline repeats each name several times.
const MAX_BYTES: usize = 64 * 1024;

/// Splits `keys` into chunks, in order. A name that exceeds the byte limit is a chunk of its own.
pub fn chunks<K>(mut keys: &[K], bytes_of: impl Fn(&K) -> usize) -> impl Iterator<Item = &[K]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fitting = keys.iter().take(MAX_KEYS).take_while(|key| {
            bytes += bytes_of(key);
            bytes <= MAX_BYTES
        });
        // At least one key, so that a name beyond the byte limit does not loop forever.
        let count = fitting.count().max(1).min(keys.len());
        let (chunk, rest) = keys.split_at(count);
        keys = rest;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_limited_by_keys_and_by_bytes() {
        let lengths = |count: usize, bytes: usize| {
            let names = vec![vec![b'x'; bytes]; count];
            let lengths = chunks(&names, Vec::len).map(<[_]>::len);
            lengths.collect::<Vec<_>>()
        };
        assert_eq!(lengths(0, 10), [0; 0]);
        assert_eq!(lengths(1_100, 10), [500, 500, 100]);
        assert_eq!(lengths(9, 16 * 1024), [4, 4, 1]);
        assert_eq!(lengths(2, 65 * 1024), [1, 1]);
    }
}
