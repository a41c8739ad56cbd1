//! Splits keys into chunks that are small enough for one round trip.

use std::time::Duration;

/// Keys per round trip to a near node. While 10,000 locks are read, the 99th percentile of another
/// client is 0.3 to 0.5 ms; with 500 keys it was 0.9 to 1.6 ms.
const MIN_KEYS: usize = 100;

/// Keys per round trip to a distant node. Keeps the server busy with one pipeline for 1–2 ms at most.
const MAX_KEYS: usize = 500;

/// How long a key may wait for the network, on average over its chunk.
const MAX_LATENCY_PER_KEY: Duration = Duration::from_micros(10);

/// Bytes of key names per round trip. A pipeline repeats each name several times.
const MAX_BYTES: usize = 64 * 1024;

/// Splits `keys` into chunks for a node with this round trip, in order. A name that exceeds the byte
/// limit is a chunk of its own.
pub fn chunks<K>(
    mut keys: &[K],
    round_trip: Duration,
    bytes_of: impl Fn(&K) -> usize,
) -> impl Iterator<Item = &[K]> {
    let max_keys = max_keys(round_trip);
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fitting = keys.iter().take(max_keys).take_while(|key| {
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

fn max_keys(round_trip: Duration) -> usize {
    let keys = round_trip.as_micros() / MAX_LATENCY_PER_KEY.as_micros();
    usize::try_from(keys)
        .unwrap_or(MAX_KEYS)
        .clamp(MIN_KEYS, MAX_KEYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISTANT: Duration = Duration::from_millis(40);

    #[test]
    fn chunks_for_a_near_node_are_short_and_those_for_a_distant_one_few() {
        for (round_trip_us, keys) in [
            (0, 100),
            (100, 100),
            (2_000, 200),
            (5_000, 500),
            (90_000, 500),
        ] {
            let round_trip = Duration::from_micros(round_trip_us);
            assert_eq!(max_keys(round_trip), keys, "{round_trip:?}");
        }
    }

    #[test]
    fn chunks_are_limited_by_keys_and_by_bytes() {
        let lengths = |count: usize, bytes: usize| {
            let names = vec![vec![b'x'; bytes]; count];
            let lengths = chunks(&names, DISTANT, Vec::len).map(<[_]>::len);
            lengths.collect::<Vec<_>>()
        };
        assert_eq!(lengths(0, 10), [0; 0]);
        assert_eq!(lengths(1_100, 10), [500, 500, 100]);
        assert_eq!(lengths(9, 16 * 1024), [4, 4, 1]);
        assert_eq!(lengths(2, 65 * 1024), [1, 1]);
    }
}
