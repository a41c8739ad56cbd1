//! A TCP proxy in front of one real server that injects network faults: delays, disconnects,
//! dropped and held traffic.
//!
//! Bytes keep their order and are never changed. A connection that lost bytes is reset when the
//! network heals: a TCP stream may stop, but it never skips bytes.
//!
//! Each proxy runs on a separate thread, so that a busy test does not slow the network down.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lockkeeper::server::config::{GroupConfig, RedisUrl};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::redis_nodes::{RedisNodes, free_port, url};

/// The buffer of each direction of a connection. When it is full, the proxy stops reading from the
/// sender.
const MAX_BYTES_IN_FLIGHT: usize = 1 << 20;

/// A proxy in front of one server. It stops when this is dropped.
pub struct Proxy {
    port: u16,
    state: watch::Sender<NetworkState>,
    accepted: Arc<AtomicU64>,
    _stop_guard: DropGuard,
}

/// The current faults of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NetworkState {
    delay: Duration,
    drops_requests: bool,
    drops_replies: bool,
    is_cut: bool,
    /// Requests of connections with a smaller number are held.
    holds_requests_below: u64,
}

impl Proxy {
    /// Starts a proxy in front of the server on this loopback port.
    pub async fn in_front_of(server_port: u16) -> Self {
        let port = free_port();
        let (state, state_receiver) = watch::channel(NetworkState::default());
        let accepted = Arc::new(AtomicU64::new(0));
        let stop = CancellationToken::new();
        let (counter, stop_token) = (Arc::clone(&accepted), stop.clone());
        let (ready_sender, ready) = tokio::sync::oneshot::channel();
        std::thread::Builder::new()
            .name(format!("proxy {port}"))
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                runtime.unwrap().block_on(async {
                    let listener = listen(port).await.unwrap();
                    let _receiver_may_be_dropped = ready_sender.send(());
                    let accepting = accept(listener, server_port, &counter, state_receiver);
                    stop_token.run_until_cancelled(accepting).await
                });
            })
            .unwrap();
        ready.await.unwrap();
        Self {
            port,
            state,
            accepted,
            _stop_guard: stop.drop_guard(),
        }
    }

    /// The URL that clients connect to.
    pub fn url(&self) -> RedisUrl {
        url(&format!("redis://127.0.0.1:{}", self.port))
    }

    /// The port that clients connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Delays all traffic by this much in each direction.
    pub fn delay(&self, one_way: Duration) {
        self.state.send_modify(|state| state.delay = one_way);
    }

    /// Resets every connection and refuses new ones.
    pub fn cut(&self) {
        self.state.send_modify(|state| state.is_cut = true);
    }

    /// Accepts connections and drops all traffic in both directions.
    pub fn blackhole(&self) {
        self.state.send_modify(|state| {
            state.drops_requests = true;
            state.drops_replies = true;
        });
    }

    /// Drops requests and forwards replies.
    pub fn drop_requests(&self) {
        self.state.send_modify(|state| state.drops_requests = true);
    }

    /// Forwards requests and drops replies.
    pub fn drop_replies(&self) {
        self.state.send_modify(|state| state.drops_replies = true);
    }

    /// Holds requests on existing connections until the network heals, even if their sender
    /// disconnects meanwhile. New connections work. This is what a client observes while TCP waits
    /// to retransmit a lost packet.
    pub fn hold_requests(&self) {
        let accepted = self.accepted.load(Ordering::SeqCst);
        self.state
            .send_modify(|state| state.holds_requests_below = accepted);
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.state.send_replace(NetworkState::default());
    }
}

/// Servers, each behind its own proxy. Direct clients of the servers bypass the proxies.
pub struct ProxiedNodes {
    pub nodes: RedisNodes,
    /// One proxy for each server, in the same order.
    pub proxies: Vec<Proxy>,
}

impl RedisNodes {
    /// Starts `n` empty servers, each behind a proxy.
    pub async fn proxied(n: usize) -> ProxiedNodes {
        let nodes = Self::start(n).await;
        let proxies = nodes.proxies().await;
        ProxiedNodes { nodes, proxies }
    }

    /// Starts a separate network to these servers: one proxy in front of each.
    pub async fn proxies(&self) -> Vec<Proxy> {
        futures::future::join_all(self.0.iter().map(|node| Proxy::in_front_of(node.port()))).await
    }
}

impl ProxiedNodes {
    /// The configuration of a group that reaches the servers through the proxies.
    pub fn config(&self) -> GroupConfig {
        GroupConfig::new("orders", self.proxies.iter().map(Proxy::url))
    }
}

