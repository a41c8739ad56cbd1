//! One connection to a node: opened, named, and checked. It is used until nothing came over it for the command time limit,
//! then replaced.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, ErrorKind, ProtocolVersion, PushInfo,
    PushKind, RedisError, RedisResult, Value,
};
use tokio::sync::Notify;

use super::health::{Facts, Vitals};
use super::scripts;
use super::trouble::Trouble;
use super::wire::{Wire, is_reply};
use crate::server::clock::Clock;

/// An open connection. Clones share it.
#[derive(Clone)]
pub struct Line<C = Wire> {
    /// Sends and receives; any number of callers at once.
    pub connection: C,
    /// Tells this connection from the one that replaces it.
    pub number: u64,
    /// Reading over it leaves a key's idle time alone (`CLIENT NO-TOUCH`, since Redis 7.2).
    pub leaves_no_trace: bool,
    /// Which commands this server has that take the place of a script.
    pub abilities: Abilities,
    /// Somebody's reply did not come in time, and nothing else came either: whether it still works is to be checked.
    is_suspected: Arc<AtomicBool>,
    /// The server is a node of a cluster: clients there may subscribe to the channels of a shard (`SSUBSCRIBE`).
    pub is_in_cluster: bool,
}

/// Commands that compare before they write, where the server has them and this user may call them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// How to delete a string with an expected value.
    pub compare_and_delete: Option<CompareAndDelete>,
}

/// The two spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareAndDelete {
    /// `DELEX key IFEQ value`: Redis since 8.4, Valkey since 9.2.
    Delex,
    /// `DELIFEQ key value`: Valkey since 9.0.
    DelIfEq,
}

impl Abilities {
    /// From the answers to `COMMAND INFO DELEX DELIFEQ`: an unknown command is null.
    fn read(answer: Option<&RedisResult<Value>>) -> Self {
        let Some(Ok(Value::Array(commands))) = answer else {
            return Self::default();
        };
        let knows = |n: usize| matches!(commands.get(n), Some(Value::Array(_)));
        let compare_and_delete = match (knows(0), knows(1)) {
            (true, _) => Some(CompareAndDelete::Delex),
            (false, true) => Some(CompareAndDelete::DelIfEq),
            (false, false) => None,
        };
        Self { compare_and_delete }
    }
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Scan, look, health.
    Observing,
    /// Scan and look on a replica, where one is read from.
    Reading,
    /// Acquire, extend, release.
    Acting,
}

static LINES_OPENED: AtomicU64 = AtomicU64::new(0);

impl<C> Line<C> {
    /// Over this connection, to a server without abilities.
    pub fn over(connection: C) -> Self {
        Self {
            connection,
            number: LINES_OPENED.fetch_add(1, Ordering::Relaxed),
            leaves_no_trace: false,
            abilities: Abilities::default(),
            is_suspected: Arc::default(),
            is_in_cluster: false,
        }
    }
}

