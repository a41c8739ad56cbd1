//! Fake servers that do not reply, reply with garbage or send fixed replies.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// A listener that is closed when this is dropped.
pub struct FakeServer {
    port: u16,
    accept_task: AbortHandle,
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.accept_task.abort();
    }
}

impl FakeServer {
    /// Accepts connections and never replies.
    pub async fn silent() -> Self {
        Self::start(|mut stream| async move {
            let mut received = Vec::new();
            let _until_disconnect = stream.read_to_end(&mut received).await;
        })
        .await
    }

    /// Replies to every read with an HTTP error response.
    pub async fn garbage() -> Self {
        Self::start(|mut stream| async move {
            let mut received = [0; 1024];
            while let Ok(1..) = stream.read(&mut received).await {
                if stream
                    .write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
                    .await
                    .is_err()
                {
                    return;
                }
            }
        })
        .await
    }

    /// Replies to every command with this line.
    pub async fn with_reply(line: &'static str) -> Self {
        Self::start(move |mut stream| async move {
            let mut received = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut received).await {
                let commands = received[..n]
                    .split(|&byte| byte == b'\n')
                    .filter(|line| line.starts_with(b"*"))
                    .count();
                if stream
                    .write_all(format!("{line}\r\n").repeat(commands).as_bytes())
                    .await
                    .is_err()
                {
                    return;
                }
            }
        })
        .await
    }

    /// Calls `connect` for each connection, and the function that it returns for each read; the
    /// result is the reply.
    pub async fn with_replies<F>(connect: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: FnMut() -> Vec<u8> + Send + 'static,
    {
        Self::start(move |mut stream| {
            let mut next_reply = connect();
            async move {
                let mut received = [0; 4096];
                while let Ok(1..) = stream.read(&mut received).await {
                    if stream.write_all(&next_reply()).await.is_err() {
                        return;
                    }
                }
            }
        })
        .await
    }

    /// A sentinel that reports the server on this port as the primary, with a higher config epoch
    /// than any real failover.
    pub async fn sentinel_with_primary(primary_port: u16) -> Self {
        let address = format!(
            "*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{primary_port}\r\n",
            primary_port.to_string().len()
        );
        let master_info = "*2\r\n$12\r\nconfig-epoch\r\n$6\r\n999999\r\n";
        Self::start(move |mut stream| {
            let address = address.clone();
            async move {
                let mut received = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut received).await {
                    let text = String::from_utf8_lossy(&received[..n]).into_owned();
                    let replies = text.split('*').skip(1).map(|command| {
                        if command.contains("GET-MASTER-ADDR") {
                            address.as_str()
                        } else if command.contains("SENTINEL") {
                            master_info
                        } else {
                            "+OK\r\n"
                        }
                    });
                    let replies = replies.collect::<String>();
                    if stream.write_all(replies.as_bytes()).await.is_err() {
                        return;
                    }
                }
            }
        })
        .await
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    async fn start<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let accept_task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Self {
            port,
            accept_task: accept_task.abort_handle(),
        }
    }
}
