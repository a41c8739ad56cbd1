//! suo (Ruby): a msgpack array with a pair of timestamp and token per owner.
//!
//! ```text
//! SET report  [[1795200485.556, "Zb1kM5c0P7mJr8xw3uVYHQ=="]]      as msgpack; no TTL while it is held
//! ```
//!
//! An owner is stale one hour after its timestamp, unless the client is configured otherwise. This
//! is shown as the lease. A release rewrites the array. Source: `lib/suo/client/base.rb`.

use super::{DetectedLock, DetectedOwner, NameHint, shapes, string_value};
use crate::domain::{Confidence, Format, Lease, Timestamp};
use crate::server::stores::redis::key_state::KeyState;

/// The default `stale_lock_expiration` of `Client::Base`.
const STALE_LOCK_EXPIRATION_MS: i64 = 3_600_000;
/// The length of 16 bytes in padded base64.
const TOKEN: usize = 24;

/// Detects an array of up to 15 such pairs.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let holders = parse(string_value(state)?)?;
    let latest = holders.iter().map(|(since, _)| *since).max()?;
    let earliest = holders.iter().map(|(since, _)| *since).min()?;
    let until = latest.plus_millis(STALE_LOCK_EXPIRATION_MS);
    let owners = holders
        .iter()
        .map(|(_, token)| DetectedOwner::new(Format::Suo, token, None))
        .collect();
    let lock = DetectedLock {
        lease: Lease::until(until, state.read_at),
        ..DetectedLock::from_owners(Format::Suo, state, owners)
    };
    let lock = lock
        .with_claimed_at(earliest)
        .with_confidence(Confidence::Likely);
    Some(if holders.len() > 1 {
        lock.into_shared()
    } else {
        lock
    })
}

/// Removes an owner from the array. Returns the new array and whether it is empty; `None` if the
/// owner is not in the array.
pub fn remove_owner(value: &[u8], token: &[u8]) -> Option<(Vec<u8>, bool)> {
    // The header of a two-element array (1 byte) and a float64 (9 bytes).
    const PAIR: usize = 10;
    let holders = parse(value)?;
    let mut rest = &value[1..];
    let (mut kept, mut count) = (vec![0x90], 0);
    for (_, holder) in &holders {
        // A string of 24 bytes can be encoded as `fixstr` or as `str 8`.
        let head = if rest.get(PAIR) == Some(&0xd9) { 2 } else { 1 };
        let (entry, after) = rest.split_at(PAIR + head + TOKEN);
        if *holder != token {
            kept.extend_from_slice(entry);
            count += 1;
        }
        rest = after;
    }
    kept[0] |= count;
    (usize::from(count) < holders.len()).then_some((kept, count == 0))
}

/// Parses an array of up to 15 arrays (`fixarray`) of a float and a short string.
fn parse(value: &[u8]) -> Option<Vec<(Timestamp, &[u8])>> {
    let (&head, mut rest) = value.split_first()?;
    let count = usize::from(head)
        .checked_sub(0x90)
        .filter(|n| (1..=15).contains(n))?;
    let mut holders = Vec::with_capacity(count);
    for _ in 0..count {
        let (seconds, after) = rest.strip_prefix(b"\x92\xcb")?.split_first_chunk::<8>()?;
        let token = after
            .strip_prefix(b"\xb8")
            .or(after.strip_prefix(b"\xd9\x18"))?;
        let (token, after) = token.split_at_checked(TOKEN)?;
        let seconds = f64::from_be_bytes(*seconds);
        let is_pair = (1e9..1e11).contains(&seconds)
            && token.ends_with(b"==")
            && shapes::is_base64(&token[..22]);
        if !is_pair {
            return None;
        }
        holders.push((Timestamp::from_millis((seconds * 1000.0) as i64), token));
        rest = after;
    }
    rest.is_empty().then_some(holders)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW, describe, format, string};
    use super::*;
    use crate::domain::Mode;
    use crate::server::stores::redis::formats;

    const TOKEN: &[u8] = b"Zb1kM5c0P7mJr8xw3uVYHQ==";

    fn pair(seconds: f64) -> Vec<u8> {
        [b"\x92\xcb", &seconds.to_be_bytes()[..], b"\xb8", TOKEN].concat()
    }

    #[test]
    fn time_and_token_in_msgpack() {
        let value = [&b"\x91"[..], &pair(1_795_200_485.5)].concat();
        let detected = string("report", value, None);
        assert_eq!(format(&detected), Some((Format::Suo, Confidence::Likely)));
        let lock = formats::detect(&detected, false).unwrap();
        let since = Timestamp::from_millis(1_795_200_485_500);
        assert_eq!((lock.mode, lock.claimed_at), (Mode::Exclusive, Some(since)));
        assert_eq!(lock.lease, Lease::until(since.plus_millis(3_600_000), NOW));
        assert_eq!(lock.owners[0].bytes.expose(), TOKEN);
        let two = [&b"\x92"[..], &pair(1_795_200_485.5), &pair(1_795_200_480.5)].concat();
        let lock = formats::detect(&string("report", two, None), false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Shared, 2));
    }

    #[test]
    fn one_entry_is_removed_and_the_others_keep_their_bytes() {
        let other = b"aaaaaaaaaaaaaaaaaaaaaQ==";
        let long = [
            b"\x92\xcb",
            &1_795_200_480.5_f64.to_be_bytes()[..],
            b"\xd9\x18",
            other,
        ]
        .concat();
        let two = [&b"\x92"[..], &long, &pair(1_795_200_485.5)].concat();
        assert_eq!(
            remove_owner(&two, TOKEN),
            Some(([b"\x91", &long[..]].concat(), false))
        );
        let one = [&b"\x91"[..], &pair(1_795_200_485.5)].concat();
        assert_eq!(remove_owner(&two, other), Some((one.clone(), false)));
        assert_eq!(remove_owner(&one, TOKEN), Some((b"\x90".to_vec(), true)));
        assert_eq!(remove_owner(&one, other), None);
    }

    #[test]
    fn other_msgpack_values_are_not_detected() {
        let complete = [&b"\x91"[..], &pair(1_795_200_485.5)].concat();
        for value in [
            b"\x90".to_vec(),
            complete[..complete.len() - 1].to_vec(),
            [&complete[..], b"\xc0"].concat(),
            [&b"\x91"[..], &pair(17.5)].concat(),
            [&b"\x92"[..], &pair(1_795_200_485.5)].concat(),
        ] {
            assert_eq!(describe(&string("report", value, None)), None);
        }
    }
}
