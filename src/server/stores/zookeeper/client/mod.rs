//! A client of the ZooKeeper protocol, for the requests that the console sends.
//!
//! The crate `zookeeper-client` was tried first. It runs connections on a second runtime with a
//! thread of its own, its TLS brings a second cryptography library that needs a C compiler and
//! CMake, and it has no `multiRead`, without which each lock costs a round trip. This client needs
//! no dependency that the console does not have already.
//!
//! One task owns the socket of a session (`session`). Requests are sent without waiting for earlier
//! replies, and each has a timeout. If the connection is lost, the task continues the session on
//! the next server; watches do not survive that, so their owner sets them again when it receives
//! [`SessionEvent::Connected`].

mod connection;
mod error;
mod request;
mod server;
mod session;
mod session_id;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

pub use connection::open_stream;
pub use error::{ClientError, ConnectError, ErrorCode};
pub use request::{NodeEvent, NodeEventKind, Read, ReadResult};
pub use server::{Server, TlsFiles};
pub use session_id::{SessionCredentials, SessionId};
pub use wire::Stat;

use request::Request;
use session::{Command, CommandSender, SessionTask};
use wire::Decoder;

/// The number of requests that can wait to be sent.
const MAX_QUEUED: usize = 1024;

/// How a session is established.
pub struct SessionOptions {
    /// The servers of the ensemble. Never empty.
    pub servers: Vec<Server>,
    /// Returns the user and the password, as `user:password`, for each connection, so that rotated
    /// credentials take effect without a restart. `None` for a connection without a user.
    pub credentials: Box<dyn Fn() -> Result<Option<Zeroizing<String>>, String> + Send>,
    /// The timeout for establishing a connection to one server.
    pub connect_timeout: Duration,
    /// The timeout of each request, including the time until a connection is established.
    pub request_timeout: Duration,
    /// The session timeout that is requested. The server may grant another one.
    pub session_timeout: Duration,
    /// Whether a new session is started after this one has expired.
    pub renews_expired_session: bool,
    /// The session that is continued; `None` for a new one.
    pub continued_session: Option<SessionCredentials>,
    /// Receives what happens to the session and to watched nodes, in order. It must not block.
    pub on_event: Box<dyn FnMut(SessionEvent) + Send>,
}

/// What happened to a session or to a watched node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// A connection was established. No watch is set on it yet.
    Connected,
    /// The connection was lost. Its watches are gone.
    Disconnected,
    /// The session has expired. Its ephemeral nodes are deleted.
    Expired,
    /// A watched node changed.
    Node(NodeEvent),
}

/// The state of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionState {
    /// A connection is being established, and not every server has failed yet.
    Connecting,
    /// A connection is established.
    Connected(Connected),
    /// No server could be used in the last round. The next round follows after a pause.
    Disconnected(ConnectError),
    /// The session has ended.
    Ended(ClientError),
}

/// An established connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Connected {
    /// The index of the server.
    pub server: usize,
    /// The granted session timeout.
    pub session_timeout: Duration,
    /// When the connection was established.
    pub since: Instant,
    /// When the last request was sent that the server has replied to. The session does not expire
    /// before the session timeout has passed since then.
    pub confirmed_at: Instant,
    /// The id of the session.
    pub session: SessionId,
}

/// A session. Clones use the same one; it is closed when the last clone is dropped.
#[derive(Clone)]
pub struct Session {
    sender: CommandSender,
    credentials: Arc<Mutex<SessionCredentials>>,
    is_detached: Arc<AtomicBool>,
    request_timeout: Duration,
}

