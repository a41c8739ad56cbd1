//! A connection to a node. It is replaced when no reply arrives over it within the command timeout.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, ErrorKind, ProtocolVersion, PushInfo,
    PushKind, RedisError, RedisResult, Value,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::asking_connection::{AskingConnection, is_server_reply};
use super::health::{HealthCheck, ServerInfo};
use super::node_error::NodeError;
use super::scripts;
use crate::server::clock::Clock;

/// An open connection. Clones share the same socket.
#[derive(Clone)]
pub struct Connection<C = AskingConnection> {
    /// Sends commands and receives replies. Any number of callers can use it concurrently.
    pub transport: C,
    /// Distinguishes this connection from its replacement.
    pub id: u64,
    /// Reads over this connection do not reset a key's idle time (`CLIENT NO-TOUCH`, since Redis
    /// 7.2).
    pub keeps_idle_time: bool,
    /// Commands of this server that replace a script.
    pub server_commands: ServerCommands,
    /// A reply timed out while no other reply arrived: the connection must be checked.
    needs_check: Arc<AtomicBool>,
    /// The server is a cluster node. Clients may subscribe to shard channels there (`SSUBSCRIBE`).
    pub is_in_cluster: bool,
}

/// Compare-and-write commands that the server has and this user may call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCommands {
    /// How to delete a string only if it has an expected value.
    pub compare_and_delete: Option<CompareAndDelete>,
}

/// The two forms of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareAndDelete {
    /// `DELEX key IFEQ value`: Redis since 8.4, Valkey since 9.2.
    Delex,
    /// `DELIFEQ key value`: Valkey since 9.0.
    DelIfEq,
}

impl ServerCommands {
    /// Parses the reply to `COMMAND INFO DELEX DELIFEQ`. An unknown command is null in that reply.
    fn parse(reply: Option<&RedisResult<Value>>) -> Self {
        let Some(Ok(Value::Array(commands))) = reply else {
            return Self::default();
        };
        let exists = |n: usize| matches!(commands.get(n), Some(Value::Array(_)));
        let compare_and_delete = match (exists(0), exists(1)) {
            (true, _) => Some(CompareAndDelete::Delex),
            (false, true) => Some(CompareAndDelete::DelIfEq),
            (false, false) => None,
        };
        Self { compare_and_delete }
    }
}

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Scans, inspections, health checks.
    Inspection,
    /// Scans and inspections on a read replica, if one is configured.
    Replica,
    /// Acquire, extend and release.
    Locking,
}

static NEXT_CONNECTION_ID: AtomicU64 = AtomicU64::new(0);

impl<C> Connection<C> {
    /// Wraps a transport to a server without optional commands.
    pub fn new(transport: C) -> Self {
        Self {
            transport,
            id: NEXT_CONNECTION_ID.fetch_add(1, Ordering::Relaxed),
            keeps_idle_time: false,
            server_commands: ServerCommands::default(),
            needs_check: Arc::default(),
            is_in_cluster: false,
        }
    }
}

