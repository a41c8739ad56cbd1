//! One connection of a feed: what comes over it goes straight into the inbox, so that it is always drained and never
//! grows here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{ProtocolVersion, PushInfo, PushKind, RedisResult, Value};
use tokio::sync::Notify;

use super::super::line::{self, within};
use super::super::node::Node;
use super::super::trouble::Trouble;
use super::interest::{Interest, Meaning};
use super::{Feed, probe};
use crate::domain::MissingPermission;
use crate::server::clock::Clock;

/// A server that says nothing for so long is not there, or its connection is dead.
const LONGEST_SILENCE: Duration = Duration::from_secs(2);

/// An open connection and what is heard on it.
pub(super) struct Session {
    connection: MultiplexedConnection,
    ears: Arc<Ears>,
    /// It is the replica that tells.
    of_replica: bool,
}

/// Takes what a server tells.
struct Ears {
    feed: Arc<Feed>,
    interest: Arc<Interest>,
    clock: Clock,
    /// Names told so far, ours or not.
    names: AtomicU64,
    lost: Notify,
}

impl Session {
    /// Connects; nothing is told yet.
    pub(super) async fn open(node: &Node, interest: Arc<Interest>) -> Result<Self, Trouble> {
        let ears = Arc::new(Ears {
            feed: Arc::clone(node.feed()),
            interest,
            clock: node.clock().clone(),
            names: AtomicU64::new(0),
            lost: Notify::new(),
        });
        let listening = Arc::clone(&ears);
        let hear = move |push| listening.hear(push);
        // Told by whom the names are looked at: a replica tells what has arrived there.
        let of_replica = node.is_read_from_replica();
        let info = match node.reach.reading_info().await {
            Some(reading) if of_replica => reading?,
            Some(_) | None => node.reach.info().await?,
        };
        let connecting = line::connect(&info, ProtocolVersion::RESP3, Some(hear));
        let connection = within(node.connect_timeout, connecting)
            .await?
            .map_err(|error| {
                if line::speaks_only_resp2(&error) {
                    Trouble::down("the server does not speak RESP3")
                } else {
                    Trouble::of(&error)
                }
            })?;
        Ok(Self {
            connection,
            ears,
            of_replica,
        })
    }

    /// Says who we are, and finds out what this user may not do.
    pub(super) async fn introduce(
        &mut self,
        acl_user: &str,
    ) -> Result<Vec<MissingPermission>, Trouble> {
        let answers: Vec<RedisResult<Value>> = self
            .soon(probe::questions().query_async(&mut self.connection.clone()))
            .await?;
        let mut missing = probe::missing(&answers, acl_user);
        let mut connection = self.connection.clone();
        let monitor = probe::is_monitor_missing(&mut connection, acl_user);
        missing.extend(self.soon(monitor).await?);
        Ok(missing)
    }

    /// Makes this a subscriber: only then does the server's own limit for what it keeps for a slow reader hold.
    pub(super) async fn join_the_subscribers(&mut self) -> Result<RedisResult<()>, Trouble> {
        let mut connection = self.connection.clone();
        within(
            LONGEST_SILENCE,
            connection.subscribe("__redis__:invalidate"),
        )
        .await
    }

    /// Has every write to a name that begins like this told; every write at all where there are no prefixes.
    pub(super) async fn track(&mut self, prefixes: &[Vec<u8>]) -> Result<RedisResult<()>, Trouble> {
        let mut command = redis::cmd("CLIENT");
        command.arg("TRACKING").arg("ON").arg("BCAST");
        for prefix in prefixes {
            command.arg("PREFIX").arg(prefix.as_slice());
        }
        let mut connection = self.connection.clone();
        within(LONGEST_SILENCE, command.query_async(&mut connection)).await
    }

    /// Has nothing told any more.
    pub(super) async fn stop_tracking(&mut self) -> Result<(), Trouble> {
        let mut command = redis::cmd("CLIENT");
        command.arg("TRACKING").arg("OFF");
        self.soon(command.query_async(&mut self.connection.clone()))
            .await
    }

