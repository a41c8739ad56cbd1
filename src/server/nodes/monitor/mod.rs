//! Records for a few seconds what everybody asks of one node, to tell who tries in vain to take which lock.
//!
//! While `MONITOR` runs, the server works a quarter up to twice as much for each command. So: seldom, briefly, one node, a
//! connection of its own, and no more than so many bytes. Lines carry tokens: they are counted here and go nowhere.

mod command;
mod frames;
mod tally;

use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout_at};

use super::feed::{Interest, Meaning, prefixes_of};
use super::line::within;
use super::node::Node;
use crate::domain::MonitorSample;
use command::Command;
use frames::Frame;
use tally::Tally;

/// A sample ends after so many bytes.
const MOST_BYTES: u64 = 20 * 1024 * 1024;
/// A command longer than this ends it: it would have to be kept whole.
const LONGEST_COMMAND: usize = 1024 * 1024;

/// Why there is no sample.
#[derive(Debug)]
pub enum NoSample {
    /// The server will not have it.
    Refused(String),
    /// It cannot be reached.
    Unreachable(String),
}

trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// Records what is asked of a node about names that match these patterns, for so long.
pub async fn sample(
    node: &Node,
    patterns: &[String],
    how_long: Duration,
) -> Result<MonitorSample, NoSample> {
    let info = node.reach.info().await;
    let info = info.map_err(|trouble| NoSample::Unreachable(trouble.reason))?;
    let connecting = within(node.connect_timeout, connect(info.addr()));
    let wire = connecting
        .await
        .map_err(|trouble| NoSample::Unreachable(trouble.reason))??;
    let mut recorder = Recorder {
        wire,
        bytes: Vec::new(),
        read: 0,
    };
    let introducing = recorder.begin(&info, patterns);
    let failures_unknown = within(node.connect_timeout, introducing)
        .await
        .map_err(|trouble| NoSample::Unreachable(trouble.reason))??;
    let (began_at, began) = (node.clock().now(), Instant::now());
    let mut tally = Tally::default();
    recorder.read = 0;
    let interest = Interest::new(patterns);
    let db = info.redis_settings().db();
    let cut_short = recorder
        .record(&mut tally, &interest, db, began + how_long)
        .await
        .err();
    let took = began.elapsed();
    Ok(MonitorSample {
        node: node.name().to_owned(),
        began_at,
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        bytes: recorder.read,
        commands: tally.commands,
        cut_short,
        failures_unknown,
        locks: tally.locks(),
    })
}

async fn connect(address: &ConnectionAddr) -> Result<Box<dyn Wire>, NoSample> {
    let unreachable = |error: std::io::Error| NoSample::Unreachable(error.to_string());
    match address {
        ConnectionAddr::Tcp(host, port) => {
            let stream = TcpStream::connect((host.as_str(), *port)).await;
            Ok(Box::new(stream.map_err(unreachable)?))
        }
        ConnectionAddr::Unix(path) => {
            let stream = UnixStream::connect(path).await;
            Ok(Box::new(stream.map_err(unreachable)?))
        }
        _ => Err(NoSample::Refused(
            "samples are taken over TCP and unix sockets, not over TLS".to_owned(),
        )),
    }
}

/// A connection that is read here, byte by byte.
struct Recorder {
    wire: Box<dyn Wire>,
    bytes: Vec<u8>,
    read: u64,
}

impl Recorder {
    /// Says who we are and has everything told. Why changes are not told between the commands, if they are not.
    async fn begin(
        &mut self,
        info: &ConnectionInfo,
        patterns: &[String],
    ) -> Result<Option<String>, NoSample> {
        let settings = info.redis_settings();
        let mut hello: Vec<Vec<u8>> = vec!["HELLO".into(), "3".into()];
        if let Some(password) = settings.password() {
            let user = settings.username().unwrap_or("default");
            hello.extend(["AUTH", user, password].map(Vec::from));
        }
        self.ask(&hello).await?.map_err(NoSample::Refused)?;
        // For people who look at CLIENT LIST; it may be refused.
        let name = ["CLIENT", "SETNAME", "lockkeeper-sample"].map(Vec::from);
        let _unnamed = self.ask(&name).await?;
        let db = settings.db();
        if db != 0 {
            let select = ["SELECT".into(), db.to_string().into_bytes()];
            self.ask(&select).await?.map_err(NoSample::Refused)?;
        }
        let mut track = ["CLIENT", "TRACKING", "ON", "BCAST"]
            .map(Vec::from)
            .to_vec();
        for start in prefixes_of(patterns).unwrap_or_default() {
            track.extend(["PREFIX".into(), start]);
        }
        let tracking = self.ask(&track).await?;
        let monitor = self.ask(&["MONITOR".into()]).await?;
        monitor.map_err(NoSample::Refused)?;
        let why = |refusal| format!("changes may not be told (CLIENT TRACKING): {refusal}");
        Ok(tracking.err().map(why))
    }

    /// Sends a command; the refusal, if it was refused.
    async fn ask(&mut self, words: &[Vec<u8>]) -> Result<Result<(), String>, NoSample> {
        let mut command = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            command.extend(format!("${}\r\n", word.len()).bytes());
            command.extend(word);
            command.extend(b"\r\n");
        }
        let unreachable = |error: std::io::Error| NoSample::Unreachable(error.to_string());
        self.wire.write_all(&command).await.map_err(unreachable)?;
        loop {
            match self.frame().await.map_err(NoSample::Unreachable)? {
                Frame::Changed(_) | Frame::Flushed => {}
                Frame::Line(_) | Frame::Other => return Ok(Ok(())),
                Frame::Refusal(text) => return Ok(Err(text)),
            }
        }
    }

    /// Counts until `until`; an error says why it ended before.
    async fn record(
        &mut self,
        tally: &mut Tally,
        interest: &Interest,
        db: i64,
        until: Instant,
    ) -> Result<(), String> {
        let is_ours = |key: &[u8]| matches!(interest.meaning(key), Meaning::Lock(_));
        while let Ok(frame) = timeout_at(until, self.frame()).await {
            match frame? {
                Frame::Line(line) => {
                    if let Some(command) = Command::read(&line).filter(|it| it.db == db) {
                        tally.command(command, is_ours);
                    }
                }
                Frame::Changed(keys) => keys.iter().for_each(|key| tally.changed(key)),
                Frame::Flushed | Frame::Refusal(_) | Frame::Other => {}
            }
            if self.read > MOST_BYTES {
                return Err(format!("after {} MB", MOST_BYTES / 1024 / 1024));
            }
            if Instant::now() >= until {
                break;
            }
        }
        Ok(())
    }

    async fn frame(&mut self) -> Result<Frame, String> {
        let mut at = 0;
        loop {
            // Only where something came in: a long command would be searched over and over.
            if (at == 0 || self.bytes.get(at..).is_some_and(|new| new.contains(&b'\n')))
                && let Some((frame, used)) = frames::next(&self.bytes)?
            {
                self.bytes.drain(..used);
                return Ok(frame);
            }
            if self.bytes.len() > LONGEST_COMMAND {
                return Err("a command was longer than 1 MB".to_owned());
            }
            at = self.bytes.len();
            let read = self.wire.read_buf(&mut self.bytes).await;
            match read {
                Ok(0) => return Err("the server closed the connection".to_owned()),
                Ok(more) => self.read += u64::try_from(more).unwrap_or(0),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}
