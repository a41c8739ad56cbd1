//! One change in the stream, its place there, and what viewers are sent of it.

use bytes::Bytes;

use super::frame::{self, Frame};
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
    pub(super) frame: Frame,
}

impl Event {
    /// The change as a server-sent event: written out once for all viewers, and not at all where nobody wants to hear of everything.
    pub fn frame(&self) -> Bytes {
        self.frame.get_or_write(|| {
            let mut written = Vec::new();
            frame::add(&mut written, "change", self.id, &self.change);
            written
        })
    }
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
}
