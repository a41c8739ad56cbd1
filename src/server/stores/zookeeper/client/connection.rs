//! One connection: TCP or TLS, the handshake of the session, and messages with their length before
//! them.

use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::error::{ClientError, ConnectError};
use super::server::Server;
use super::session_id::SessionCredentials;
use super::wire::{Decoder, Encoder};

/// The longest reply that is read. The names of 15,000 contenders need about 1 MB.
pub const MAX_REPLY_BYTES: usize = 8 << 20;
/// A longer reply ends the connection instead of being skipped.
const MAX_SKIPPED_BYTES: usize = 256 << 20;
/// The header of a reply: its number, the transaction, and the error code.
const HEADER_BYTES: usize = 16;
/// How much is read from the socket at once.
const READ_BYTES: usize = 64 << 10;

/// A byte stream to a server.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection with an established session.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    input: BytesMut,
    output: BytesMut,
    /// Written to the stream, which may still buffer it.
    is_unflushed: bool,
    skipping: Option<SkippedReply>,
}

/// A reply that is too long. Its body is discarded as it arrives.
struct SkippedReply {
    header: Bytes,
    bytes: usize,
    remaining: usize,
}

/// A message of the server.
pub(super) enum Message {
    /// A complete message.
    Complete(Bytes),
    /// The header of a message whose body was too long, and its length.
    TooLong(Bytes, usize),
}

/// What the server granted.
pub(super) struct Handshake {
    pub(super) credentials: SessionCredentials,
    pub(super) timeout: Duration,
}

/// Opens a connection, without a session.
pub async fn open_stream(server: &Server) -> Result<Box<dyn Stream>, ConnectError> {
    let tcp = TcpStream::connect((server.host.as_str(), server.port)).await?;
    tcp.set_nodelay(true)?;
    let Some(tls) = &server.tls else {
        return Ok(Box::new(tcp));
    };
    let (connector, name) = tls.connector(&server.host)?;
    let stream = connector.connect(name, tcp).await;
    let stream = stream.map_err(|error| ConnectError::Tls(error.to_string()))?;
    Ok(Box::new(stream))
}

impl Connection {
    /// Connects to a server and starts or continues a session. `Ok(None)` means that the session
    /// has expired.
    pub(super) async fn open(
        server: &Server,
        credentials: &SessionCredentials,
        session_timeout: Duration,
        last_zxid: i64,
    ) -> Result<Option<(Self, Handshake)>, ConnectError> {
        let mut connection = Self {
            stream: open_stream(server).await?,
            input: BytesMut::with_capacity(READ_BYTES),
            output: BytesMut::new(),
            is_unflushed: false,
            skipping: None,
        };
        let timeout_ms = i32::try_from(session_timeout.as_millis()).unwrap_or(i32::MAX);
        let request = Encoder::default().int(0).long(last_zxid).int(timeout_ms);
        let request = request.long(credentials.id).bytes(&*credentials.password);
        connection.queue(&request.bool(false).0);
        let reply = loop {
            match connection.next_message() {
                Ok(Some(Message::Complete(reply))) => break reply,
                Ok(Some(Message::TooLong(..))) | Err(_) => return Err(ConnectError::InvalidReply),
                Ok(None) => {}
            }
            connection.transfer().await?;
        };
        let handshake = decode_handshake(reply).map_err(|_| ConnectError::InvalidReply)?;
        Ok(handshake.map(|handshake| (connection, handshake)))
    }

    /// Appends a message to the output.
    pub(super) fn queue(&mut self, message: &[u8]) {
        let length = i32::try_from(message.len()).expect("a request is far smaller than 2 GiB");
        self.output.put_i32(length);
        self.output.put_slice(message);
    }

    /// Writes the output and reads what has arrived, whichever is possible first. Cancel-safe.
    pub(super) async fn transfer(&mut self) -> Result<(), ConnectError> {
        let Self {
            stream,
            input,
            output,
            is_unflushed,
            ..
        } = self;
        let (mut reader, mut writer) = tokio::io::split(stream);
        input.reserve(READ_BYTES);
        let has_output = !output.is_empty() || *is_unflushed;
        let writing = async {
            let mut written = 1;
            if !output.is_empty() {
                *is_unflushed = true;
                written = writer.write_buf(output).await?;
            }
            if output.is_empty() {
                writer.flush().await?;
                *is_unflushed = false;
            }
            std::io::Result::Ok(written)
        };
        let transferred = tokio::select! {
            read = reader.read_buf(input) => read?,
            written = writing, if has_output => written?,
        };
        // The end of the stream.
        if transferred == 0 {
            return Err(ConnectError::NoQuorum);
        }
        Ok(())
    }

