//! Server-sent events as they go over the wire: written out by the first who sends them, shared by all who follow.

use std::sync::OnceLock;

use bytes::Bytes;
use serde::Serialize;

use super::event::EventId;

/// One or several events, written out once.
#[derive(Debug, Default)]
pub struct Frame(OnceLock<Bytes>);

impl Frame {
    /// The bytes; `write` is asked for them the first time.
    pub fn get_or_write(&self, write: impl FnOnce() -> Vec<u8>) -> Bytes {
        self.0.get_or_init(|| write().into()).clone()
    }
}

/// Adds an event to a frame. Its data is JSON, and JSON has no line breaks: each field is one line.
pub fn add(frame: &mut Vec<u8>, event: &str, id: EventId, data: &impl Serialize) {
    frame.extend_from_slice(format!("event: {event}\nid: {id}\ndata: ").as_bytes());
    serde_json::to_writer(&mut *frame, data).expect("what is told has no maps with odd keys");
    frame.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_text_holds_an_event_has_three_lines_and_an_empty_one() {
        let mut frame = Vec::new();
        let id = EventId::parse("5-7").unwrap();
        add(&mut frame, "change", id, &"a\nevent: b\r\n\ndata: c");
        add(&mut frame, "window", id, &1);
        let text = String::from_utf8(frame).unwrap();
        assert_eq!(
            text,
            "event: change\nid: 5-7\ndata: \"a\\nevent: b\\r\\n\\ndata: c\"\n\nevent: window\nid: 5-7\ndata: 1\n\n"
        );
    }

    #[test]
    fn a_frame_is_written_once() {
        let frame = Frame::default();
        assert_eq!(frame.get_or_write(|| b"one".to_vec()), "one");
        assert_eq!(frame.get_or_write(|| unreachable!()), "one");
    }
}
