//! Takes apart what a server sends while it is monitored: its lines, and between them the names of changed keys.

/// One thing that a server sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A line: `+…`.
    Line(Vec<u8>),
    /// A refusal: `-…`.
    Refusal(String),
    /// These keys were changed.
    Changed(Vec<Vec<u8>>),
    /// Any key may have been.
    Flushed,
    /// Another answer.
    Other,
}

/// What stands at the beginning, and how long it is; nothing while it is not complete. An error where it is no RESP.
pub fn next(bytes: &[u8]) -> Result<Option<(Frame, usize)>, &'static str> {
    let Some((value, used)) = value(bytes, 0)? else {
        return Ok(None);
    };
    let frame = match value {
        Value::Line(line) => Frame::Line(line),
        Value::Refusal(text) => Frame::Refusal(text),
        Value::Push(parts) => changed(parts),
        Value::Bulk(_) | Value::Many(_) | Value::Small => Frame::Other,
    };
    Ok(Some((frame, used)))
}

fn changed(parts: Vec<Value>) -> Frame {
    let mut parts = parts.into_iter();
    match (parts.next(), parts.next()) {
        (Some(Value::Bulk(kind)), Some(Value::Many(names))) if kind == b"invalidate" => {
            let name = |part| match part {
                Value::Bulk(name) => Some(name),
                _ => None,
            };
            Frame::Changed(names.into_iter().filter_map(name).collect())
        }
        (Some(Value::Bulk(kind)), Some(Value::Small)) if kind == b"invalidate" => Frame::Flushed,
        _ => Frame::Other,
    }
}

enum Value {
    Line(Vec<u8>),
    Refusal(String),
    Bulk(Vec<u8>),
    Many(Vec<Value>),
    Push(Vec<Value>),
    Small,
}

/// Nothing that is awaited here is nested deeper.
const DEEPEST: usize = 8;

fn value(bytes: &[u8], depth: usize) -> Result<Option<(Value, usize)>, &'static str> {
    let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else {
        return Ok(None);
    };
    let Some((&kind, head)) = bytes.get(..end).and_then(<[u8]>::split_first) else {
        return Err("an empty line");
    };
    let text = || String::from_utf8_lossy(head).into_owned();
    let body = end + 2;
    let simple = match kind {
        b'+' => Value::Line(head.to_vec()),
        b'-' => Value::Refusal(text()),
        b':' | b'_' | b'#' | b',' | b'(' => Value::Small,
        b'$' | b'=' | b'!' => {
            let Ok(length) = usize::try_from(number(head)?) else {
                return Ok(Some((Value::Small, body)));
            };
            let whole = body.saturating_add(length).saturating_add(2);
            let Some(found) = bytes.get(body..whole) else {
                return Ok(None);
            };
            let bulk = found.get(..length).unwrap_or_default().to_vec();
            return Ok(Some((Value::Bulk(bulk), whole)));
        }
        b'*' | b'>' | b'~' | b'%' => return many(bytes, kind, number(head)?, body, depth),
        _ => return Err("not RESP"),
    };
    Ok(Some((simple, body)))
}

fn many(
    bytes: &[u8],
    kind: u8,
    count: i64,
    body: usize,
    depth: usize,
) -> Result<Option<(Value, usize)>, &'static str> {
    if depth > DEEPEST {
        return Err("nested too deeply");
    }
    let count = if kind == b'%' {
        count.saturating_mul(2)
    } else {
        count
    };
    let (mut parts, mut at) = (Vec::new(), body);
    for _ in 0..count {
        let Some((part, used)) = value(bytes.get(at..).unwrap_or_default(), depth + 1)? else {
            return Ok(None);
        };
        parts.push(part);
        at += used;
    }
    let value = if kind == b'>' {
        Value::Push(parts)
    } else {
        Value::Many(parts)
    };
    Ok(Some((value, at)))
}

fn number(head: &[u8]) -> Result<i64, &'static str> {
    let text = std::str::from_utf8(head).ok();
    text.and_then(|text| text.parse().ok())
        .ok_or("not a length")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_and_changed_keys_come_in_their_order() {
        let sent = b"+OK\r\n>2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$2\r\nbc\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n-NOPERM no\r\n%1\r\n+a\r\n:1\r\n";
        let (mut at, mut frames) = (0, Vec::new());
        while let Some((frame, used)) = next(&sent[at..]).unwrap() {
            frames.push(frame);
            at += used;
        }
        let expected = [
            Frame::Line(b"OK".to_vec()),
            Frame::Changed(vec![b"a".to_vec(), b"bc".to_vec()]),
            Frame::Flushed,
            Frame::Refusal("NOPERM no".to_owned()),
            Frame::Other,
        ];
        assert_eq!((frames.as_slice(), at), (&expected[..], sent.len()));
        for cut in 0..sent.len() {
            assert!(next(&sent[..cut.min(4)]).unwrap().is_none());
        }
        assert!(next(b"HTTP/1.1 200\r\n").is_err());
    }

    proptest! {
        #[test]
        fn whatever_a_server_sends_is_taken_apart_or_refused(
            parts in proptest::collection::vec("[+:$*>~%_#,(!=-](-?[0-9]{1,19})?(\r\n)?|[ -~]{0,12}\r\n", 0..30),
            rest in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let sent = [parts.concat().into_bytes(), rest].concat();
            let mut at = 0;
            while let Ok(Some((_, used))) = next(&sent[at..]) {
                prop_assert!(used > 0 && at + used <= sent.len());
                at += used;
            }
        }
    }
}
