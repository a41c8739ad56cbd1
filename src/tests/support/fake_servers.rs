//! Servers that are not what they should be: they say nothing, nonsense, or always the same.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// A listener that ends with the test.
pub struct FakeServer {
    port: u16,
    accepting: AbortHandle,
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl FakeServer {
    /// Accepts connections and never says a word.
    pub async fn silent() -> Self {
        Self::serving(|mut stream| async move {
            let mut heard = Vec::new();
            let _until_it_hangs_up = stream.read_to_end(&mut heard).await;
        })
        .await
    }

    /// Answers whatever it hears as a web server would.
    pub async fn garbage() -> Self {
        Self::serving(|mut stream| async move {
            let mut heard = [0; 1024];
            while let Ok(1..) = stream.read(&mut heard).await {
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

    /// Answers every command with this line.
    pub async fn always(line: &'static str) -> Self {
        Self::serving(move |mut stream| async move {
            let mut heard = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut heard).await {
                let commands = heard[..n]
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

    /// Says something of a story of its own on each connection, whenever it hears something.
    pub async fn saying<S>(begin: impl Fn() -> S + Send + Sync + 'static) -> Self
    where
        S: FnMut() -> Vec<u8> + Send + 'static,
    {
        Self::serving(move |mut stream| {
            let mut story = begin();
            async move {
                let mut heard = [0; 4096];
                while let Ok(1..) = stream.read(&mut heard).await {
                    if stream.write_all(&story()).await.is_err() {
                        return;
                    }
                }
            }
        })
        .await
    }

    /// A sentinel that names the server at this port as the primary, by a failover later than any.
    pub async fn sentinel_naming(primary: u16) -> Self {
        let address = format!(
            "*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{primary}\r\n",
            primary.to_string().len()
        );
        let about = "*2\r\n$12\r\nconfig-epoch\r\n$6\r\n999999\r\n";
        Self::serving(move |mut stream| {
            let address = address.clone();
            async move {
                let mut heard = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut heard).await {
                    let text = String::from_utf8_lossy(&heard[..n]).into_owned();
                    let replies = text.split('*').skip(1).map(|command| {
                        if command.contains("GET-MASTER-ADDR") {
                            address.as_str()
                        } else if command.contains("SENTINEL") {
                            about
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

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    async fn serving<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Self {
            port,
            accepting: accepting.abort_handle(),
        }
    }
}
