//! A TCP proxy with a fixed delay, accurate to a tenth of a millisecond.
//!
//! Tokio's timers have a resolution of a millisecond, so a dedicated thread delivers the packets:
//! it sleeps until shortly before the due time and spins for the rest. All packets have the same
//! delay, so they are due in the order of their arrival.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tokio_util::sync::{CancellationToken, DropGuard};

use super::BenchError;

/// The thread wakes up this long before the due time: longer than the usual delay of a wake-up.
const SPIN_TIME: Duration = Duration::from_micros(80);

/// A proxy for each of several servers. It stops when it is dropped.
pub struct DelayProxy {
    /// The ports of the proxies, in the order of the servers.
    pub ports: Vec<u16>,
    _stop: DropGuard,
}

/// Bytes to deliver.
struct DelayedPacket {
    due: Instant,
    to: Arc<TcpStream>,
    /// Empty if the sender has closed the connection.
    bytes: Vec<u8>,
}

impl DelayProxy {
    /// Delays traffic to and from the servers at these ports.
    pub fn start(servers: &[u16], delay: Duration) -> Result<Self, BenchError> {
        let stop = CancellationToken::new();
        let (sender, packets) = channel();
        let mut ports = Vec::new();
        let mut listeners = Vec::new();
        for &server in servers {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            listener.set_nonblocking(true)?;
            ports.push(listener.local_addr()?.port());
            listeners.push((listener, server));
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let stopped = stop.clone();
        std::thread::spawn(move || {
            runtime.block_on(stopped.run_until_cancelled_owned(async {
                for (listener, server) in listeners {
                    tokio::spawn(accept(listener, server, delay, sender.clone()));
                }
                std::future::pending::<()>().await;
            }));
        });
        std::thread::spawn(move || deliver(&packets));
        Ok(Self {
            ports,
            _stop: stop.drop_guard(),
        })
    }
}

async fn accept(
    listener: TcpListener,
    server: u16,
    delay: Duration,
    packets: Sender<DelayedPacket>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("the socket is non-blocking");
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = tokio::net::TcpStream::connect(("127.0.0.1", server)).await else {
            continue;
        };
        let (Ok(client), Ok(server)) = (split_socket(client), split_socket(server)) else {
            continue;
        };
        tokio::spawn(receive(client.0, server.1, delay, packets.clone()));
        tokio::spawn(receive(server.0, client.1, delay, packets.clone()));
    }
}

/// The same socket for reading and for blocking writes.
fn split_socket(
    stream: tokio::net::TcpStream,
) -> std::io::Result<(tokio::net::TcpStream, Arc<TcpStream>)> {
    stream.set_nodelay(true)?;
    let stream = stream.into_std()?;
    let writer = Arc::new(stream.try_clone()?);
    Ok((tokio::net::TcpStream::from_std(stream)?, writer))
}

async fn receive(
    from: tokio::net::TcpStream,
    to: Arc<TcpStream>,
    delay: Duration,
    packets: Sender<DelayedPacket>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while from.readable().await.is_ok() {
        let read = match from.try_read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(_) => 0,
        };
        let packet = DelayedPacket {
            due: Instant::now() + delay,
            to: Arc::clone(&to),
            bytes: buffer[..read].to_vec(),
        };
        if packets.send(packet).is_err() || read == 0 {
            return;
        }
    }
}

fn deliver(packets: &Receiver<DelayedPacket>) {
    reduce_timer_slack();
    for packet in packets {
        let remaining = packet.due.saturating_duration_since(Instant::now());
        std::thread::sleep(remaining.saturating_sub(SPIN_TIME));
        while Instant::now() < packet.due {
            std::hint::spin_loop();
        }
        // An error means that the connection is closed, which its client detects itself.
        let _connection_closed = if packet.bytes.is_empty() {
            packet.to.shutdown(std::net::Shutdown::Write)
        } else {
            write(&packet.to, &packet.bytes)
        };
    }
}

fn write(mut to: &TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Linux may delay the wake-up of a thread by its timer slack, 50 µs by default. If it cannot be
/// set, the delay is less accurate.
fn reduce_timer_slack() {
    if let Ok(thread) = std::fs::read_link("/proc/thread-self")
        && let Some(id) = thread.file_name()
    {
        let slack = std::path::Path::new("/proc").join(id).join("timerslack_ns");
        let _ignored = std::fs::write(slack, "1");
    }
}

/// The median time of a PING over a plain socket.
pub fn round_trip(port: u16) -> Result<Duration, BenchError> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    let mut latencies = Vec::new();
    for _ in 0..200 {
        let started = Instant::now();
        stream.write_all(b"PING\r\n")?;
        stream.read_exact(&mut [0; 7])?;
        latencies.push(started.elapsed());
    }
    latencies.sort_unstable();
    Ok(latencies[latencies.len() / 2])
}
