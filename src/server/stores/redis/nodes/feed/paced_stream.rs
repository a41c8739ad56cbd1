//! A socket that is read at once after a quiet period, and every 20 ms while data keeps coming.
//!
//! A server writes each notification to the socket as it occurs. A reader that waits for the socket
//! is woken for each of them, and both sides pay for that. With 10,000 locks that are renewed every
//! ten seconds (1,000 notifications per second), the pauses lowered the console's use of a core and
//! the server's, see `make bench` (overhead).

use std::io::{self, ErrorKind};
use std::net::TcpStream as StdTcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, Sleep, sleep};

/// How long data is left in the socket after a read.
const PAUSE: Duration = Duration::from_millis(20);

/// A connected TCP or Unix socket.
pub(super) struct PacedStream {
    socket: Socket,
    /// Registers the socket with the runtime. Absent during a pause: tokio would be woken for
    /// arriving data even though no task waits for it.
    registered: Option<RegisteredSocket>,
    pause: Pin<Box<Sleep>>,
    is_paused: bool,
    /// Data was read since the last pause.
    has_read: bool,
    /// A write waits for space in the socket's buffer.
    is_write_pending: bool,
}

/// A socket in non-blocking mode.
enum Socket {
    Tcp(StdTcpStream),
    Unix(StdUnixStream),
}

/// A second descriptor of the socket, which the runtime watches.
enum RegisteredSocket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn register(&self) -> io::Result<RegisteredSocket> {
        Ok(match self {
            Self::Tcp(socket) => RegisteredSocket::Tcp(TcpStream::from_std(socket.try_clone()?)?),
            Self::Unix(socket) => {
                RegisteredSocket::Unix(UnixStream::from_std(socket.try_clone()?)?)
            }
        })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

impl RegisteredSocket {
    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(socket) => socket.poll_read_ready(context),
            Self::Unix(socket) => socket.poll_read_ready(context),
        }
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(socket) => socket.poll_write_ready(context),
            Self::Unix(socket) => socket.poll_write_ready(context),
        }
    }

    /// Clears the readiness if the call returns that it would block.
    fn try_io<T>(&self, interest: Interest, io: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self {
            Self::Tcp(socket) => socket.try_io(interest, io),
            Self::Unix(socket) => socket.try_io(interest, io),
        }
    }
}

impl PacedStream {
    /// Connects to a server; `None` over TLS, where data cannot be read from the socket directly.
    pub(super) async fn connect(info: &ConnectionInfo) -> io::Result<Option<Self>> {
        Ok(match info.addr() {
            ConnectionAddr::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                Some(Self::new(Socket::Tcp(stream.into_std()?)))
            }
            ConnectionAddr::Unix(path) => {
                let stream = UnixStream::connect(path).await?;
                Some(Self::new(Socket::Unix(stream.into_std()?)))
            }
            _ => None,
        })
    }

    fn new(socket: Socket) -> Self {
        Self {
            socket,
            registered: None,
            pause: Box::pin(sleep(Duration::ZERO)),
            is_paused: false,
            has_read: false,
            is_write_pending: false,
        }
    }

    fn begin_pause(&mut self) {
        self.pause.as_mut().reset(Instant::now() + PAUSE);
        self.is_paused = true;
        self.has_read = false;
        if !self.is_write_pending {
            self.registered = None;
        }
    }
}

impl AsyncRead for PacedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.is_paused {
                ready!(self.pause.as_mut().poll(context));
                self.is_paused = false;
            }
            let mut read = || {
                Ok(rustix::io::read(
                    &self.socket,
                    buffer.initialize_unfilled(),
                )?)
            };
            let result = match &self.registered {
                // Quiet: waits for the next data.
                Some(registered) if !self.has_read => {
                    ready!(registered.poll_read_ready(context))?;
                    registered.try_io(Interest::READABLE, read)
                }
                Some(_) | None => read(),
            };
            match result {
                Ok(length) => {
                    buffer.advance(length);
                    self.has_read = true;
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() != ErrorKind::WouldBlock => {
                    return Poll::Ready(Err(error));
                }
                Err(_) if self.has_read => self.begin_pause(),
                // Nothing arrived during the pause.
                Err(_) if self.registered.is_none() => {
                    self.registered = Some(self.socket.register()?);
                }
                Err(_) => {}
            }
        }
    }
}

