//! The requests that the console sends, and their replies.

use bytes::Bytes;

use super::error::{ClientError, ErrorCode};
use super::wire::{Decoder, Encoder, Stat};

const CREATE2: i32 = 15;
const DELETE: i32 = 2;
const EXISTS: i32 = 3;
const GET_DATA: i32 = 4;
const SET_DATA: i32 = 5;
const GET_CHILDREN: i32 = 8;
const SYNC: i32 = 9;
const GET_CHILDREN2: i32 = 12;
const CHECK: i32 = 13;
const MULTI: i32 = 14;
const CREATE_CONTAINER: i32 = 19;
const MULTI_READ: i32 = 22;
const ADD_WATCH: i32 = 106;
pub(super) const PING: i32 = 11;
const AUTH: i32 = 100;
pub(super) const CLOSE: i32 = -11;
/// The type of an error in the reply to a `multi`.
const ERROR: i32 = -1;

/// `addWatch`: report every change at and below the path until the connection ends.
const PERSISTENT_RECURSIVE: i32 = 1;
const EPHEMERAL_SEQUENTIAL: i32 = 3;
const CONTAINER: i32 = 4;

/// A request without its number.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) operation: i32,
    pub(super) body: Bytes,
}

impl Request {
    fn new(operation: i32, encoder: Encoder) -> Self {
        Self {
            operation,
            body: encoder.0.freeze(),
        }
    }

    /// A request about one path that optionally sets a watch.
    fn about(operation: i32, path: &str, watch: bool) -> Self {
        Self::new(operation, Encoder::default().bytes(path).bool(watch))
    }

    pub(super) fn exists(path: &str, watch: bool) -> Self {
        Self::about(EXISTS, path, watch)
    }

    pub(super) fn get_data(path: &str, watch: bool) -> Self {
        Self::about(GET_DATA, path, watch)
    }

    pub(super) fn get_children(path: &str) -> Self {
        Self::about(GET_CHILDREN2, path, false)
    }

    pub(super) fn set_data(path: &str, data: &[u8], version: i32) -> Self {
        let encoder = Encoder::default().bytes(path).bytes(data).int(version);
        Self::new(SET_DATA, encoder)
    }

    pub(super) fn delete(path: &str, version: i32) -> Self {
        Self::new(DELETE, Encoder::default().bytes(path).int(version))
    }

    pub(super) fn sync(path: &str) -> Self {
        Self::new(SYNC, Encoder::default().bytes(path))
    }

    pub(super) fn add_watch(path: &str) -> Self {
        let encoder = Encoder::default().bytes(path).int(PERSISTENT_RECURSIVE);
        Self::new(ADD_WATCH, encoder)
    }

    pub(super) fn create_ephemeral_sequential(path: &str, data: &[u8]) -> Self {
        let encoder = Encoder::default().bytes(path).bytes(data).open_acl();
        Self::new(CREATE2, encoder.int(EPHEMERAL_SEQUENTIAL))
    }

    pub(super) fn create_container(path: &str) -> Self {
        let encoder = Encoder::default().bytes(path).bytes(b"").open_acl();
        Self::new(CREATE_CONTAINER, encoder.int(CONTAINER))
    }

    /// A read of many nodes in one round trip.
    pub(super) fn multi_read(reads: &[Read<'_>]) -> Self {
        let encode = |encoder: Encoder, read: &Read<'_>| {
            let (operation, path) = match read {
                Read::Children(path) => (GET_CHILDREN, path),
                Read::Data(path) => (GET_DATA, path),
            };
            let encoder = encoder.multi_header(operation, false);
            encoder.bytes(path).bool(false)
        };
        let encoder = reads.iter().fold(Encoder::default(), encode);
        Self::new(MULTI_READ, encoder.multi_header(-1, true))
    }

    /// Deletes a node if its data has this version, in one atomic step.
    pub(super) fn check_and_delete(path: &str, version: i32) -> Self {
        let encoder = Encoder::default().multi_header(CHECK, false);
        let encoder = encoder.bytes(path).int(version);
        let encoder = encoder.multi_header(DELETE, false);
        let encoder = encoder.bytes(path).int(version);
        Self::new(MULTI, encoder.multi_header(-1, true))
    }

    pub(super) fn auth(scheme: &str, credentials: &[u8]) -> Self {
        let encoder = Encoder::default().int(0).bytes(scheme).bytes(credentials);
        Self::new(AUTH, encoder)
    }
}

/// One read of a `multiRead`.
#[derive(Clone, Copy, Debug)]
pub enum Read<'a> {
    /// The names of the children.
    Children(&'a str),
    /// The data and the stat.
    Data(&'a str),
}

/// The result of one read of a `multiRead`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadResult {
    /// The names of the children.
    Children(Vec<String>),
    /// The data and the stat.
    Data(Bytes, Stat),
}