impl Connection {
    /// Opens a connection and sets its name. `lost` is notified when the connection breaks.
    pub async fn open(
        info: &ConnectionInfo,
        purpose: Purpose,
        lost: Arc<Notify>,
    ) -> RedisResult<Self> {
        let on_push = move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                lost.notify_one();
            }
        };
        let no_push = None::<fn(PushInfo)>;
        // Only RESP3 connections receive push messages, by which redis-rs reports a disconnection.
        let mut connection = match connect(info, ProtocolVersion::RESP3, Some(on_push)).await {
            // Redis before 6 and some proxies support RESP2 only.
            Err(error) if is_resp3_unsupported(&error) => {
                connect(info, ProtocolVersion::RESP2, no_push).await?
            }
            other => other?,
        };
        // The name identifies the console in CLIENT LIST. Servers that reject it are usable all the
        // same.
        let mut setup = redis::pipe();
        setup
            .ignore_errors()
            .cmd("CLIENT")
            .arg("SETNAME")
            .arg("lockkeeper");
        match purpose {
            Purpose::Inspection | Purpose::Replica => setup.cmd("CLIENT").arg("NO-TOUCH").arg("ON"),
            Purpose::Locking => {
                setup.cmd("COMMAND").arg("INFO").arg("DELEX").arg("DELIFEQ");
                // Loaded in advance, so that the first acquire needs no extra round trip for
                // EVALSHA.
                for script in scripts::SOURCES {
                    setup.cmd("SCRIPT").arg("LOAD").arg(script);
                }
                &mut setup
            }
        };
        let replies: Vec<RedisResult<Value>> = setup.query_async(&mut connection).await?;
        let (keeps_idle_time, server_commands) = match purpose {
            Purpose::Inspection | Purpose::Replica => (
                replies.get(1).is_some_and(Result::is_ok),
                ServerCommands::default(),
            ),
            Purpose::Locking => (false, ServerCommands::parse(replies.get(1))),
        };
        Ok(Self {
            keeps_idle_time,
            server_commands,
            ..Connection::new(AskingConnection::new(connection))
        })
    }

    /// The number of replies received over this connection so far, for all callers.
    pub(super) fn reply_count(&self) -> u64 {
        self.transport.reply_count()
    }

    /// Requests a check of the connection. Returns whether none was requested yet.
    pub(super) fn request_check(&self) -> bool {
        !self.needs_check.swap(true, Ordering::Relaxed)
    }

    /// Whether a check was requested.
    pub(super) fn needs_check(&self) -> bool {
        self.needs_check.load(Ordering::Relaxed)
    }

    /// Sends a `PING` and returns whether any reply arrived over the connection within `timeout`.
    pub(super) async fn ping(&mut self, timeout: Duration) -> bool {
        // Cleared first: a reply that times out during this PING must request another check.
        self.needs_check.store(false, Ordering::Relaxed);
        let replies_before = self.reply_count();
        let ping = redis::cmd("PING");
        let ping_reply = ping.query_async::<Value>(&mut self.transport);
        match with_timeout(timeout, ping_reply).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => is_server_reply(&error),
            Err(_) => self.reply_count() != replies_before,
        }
    }

    /// The same connection, with or without `ASKING` before each command.
    pub(super) fn with_asking(self, with_asking: bool) -> Self {
        Self {
            transport: self.transport.with_asking(with_asking),
            ..self
        }
    }

    /// Checks the node's health. With `thoroughly`, also reads `INFO` and the persistence settings.
    pub async fn check(
        &mut self,
        clock: &Clock,
        thoroughly: bool,
    ) -> Result<HealthCheck, NodeError> {
        // PING and TIME are sent in the same pipeline, so the clock skew is measured with the round
        // trip that is recorded.
        let mut batch = redis::pipe();
        batch.ignore_errors().cmd("PING").cmd("TIME");
        if thoroughly {
            batch
                .cmd("CONFIG")
                .arg("GET")
                .arg("*append*")
                .cmd("INFO")
                .arg("server")
                .cmd("INFO")
                .arg("replication");
        }
        let (sent_at, sent) = (clock.now(), Instant::now());
        let replies: Vec<RedisResult<Value>> = batch
            .query_async(&mut self.transport)
            .await
            .map_err(|error| NodeError::from_redis(&error))?;
        let (received, at) = (clock.reading(), Instant::now());
        let received_at = received.wall;

        let mut replies = replies.into_iter();
        check_pong(replies.next())?;
        let server_time = parse_time(replies.next())?;
        let skew_ms = server_time
            .map(|server_ms| server_ms - i64::midpoint(sent_at.millis(), received_at.millis()));
        let server_info = if thoroughly {
            let fsyncs_every_write = replies.next().is_some_and(parse_fsyncs_every_write);
            parse_server_info(replies).map(|server_info| ServerInfo {
                fsyncs_every_write,
                ..server_info
            })
        } else {
            None
        };
        Ok(HealthCheck {
            received_at,
            at,
            monotonic: received.monotonic,
            round_trip: at - sent,
            skew_ms,
            server_info,
        })
    }
}

/// Connects. Push messages are passed to `on_push`, which must not block.
pub(super) async fn connect(
    info: &ConnectionInfo,
    protocol: ProtocolVersion,
    on_push: Option<impl Fn(PushInfo) + Send + Sync + 'static>,
) -> RedisResult<MultiplexedConnection> {
    let (client, config) = client(info, protocol, on_push)?;
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
}

/// The same over a stream that is already connected. The connection works while the task runs.
pub(super) async fn connect_over(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    info: &ConnectionInfo,
    on_push: impl Fn(PushInfo) + Send + Sync + 'static,
) -> RedisResult<(MultiplexedConnection, AbortOnDropHandle<()>)> {
    let (client, config) = client(info, ProtocolVersion::RESP3, Some(on_push))?;
    let settings = client.get_connection_info().redis_settings();
    let (connection, driver) =
        MultiplexedConnection::new_with_config(settings, stream, config).await?;
    Ok((connection, AbortOnDropHandle::new(tokio::spawn(driver))))
}