    /// The next message that has arrived completely.
    pub(super) fn next_message(&mut self) -> Result<Option<Message>, ClientError> {
        if let Some(skipped) = self.skip() {
            return Ok(skipped);
        }
        if self.input.len() < 4 {
            return Ok(None);
        }
        let length =
            i32::from_be_bytes([self.input[0], self.input[1], self.input[2], self.input[3]]);
        let length = usize::try_from(length).map_err(|_| ClientError::InvalidReply)?;
        if length > MAX_SKIPPED_BYTES {
            return Err(ClientError::InvalidReply);
        }
        if length > MAX_REPLY_BYTES {
            if self.input.len() < 4 + HEADER_BYTES {
                return Ok(None);
            }
            self.input.advance(4);
            let header = self.input.split_to(HEADER_BYTES).freeze();
            self.skipping = Some(SkippedReply {
                header,
                bytes: length,
                remaining: length - HEADER_BYTES,
            });
            return Ok(self.skip().flatten());
        }
        if self.input.len() < 4 + length {
            return Ok(None);
        }
        self.input.advance(4);
        Ok(Some(Message::Complete(
            self.input.split_to(length).freeze(),
        )))
    }

    /// Discards the body of a reply that is too long. `None` if there is none.
    fn skip(&mut self) -> Option<Option<Message>> {
        let skipping = self.skipping.as_mut()?;
        let discarded = skipping.remaining.min(self.input.len());
        self.input.advance(discarded);
        skipping.remaining -= discarded;
        if skipping.remaining > 0 {
            return Some(None);
        }
        let skipped = self.skipping.take()?;
        Some(Some(Message::TooLong(skipped.header, skipped.bytes)))
    }
}

fn decode_handshake(reply: Bytes) -> Result<Option<Handshake>, ClientError> {
    let mut decoder = Decoder(reply);
    let _protocol_version = decoder.int()?;
    let timeout_ms = decoder.int()?;
    let id = decoder.long()?;
    let password = decoder.bytes()?;
    // A timeout of 0 means that the server does not know the session any more.
    let Some(timeout_ms) = u64::try_from(timeout_ms).ok().filter(|ms| *ms > 0) else {
        return Ok(None);
    };
    Ok(Some(Handshake {
        credentials: SessionCredentials {
            id,
            password: password.to_vec().into(),
        },
        timeout: Duration::from_millis(timeout_ms),
    }))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn a_reply_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let (client, mut server) = duplex(1 << 16);
        let mut connection = Connection {
            stream: Box::new(client),
            input: BytesMut::new(),
            output: BytesMut::new(),
            is_unflushed: false,
            skipping: None,
        };
        let sending = tokio::spawn(async move {
            let length = MAX_REPLY_BYTES + 1;
            server.write_i32(length as i32).await.unwrap();
            server.write_all(&vec![7; length]).await.unwrap();
            server.write_i32(2).await.unwrap();
            server.write_all(b"ok").await.unwrap();
            server
        });
        let mut messages = Vec::new();
        while messages.len() < 2 {
            connection.transfer().await.unwrap();
            while let Some(message) = connection.next_message().unwrap() {
                messages.push(message);
            }
        }
        let [Message::TooLong(header, bytes), Message::Complete(next)] = &messages[..] else {
            panic!("a skipped reply and a complete one");
        };
        assert_eq!((&header[..], *bytes), (&[7; 16][..], MAX_REPLY_BYTES + 1));
        assert_eq!(&next[..], b"ok");
        assert!(connection.input.capacity() < MAX_REPLY_BYTES);
        drop(sending.await.unwrap());
    }

    #[tokio::test]
    async fn a_length_that_no_server_sends_is_an_error() {
        for length in [-1_i32, i32::MAX] {
            let (client, mut server) = duplex(64);
            let mut connection = Connection {
                stream: Box::new(client),
                input: BytesMut::new(),
                output: BytesMut::new(),
                is_unflushed: false,
                skipping: None,
            };
            server.write_i32(length).await.unwrap();
            connection.transfer().await.unwrap();
            assert!(connection.next_message().is_err(), "{length}");
        }
    }
}
