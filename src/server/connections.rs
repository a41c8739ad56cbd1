//! Accepts connections with `axum-server` and serves HTTP/1.1, over TLS if a certificate is
//! configured. The number of connections and the timeouts for slow clients are limited here,
//! because `axum::serve` has no timeouts.

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
use super::limits::{ClientKey, ConcurrencyLimit, Permit};
use crate::domain::OperationError;
use crate::domain::operation_error::LimitedResource;

/// The maximum size of the request line and headers. It also bounds the memory that a slow
/// client can occupy.
const MAX_HEAD_BYTES: usize = 128 * 1024;

/// How long open requests may take to finish after the server starts to shut down.
pub const GRACE_PERIOD: Duration = Duration::from_secs(3);

/// File descriptors reserved for connections to nodes, logs and files.
const RESERVED_FILE_DESCRIPTORS: u32 = 256;

/// The maximum number of clients that receive a 429 response at a time. Further connections are
/// closed without a response.
const MAX_CONCURRENT_REJECTIONS: usize = 64;
/// How long a client may take to read that response.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves HTTP until `stop` is cancelled, then waits up to [`GRACE_PERIOD`] for open requests.
/// Connections from trusted proxies carry requests of many clients, so they do not count towards
/// the limit per client.
pub async fn serve(
    listener: TcpListener,
    tls: Option<RustlsConfig>,
    router: Router,
    limits: &LimitsConfig,
    is_proxy: impl Fn(IpAddr) -> bool + Send + Sync + 'static,
    stop: &CancellationToken,
) -> io::Result<()> {
    let handle = Handle::new();
    let log_limit = RateLimiter::direct(Quota::per_second(std::num::NonZeroU32::MIN));
    let mut server = Server::<SocketAddr>::from_listener(listener)
        .http1_only()
        .handle(handle.clone())
        .accept_error_handler(move |peer, error| match peer {
            Some(peer) => tracing::trace!(%peer, "connection rejected: {error}"),
            // Usually out of file descriptors. `axum-server` retries every 50 ms.
            None if log_limit.check().is_ok() => {
                tracing::error!("cannot accept connections: {error}");
            }
            None => {}
        });
    server
        .http_builder()
        .http1()
        .header_read_timeout(limits.read_timeout)
        // Event data is shared between subscribers. Without vectored writes hyper would copy it
        // into a buffer per connection that never shrinks.
        .writev(true)
        .max_buf_size(MAX_HEAD_BYTES);
    let limiter = ConnectionLimiter {
        limit: ConcurrencyLimit::new(
            LimitedResource::Connections,
            connections_within_fd_limit(limits.max_connections),
            limits.max_connections_per_client,
        ),
        is_proxy: Arc::new(is_proxy),
        rejections: Arc::new(Semaphore::new(if tls.is_none() {
            MAX_CONCURRENT_REJECTIONS
        } else {
            0
        })),
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
        tracing::warn!(
            "some requests did not finish within the shutdown grace period and were aborted"
        );
        handle.shutdown();
    };
    tokio::select! {
        served = serving => served,
        () = stopping => Ok(()),
    }
}

/// Limits the number of connections and rejects the others with a 429 response.
#[derive(Clone)]
struct ConnectionLimiter {
    limit: ConcurrencyLimit,
    is_proxy: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
    /// Permits for sending 429 responses. Zero with TLS: the handshake costs more than serving
    /// a request.
    rejections: Arc<Semaphore>,
}

impl<S: Send + 'static> Accept<TcpStream, S> for ConnectionLimiter {
    type Stream = TcpStream;
    /// The permit is released when the connection's service is dropped.
    type Service = AddExtension<S, Arc<Permit>>;
    type Future = Pin<Box<dyn Future<Output = io::Result<(TcpStream, Self::Service)>> + Send>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let limiter = self.clone();
        Box::pin(async move {
            let peer = stream.peer_addr()?.ip();
            let permit = if (limiter.is_proxy)(peer) {
                limiter.limit.acquire_unattributed()
            } else {
                limiter.limit.acquire(ClientKey::from_ip(peer))
            };
            match permit {
                Ok(permit) => {
                    // Responses are small and written in one call. With Nagle's algorithm some
                    // of them would wait for the client's ACK.
                    stream.set_nodelay(true)?;
                    Ok((stream, Extension(Arc::new(permit)).layer(service)))
                }
                Err(error) => {
                    if let Ok(_slot) = limiter.rejections.try_acquire() {
                        // If the client does not read the response in time, the connection is
                        // closed anyway.
                        let _late = timeout(REJECTION_TIMEOUT, reject(stream, error)).await;
                    }
                    Err(io::Error::other("connection limit reached"))
                }
            }
        })
    }
}

/// Sends the 429 response and closes the connection, without reading a request.
async fn reject(mut stream: TcpStream, error: OperationError) -> io::Result<()> {
    stream.write_all(&ApiError::from(error).to_bytes()).await?;
    stream.shutdown().await?;
    // Closing a socket with unread data sends a RST, which can discard the response before the
    // client reads it.
    let mut unread = [0; 4096];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}

/// Raises the soft limit on file descriptors as needed, and returns how many connections it
/// allows: at most `wanted`.
fn connections_within_fd_limit(wanted: u32) -> u32 {
    let needed = u64::from(wanted) + u64::from(RESERVED_FILE_DESCRIPTORS);
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
    let available = files
        .saturating_sub(u64::from(RESERVED_FILE_DESCRIPTORS))
        .max(16)
        .min(u64::from(wanted));
    if available < u64::from(wanted) {
        tracing::warn!(
            "max_connections is {wanted}, but the limit of {files} file descriptors allows only {available}. Raise the limit (ulimit -n, LimitNOFILE=)"
        );
    }
    u32::try_from(available).unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_descriptor_limit_allows_a_small_number_of_connections() {
        assert_eq!(connections_within_fd_limit(100), 100);
    }
}