fn client(
    info: &ConnectionInfo,
    protocol: ProtocolVersion,
    on_push: Option<impl Fn(PushInfo) + Send + Sync + 'static>,
) -> RedisResult<(redis::Client, AsyncConnectionConfig)> {
    if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
        // redis-rs leaves the choice of the rustls crypto provider to the program. A second call
        // fails because it is already installed, which is harmless.
        let _already_chosen = rustls::crypto::ring::default_provider().install_default();
    }
    let settings = info.redis_settings().clone().set_protocol(protocol);
    let client = redis::Client::open(info.clone().set_redis_settings(settings))?;
    // Every call to a node, including this one, has its own timeout. A second one here would only
    // hide which timeout expired.
    let mut config = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    if let Some(on_push) = on_push {
        config = config.set_push_sender(move |push| {
            on_push(push);
            Ok::<(), std::convert::Infallible>(())
        });
    }
    Ok((client, config))
}

/// Whether this error means that the server does not support RESP3.
pub(super) fn is_resp3_unsupported(error: &RedisError) -> bool {
    error.kind() == ErrorKind::RESP3NotSupported
        || error.code() == Some("NOPROTO")
        || error
            .detail()
            .is_some_and(|text| text.to_ascii_lowercase().starts_with("unknown command"))
}

/// Checks the reply to `PING`. A server that denies it (`NOPERM`) is alive, and so is one that
/// rejects it together with all writes because it cannot persist to disk (`MISCONF`): it still
/// reports who holds what.
fn check_pong(reply: Option<RedisResult<Value>>) -> Result<(), NodeError> {
    match reply {
        Some(Ok(Value::SimpleString(text))) if text == "PONG" => Ok(()),
        Some(Ok(Value::BulkString(text))) if text == b"PONG" => Ok(()),
        Some(Err(error)) if is_rejected_by_live_server(&error) => Ok(()),
        Some(Err(error)) => Err(NodeError::from_redis(&error)),
        Some(Ok(_)) | None => Err(NodeError::not_redis()),
    }
}

/// Whether this error reply to `PING` comes from a server that still answers other commands.
pub(super) fn is_rejected_by_live_server(error: &RedisError) -> bool {
    matches!(error.code(), Some("NOPERM" | "MISCONF"))
}

/// The server's time in milliseconds, or `None` if `TIME` is not permitted.
fn parse_time(reply: Option<RedisResult<Value>>) -> Result<Option<i64>, NodeError> {
    match reply {
        Some(Ok(value)) => {
            let (seconds, micros): (i64, i64) =
                redis::from_redis_value(value).map_err(|_| NodeError::not_redis())?;
            Ok(Some(
                seconds.saturating_mul(1000).saturating_add(micros / 1000),
            ))
        }
        Some(Err(error)) if error.code() == Some("NOPERM") => Ok(None),
        Some(Err(error)) => Err(NodeError::from_redis(&error)),
        None => Err(NodeError::not_redis()),
    }
}

/// Whether a server with these settings fsyncs every write before it replies. Unknown counts as no.
fn parse_fsyncs_every_write(reply: RedisResult<Value>) -> bool {
    let settings: Option<BTreeMap<String, String>> = reply
        .ok()
        .and_then(|settings| redis::from_redis_value(settings).ok());
    settings.is_some_and(|settings| {
        let is = |name: &str, value: &str| settings.get(name).is_some_and(|set| set == value);
        // With `no-appendfsync-on-rewrite yes`, the server does not fsync during an AOF rewrite.
        is("appendonly", "yes")
            && is("appendfsync", "always")
            && is("no-appendfsync-on-rewrite", "no")
    })
}

/// Parses both sections of `INFO`; `None` if `INFO` is not permitted.
fn parse_server_info(replies: impl Iterator<Item = RedisResult<Value>>) -> Option<ServerInfo> {
    let sections: Vec<String> = replies
        .filter_map(Result::ok)
        .filter_map(|value| redis::from_redis_value(value).ok())
        .collect();
    if sections.is_empty() {
        return None;
    }
    Some(ServerInfo::parse(&sections.join("\r\n")))
}

/// Runs `call` with a timeout.
pub async fn with_timeout<T>(
    timeout: Duration,
    call: impl Future<Output = T>,
) -> Result<T, NodeError> {
    tokio::time::timeout(timeout, call)
        .await
        .map_err(|_| NodeError::timeout(timeout))
}
