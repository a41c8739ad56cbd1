//! A network that can be made bad: a TCP proxy before one real server, which delays, cuts, swallows and holds back.
//!
//! Bytes keep their order and are never changed. A connection that lost some of them is reset when the network heals:
//! TCP may stop, but it never leaves something out.
//!
//! Each proxy runs on a thread of its own, so that a busy test does not slow the network down.

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

/// How much may be on its way in one direction of a connection before the sender has to wait.
const MOST_ON_ITS_WAY: usize = 1 << 20;

/// A proxy before one server. It ends with the test.
pub struct Proxy {
    port: u16,
    weather: watch::Sender<Weather>,
    accepted: Arc<AtomicU64>,
    _ends_when_dropped: DropGuard,
}

/// What the network does at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weather {
    delay: Duration,
    loses_requests: bool,
    loses_answers: bool,
    is_cut: bool,
    /// Requests of connections with a smaller number are held back.
    held_below: u64,
}

impl Proxy {
    /// Starts a proxy before the server on this port of this machine.
    pub async fn before(server: u16) -> Self {
        let port = free_port();
        let (weather, seen) = watch::channel(Weather::default());
        let accepted = Arc::new(AtomicU64::new(0));
        let stop = CancellationToken::new();
        let (counting, stopped) = (Arc::clone(&accepted), stop.clone());
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        std::thread::Builder::new()
            .name(format!("proxy {port}"))
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                runtime.unwrap().block_on(async {
                    let listener = listen(port).await.unwrap();
                    let _the_test_may_be_over = ready.send(());
                    let accepting = accept(listener, server, &counting, seen);
                    stopped.run_until_cancelled(accepting).await
                });
            })
            .unwrap();
        is_ready.await.unwrap();
        Self {
            port,
            weather,
            accepted,
            _ends_when_dropped: stop.drop_guard(),
        }
    }

    /// Where clients connect to.
    pub fn url(&self) -> RedisUrl {
        url(&format!("redis://127.0.0.1:{}", self.port))
    }

    /// Where clients connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Everything takes this much longer, in each of the two directions.
    pub fn delay(&self, each_way: Duration) {
        self.weather.send_modify(|weather| weather.delay = each_way);
    }

    /// Resets every connection and refuses new ones.
    pub fn cut(&self) {
        self.weather.send_modify(|weather| weather.is_cut = true);
    }

    /// Accepts everything, and passes nothing on in either direction.
    pub fn blackhole(&self) {
        self.weather.send_modify(|weather| {
            weather.loses_requests = true;
            weather.loses_answers = true;
        });
    }

    /// Passes on what the server says, and nothing of what it is told.
    pub fn lose_requests(&self) {
        self.weather
            .send_modify(|weather| weather.loses_requests = true);
    }

    /// What the server is told reaches it, and its answers are lost.
    pub fn lose_answers(&self) {
        self.weather
            .send_modify(|weather| weather.loses_answers = true);
    }

    /// Requests over the connections of now arrive when the network heals, even if their sender has hung up meanwhile. New
    /// connections work: so it is when TCP waits before it sends a lost packet again.
    pub fn hold_back(&self) {
        let accepted = self.accepted.load(Ordering::SeqCst);
        self.weather
            .send_modify(|weather| weather.held_below = accepted);
    }

    /// Nothing is bad any more.
    pub fn heal(&self) {
        self.weather.send_replace(Weather::default());
    }
}

/// Servers, each behind a proxy of its own. What is asked of the servers themselves goes past the proxies.
pub struct ProxiedNodes {
    /// The servers.
    pub nodes: RedisNodes,
    /// What is before each of them.
    pub proxies: Vec<Proxy>,
}

impl RedisNodes {
    /// Starts `n` empty servers, each behind a proxy.
    pub async fn proxied(n: usize) -> ProxiedNodes {
        let nodes = Self::start(n).await;
        let proxies = nodes.proxies().await;
        ProxiedNodes { nodes, proxies }
    }

    /// A network of its own to these servers: one proxy before each.
    pub async fn proxies(&self) -> Vec<Proxy> {
        futures::future::join_all(self.0.iter().map(|node| Proxy::before(node.port()))).await
    }
}

impl ProxiedNodes {
    /// The configuration of a group that reaches the servers through the proxies.
    pub fn config(&self) -> GroupConfig {
        GroupConfig::new("orders", self.proxies.iter().map(Proxy::url))
    }
}

/// Accepts connections, for ever; while the network is cut nobody listens.
async fn accept(
    mut listener: TcpListener,
    server: u16,
    accepted: &AtomicU64,
    mut weather: watch::Receiver<Weather>,
) {
    let port = listener.local_addr().unwrap().port();
    loop {
        let client = tokio::select! {
            client = listener.accept() => client,
            () = becomes(&mut weather, |weather| weather.is_cut) => {
                drop(listener);
                becomes(&mut weather, |weather| !weather.is_cut).await;
                listener = listen(port).await.expect("nobody else takes the port");
                continue;
            }
        };
        if let Ok((client, _)) = client {
            let number = accepted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(connection(client, server, number, weather.clone()));
        }
    }
}