impl Line {
    /// Opens a connection and says who we are. `lost` is rung when the connection breaks.
    pub async fn open(
        info: &ConnectionInfo,
        purpose: Purpose,
        lost: Arc<Notify>,
    ) -> RedisResult<Self> {
        let hear = move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                lost.notify_one();
            }
        };
        let deaf = None::<fn(PushInfo)>;
        let mut connection = match connect(info, ProtocolVersion::RESP3, Some(hear)).await {
            // Redis before 6, and proxies.
            Err(error) if speaks_only_resp2(&error) => {
                connect(info, ProtocolVersion::RESP2, deaf).await?
            }
            other => other?,
        };
        // For people who look at CLIENT LIST; a server that will not have it is no worse for it.
        let mut greeting = redis::pipe();
        greeting
            .ignore_errors()
            .cmd("CLIENT")
            .arg("SETNAME")
            .arg("lockkeeper");
        match purpose {
            Purpose::Observing | Purpose::Reading => {
                greeting.cmd("CLIENT").arg("NO-TOUCH").arg("ON")
            }
            Purpose::Acting => {
                greeting
                    .cmd("COMMAND")
                    .arg("INFO")
                    .arg("DELEX")
                    .arg("DELIFEQ");
                // So that the first lock costs no more round trips than the others.
                for script in scripts::SOURCES {
                    greeting.cmd("SCRIPT").arg("LOAD").arg(script);
                }
                &mut greeting
            }
        };
        let answers: Vec<RedisResult<Value>> = greeting.query_async(&mut connection).await?;
        let (leaves_no_trace, abilities) = match purpose {
            Purpose::Observing | Purpose::Reading => (
                answers.get(1).is_some_and(Result::is_ok),
                Abilities::default(),
            ),
            Purpose::Acting => (false, Abilities::read(answers.get(1))),
        };
        Ok(Self {
            leaves_no_trace,
            abilities,
            ..Line::over(Wire::new(connection))
        })
    }

    /// How many replies came over it so far, to whichever of its callers.
    pub(super) fn replies(&self) -> u64 {
        self.connection.replies()
    }

    /// Asks for a check of whether it still works. Returns whether nobody had asked for one yet.
    pub(super) fn suspect(&self) -> bool {
        !self.is_suspected.swap(true, Ordering::Relaxed)
    }

    /// Whether it is to be checked.
    pub(super) fn is_suspected(&self) -> bool {
        self.is_suspected.load(Ordering::Relaxed)
    }

    /// Sends a `PING`, and returns whether anything came over the connection within this time.
    pub(super) async fn ping(&mut self, limit: Duration) -> bool {
        // A reply that is missed from now on asks for the next check.
        self.is_suspected.store(false, Ordering::Relaxed);
        let before = self.replies();
        let ping = redis::cmd("PING");
        let asking = ping.query_async::<Value>(&mut self.connection);
        match within(limit, asking).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => is_reply(&error),
            Err(_) => self.replies() != before,
        }
    }

    /// The same connection with `ASKING` before each command, or without.
    pub(super) fn asking(self, is_asking: bool) -> Self {
        Self {
            connection: self.connection.asking(is_asking),
            ..self
        }
    }

    /// Asks how the node is, and with `thoroughly` also what it says about itself.
    pub async fn check(&mut self, clock: &Clock, thoroughly: bool) -> Result<Vitals, Trouble> {
        let mut questions = redis::pipe();
        questions.ignore_errors().cmd("PING").cmd("TIME");
        if thoroughly {
            questions
                .cmd("CONFIG")
                .arg("GET")
                .arg("*append*")
                .cmd("INFO")
                .arg("server")
                .cmd("INFO")
                .arg("replication");
        }
        let (sent_at, sent) = (clock.now(), Instant::now());
        let answers: Vec<RedisResult<Value>> = questions
            .query_async(&mut self.connection)
            .await
            .map_err(|error| Trouble::of(&error))?;
        let (heard, at) = (clock.moment(), Instant::now());
        let heard_at = heard.wall;

        let mut answers = answers.into_iter();
        is_pong(answers.next())?;
        let server_time = time(answers.next())?;
        let skew_ms =
            server_time.map(|theirs| theirs - i64::midpoint(sent_at.millis(), heard_at.millis()));
        let facts = if thoroughly {
            let keeps_every_write = answers.next().is_some_and(keeps_every_write);
            facts(answers).map(|facts| Facts {
                keeps_every_write,
                ..facts
            })
        } else {
            None
        };
        Ok(Vitals {
            heard_at,
            at,
            steady: heard.steady,
            round_trip: at - sent,
            skew_ms,
            facts,
        })
    }
}

