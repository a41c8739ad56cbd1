//! Samples all commands of one node for a few seconds with `MONITOR`, to find clients that fail to
//! acquire locks.
//!
//! While `MONITOR` runs, each command costs the server 25 to 100 % more. So samples are rare, short
//! and of one node, on a connection of their own, with a byte limit. The lines contain tokens; they
//! are only counted and never stored or logged.

mod attempt_counter;
mod command;
mod frames;

use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout_at};

use super::connection::with_timeout;
use super::feed::{KeyClass, KeyFilter, prefixes_of};
use super::node::Node;
use super::node_error::io_reason;
use crate::domain::MonitorSample;
use crate::domain::reason::Reason;
use attempt_counter::AttemptCounter;
use command::Command;
use frames::Frame;

/// The maximum size of a sample.
const MAX_BYTES: u64 = 20 * 1024 * 1024;
/// The maximum size of a command, which must be buffered completely. A longer one ends the sample.
const MAX_COMMAND_BYTES: usize = 1024 * 1024;

/// Why a sample failed.
#[derive(Debug)]
pub enum SampleError {
    /// The server rejected it.
    Rejected(Reason),
    /// The server is unreachable.
    Unreachable(Reason),
}

trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for T {}

/// Samples the commands on keys that match these patterns, for `duration`.
pub async fn sample(
    node: &Node,
    patterns: &[String],
    duration: Duration,
) -> Result<MonitorSample, SampleError> {
    let info = node.endpoint.connection_info().await;
    let info = info.map_err(|error| SampleError::Unreachable(error.reason))?;
    let connecting = with_timeout(node.connect_timeout, connect(info.addr()));
    let stream = connecting
        .await
        .map_err(|error| SampleError::Unreachable(error.reason))??;
    let mut recorder = Recorder {
        stream,
        bytes: Vec::new(),
        read: 0,
    };
    let starting = recorder.start(&info, patterns);
    let failures_unavailable_reason = with_timeout(node.connect_timeout, starting)
        .await
        .map_err(|error| SampleError::Unreachable(error.reason))??;
    let (began_at, began) = (node.clock().now(), Instant::now());
    let mut counter = AttemptCounter::default();
    // Replies to the setup commands do not count towards the sample.
    recorder.read = 0;
    let filter = KeyFilter::new(patterns);
    let db = info.redis_settings().db();
    let truncated_reason = recorder
        .record(&mut counter, &filter, db, began + duration)
        .await
        .err();
    let elapsed = began.elapsed();
    Ok(MonitorSample {
        node: node.name().to_owned(),
        started_at: began_at,
        duration_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        bytes: recorder.read,
        commands: counter.commands,
        truncated_reason,
        failures_unavailable_reason,
        locks: counter.locks(),
    })
}

async fn connect(address: &ConnectionAddr) -> Result<Box<dyn ByteStream>, SampleError> {
    let unreachable = |error: std::io::Error| SampleError::Unreachable(io_reason(&error));
    match address {
        ConnectionAddr::Tcp(host, port) => {
            let stream = TcpStream::connect((host.as_str(), *port)).await;
            Ok(Box::new(stream.map_err(unreachable)?))
        }
        ConnectionAddr::Unix(path) => {
            let stream = UnixStream::connect(path).await;
            Ok(Box::new(stream.map_err(unreachable)?))
        }
        _ => Err(SampleError::Rejected(Reason::SampleOverTls)),
    }
}

/// A raw connection; replies are parsed in [`frames`].
struct Recorder {
    stream: Box<dyn ByteStream>,
    bytes: Vec<u8>,
    read: u64,
}