async fn listen(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
}

/// Waits until it is so.
async fn becomes(weather: &mut watch::Receiver<Weather>, is_so: impl Fn(&Weather) -> bool) {
    // The weather ends with the proxy, whose thread then ends all that waits here.
    let so_it_is = weather.wait_for(is_so).await.is_ok();
    if !so_it_is {
        std::future::pending::<()>().await;
    }
}

/// Why a connection ends other than by being closed.
struct Reset;

/// One connection, to its end.
async fn connection(
    mut client: TcpStream,
    server: u16,
    number: u64,
    mut weather: watch::Receiver<Weather>,
) {
    let seen = weather.clone();
    let end = tokio::select! {
        biased;
        () = becomes(&mut weather, |weather| weather.is_cut) => Err(Reset),
        end = join(&mut client, server, number, seen) => end,
    };
    if let Err(Reset) = end {
        let _it_may_be_closed = client.set_zero_linger();
    }
}

async fn join(
    client: &mut TcpStream,
    server: u16,
    number: u64,
    mut weather: watch::Receiver<Weather>,
) -> Result<(), Reset> {
    client.set_nodelay(true).map_err(|_| Reset)?;
    if weather.borrow().loses_requests {
        // Nothing of this connection reaches the server, not even that there is one.
        let mut lost = Vec::new();
        return tokio::select! {
            _hung_up = client.read_to_end(&mut lost) => Ok(()),
            () = becomes(&mut weather, |weather| !weather.loses_requests) => Err(Reset),
        };
    }
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await;
    let mut server = server.map_err(|_| Reset)?;
    server.set_nodelay(true).map_err(|_| Reset)?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let requests = carry(
        Way::Requests,
        from_client,
        to_server,
        number,
        weather.clone(),
    );
    let answers = carry(Way::Answers, from_server, to_client, number, weather);
    tokio::try_join!(requests, answers).map(|((), ())| ())
}

#[derive(Clone, Copy)]
enum Way {
    Requests,
    Answers,
}

impl Weather {
    fn loses(&self, way: Way) -> bool {
        match way {
            Way::Requests => self.loses_requests,
            Way::Answers => self.loses_answers,
        }
    }

    fn holds(&self, way: Way, connection: u64) -> bool {
        match way {
            Way::Requests => connection < self.held_below,
            Way::Answers => false,
        }
    }
}

/// Carries one direction of a connection to its end.
async fn carry(
    way: Way,
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    number: u64,
    mut weather: watch::Receiver<Weather>,
) -> Result<(), Reset> {
    let mut buffer = vec![0; 1 << 16];
    // What arrives when; nothing is the end.
    let mut on_its_way: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let (mut has_ended, mut has_lost) = (false, false);
    loop {
        let now = *weather.borrow_and_update();
        if has_lost && !now.loses(way) {
            return Err(Reset);
        }
        let first = on_its_way.front().filter(|_| !now.holds(way, number));
        let arrives = first.map(|(arrives, _)| *arrives);
        let weight: usize = on_its_way.iter().map(|(_, bytes)| bytes.len()).sum();
        tokio::select! {
            biased;
            Some(bytes) = async {
                let arrives = arrives?;
                // Timers have whole milliseconds: what is late already waits for none.
                if arrives > Instant::now() {
                    tokio::time::sleep_until(arrives.into()).await;
                }
                on_its_way.pop_front().map(|(_, bytes)| bytes)
            } => {
                if bytes.is_empty() {
                    let _it_may_be_gone = to.shutdown().await;
                    return Ok(());
                }
                if to.write_all(&bytes).await.is_err() {
                    return Ok(());
                }
            }
            changed = weather.changed() => changed.map_err(|_| Reset)?,
            read = from.read(&mut buffer), if !has_ended && weight < MOST_ON_ITS_WAY => {
                // Whoever reset the connection will not hear of it any more: for the other side it ends.
                let bytes = &buffer[..read.unwrap_or(0)];
                has_ended = bytes.is_empty();
                // Asked anew: what was set before these bytes were sent counts for them.
                let now = *weather.borrow();
                if now.is_cut {
                    return Err(Reset);
                }
                if now.loses(way) && !has_ended {
                    has_lost = true;
                    continue;
                }
                let arrives = Instant::now() + now.delay;
                let after_all_others = on_its_way.back().map_or(arrives, |(last, _)| arrives.max(*last));
                on_its_way.push_back((after_all_others, bytes.to_vec()));
            }
        }
    }
}