    /// Which keyspace notifications are on; nothing where that may not be asked.
    pub(super) async fn notifications(&mut self) -> Result<Option<String>, Trouble> {
        let mut command = redis::cmd("CONFIG");
        command.arg("GET").arg("notify-keyspace-events");
        let mut connection = self.connection.clone();
        let answer: RedisResult<BTreeMap<String, String>> =
            within(LONGEST_SILENCE, command.query_async(&mut connection)).await?;
        Ok(answer
            .ok()
            .and_then(|mut settings| settings.remove("notify-keyspace-events")))
    }

    /// Has the events of these keys told.
    pub(super) async fn hear_events(&mut self, db: i64) -> Result<RedisResult<()>, Trouble> {
        let channel = |pattern: &String| format!("__keyspace@{db}__:{pattern}");
        let channels: Vec<String> = self.ears.interest.patterns().iter().map(channel).collect();
        let mut connection = self.connection.clone();
        within(LONGEST_SILENCE, connection.psubscribe(channels)).await
    }

    /// Whether the server is still there.
    pub(super) async fn ping(&mut self) -> Result<(), Trouble> {
        let ping = redis::cmd("PING");
        let mut connection = self.connection.clone();
        let answer: RedisResult<Value> =
            within(LONGEST_SILENCE, ping.query_async(&mut connection)).await?;
        match answer {
            // Refused: it answered all the same.
            Err(error) if !line::refuses_but_lives(&error) => Err(Trouble::of(&error)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Whether it is told by the server that is read.
    pub(super) fn is_of_the_read(&self, node: &Node) -> bool {
        self.of_replica == node.is_read_from_replica()
    }

    /// Waits until the connection is lost.
    pub(super) async fn lost(&self) {
        self.ears.lost.notified().await;
    }

    /// How many names were told so far.
    pub(super) fn names_told(&self) -> u64 {
        self.ears.names.load(Ordering::Relaxed)
    }

    async fn soon<T>(&self, call: impl Future<Output = RedisResult<T>>) -> Result<T, Trouble> {
        within(LONGEST_SILENCE, call)
            .await?
            .map_err(|error| Trouble::of(&error))
    }
}

impl Ears {
    fn hear(&self, push: PushInfo) {
        match push.kind {
            PushKind::Disconnection => self.lost.notify_one(),
            PushKind::Invalidate => match push.data.into_iter().next() {
                Some(Value::Array(names)) => {
                    for name in names {
                        if let Value::BulkString(name) = name {
                            self.note(&name, 1);
                        }
                    }
                }
                // Flushed, or a replica that began anew: no names, anything may have happened.
                Some(_) | None => self.feed.has_a_gap(self.clock.steady()),
            },
            PushKind::PMessage => {
                let mut parts = push.data.into_iter().skip(1);
                if let (Some(Value::BulkString(channel)), Some(Value::BulkString(event))) =
                    (parts.next(), parts.next())
                {
                    let name = channel.iter().position(|&byte| byte == b':');
                    let name = name
                        .and_then(|at| channel.get(at + 1..))
                        .unwrap_or(&channel);
                    // Every way to renew a lease ends with this event, and with it once.
                    self.note(name, u32::from(event == b"expire"));
                }
            }
            _ => {}
        }
    }

    /// Pushes carry no number of a database: a write to the same name in another one costs a look that shows nothing new.
    fn note(&self, name: &[u8], writes: u32) {
        self.names.fetch_add(1, Ordering::Relaxed);
        match self.interest.meaning(name) {
            Meaning::Lock(key) => {
                self.feed.written.note(key);
                self.feed.inbox.tell(self.feed.place, key, writes);
            }
            Meaning::Beside(key) => self.feed.inbox.tell(self.feed.place, key.as_bytes(), 0),
            Meaning::Foreign => {}
        }
    }
}
