//! Parses what a server sends during `MONITOR`: lines, and invalidation messages in between.

/// One message of a server.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A simple string: `+…`.
    Simple(Vec<u8>),
    /// An error: `-…`.
    Error(String),
    /// Invalidation of these keys.
    Invalidated(Vec<Vec<u8>>),
    /// Invalidation of all keys.
    Flushed,
    /// Any other message.
    Other,
}

/// The first message and its length in bytes, or `None` if it is incomplete. Fails if the bytes are
/// not RESP.
pub fn parse_frame(bytes: &[u8]) -> Result<Option<(Frame, usize)>, &'static str> {
    let Some((value, used)) = parse_value(bytes, 0)? else {
        return Ok(None);
    };
    let frame = match value {
        RespValue::Simple(line) => Frame::Simple(line),
        RespValue::Error(text) => Frame::Error(text),
        RespValue::Push(parts) => changed(parts),
        RespValue::Bulk(_) | RespValue::Array(_) | RespValue::Scalar => Frame::Other,
    };
    Ok(Some((frame, used)))
}

fn changed(parts: Vec<RespValue>) -> Frame {
    let mut parts = parts.into_iter();
    match (parts.next(), parts.next()) {
        (Some(RespValue::Bulk(kind)), Some(RespValue::Array(names))) if kind == b"invalidate" => {
            let name = |part| match part {
                RespValue::Bulk(name) => Some(name),
                _ => None,
            };
            Frame::Invalidated(names.into_iter().filter_map(name).collect())
        }
        (Some(RespValue::Bulk(kind)), Some(RespValue::Scalar)) if kind == b"invalidate" => {
            Frame::Flushed
        }
        _ => Frame::Other,
    }
}

enum RespValue {
    Simple(Vec<u8>),
    Error(String),
    Bulk(Vec<u8>),
    Array(Vec<RespValue>),
    Push(Vec<RespValue>),
    Scalar,
}

/// No expected message is nested deeper.
const MAX_DEPTH: usize = 8;

fn parse_value(bytes: &[u8], depth: usize) -> Result<Option<(RespValue, usize)>, &'static str> {
    let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else {
        return Ok(None);
    };
    let Some((&kind, rest_of_line)) = bytes.get(..end).and_then(<[u8]>::split_first) else {
        return Err("an empty line");
    };
    let text = || String::from_utf8_lossy(rest_of_line).into_owned();
    let body = end + 2;
    let simple = match kind {
        b'+' => RespValue::Simple(rest_of_line.to_vec()),
        b'-' => RespValue::Error(text()),
        // Only the presence of these values matters, not their content.
        b':' | b'_' | b'#' | b',' | b'(' => RespValue::Scalar,
        b'$' | b'=' | b'!' => {
            // A negative length is a null bulk string.
            let Ok(length) = usize::try_from(parse_length(rest_of_line)?) else {
                return Ok(Some((RespValue::Scalar, body)));
            };
            let end_of_bulk = body.saturating_add(length).saturating_add(2);
            let Some(bulk_bytes) = bytes.get(body..end_of_bulk) else {
                return Ok(None);
            };
            let bulk = bulk_bytes.get(..length).unwrap_or_default().to_vec();
            return Ok(Some((RespValue::Bulk(bulk), end_of_bulk)));
        }
        b'*' | b'>' | b'~' | b'%' => {
            return parse_array(bytes, kind, parse_length(rest_of_line)?, body, depth);
        }
        _ => return Err("not RESP"),
    };
    Ok(Some((simple, body)))
}

fn parse_array(
    bytes: &[u8],
    kind: u8,
    count: i64,
    body: usize,
    depth: usize,
) -> Result<Option<(RespValue, usize)>, &'static str> {
    if depth > MAX_DEPTH {
        return Err("nested too deeply");
    }
    let count = if kind == b'%' {
        // A map has a key and a value per entry.
        count.saturating_mul(2)
    } else {
        count
    };
    let (mut parts, mut at) = (Vec::new(), body);
    for _ in 0..count {
        let Some((part, used)) = parse_value(bytes.get(at..).unwrap_or_default(), depth + 1)?
        else {
            return Ok(None);
        };
        parts.push(part);
        at += used;
    }
    let value = if kind == b'>' {
        RespValue::Push(parts)
    } else {
        RespValue::Array(parts)
    };
    Ok(Some((value, at)))
}

fn parse_length(rest_of_line: &[u8]) -> Result<i64, &'static str> {
    let text = std::str::from_utf8(rest_of_line).ok();
    text.and_then(|text| text.parse().ok())
        .ok_or("not a length")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_are_parsed_in_order() {
        let sent = b"+OK\r\n>2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$2\r\nbc\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n-NOPERM no\r\n%1\r\n+a\r\n:1\r\n";
        let (mut at, mut frames) = (0, Vec::new());
        while let Some((frame, used)) = parse_frame(&sent[at..]).unwrap() {
            frames.push(frame);
            at += used;
        }
        let expected = [
            Frame::Simple(b"OK".to_vec()),
            Frame::Invalidated(vec![b"a".to_vec(), b"bc".to_vec()]),
            Frame::Flushed,
            Frame::Error("NOPERM no".to_owned()),
            Frame::Other,
        ];
        assert_eq!((frames.as_slice(), at), (&expected[..], sent.len()));
        for cut in 0..sent.len() {
            assert!(parse_frame(&sent[..cut.min(4)]).unwrap().is_none());
        }
        assert!(parse_frame(b"HTTP/1.1 200\r\n").is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_parsed_or_rejected(
            parts in proptest::collection::vec("[+:$*>~%_#,(!=-](-?[0-9]{1,19})?(\r\n)?|[ -~]{0,12}\r\n", 0..30),
            rest in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let sent = [parts.concat().into_bytes(), rest].concat();
            let mut at = 0;
            while let Ok(Some((_, used))) = parse_frame(&sent[at..]) {
                prop_assert!(used > 0 && at + used <= sent.len());
                at += used;
            }
        }
    }
}
