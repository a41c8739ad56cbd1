//! The encoding of messages: integers in network byte order, strings and vectors with their length
//! before them.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::error::ClientError;
use super::session_id::SessionId;

/// Appends the parts of a request.
#[derive(Default)]
pub(super) struct Encoder(pub(super) BytesMut);

impl Encoder {
    pub(super) fn int(mut self, value: i32) -> Self {
        self.0.put_i32(value);
        self
    }

    pub(super) fn long(mut self, value: i64) -> Self {
        self.0.put_i64(value);
        self
    }

    pub(super) fn bool(mut self, value: bool) -> Self {
        self.0.put_u8(u8::from(value));
        self
    }

    /// A string or a buffer.
    pub(super) fn bytes(mut self, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        let length = i32::try_from(value.len()).expect("a request is far smaller than 2 GiB");
        self.0.put_i32(length);
        self.0.put_slice(value);
        self
    }

    /// The permissions of a new node: everything for every client, as Curator and kazoo create
    /// theirs.
    pub(super) fn open_acl(self) -> Self {
        const ALL_PERMISSIONS: i32 = 31;
        self.int(1)
            .int(ALL_PERMISSIONS)
            .bytes("world")
            .bytes("anyone")
    }

    /// The header of one operation of a `multi` or `multiRead`.
    pub(super) fn multi_header(self, operation: i32, is_end: bool) -> Self {
        self.int(operation).bool(is_end).int(-1)
    }
}

/// Reads the parts of a reply.
pub(super) struct Decoder(pub(super) Bytes);

impl Decoder {
    pub(super) fn int(&mut self) -> Result<i32, ClientError> {
        self.check(4)?;
        Ok(self.0.get_i32())
    }

    pub(super) fn long(&mut self) -> Result<i64, ClientError> {
        self.check(8)?;
        Ok(self.0.get_i64())
    }

    pub(super) fn bool(&mut self) -> Result<bool, ClientError> {
        self.check(1)?;
        Ok(self.0.get_u8() != 0)
    }

    /// A buffer; empty if it is null.
    pub(super) fn bytes(&mut self) -> Result<Bytes, ClientError> {
        let length = self.int()?;
        let Ok(length) = usize::try_from(length) else {
            return Ok(Bytes::new());
        };
        self.check(length)?;
        Ok(self.0.split_to(length))
    }

    pub(super) fn string(&mut self) -> Result<String, ClientError> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.into()).map_err(|_| ClientError::InvalidReply)
    }

    pub(super) fn strings(&mut self) -> Result<Vec<String>, ClientError> {
        let count = usize::try_from(self.int()?).unwrap_or(0);
        // Each string has a length of 4 bytes, so a wrong count cannot allocate more than the
        // reply.
        self.check(count.saturating_mul(4))?;
        (0..count).map(|_| self.string()).collect()
    }

    pub(super) fn stat(&mut self) -> Result<Stat, ClientError> {
        let czxid = self.long()?;
        let _mzxid = self.long()?;
        let created_ms = self.long()?;
        let _mtime = self.long()?;
        let version = self.int()?;
        let _cversion = self.int()?;
        let _aversion = self.int()?;
        let owner = self.long()?;
        let _data_length = self.int()?;
        let child_count = self.int()?;
        let _pzxid = self.long()?;
        Ok(Stat {
            czxid,
            created_ms,
            version,
            ephemeral_owner: (owner != 0).then_some(SessionId::new(owner)),
            child_count: u32::try_from(child_count).unwrap_or(0),
        })
    }

    fn check(&self, length: usize) -> Result<(), ClientError> {
        if self.0.remaining() < length {
            return Err(ClientError::InvalidReply);
        }
        Ok(())
    }
}

/// What the server stores about a node besides its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The number of the transaction that created the node. It increases over the whole ensemble.
    pub czxid: i64,
    /// When the node was created, by the leader's clock, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// The number of changes of the data.
    pub version: i32,
    /// The session with which the node ends; `None` for a persistent node.
    pub ephemeral_owner: Option<SessionId>,
    /// The number of children.
    pub child_count: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let encoder = Encoder::default().int(-7).long(1 << 40).bool(true);
        let encoder = encoder.bytes("/locks/ü").int(2).bytes("a").bytes("b");
        let mut decoder = Decoder(encoder.0.freeze());
        assert_eq!(decoder.int(), Ok(-7));
        assert_eq!(decoder.long(), Ok(1 << 40));
        assert_eq!(decoder.bool(), Ok(true));
        assert_eq!(decoder.string().as_deref(), Ok("/locks/ü"));
        assert_eq!(decoder.strings(), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(decoder.int(), Err(ClientError::InvalidReply));
    }

    #[test]
    fn lengths_beyond_the_reply_are_errors_and_null_is_empty() {
        for (length, expected) in [
            (i32::MAX, Err(ClientError::InvalidReply)),
            (5, Err(ClientError::InvalidReply)),
            (-1, Ok(Bytes::new())),
        ] {
            let encoded = Encoder::default().int(length).int(0).0.freeze();
            assert_eq!(Decoder(encoded.clone()).bytes(), expected, "{length}");
            if length > 0 {
                assert_eq!(Decoder(encoded).strings(), Err(ClientError::InvalidReply));
            }
        }
    }
}