impl Recorder {
    /// Authenticates, then starts client tracking and `MONITOR`. Returns why client tracking is
    /// unavailable, if it is.
    async fn start(
        &mut self,
        info: &ConnectionInfo,
        patterns: &[String],
    ) -> Result<Option<Reason>, SampleError> {
        let settings = info.redis_settings();
        let mut hello: Vec<Vec<u8>> = vec!["HELLO".into(), "3".into()];
        if let Some(password) = settings.password() {
            let user = settings.username().unwrap_or("default");
            hello.extend(["AUTH", user, password].map(Vec::from));
        }
        self.send_command(&hello)
            .await?
            .map_err(SampleError::Rejected)?;
        // Identifies the console in CLIENT LIST. It may be denied.
        let name = ["CLIENT", "SETNAME", "lockkeeper-sample"].map(Vec::from);
        let _unnamed = self.send_command(&name).await?;
        let db = settings.db();
        if db != 0 {
            let select = ["SELECT".into(), db.to_string().into_bytes()];
            self.send_command(&select)
                .await?
                .map_err(SampleError::Rejected)?;
        }
        let mut track = ["CLIENT", "TRACKING", "ON", "BCAST"]
            .map(Vec::from)
            .to_vec();
        for prefix in prefixes_of(patterns).unwrap_or_default() {
            track.extend(["PREFIX".into(), prefix]);
        }
        let tracking = self.send_command(&track).await?;
        let monitor = self.send_command(&["MONITOR".into()]).await?;
        monitor.map_err(SampleError::Rejected)?;
        Ok(tracking.err().map(|cause| Reason::CommandRejected {
            command: "CLIENT TRACKING".into(),
            cause: Box::new(cause),
        }))
    }

    /// Sends a command. The inner error is the server's error reply.
    async fn send_command(&mut self, words: &[Vec<u8>]) -> Result<Result<(), Reason>, SampleError> {
        let mut command = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            command.extend(format!("${}\r\n", word.len()).bytes());
            command.extend(word);
            command.extend(b"\r\n");
        }
        let unreachable = |error: std::io::Error| SampleError::Unreachable(io_reason(&error));
        self.stream.write_all(&command).await.map_err(unreachable)?;
        loop {
            match self.read_frame().await.map_err(SampleError::Unreachable)? {
                Frame::Invalidated(_) | Frame::Flushed => {}
                Frame::Simple(_) | Frame::Other => return Ok(Ok(())),
                Frame::Error(text) => return Ok(Err(Reason::Text { text })),
            }
        }
    }

    /// Counts commands until `until`. The error is the reason why the sample ended early.
    async fn record(
        &mut self,
        counter: &mut AttemptCounter,
        filter: &KeyFilter,
        db: i64,
        until: Instant,
    ) -> Result<(), Reason> {
        let is_lock = |key: &[u8]| matches!(filter.classify(key), KeyClass::Lock(_));
        while let Ok(frame) = timeout_at(until, self.read_frame()).await {
            match frame? {
                Frame::Simple(line) => {
                    if let Some(command) = Command::parse(&line).filter(|command| command.db == db)
                    {
                        counter.record_command(command, is_lock);
                    }
                }
                Frame::Invalidated(keys) => {
                    keys.iter().for_each(|key| counter.record_invalidation(key))
                }
                Frame::Flushed | Frame::Error(_) | Frame::Other => {}
            }
            if self.read > MAX_BYTES {
                return Err(Reason::SampleTooLarge {
                    megabytes: MAX_BYTES / 1024 / 1024,
                });
            }
            if Instant::now() >= until {
                break;
            }
        }
        Ok(())
    }

    async fn read_frame(&mut self) -> Result<Frame, Reason> {
        let mut at = 0;
        loop {
            // Parsed again only when a line end has arrived: otherwise a long command would be
            // scanned repeatedly.
            if (at == 0 || self.bytes.get(at..).is_some_and(|new| new.contains(&b'\n')))
                && let Some((frame, used)) =
                    frames::parse_frame(&self.bytes).map_err(|_| Reason::InvalidReply)?
            {
                self.bytes.drain(..used);
                return Ok(frame);
            }
            if self.bytes.len() > MAX_COMMAND_BYTES {
                return Err(Reason::CommandTooLong);
            }
            at = self.bytes.len();
            let read = self.stream.read_buf(&mut self.bytes).await;
            match read {
                Ok(0) => return Err(Reason::ServerClosedConnection),
                Ok(more) => self.read += u64::try_from(more).unwrap_or(0),
                Err(error) => return Err(io_reason(&error)),
            }
        }
    }
}