impl Session {
    /// Starts a session. Returns before a connection is established.
    ///
    /// # Panics
    /// Outside of a tokio runtime, or without servers.
    pub fn start(options: SessionOptions) -> Self {
        assert!(!options.servers.is_empty(), "a session needs a server");
        let (commands, receiver) = mpsc::channel(MAX_QUEUED);
        let (state, states) = watch::channel(SessionState::Connecting);
        let stop = CancellationToken::new();
        let request_timeout = options.request_timeout;
        // Consoles and locks are distributed over the servers.
        let next_server = rand::random_range(0..options.servers.len());
        let credentials = options.continued_session.clone().unwrap_or_default();
        let credentials = Arc::new(Mutex::new(credentials));
        let is_detached = Arc::new(AtomicBool::new(false));
        let task = SessionTask {
            options,
            commands: receiver,
            state,
            stop: stop.clone(),
            credentials: Arc::clone(&credentials),
            is_detached: Arc::clone(&is_detached),
            last_zxid: 0,
            next_server,
        };
        tokio::spawn(task.run());
        Self {
            sender: CommandSender {
                commands,
                state: states,
                _stop: Arc::new(stop.drop_guard()),
            },
            credentials,
            is_detached,
            request_timeout,
        }
    }

    /// What is needed to continue the session on another connection.
    pub fn credentials(&self) -> SessionCredentials {
        self.credentials.lock().clone()
    }

    /// Ends the connection but not the session, when the last clone is dropped. The session then
    /// expires after its timeout unless it is continued.
    pub fn detach(&self) {
        self.is_detached.store(true, Ordering::Release);
    }

    /// The current state.
    pub fn state(&self) -> SessionState {
        self.sender.state.borrow().clone()
    }

    /// Subscribes to the state.
    pub fn subscribe(&self) -> watch::Receiver<SessionState> {
        self.sender.state.clone()
    }

    /// Waits until a connection is established, or no server can be used, or the session has ended.
    pub async fn wait_for_first_attempt(&self) {
        let mut states = self.subscribe();
        // An error means that the task has ended, and with it the first attempt.
        let _ended = states
            .wait_for(|state| !matches!(state, SessionState::Connecting))
            .await;
    }

    /// Waits until the session has ended.
    pub async fn wait_until_ended(&self) {
        let mut states = self.subscribe();
        // An error means that the task has ended.
        let _ended = states
            .wait_for(|state| matches!(state, SessionState::Ended(_)))
            .await;
    }

    /// The names of the children of a node.
    pub async fn children(&self, path: &str) -> Result<(Vec<String>, Stat), ClientError> {
        let reply = self.call(Request::get_children(path)).await?;
        request::decode_children(reply)
    }

    /// The data of a node.
    pub async fn data(&self, path: &str) -> Result<(Bytes, Stat), ClientError> {
        let reply = self.call(Request::get_data(path, false)).await?;
        request::decode_data(reply)
    }