/// Connects; whatever the server tells unasked is handed to `hear`, which must not wait.
pub(super) async fn connect(
    info: &ConnectionInfo,
    protocol: ProtocolVersion,
    hear: Option<impl Fn(PushInfo) + Send + Sync + 'static>,
) -> RedisResult<MultiplexedConnection> {
    if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
        // redis leaves the choice of a cryptography provider to the program; a second call finds it chosen.
        let _already_chosen = rustls::crypto::ring::default_provider().install_default();
    }
    let settings = info.redis_settings().clone().set_protocol(protocol);
    let client = redis::Client::open(info.clone().set_redis_settings(settings))?;
    // The node puts limits around every call, this one too; a second one here would only blur the reason.
    let mut config = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    if let Some(hear) = hear {
        config = config.set_push_sender(move |push| {
            hear(push);
            Ok::<(), std::convert::Infallible>(())
        });
    }
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
}

/// Whether the server refuses the newer protocol.
pub(super) fn speaks_only_resp2(error: &RedisError) -> bool {
    error.kind() == ErrorKind::RESP3NotSupported
        || error.code() == Some("NOPROTO")
        || error
            .detail()
            .is_some_and(|text| text.to_ascii_lowercase().starts_with("unknown command"))
}

/// A server that may not answer `PING` for lack of permission is alive all the same, and so is one that refuses it together
/// with every write because it cannot write to its disk: it still tells who holds what.
fn is_pong(answer: Option<RedisResult<Value>>) -> Result<(), Trouble> {
    match answer {
        Some(Ok(Value::SimpleString(text))) if text == "PONG" => Ok(()),
        Some(Ok(Value::BulkString(text))) if text == b"PONG" => Ok(()),
        Some(Err(error)) if refuses_but_lives(&error) => Ok(()),
        Some(Err(error)) => Err(Trouble::of(&error)),
        Some(Ok(_)) | None => Err(Trouble::not_redis()),
    }
}

/// Whether this answer to `PING` comes from a server that can be asked for other things.
pub(super) fn refuses_but_lives(error: &RedisError) -> bool {
    matches!(error.code(), Some("NOPERM" | "MISCONF"))
}

/// The server's clock in milliseconds; nothing where it may not be asked.
fn time(answer: Option<RedisResult<Value>>) -> Result<Option<i64>, Trouble> {
    match answer {
        Some(Ok(value)) => {
            let (seconds, micros): (i64, i64) =
                redis::from_redis_value(value).map_err(|_| Trouble::not_redis())?;
            Ok(Some(
                seconds.saturating_mul(1000).saturating_add(micros / 1000),
            ))
        }
        Some(Err(error)) if error.code() == Some("NOPERM") => Ok(None),
        Some(Err(error)) => Err(Trouble::of(&error)),
        None => Err(Trouble::not_redis()),
    }
}

/// Whether a server with these settings puts every write on its disk before it answers. Not known counts as no.
fn keeps_every_write(answer: RedisResult<Value>) -> bool {
    let settings: Option<BTreeMap<String, String>> = answer
        .ok()
        .and_then(|settings| redis::from_redis_value(settings).ok());
    settings.is_some_and(|settings| {
        let is = |name: &str, value: &str| settings.get(name).is_some_and(|set| set == value);
        // While it writes its file anew it would put nothing on its disk with the last of these.
        is("appendonly", "yes")
            && is("appendfsync", "always")
            && is("no-appendfsync-on-rewrite", "no")
    })
}

/// What both sections of `INFO` tell; nothing where it may not be asked.
fn facts(answers: impl Iterator<Item = RedisResult<Value>>) -> Option<Facts> {
    let sections: Vec<String> = answers
        .filter_map(Result::ok)
        .filter_map(|value| redis::from_redis_value(value).ok())
        .collect();
    if sections.is_empty() {
        return None;
    }
    Some(Facts::read(&sections.join("\r\n")))
}

/// Ends `call` after `limit`.
pub async fn within<T>(limit: Duration, call: impl Future<Output = T>) -> Result<T, Trouble> {
    tokio::time::timeout(limit, call)
        .await
        .map_err(|_| Trouble::no_answer(limit))
}
