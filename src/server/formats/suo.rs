//! suo (Ruby): an array in msgpack, one pair of time and token for each that holds it.
//!
//! ```text
//! SET report  [[1795200485.556, "Zb1kM5c0P7mJr8xw3uVYHQ=="]]      as msgpack; no TTL while it is held
//! ```
//!
//! An owner counts as stale an hour after its time, unless the client was told otherwise: that is the lease shown. Whoever
//! releases it rewrites the array. Source: `lib/suo/client/base.rb`.

use super::{Hint, Recognised, SeenOwner, shapes, text};
use crate::domain::{Confidence, Format, Lease, Timestamp};
use crate::server::sighting::Sighting;

/// `stale_lock_expiration` of its `Client::Base`.
const STALE_AFTER_MS: i64 = 3_600_000;
/// Characters of 16 bytes in padded base64.
const TOKEN: usize = 24;

/// Recognises a small array of such pairs and nothing behind it.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let holders = read(text(sighting)?)?;
    let latest = holders.iter().map(|(since, _)| *since).max()?;
    let earliest = holders.iter().map(|(since, _)| *since).min()?;
    let until = latest.plus_millis(STALE_AFTER_MS);
    let owners = holders
        .iter()
        .map(|(_, token)| SeenOwner::new(Format::Suo, token, None))
        .collect();
    let lock = Recognised {
        lease: Lease::until(until, sighting.seen_at),
        ..Recognised::of_owners(Format::Suo, sighting, owners)
    };
    let lock = lock.claimed_at(earliest).with(Confidence::Likely);
    Some(if holders.len() > 1 {
        lock.shared()
    } else {
        lock
    })
}

/// The same array without this owner, and whether nobody is left in it; nothing if the owner is not in it.
pub fn without(value: &[u8], token: &[u8]) -> Option<(Vec<u8>, bool)> {
    const PAIR: usize = 10;
    let holders = read(value)?;
    let mut rest = &value[1..];
    let (mut kept, mut count) = (vec![0x90], 0);
    for (_, holder) in &holders {
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

/// The pairs: an array of up to 15 arrays of a float and a short text.
fn read(value: &[u8]) -> Option<Vec<(Timestamp, &[u8])>> {
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
    use super::super::testing::{NOW, format, string, told};
    use super::*;
    use crate::domain::Mode;
    use crate::server::formats;

    const TOKEN: &[u8] = b"Zb1kM5c0P7mJr8xw3uVYHQ==";

    fn pair(seconds: f64) -> Vec<u8> {
        [b"\x92\xcb", &seconds.to_be_bytes()[..], b"\xb8", TOKEN].concat()
    }

    #[test]
    fn time_and_token_in_msgpack() {
        let value = [&b"\x91"[..], &pair(1_795_200_485.5)].concat();
        let seen = string("report", value, None);
        assert_eq!(format(&seen), Some((Format::Suo, Confidence::Likely)));
        let lock = formats::recognise(&seen, false).unwrap();
        let since = Timestamp::from_millis(1_795_200_485_500);
        assert_eq!((lock.mode, lock.claimed_at), (Mode::Exclusive, Some(since)));
        assert_eq!(lock.lease, Lease::until(since.plus_millis(3_600_000), NOW));
        assert_eq!(lock.owners[0].bytes.expose(), TOKEN);
        let two = [&b"\x92"[..], &pair(1_795_200_485.5), &pair(1_795_200_480.5)].concat();
        let lock = formats::recognise(&string("report", two, None), false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Shared, 2));
    }

    #[test]
    fn one_entry_is_cut_out_and_the_others_keep_their_bytes() {
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
            without(&two, TOKEN),
            Some(([b"\x91", &long[..]].concat(), false))
        );
        let one = [&b"\x91"[..], &pair(1_795_200_485.5)].concat();
        assert_eq!(without(&two, other), Some((one.clone(), false)));
        assert_eq!(without(&one, TOKEN), Some((b"\x90".to_vec(), true)));
        assert_eq!(without(&one, other), None);
    }

    #[test]
    fn other_msgpack_is_something_else() {
        let whole = [&b"\x91"[..], &pair(1_795_200_485.5)].concat();
        for value in [
            b"\x90".to_vec(),
            whole[..whole.len() - 1].to_vec(),
            [&whole[..], b"\xc0"].concat(),
            [&b"\x91"[..], &pair(17.5)].concat(),
            [&b"\x92"[..], &pair(1_795_200_485.5)].concat(),
        ] {
            assert_eq!(told(&string("report", value, None)), None);
        }
    }
}