    /// The stat of a node, which needs no permission; `None` if it does not exist. `watch` sets a
    /// watch for the next change of the node.
    pub async fn exists(&self, path: &str, watch: bool) -> Result<Option<Stat>, ClientError> {
        match self.call(Request::exists(path, watch)).await {
            Ok(reply) => request::decode_stat(reply).map(Some),
            Err(ClientError::Server(ErrorCode::NoNode)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets a watch that ends when the node changes or is deleted. Fails if it does not exist, so
    /// that no watch is left on a node that never comes back.
    pub async fn watch_existing(&self, path: &str) -> Result<(), ClientError> {
        self.call(Request::get_data(path, true)).await.map(drop)
    }

    /// Reads many nodes in one round trip, in order. Servers before 3.6 do not implement this.
    pub async fn multi_read(
        &self,
        reads: &[Read<'_>],
    ) -> Result<Vec<Result<ReadResult, ErrorCode>>, ClientError> {
        let reply = self.call(Request::multi_read(reads)).await?;
        request::decode_multi_read(reply, reads.len())
    }

    /// Reports every change at and below a path until the connection ends. Servers before 3.6 do
    /// not implement this.
    pub async fn watch_tree(&self, path: &str) -> Result<(), ClientError> {
        self.call(Request::add_watch(path)).await.map(drop)
    }

    /// Waits until the server has what the leader has now.
    pub async fn sync(&self, path: &str) -> Result<(), ClientError> {
        self.call(Request::sync(path)).await.map(drop)
    }

    /// Creates an ephemeral node. The server appends ten digits to the path, and returns it.
    pub async fn create_ephemeral_sequential(
        &self,
        path: &str,
        data: &[u8],
    ) -> Result<(String, Stat), ClientError> {
        let request = Request::create_ephemeral_sequential(path, data);
        request::decode_created(self.call(request).await?)
    }

    /// Creates a node that the server removes some time after its last child is gone. It is no
    /// error if it exists.
    pub async fn create_container(&self, path: &str) -> Result<(), ClientError> {
        match self.call(Request::create_container(path)).await {
            Ok(_) | Err(ClientError::Server(ErrorCode::NodeExists)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Replaces the data of a node if its data has this version.
    pub async fn set_data(
        &self,
        path: &str,
        data: &[u8],
        version: i32,
    ) -> Result<Stat, ClientError> {
        let request = Request::set_data(path, data, version);
        request::decode_stat(self.call(request).await?)
    }

    /// Deletes a node.
    pub async fn delete(&self, path: &str) -> Result<(), ClientError> {
        const ANY_VERSION: i32 = -1;
        let request = Request::delete(path, ANY_VERSION);
        self.call(request).await.map(drop)
    }

    /// Deletes a node if its data has this version, in one atomic step.
    pub async fn check_and_delete(&self, path: &str, version: i32) -> Result<(), ClientError> {
        let request = Request::check_and_delete(path, version);
        request::decode_check_and_delete(self.call(request).await?)
    }

    /// Closes the session: the server deletes its ephemeral nodes.
    pub async fn close(self) {
        let mut states = self.subscribe();
        let Self {
            sender,
            request_timeout,
            ..
        } = self;
        drop(sender);
        let ended = states.wait_for(|state| matches!(state, SessionState::Ended(_)));
        // Without a reply, the session expires by itself.
        let _timed_out = tokio::time::timeout(request_timeout, ended).await;
    }

    /// Sends a request as soon as a connection is established, and returns the body of its reply.
    async fn call(&self, request: Request) -> Result<Decoder, ClientError> {
        let deadline = Instant::now() + self.request_timeout;
        self.wait_until_connected(deadline).await?;
        let (reply, receiver) = oneshot::channel();
        let command = Command { request, reply };
        let not_sent = || ClientError::NotConnected(ConnectError::Timeout);
        match timeout_at(deadline, self.sender.commands.send(command)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(self.end_reason()),
            Err(_) => return Err(not_sent()),
        }
        match timeout_at(deadline, receiver).await {
            Ok(Ok(result)) => result.map(Decoder),
            Ok(Err(_)) => Err(self.end_reason()),
            // It may still be in the channel. That is not distinguished: the effect is unknown.
            Err(_) => Err(ClientError::Timeout(self.request_timeout)),
        }
    }

    async fn wait_until_connected(&self, deadline: Instant) -> Result<(), ClientError> {
        let mut states = self.sender.state.clone();
        let decided = states.wait_for(|state| !matches!(state, SessionState::Connecting));
        match timeout_at(deadline, decided).await {
            Err(_) => Err(ClientError::NotConnected(ConnectError::Timeout)),
            Ok(Err(_)) => Err(ClientError::Closed),
            Ok(Ok(state)) => match &*state {
                SessionState::Connecting | SessionState::Connected(_) => Ok(()),
                SessionState::Disconnected(error) => Err(ClientError::NotConnected(error.clone())),
                SessionState::Ended(error) => Err(error.clone()),
            },
        }
    }

    fn end_reason(&self) -> ClientError {
        match self.state() {
            SessionState::Ended(error) => error,
            SessionState::Connecting
            | SessionState::Connected(_)
            | SessionState::Disconnected(_) => ClientError::Closed,
        }
    }
}
