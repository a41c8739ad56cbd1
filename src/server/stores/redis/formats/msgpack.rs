//! Recognises values in msgpack, which caches and sessions write.
//!
//! About two in 100,000 random tokens of 20 bytes, as rslock writes them, are msgpack by chance.

/// Deeper values are not read.
const MAX_DEPTH: u8 = 8;

/// One value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    /// A number, a boolean, nil, or a timestamp.
    Scalar,
    /// Text or binary data.
    Bytes,
    Array {
        has_bytes: bool,
    },
    Map,
}

/// Whether the whole value is a map with text as keys, an array that contains text, or text or
/// binary data with its length. Other arrays and scalars are too short to be told from a token.
pub fn is_msgpack(value: &[u8]) -> bool {
    match parse(value, MAX_DEPTH) {
        Some((Item::Bytes | Item::Map | Item::Array { has_bytes: true }, rest)) => rest.is_empty(),
        Some((Item::Scalar | Item::Array { has_bytes: false }, _)) | None => false,
    }
}

/// Parses the first value, and returns the bytes after it. Lengths of four bytes are rejected: a
/// value of that length is no token anyway.
fn parse(bytes: &[u8], depth: u8) -> Option<(Item, &[u8])> {
    let (&head, rest) = bytes.split_first()?;
    let scalar = |length: usize| Some((Item::Scalar, rest.get(length..)?));
    match head {
        0x00..=0x7f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => scalar(0),
        0xcc | 0xd0 => scalar(1),
        0xcd | 0xd1 => scalar(2),
        0xca | 0xce | 0xd2 => scalar(4),
        0xcb | 0xcf | 0xd3 => scalar(8),
        // Extensions, such as timestamps, have a type and 1, 2, 4, 8 or 16 bytes.
        0xd4..=0xd8 => scalar(1 + (1 << (head - 0xd4))),
        0xa0..=0xbf => parse_text(rest, usize::from(head & 0x1f)),
        0xd9 => length_8(rest).and_then(|(length, rest)| parse_text(rest, length)),
        0xda => length_16(rest).and_then(|(length, rest)| parse_text(rest, length)),
        0xc4 => length_8(rest).and_then(|(length, rest)| Some((Item::Bytes, rest.get(length..)?))),
        0xc5 => length_16(rest).and_then(|(length, rest)| Some((Item::Bytes, rest.get(length..)?))),
        0x90..=0x9f => parse_array(rest, usize::from(head & 0x0f), depth),
        0xdc => length_16(rest).and_then(|(count, rest)| parse_array(rest, count, depth)),
        0x80..=0x8f => parse_map(rest, usize::from(head & 0x0f), depth),
        0xde => length_16(rest).and_then(|(count, rest)| parse_map(rest, count, depth)),
        _ => None,
    }
}

fn length_8(bytes: &[u8]) -> Option<(usize, &[u8])> {
    bytes
        .split_first()
        .map(|(&length, rest)| (length.into(), rest))
}

fn length_16(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(*length).into(), rest))
}

fn parse_text(bytes: &[u8], length: usize) -> Option<(Item, &[u8])> {
    let (text, rest) = bytes.split_at_checked(length)?;
    std::str::from_utf8(text).ok()?;
    Some((Item::Bytes, rest))
}

fn parse_array(mut rest: &[u8], count: usize, depth: u8) -> Option<(Item, &[u8])> {
    let depth = depth.checked_sub(1)?;
    let mut has_bytes = false;
    for _ in 0..count {
        let (item, after) = parse(rest, depth)?;
        has_bytes |= matches!(
            item,
            Item::Bytes | Item::Map | Item::Array { has_bytes: true }
        );
        rest = after;
    }
    Some((Item::Array { has_bytes }, rest))
}

fn parse_map(mut rest: &[u8], count: usize, depth: u8) -> Option<(Item, &[u8])> {
    let depth = depth.checked_sub(1)?;
    for _ in 0..count {
        let (key, after) = parse(rest, depth)?;
        if key != Item::Bytes {
            return None;
        }
        rest = parse(after, depth)?.1;
    }
    Some((Item::Map, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_rows_and_texts_are_msgpack() {
        // Written by msgpack 1.2.4 and msgspec 0.22.0 (Python).
        for value in [
            &b"\x82\xa1n\x1a\xa2is\xaaxxxxxxxxxx"[..],
            b"\x92\x93\x0d\xaasmart lock\xcb\x40\x33\xfd\x70\xa3\xd7\x0a\x3d\x93\x0e\xa7padlock\xc0",
            b"\x84\xaa_permanent\xc3\xa4user\x11\xa4csrf\xd9 ffc45caf865eb2004cdc872ce533784e\xa4cart\x91\x00",
            b"\xd9 03ad4c84675b83258524ee6d7176d37d",
            b"\xb6XKWWJG7z-VsMoQKKEvVwGQ",
            b"\xc4\x10\x18}i\xc5\x1aK\xb9\x8a\x02\xda\x83:5\xef\x29\x08",
            b"\x80",
        ] {
            assert!(is_msgpack(value), "{}", value.escape_ascii());
        }
    }

    #[test]
    fn tokens_are_not_msgpack() {
        for value in [
            &b""[..],
            b"1",
            b"9f86d081884c7d659a2feaa0c55ad015",
            b"\xf3\x01}\x9a{\"\xc0\x00\x80\x7f\xfe\x10\x22\xa1\xb2\xc3\x01\x02\x03\x04",
            // A map that ends too early, a text that is not UTF-8, and bytes after the value.
            b"\x82\xa1n\x1a\xa2is",
            b"\xa2\xff\xfe",
            b"\xa1a1",
            b"\x81\x01\x02",
            b"\x92\x01\x02",
            b"\x91\x91\x91\x91\x91\x91\x91\x91\x91\xa1a",
        ] {
            assert!(!is_msgpack(value), "{}", value.escape_ascii());
        }
    }
}
