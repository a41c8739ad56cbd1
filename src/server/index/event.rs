//! One change in the stream, its id, and its encoding as a server-sent event.

use std::sync::OnceLock;

use bytes::Bytes;
use serde::Serialize;

use crate::domain::Change;

/// A position in the change stream: `<epoch>-<seq>`. The epoch changes with every start of the
/// server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    pub(super) epoch: i64,
    pub(super) seq: u64,
}

impl EventId {
    /// Whether this id is before a sequence number of the same epoch.
    pub fn is_before(self, seq: u64) -> bool {
        self.seq < seq
    }

    /// Whether this id is not after another id of the same stream.
    pub(super) fn is_at_or_before(self, other: Self) -> bool {
        self.seq <= other.seq
    }

    /// Parses an id; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let (epoch, seq) = text.split_once('-')?;
        Some(Self {
            epoch: epoch.parse().ok()?,
            seq: seq.parse().ok()?,
        })
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.epoch, self.seq)
    }
}

/// One change and its event id.
#[derive(Debug)]
pub struct ChangeEvent {
    /// The event id.
    pub id: EventId,
    /// What changed.
    pub change: Change,
    encoded: OnceLock<Bytes>,
}

impl ChangeEvent {
    pub(super) fn new(id: EventId, change: Change) -> Self {
        Self {
            id,
            change,
            encoded: OnceLock::new(),
        }
    }

    /// The change as a server-sent event. Encoded on first use and shared by all subscribers.
    pub fn frame(&self) -> Bytes {
        // Encoded on demand: the bytes are needed only if there is a subscriber to all changes.
        let write = || {
            let mut encoded = Vec::new();
            write_sse_event(&mut encoded, "change", self.id, &self.change);
            encoded.into()
        };
        self.encoded.get_or_init(write).clone()
    }
}

/// Appends a server-sent event. JSON contains no raw line breaks, so each field is one line.
pub(super) fn write_sse_event(
    frame: &mut Vec<u8>,
    event: &str,
    id: EventId,
    data: &impl Serialize,
) {
    frame.extend_from_slice(format!("event: {event}\nid: {id}\ndata: ").as_bytes());
    serde_json::to_writer(&mut *frame, data).expect("all map keys are strings");
    frame.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_event_ids_are_rejected() {
        for text in ["", "5", "x-1", "5--1", "5-1-1"] {
            assert_eq!(EventId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn line_breaks_in_data_do_not_add_lines_to_an_event() {
        let mut frame = Vec::new();
        let id = EventId::parse("5-7").unwrap();
        write_sse_event(&mut frame, "change", id, &"a\nevent: b\r\n\ndata: c");
        write_sse_event(&mut frame, "window", id, &1);
        let text = String::from_utf8(frame).unwrap();
        assert_eq!(
            text,
            "event: change\nid: 5-7\ndata: \"a\\nevent: b\\r\\n\\ndata: c\"\n\nevent: window\nid: 5-7\ndata: 1\n\n"
        );
    }
}
