//! The task that owns the socket of a session: it connects, reconnects, sends requests, and assigns
//! replies to them in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Handshake, MAX_REPLY_BYTES, Message};
use super::error::{ClientError, ConnectError, ErrorCode};
use super::request::{self, CLOSE, NodeEvent, PING, Request, decode_event};
use super::session_id::SessionCredentials;
use super::wire::{Decoder, Encoder};
use super::{Connected, SessionEvent, SessionOptions, SessionState};

/// Numbers of messages that are not replies to numbered requests.
const WATCH_EVENT: i32 = -1;
const PING_NUMBER: i32 = -2;
const AUTH_NUMBER: i32 = -4;
/// The maximum number of requests without a reply. Further ones wait in the channel.
const MAX_PENDING: usize = 256;
/// The first and the longest pause after no server could be used.
const MIN_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// A connection is not given up before a reply has taken this long.
const MIN_REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest interval between two pings.
const MAX_PING_INTERVAL: Duration = Duration::from_secs(3);

/// A request of a caller.
pub(super) struct Command {
    pub(super) request: Request,
    /// Receives the body of the reply.
    pub(super) reply: oneshot::Sender<Result<Bytes, ClientError>>,
}

/// A request that was sent.
struct Pending {
    number: i32,
    sent_at: Instant,
    reply: Option<oneshot::Sender<Result<Bytes, ClientError>>>,
}

/// Why a connection is not used any more.
enum End {
    /// The session was closed on request.
    Closed,
    /// The session has expired.
    Expired,
    /// The connection was lost.
    Lost(ConnectError),
}

/// The state of the task.
pub(super) struct SessionTask {
    pub(super) options: SessionOptions,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) state: watch::Sender<SessionState>,
    pub(super) stop: CancellationToken,
    pub(super) credentials: Arc<Mutex<SessionCredentials>>,
    /// The session is not closed when it is no longer used.
    pub(super) is_detached: Arc<AtomicBool>,
    pub(super) last_zxid: i64,
    pub(super) next_server: usize,
}

impl SessionTask {
    /// Runs until the session is closed, or has expired and is not renewed.
    pub(super) async fn run(mut self) {
        let mut pause = MIN_PAUSE;
        let mut failures = 0_usize;
        loop {
            let stop = self.stop.clone();
            let opened = tokio::select! {
                () = stop.cancelled() => return self.end(ClientError::Closed),
                opened = self.open() => opened,
            };
            let lost = match opened {
                Ok(Some((connection, handshake))) => {
                    failures = 0;
                    let connected_at = Instant::now();
                    let end = self.serve(connection, handshake).await;
                    // A server that accepts a connection and closes it at once is not a success.
                    if connected_at.elapsed() > MAX_PAUSE {
                        pause = MIN_PAUSE;
                    }
                    match end {
                        End::Closed => return self.end(ClientError::Closed),
                        End::Expired => None,
                        End::Lost(error) => Some(error),
                    }
                }
                Ok(None) => None,
                Err(error) => Some(error),
            };
            self.next_server = (self.next_server + 1) % self.options.servers.len();
            let Some(error) = lost else {
                (self.options.on_event)(SessionEvent::Expired);
                *self.credentials.lock() = SessionCredentials::default();
                if !self.options.renews_expired_session {
                    return self.end(ClientError::SessionExpired);
                }
                self.state.send_replace(SessionState::Connecting);
                continue;
            };
            failures += 1;
            if failures < self.options.servers.len() {
                self.state.send_if_modified(|state| {
                    let is_connected = matches!(state, SessionState::Connected(_));
                    if is_connected {
                        *state = SessionState::Connecting;
                    }
                    is_connected
                });
                continue;
            }
            failures = 0;
            self.state
                .send_replace(SessionState::Disconnected(error.clone()));
            let resume_at = Instant::now() + pause.mul_f64(0.5 + 0.5 * rand::random::<f64>());
            pause = (pause * 2).min(MAX_PAUSE);
            if !self.reject_commands_until(resume_at, &error).await {
                return self.end(ClientError::Closed);
            }
        }
    }

