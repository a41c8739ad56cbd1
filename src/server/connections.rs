//! Connections: how many are open, how slow a client may be, and HTTP/1.1 on each of them.
//!
//! `axum::serve` would do all but the limits: it has no time limit for a request's head.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{ConnectInfo, Request};
use axum::http::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::access::RequestId;
use super::api::limits::{Client, no_room, no_room_for};
use super::api::places::Crowd;
use super::config::LimitsConfig;
use super::telemetry::traces;
use super::tls::ServerTls;

/// What is read of a request before its body, at most: the longest address and the headers. It also bounds what a slow
/// client can make us hold.
const LARGEST_HEAD: usize = 128 * 1024;

/// File descriptors that are for nodes, logs and files.
const SPARE_FILES: u32 = 256;

/// How many clients at a time are told that there is no room; others are only hung up on.
const REFUSED_AT_A_TIME: usize = 64;
/// How long a client may take to hear it.
const REFUSAL: Duration = Duration::from_secs(1);

/// Serves HTTP, within TLS where there is a certificate, on every connection until `stop` is cancelled, then until every request has its answer. Dropped, it cuts
/// all connections off. Proxies call for many, so theirs are not counted as those of one client.
pub async fn serve<S, B>(
    listener: TcpListener,
    tls: Option<Arc<ServerTls>>,
    service: S,
    limits: LimitsConfig,
    is_proxy: impl Fn(IpAddr) -> bool,
    stop: CancellationToken,
) where
    S: Service<Request, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let most = room(limits.connections);
    let no_room: Arc<[u8]> = no_room(most).into();
    let of_one = limits.connections_per_client;
    let crowd = Arc::new(Crowd::new(u32::MAX, of_one));
    let enter = |address| {
        if is_proxy(address) {
            return Ok(None);
        }
        let client = Client::of(address);
        crowd.enter(client).map(Some).map_err(|_| client)
    };
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.read_timeout)
        // What viewers are sent is shared by many of them. Otherwise each connection would copy it, into room that it never gives back.
        .writev(true)
        .max_buf_size(LARGEST_HEAD);
    let (mut connections, mut refused) = (JoinSet::new(), JoinSet::new());
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_ended) = connections.join_next() => {}
            Some(_ended) = refused.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let entered = if connections.len() < most {
                        enter(peer.ip()).map_err(|client| no_room_for(client, of_one).into())
                    } else {
                        Err(Arc::clone(&no_room))
                    };
                    match entered {
                        Ok(seat) => {
                            // Answers are small and written at once; without this some would wait for the client's
                            // acknowledgement.
                            let _best_effort = stream.set_nodelay(true);
                            let (service, http) = (service.clone(), http.clone());
                            let (acceptor, stop) = (tls.as_ref().map(|tls| tls.acceptor()), stop.child_token());
                            let slowest = limits.read_timeout;
                            connections.spawn(async move {
                                match acceptor {
                                    None => converse(stream, peer, service, http, stop).await,
                                    Some(acceptor) => {
                                        let shaking = timeout(slowest, acceptor.accept(stream));
                                        match stop.run_until_cancelled(shaking).await {
                                            Some(Ok(Ok(stream))) => converse(stream, peer, service, http, stop).await,
                                            Some(Ok(Err(why))) => tracing::trace!(%peer, "no TLS: {why}"),
                                            Some(Err(_)) | None => {}
                                        }
                                    }
                                }
                                drop(seat);
                            });
                        }
                        // Within TLS, saying so would cost more than a request does: those are hung up on.
                        Err(answer) if tls.is_none() && refused.len() < REFUSED_AT_A_TIME => {
                            refused.spawn(timeout(REFUSAL, refuse(stream, answer)));
                        }
                        Err(_hung_up_on) => {}
                    }
                }
                Err(why) if is_the_clients(&why) => {}
                Err(why) => {
                    tracing::error!("no connection can be accepted: {why}");
                    // Out of file descriptors, as a rule: asking again at once would only burn time.
                    stop.run_until_cancelled(sleep(Duration::from_secs(1))).await;
                }
            },
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn converse<I, S, B>(
    stream: I,
    peer: SocketAddr,
    service: S,
    http: http1::Builder,
    stop: CancellationToken,
) where
    I: AsyncRead + AsyncWrite + Unpin,
    S: Service<Request, Response = Response<B>, Error = Infallible> + Clone,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + 'static,
{
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        answer(service.clone(), request)
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(why) = ended {
        tracing::trace!(%peer, "the connection ended: {why}");
    }
}

/// Gives the request its name, has it answered, and says so in the log.
async fn answer<S, B>(mut service: S, mut request: Request) -> Result<Response<B>, Infallible>
where
    S: Service<Request, Response = Response<B>, Error = Infallible>,
{
    let id = RequestId::of(request.headers());
    request.extensions_mut().insert(id.clone());
    // Without the query: what somebody searches for is theirs.
    let asked = tracing::enabled!(tracing::Level::DEBUG).then(|| {
        (
            request.method().clone(),
            request.uri().clone(),
            Instant::now(),
        )
    });
    let trace = traces::Request::begin(request.method(), request.uri().path(), request.headers());
    let name = id.clone();
    let answering = async move {
        let answer = service.call(request).await?;
        if let Some((method, uri, began)) = asked {
            let (status, took_ms) = (
                answer.status().as_u16(),
                began.elapsed().as_secs_f64() * 1e3,
            );
            tracing::debug!(request.id = %name, %method, path = uri.path(), status, took_ms, "answered");
        }
        Ok::<_, Infallible>(answer)
    };
    let mut answer = match trace {
        Some(trace) => {
            let answer = trace.around(&id.0, answering).await?;
            trace.answered(answer.status().as_u16());
            answer
        }
        None => answering.await?,
    };
    answer.headers_mut().insert(RequestId::HEADER, id.header());
    Ok(answer)
}

async fn refuse(mut stream: TcpStream, answer: Arc<[u8]>) -> io::Result<()> {
    stream.write_all(&answer).await?;
    stream.shutdown().await?;
    // What is left unread when we hang up would make the system take the answer back.
    let mut unread = [0; 4096];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}

/// How many connections there is room for: as many as are wanted, if the system lets us open so many files. The soft limit
/// is raised as far as needed and allowed.
fn room(wanted: u32) -> usize {
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
    usize::try_from(room).unwrap_or(usize::MAX)
}

/// The client was gone before it was let in.
fn is_the_clients(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_what_is_wanted_and_no_more() {
        assert_eq!(room(100), 100);
    }
}