/// Accepts connections until it is cancelled. While the network is cut, the listener is closed.
async fn accept(
    mut listener: TcpListener,
    server_port: u16,
    accepted: &AtomicU64,
    mut state: watch::Receiver<NetworkState>,
) {
    let port = listener.local_addr().unwrap().port();
    loop {
        let client = tokio::select! {
            client = listener.accept() => client,
            () = wait_for_state(&mut state, |state| state.is_cut) => {
                drop(listener);
                wait_for_state(&mut state, |state| !state.is_cut).await;
                listener = listen(port).await.expect("the port is reserved for this proxy");
                continue;
            }
        };
        if let Ok((client, _)) = client {
            let number = accepted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(handle_connection(
                client,
                server_port,
                number,
                state.clone(),
            ));
        }
    }
}

async fn listen(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
}

/// Waits until the state meets the condition.
async fn wait_for_state(
    state: &mut watch::Receiver<NetworkState>,
    condition: impl Fn(&NetworkState) -> bool,
) {
    // The channel closes when the proxy is dropped; its runtime then cancels everything that waits
    // here.
    let met = state.wait_for(condition).await.is_ok();
    if !met {
        std::future::pending::<()>().await;
    }
}

/// The connection must be reset instead of closed.
struct Reset;

async fn handle_connection(
    mut client: TcpStream,
    server_port: u16,
    number: u64,
    mut state: watch::Receiver<NetworkState>,
) {
    let relay_state = state.clone();
    let end = tokio::select! {
        biased;
        () = wait_for_state(&mut state, |state| state.is_cut) => Err(Reset),
        end = relay(&mut client, server_port, number, relay_state) => end,
    };
    if let Err(Reset) = end {
        let _may_be_closed = client.set_zero_linger();
    }
}

async fn relay(
    client: &mut TcpStream,
    server_port: u16,
    number: u64,
    mut state: watch::Receiver<NetworkState>,
) -> Result<(), Reset> {
    client.set_nodelay(true).map_err(|_| Reset)?;
    if state.borrow().drops_requests {
        // The server must not even see the connection.
        let mut lost = Vec::new();
        return tokio::select! {
            _disconnected = client.read_to_end(&mut lost) => Ok(()),
            () = wait_for_state(&mut state, |state| !state.drops_requests) => Err(Reset),
        };
    }
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server_port)).await;
    let mut server = server.map_err(|_| Reset)?;
    server.set_nodelay(true).map_err(|_| Reset)?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let requests = forward(
        Direction::Requests,
        from_client,
        to_server,
        number,
        state.clone(),
    );
    let replies = forward(Direction::Replies, from_server, to_client, number, state);
    tokio::try_join!(requests, replies).map(|((), ())| ())
}

#[derive(Clone, Copy)]
enum Direction {
    Requests,
    Replies,
}

impl NetworkState {
    fn drops(&self, direction: Direction) -> bool {
        match direction {
            Direction::Requests => self.drops_requests,
            Direction::Replies => self.drops_replies,
        }
    }

    fn holds(&self, direction: Direction, connection: u64) -> bool {
        match direction {
            Direction::Requests => connection < self.holds_requests_below,
            Direction::Replies => false,
        }
    }
}

/// Forwards one direction of a connection until it ends.
async fn forward(
    direction: Direction,
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    number: u64,
    mut state: watch::Receiver<NetworkState>,
) -> Result<(), Reset> {
    let mut buffer = vec![0; 1 << 16];
    // Bytes and when they are due; an empty chunk is the end of the stream.
    let mut in_flight: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let (mut ended, mut dropped_bytes) = (false, false);
    loop {
        let now = *state.borrow_and_update();
        if dropped_bytes && !now.drops(direction) {
            return Err(Reset);
        }
        let first = in_flight.front().filter(|_| !now.holds(direction, number));
        let due = first.map(|(due, _)| *due);
        let buffered: usize = in_flight.iter().map(|(_, bytes)| bytes.len()).sum();
        tokio::select! {
            biased;
            Some(bytes) = async {
                let due = due?;
                // tokio's timers round up to whole milliseconds, which would delay bytes that are
                // due already.
                if due > Instant::now() {
                    tokio::time::sleep_until(due.into()).await;
                }
                in_flight.pop_front().map(|(_, bytes)| bytes)
            } => {
                if bytes.is_empty() {
                    let _peer_may_be_gone = to.shutdown().await;
                    return Ok(());
                }
                if to.write_all(&bytes).await.is_err() {
                    return Ok(());
                }
            }
            changed = state.changed() => changed.map_err(|_| Reset)?,
            read = from.read(&mut buffer), if !ended && buffered < MAX_BYTES_IN_FLIGHT => {
                // A reset by the sender becomes an orderly end for the receiver.
                let bytes = &buffer[..read.unwrap_or(0)];
                ended = bytes.is_empty();
                // Read again: a fault that was set before these bytes were sent applies to them.
                let now = *state.borrow();
                if now.is_cut {
                    return Err(Reset);
                }
                if now.drops(direction) && !ended {
                    dropped_bytes = true;
                    continue;
                }
                let due = Instant::now() + now.delay;
                // A shorter delay must not let bytes overtake earlier ones.
                let due = in_flight.back().map_or(due, |(last, _)| due.max(*last));
                in_flight.push_back((due, bytes.to_vec()));
            }
        }
    }
}
