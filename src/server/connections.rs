//! Connections: `axum-server` accepts them and speaks HTTP/1.1, within TLS where there is a certificate. How many may be open, and
//! how slow a client may be, is decided here: `axum::serve` has a time limit for nothing.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::AddExtension;
use axum::{Extension, Router};
use axum_server::accept::Accept;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use axum_server::{Handle, Server};
use governor::{Quota, RateLimiter};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::Layer as _;

use super::api::ApiError;
use super::config::LimitsConfig;
use super::limits::{Client, ConcurrencyLimit, Permit};
use crate::domain::Fault;

/// What is read of a request before its body, at most: the longest address and the headers. It also bounds what a slow
/// client can make us hold.
const MAX_HEAD_BYTES: usize = 128 * 1024;

/// How long open requests may take to end once the server was told to stop.
pub const GRACE_PERIOD: Duration = Duration::from_secs(3);

/// File descriptors that are for nodes, logs and files.
const SPARE_FILES: u32 = 256;

/// How many clients at a time are answered that there is no room; others are only hung up on.
const MAX_REFUSALS: usize = 64;
/// How long a client may take to read that answer.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves HTTP on every connection until `stop` is cancelled, then until every request has its answer, but no longer than
/// [`GRACE_PERIOD`]. Proxies call for many, so theirs are not counted as those of one client.
pub async fn serve(
    listener: TcpListener,
    tls: Option<RustlsConfig>,
    router: Router,
    limits: &LimitsConfig,
    is_proxy: impl Fn(IpAddr) -> bool + Send + Sync + 'static,
    stop: &CancellationToken,
) -> io::Result<()> {
    let handle = Handle::new();
    let once_a_second = RateLimiter::direct(Quota::per_second(std::num::NonZeroU32::MIN));
    let mut server = Server::<SocketAddr>::from_listener(listener)
        .http1_only()
        .handle(handle.clone())
        .accept_error_handler(move |peer, why| match peer {
            Some(peer) => tracing::trace!(%peer, "the connection is not served: {why}"),
            // Out of file descriptors, as a rule; it is tried again every 50 ms.
            None if once_a_second.check().is_ok() => {
                tracing::error!("no connection can be accepted: {why}");
            }
            None => {}
        });
    server
        .http_builder()
        .http1()
        .header_read_timeout(limits.read_timeout)
        // What subscribers are sent is shared by many of them. Otherwise each connection would copy it, into room that it never gives back.
        .writev(true)
        .max_buf_size(MAX_HEAD_BYTES);
    let limiter = ConnectionLimiter {
        limit: ConcurrencyLimit::new(
            "connections",
            ("connections", "are open"),
            room(limits.connections),
            limits.connections_per_client,
        ),
        is_proxy: Arc::new(is_proxy),
        refusals: Arc::new(Semaphore::new(if tls.is_none() { MAX_REFUSALS } else { 0 })),
    };
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let serving = async {
        match tls {
            None => server.acceptor(limiter).serve(service).await,
            Some(config) => {
                let tls = RustlsAcceptor::new(config).handshake_timeout(limits.read_timeout);
                server.acceptor(tls.acceptor(limiter)).serve(service).await
            }
        }
    };
    let stopping = async {
        stop.cancelled().await;
        handle.graceful_shutdown(None);
        sleep(GRACE_PERIOD).await;
        tracing::warn!("some requests did not end in time and were cut off");
        handle.shutdown();
    };
    tokio::select! {
        served = serving => served,
        () = stopping => Ok(()),
    }
}

/// Lets so many connections in, and answers the others that there is no room.
#[derive(Clone)]
struct ConnectionLimiter {
    limit: ConcurrencyLimit,
    is_proxy: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
    /// Within TLS nobody is answered: that would cost more than a request does.
    refusals: Arc<Semaphore>,
}

impl<S: Send + 'static> Accept<TcpStream, S> for ConnectionLimiter {
    type Stream = TcpStream;
    /// The permit goes with the connection's service, and ends with it.
    type Service = AddExtension<S, Arc<Permit>>;
    type Future = Pin<Box<dyn Future<Output = io::Result<(TcpStream, Self::Service)>> + Send>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let limiter = self.clone();
        Box::pin(async move {
            let peer = stream.peer_addr()?.ip();
            let permit = if (limiter.is_proxy)(peer) {
                limiter.limit.acquire_in_all()
            } else {
                limiter.limit.acquire(Client::of(peer))
            };
            match permit {
                Ok(permit) => {
                    // Answers are small and written at once; without this some would wait for the client's acknowledgement.
                    stream.set_nodelay(true)?;
                    Ok((stream, Extension(Arc::new(permit)).layer(service)))
                }
                Err(fault) => {
                    if let Ok(_refusing) = limiter.refusals.try_acquire() {
                        // Whoever does not read it in time is hung up on all the same.
                        let _late = timeout(REFUSAL_TIMEOUT, refuse(stream, fault)).await;
                    }
                    Err(io::Error::other("there is no room for it"))
                }
            }
        })
    }
}

/// The whole answer to a connection that is one too many, before a request was read.
async fn refuse(mut stream: TcpStream, fault: Fault) -> io::Result<()> {
    stream.write_all(&ApiError::from(fault).to_bytes()).await?;
    stream.shutdown().await?;
    // What is left unread when we hang up would make the system take the answer back.
    let mut unread = [0; 4096];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}

/// How many connections there is room for: as many as are wanted, if the system lets us open so many files. The soft limit
/// is raised as far as needed and allowed.
fn room(wanted: u32) -> u32 {
    let needed = u64::from(wanted) + u64::from(SPARE_FILES);
    let limit = getrlimit(Resource::Nofile);
    let mut files = limit.current.unwrap_or(u64::MAX);
    if files < needed {
        let raised = limit.maximum.map_or(needed, |hard| hard.min(needed));
        let raise = Rlimit {
            current: Some(raised),
            maximum: limit.maximum,
        };
        if raised > files && setrlimit(Resource::Nofile, raise).is_ok() {
            files = raised;
        }
    }
    let room = files
        .saturating_sub(u64::from(SPARE_FILES))
        .max(16)
        .min(u64::from(wanted));
    if room < u64::from(wanted) {
        tracing::warn!(
            "room for {room} connections instead of {wanted}: this process may open only {files} files"
        );
    }
    u32::try_from(room).unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_what_is_wanted_and_no_more() {
        assert_eq!(room(100), 100);
    }
}