    /// Connects to the next server, within the connect timeout.
    async fn open(&mut self) -> Result<Option<(Connection, Handshake)>, ConnectError> {
        let server = &self.options.servers[self.next_server];
        let credentials = self.credentials.lock().clone();
        let opening = Connection::open(
            server,
            &credentials,
            self.options.session_timeout,
            self.last_zxid,
        );
        timeout(self.options.connect_timeout, opening)
            .await
            .unwrap_or(Err(ConnectError::Timeout))
    }

    /// Replies to requests that none can be sent. Returns false if the session is closed.
    async fn reject_commands_until(&mut self, at: Instant, error: &ConnectError) -> bool {
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return false,
                () = sleep_until(at) => return true,
                command = self.commands.recv() => match command {
                    Some(command) => {
                        // The caller may have been cancelled.
                        let _gone = command.reply.send(Err(ClientError::NotConnected(error.clone())));
                    }
                    None => return false,
                },
            }
        }
    }

    fn end(mut self, error: ClientError) {
        self.state.send_replace(SessionState::Ended(error.clone()));
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            // The caller may have been cancelled.
            let _gone = command.reply.send(Err(error.clone()));
        }
    }

    /// Uses a connection until it is lost.
    async fn serve(&mut self, mut connection: Connection, handshake: Handshake) -> End {
        let session = super::SessionId::new(handshake.credentials.id);
        *self.credentials.lock() = handshake.credentials;
        let mut pending = VecDeque::new();
        match (self.options.credentials)() {
            Ok(None) => {}
            Ok(Some(credentials)) => {
                let request = Request::auth("digest", credentials.as_bytes());
                queue(&mut connection, AUTH_NUMBER, &request);
            }
            Err(error) => return End::Lost(ConnectError::Credentials(error)),
        }
        let end = self
            .exchange(&mut connection, &mut pending, session, handshake.timeout)
            .await;
        let error = match &end {
            End::Closed => ClientError::Closed,
            End::Expired => ClientError::SessionExpired,
            End::Lost(_) => ClientError::ConnectionLost,
        };
        for pending in pending {
            pending.complete(Err(error.clone()));
        }
        (self.options.on_event)(SessionEvent::Disconnected);
        end
    }

    async fn exchange(
        &mut self,
        connection: &mut Connection,
        pending: &mut VecDeque<Pending>,
        session: super::SessionId,
        session_timeout: Duration,
    ) -> End {
        // A reply that takes longer than this ends the connection; another server may be faster.
        let reply_timeout = (self.options.request_timeout * 4)
            .max(MIN_REPLY_TIMEOUT)
            .min(session_timeout / 3 * 2);
        // A connection that was lost without notice is found by a ping without reply.
        let ping_interval = (session_timeout / 3).min(MAX_PING_INTERVAL);
        let mut number = 0_i32;
        let now = Instant::now();
        let mut last_sent = now;
        // The handshake renewed the session; the request was sent at most the connect timeout ago.
        let connected_at = now.checked_sub(self.options.connect_timeout).unwrap_or(now);
        self.state.send_replace(SessionState::Connected(Connected {
            server: self.next_server,
            session_timeout,
            since: now,
            confirmed_at: connected_at,
            session,
        }));
        (self.options.on_event)(SessionEvent::Connected);
        let stop = self.stop.clone();
        let mut closing = false;
        loop {
            loop {
                match connection.next_message() {
                    Ok(Some(message)) => {
                        if let Err(end) = self.receive(message, pending) {
                            return end;
                        }
                    }
                    Ok(None) => break,
                    Err(_) => return End::Lost(ConnectError::InvalidReply),
                }
            }
            let oldest = pending.front().map(|pending| pending.sent_at);
            let give_up_at = oldest.unwrap_or(last_sent + session_timeout) + reply_timeout;
            tokio::select! {
                () = stop.cancelled(), if !closing => {
                    if self.is_detached.load(Ordering::Acquire) {
                        return End::Closed;
                    }
                    closing = true;
                    queue(connection, 0, &Request { operation: CLOSE, body: Bytes::new() });
                    pending.push_back(Pending { number: 0, sent_at: Instant::now(), reply: None });
                }
                command = self.commands.recv(), if !closing && pending.len() < MAX_PENDING => {
                    let Some(command) = command else {
                        // All handles were dropped; `stop` is cancelled by the last one.
                        stop.cancel();
                        continue;
                    };
                    // The caller has given up, and nothing was sent yet.
                    if command.reply.is_closed() {
                        continue;
                    }
                    number = if number == i32::MAX { 1 } else { number + 1 };
                    queue(connection, number, &command.request);
                    last_sent = Instant::now();
                    pending.push_back(Pending { number, sent_at: last_sent, reply: Some(command.reply) });
                }
                transferred = connection.transfer() => {
                    if let Err(error) = transferred {
                        return if closing { End::Closed } else { End::Lost(error) };
                    }
                }
                () = sleep_until(last_sent + ping_interval), if !closing => {
                    queue(connection, PING_NUMBER, &Request { operation: PING, body: Bytes::new() });
                    last_sent = Instant::now();
                    pending.push_back(Pending { number: PING_NUMBER, sent_at: last_sent, reply: None });
                }
                () = sleep_until(give_up_at) => {
                    return if closing { End::Closed } else { End::Lost(ConnectError::Timeout) };
                }
            }
        }
    }

    /// Assigns a message to its request.
    fn receive(&mut self, message: Message, pending: &mut VecDeque<Pending>) -> Result<(), End> {
        let lost = |_| End::Lost(ConnectError::InvalidReply);
        let (message, skipped_bytes) = match message {
            Message::Complete(message) => (message, None),
            Message::TooLong(header, bytes) => (header, Some(bytes)),
        };
        let mut decoder = Decoder(message);
        let number = decoder.int().map_err(lost)?;
        let zxid = decoder.long().map_err(lost)?;
        let code = ErrorCode::from_code(decoder.int().map_err(lost)?);
        self.last_zxid = self.last_zxid.max(zxid);
        match number {
            WATCH_EVENT => {
                let event: NodeEvent = decode_event(&mut decoder).map_err(lost)?;
                (self.options.on_event)(SessionEvent::Node(event));
                return Ok(());
            }
            AUTH_NUMBER if code.is_some() => {
                return Err(End::Lost(ConnectError::AuthenticationFailed));
            }
            AUTH_NUMBER => return Ok(()),
            _ => {}
        }
        let request = pending
            .pop_front()
            .filter(|pending| pending.number == number)
            .ok_or(End::Lost(ConnectError::InvalidReply))?;
        self.state.send_if_modified(|state| {
            if let SessionState::Connected(connected) = state {
                connected.confirmed_at = connected.confirmed_at.max(request.sent_at);
            }
            // Changes with every reply, so waiters are not woken.
            false
        });
        let expired = code == Some(ErrorCode::SessionExpired);
        let is_close = request.reply.is_none() && number == 0;
        request.complete(match (code, skipped_bytes) {
            (Some(ErrorCode::SessionExpired), _) => Err(ClientError::SessionExpired),
            (Some(code), _) => Err(ClientError::Server(code)),
            (None, Some(bytes)) => Err(ClientError::ReplyTooLong {
                bytes,
                max_bytes: MAX_REPLY_BYTES,
            }),
            (None, None) => Ok(decoder.0),
        });
        match (expired, is_close) {
            (true, _) => Err(End::Expired),
            (false, true) => Err(End::Closed),
            (false, false) => Ok(()),
        }
    }
}

impl Pending {
    fn complete(self, result: Result<Bytes, ClientError>) {
        if let Some(reply) = self.reply {
            // The caller may have stopped waiting.
            let _gone = reply.send(result);
        }
    }
}

fn queue(connection: &mut Connection, number: i32, request: &request::Request) {
    let header = Encoder::default().int(number).int(request.operation);
    let mut message = header.0;
    message.extend_from_slice(&request.body);
    connection.queue(&message);
}

/// How callers reach the task.
#[derive(Clone)]
pub(super) struct CommandSender {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) state: watch::Receiver<SessionState>,
    pub(super) _stop: Arc<tokio_util::sync::DropGuard>,
}
