//! A network that takes its time: passes bytes on after a fixed delay, exact to a tenth of a millisecond.
//!
//! Tokio's timers tick in milliseconds, so what is on its way waits in a thread of its own, which sleeps until shortly
//! before and spins for the rest. All delays are the same, so what came first is due first.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tokio_util::sync::{CancellationToken, DropGuard};

use super::Failure;

/// So long before the moment the thread wakes up: more than a busy machine usually is late.
const SPIN: Duration = Duration::from_micros(80);

/// A delay before each of some servers. It ends when it is dropped.
pub struct Delay {
    /// Where to connect instead, in the order of the servers.
    pub ports: Vec<u16>,
    _stop: DropGuard,
}

/// Bytes on their way.
struct Parcel {
    due: Instant,
    to: Arc<TcpStream>,
    /// None: the sender has closed.
    bytes: Vec<u8>,
}

impl Delay {
    /// Delays what goes to these ports, and what comes back.
    pub fn start(servers: &[u16], delay: Duration) -> Result<Self, Failure> {
        let stop = CancellationToken::new();
        let (sender, parcels) = channel();
        let mut ports = Vec::new();
        let mut doors = Vec::new();
        for &server in servers {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            listener.set_nonblocking(true)?;
            ports.push(listener.local_addr()?.port());
            doors.push((listener, server));
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let stopped = stop.clone();
        std::thread::spawn(move || {
            runtime.block_on(stopped.run_until_cancelled_owned(async {
                for (listener, server) in doors {
                    tokio::spawn(accept(listener, server, delay, sender.clone()));
                }
                std::future::pending::<()>().await;
            }));
        });
        std::thread::spawn(move || deliver(&parcels));
        Ok(Self {
            ports,
            _stop: stop.drop_guard(),
        })
    }
}

async fn accept(listener: TcpListener, server: u16, delay: Duration, parcels: Sender<Parcel>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("it is not blocking");
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = tokio::net::TcpStream::connect(("127.0.0.1", server)).await else {
            continue;
        };
        let (Ok(client), Ok(server)) = (ends(client), ends(server)) else {
            continue;
        };
        tokio::spawn(take_in(client.0, server.1, delay, parcels.clone()));
        tokio::spawn(take_in(server.0, client.1, delay, parcels.clone()));
    }
}

/// The same socket to read from and to write to.
fn ends(stream: tokio::net::TcpStream) -> std::io::Result<(tokio::net::TcpStream, Arc<TcpStream>)> {
    stream.set_nodelay(true)?;
    let stream = stream.into_std()?;
    let writing = Arc::new(stream.try_clone()?);
    Ok((tokio::net::TcpStream::from_std(stream)?, writing))
}

async fn take_in(
    from: tokio::net::TcpStream,
    to: Arc<TcpStream>,
    delay: Duration,
    parcels: Sender<Parcel>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while from.readable().await.is_ok() {
        let read = match from.try_read(&mut buffer) {
            Ok(read) => read,
            Err(why) if why.kind() == ErrorKind::WouldBlock => continue,
            Err(_) => 0,
        };
        let parcel = Parcel {
            due: Instant::now() + delay,
            to: Arc::clone(&to),
            bytes: buffer[..read].to_vec(),
        };
        if parcels.send(parcel).is_err() || read == 0 {
            return;
        }
    }
}

fn deliver(parcels: &Receiver<Parcel>) {
    wake_up_on_time();
    for parcel in parcels {
        let left = parcel.due.saturating_duration_since(Instant::now());
        std::thread::sleep(left.saturating_sub(SPIN));
        while Instant::now() < parcel.due {
            std::hint::spin_loop();
        }
        // A connection that is gone takes nothing more; whoever had it finds out by itself.
        let _gone = if parcel.bytes.is_empty() {
            parcel.to.shutdown(std::net::Shutdown::Write)
        } else {
            write(&parcel.to, &parcel.bytes)
        };
    }
}

fn write(mut to: &TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(why) if why.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

/// Linux may wake a sleeper 50 µs late to save power, unless the thread says otherwise. Without it, it spins less exactly.
fn wake_up_on_time() {
    if let Ok(thread) = std::fs::read_link("/proc/thread-self")
        && let Some(id) = thread.file_name()
    {
        let slack = std::path::Path::new("/proc").join(id).join("timerslack_ns");
        let _only_less_exact = std::fs::write(slack, "1");
    }
}

/// The median time of a PING over a plain socket.
pub fn round_trip(port: u16) -> Result<Duration, Failure> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    let mut took = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        stream.write_all(b"PING\r\n")?;
        stream.read_exact(&mut [0; 7])?;
        took.push(began.elapsed());
    }
    took.sort_unstable();
    Ok(took[took.len() / 2])
}