/// A change at or below a watched path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEvent {
    /// What happened.
    pub kind: NodeEventKind,
    /// The path of the changed node.
    pub path: String,
}

/// What happened to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeEventKind {
    /// It was created.
    Created,
    /// It was deleted.
    Deleted,
    /// Its data was changed.
    DataChanged,
    /// Any other event.
    Other,
}

pub(super) fn decode_event(decoder: &mut Decoder) -> Result<NodeEvent, ClientError> {
    let kind = match decoder.int()? {
        1 => NodeEventKind::Created,
        2 => NodeEventKind::Deleted,
        3 => NodeEventKind::DataChanged,
        _ => NodeEventKind::Other,
    };
    let _state = decoder.int()?;
    Ok(NodeEvent {
        kind,
        path: decoder.string()?,
    })
}

pub(super) fn decode_children(mut body: Decoder) -> Result<(Vec<String>, Stat), ClientError> {
    Ok((body.strings()?, body.stat()?))
}

pub(super) fn decode_data(mut body: Decoder) -> Result<(Bytes, Stat), ClientError> {
    Ok((body.bytes()?, body.stat()?))
}

pub(super) fn decode_stat(mut body: Decoder) -> Result<Stat, ClientError> {
    body.stat()
}

pub(super) fn decode_created(mut body: Decoder) -> Result<(String, Stat), ClientError> {
    Ok((body.string()?, body.stat()?))
}

pub(super) fn decode_multi_read(
    mut body: Decoder,
    count: usize,
) -> Result<Vec<Result<ReadResult, ErrorCode>>, ClientError> {
    let mut results = Vec::with_capacity(count);
    while let Some(operation) = next_operation(&mut body)? {
        results.push(match operation {
            GET_CHILDREN => Ok(ReadResult::Children(body.strings()?)),
            GET_DATA => Ok(ReadResult::Data(body.bytes()?, body.stat()?)),
            ERROR => Err(decode_error(&mut body)?),
            _ => return Err(ClientError::InvalidReply),
        });
    }
    if results.len() != count {
        return Err(ClientError::InvalidReply);
    }
    Ok(results)
}

/// The reply to [`Request::check_and_delete`]. If an operation failed, its code is the error; the
/// codes of the others only say that the transaction failed.
pub(super) fn decode_check_and_delete(mut body: Decoder) -> Result<(), ClientError> {
    let mut failure = None;
    while let Some(operation) = next_operation(&mut body)? {
        match operation {
            CHECK | DELETE => {}
            ERROR => {
                let code = body.int()?;
                if let Some(code) = ErrorCode::from_code(code)
                    && matches!(failure, None | Some(ErrorCode::TransactionFailed))
                {
                    failure = Some(code);
                }
            }
            _ => return Err(ClientError::InvalidReply),
        }
    }
    failure.map_or(Ok(()), |code| Err(ClientError::Server(code)))
}

fn next_operation(body: &mut Decoder) -> Result<Option<i32>, ClientError> {
    let operation = body.int()?;
    let is_end = body.bool()?;
    let _error = body.int()?;
    Ok((!is_end).then_some(operation))
}

fn decode_error(body: &mut Decoder) -> Result<ErrorCode, ClientError> {
    ErrorCode::from_code(body.int()?).ok_or(ClientError::InvalidReply)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(encoder: Encoder, code: i32) -> Encoder {
        encoder.multi_header(ERROR, false).int(code)
    }

    #[test]
    fn the_first_error_of_a_transaction_is_its_cause() {
        for (codes, expected) in [
            (&[0, -101][..], Err(ErrorCode::NoNode)),
            (&[-103, -2], Err(ErrorCode::BadVersion)),
            (&[-2, -102], Err(ErrorCode::NoAuth)),
        ] {
            let encoder = codes
                .iter()
                .fold(Encoder::default(), |encoder, code| error(encoder, *code));
            let body = encoder.multi_header(-1, true).0.freeze();
            let result = decode_check_and_delete(Decoder(body));
            assert_eq!(result, expected.map_err(ClientError::Server), "{codes:?}");
        }
        let done = Encoder::default().multi_header(CHECK, false);
        let done = done.multi_header(DELETE, false).multi_header(-1, true);
        assert_eq!(decode_check_and_delete(Decoder(done.0.freeze())), Ok(()));
    }

    #[test]
    fn a_multi_read_has_one_result_per_read() {
        let children = Encoder::default().multi_header(GET_CHILDREN, false);
        let children = children.int(1).bytes("a");
        let body = error(children, -101).multi_header(-1, true).0.freeze();
        let results = decode_multi_read(Decoder(body.clone()), 2).unwrap();
        assert_eq!(results[0], Ok(ReadResult::Children(vec!["a".to_owned()])));
        assert_eq!(results[1], Err(ErrorCode::NoNode));
        assert_eq!(
            decode_multi_read(Decoder(body), 3),
            Err(ClientError::InvalidReply)
        );
    }
}
