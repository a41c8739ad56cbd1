//! One change in the stream, its place there, and what viewers are sent of it.

use std::sync::OnceLock;

use bytes::Bytes;
use serde::Serialize;

use crate::domain::Change;

/// Where in the stream something stands: `<epoch>-<seq>`. The epoch changes with every start of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    pub(super) epoch: i64,
    pub(super) seq: u64,
}

impl EventId {
    /// Whether it stands before this sequence number of the same epoch.
    pub fn is_before(self, seq: u64) -> bool {
        self.seq < seq
    }

    /// Whether it was told by the time this other one of the same stream was.
    pub(super) fn was_told_by(self, other: Self) -> bool {
        self.seq <= other.seq
    }

    /// Reads an id as it was sent; nothing where it is not one.
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

/// One change at its place in the stream.
#[derive(Debug)]
pub struct Event {
    /// Its place in the stream.
    pub id: EventId,
    /// What changed.
    pub change: Change,
    written: OnceLock<Bytes>,
}

impl Event {
    pub(super) fn new(id: EventId, change: Change) -> Self {
        Self {
            id,
            change,
            written: OnceLock::new(),
        }
    }

    /// The change as a server-sent event: written out once for all viewers, and not at all where nobody wants to hear of everything.
    pub fn frame(&self) -> Bytes {
        let write = || {
            let mut written = Vec::new();
            write_event(&mut written, "change", self.id, &self.change);
            written.into()
        };
        self.written.get_or_init(write).clone()
    }
}

/// Writes a server-sent event. Its data is JSON, and JSON has no line breaks: each field is one line.
pub(super) fn write_event(frame: &mut Vec<u8>, event: &str, id: EventId, data: &impl Serialize) {
    frame.extend_from_slice(format!("event: {event}\nid: {id}\ndata: ").as_bytes());
    serde_json::to_writer(&mut *frame, data).expect("what is told has no maps with odd keys");
    frame.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_place_in_a_stream_is_none() {
        for text in ["", "5", "x-1", "5--1", "5-1-1"] {
            assert_eq!(EventId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn whatever_a_text_holds_an_event_has_three_lines_and_an_empty_one() {
        let mut frame = Vec::new();
        let id = EventId::parse("5-7").unwrap();
        write_event(&mut frame, "change", id, &"a\nevent: b\r\n\ndata: c");
        write_event(&mut frame, "window", id, &1);
        let text = String::from_utf8(frame).unwrap();
        assert_eq!(
            text,
            "event: change\nid: 5-7\ndata: \"a\\nevent: b\\r\\n\\ndata: c\"\n\nevent: window\nid: 5-7\ndata: 1\n\n"
        );
    }
}