impl AsyncWrite for PacedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let write = || Ok(rustix::io::write(&self.socket, data)?);
            let result = match &self.registered {
                Some(registered) if self.is_write_pending => {
                    ready!(registered.poll_write_ready(context))?;
                    registered.try_io(Interest::WRITABLE, write)
                }
                Some(_) | None => write(),
            };
            match result {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_write_pending = true;
                    if self.registered.is_none() {
                        self.registered = Some(self.socket.register()?);
                    }
                }
                other => {
                    self.is_write_pending = false;
                    return Poll::Ready(other);
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The connection is closed when it is dropped; a feed has nothing left to send then.
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use futures::poll;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn pair() -> (StdUnixStream, PacedStream) {
        let (server, client) = StdUnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        (server, PacedStream::new(Socket::Unix(client)))
    }

    async fn read(stream: &mut PacedStream) -> String {
        let mut buffer = [0; 64];
        let length = stream.read(&mut buffer).await.unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[tokio::test]
    async fn data_that_follows_other_data_is_read_after_a_pause() {
        let (mut server, mut stream) = pair();
        for _ in 0..3 {
            server.write_all(b"first").unwrap();
            assert_eq!(read(&mut stream).await, "first");
            let mut later = Box::pin(read(&mut stream));
            assert_eq!(poll!(&mut later), Poll::Pending, "the socket is empty");
            server.write_all(b"second,").unwrap();
            assert_eq!(poll!(&mut later), Poll::Pending, "the pause has begun");
            server.write_all(b"third").unwrap();
            assert_eq!(later.await, "second,third");
        }
    }

    #[tokio::test]
    async fn after_a_pause_without_data_the_next_data_is_read_at_once() {
        let (mut server, mut stream) = pair();
        server.write_all(b"first").unwrap();
        assert_eq!(read(&mut stream).await, "first");
        let mut buffer = [0; 64];
        // Reads until the stream waits for the socket instead of for the end of a pause.
        std::future::poll_fn(|context| {
            let mut buffer = ReadBuf::new(&mut buffer);
            let read = Pin::new(&mut stream).poll_read(context, &mut buffer);
            assert!(read.is_pending());
            if stream.is_paused {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .await;
        server.write_all(b"second").unwrap();
        assert_eq!(read(&mut stream).await, "second");
        assert!(!stream.is_paused && stream.has_read);
    }

    #[tokio::test]
    async fn data_that_arrives_while_the_task_waits_wakes_it() {
        let (mut server, mut stream) = pair();
        let reading = tokio::spawn(async move { read(&mut stream).await });
        tokio::task::yield_now().await;
        server.write_all(b"data").unwrap();
        assert_eq!(reading.await.unwrap(), "data");
    }

    #[tokio::test]
    async fn more_data_than_the_socket_buffers_is_written_while_data_is_read() {
        let (server, mut stream) = pair();
        let sent = vec![b'x'; 4 << 20];
        let mut server_side = server.try_clone().unwrap();
        let receiving = std::thread::spawn(move || {
            let mut server = server;
            let mut received = vec![0; 4 << 20];
            std::io::Read::read_exact(&mut server, &mut received).unwrap();
            received
        });
        server_side.write_all(b"meanwhile").unwrap();
        let (mut reader, mut writer) = tokio::io::split(&mut stream);
        let mut received = [0; 9];
        let (read, written) =
            tokio::join!(reader.read_exact(&mut received), writer.write_all(&sent));
        assert_eq!((read.unwrap(), &received), (9, b"meanwhile"));
        written.unwrap();
        assert_eq!(receiving.join().unwrap(), sent);
    }

    #[tokio::test]
    async fn the_end_of_the_connection_is_reported() {
        let (server, mut stream) = pair();
        drop(server);
        assert_eq!(read(&mut stream).await, "");
    }
}
