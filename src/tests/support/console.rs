//! A console with its API on a free port, and the people who use it over real HTTP.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, GroupConfig, LimitsConfig, StorageConfig};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::eventually_is;

/// A console that runs in this process.
pub struct TestConsole {
    pub address: SocketAddr,
    /// Where it writes down who did what, unless its configuration says where.
    folder: TempDir,
    stop: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl TestConsole {
    /// A console on these groups.
    pub async fn start(groups: Vec<GroupConfig>) -> Self {
        Self::start_as(Config::of(groups), Clock::real()).await
    }

    /// A console on these groups with limits and a clock of its own.
    pub async fn start_within(
        groups: Vec<GroupConfig>,
        limits: LimitsConfig,
        clock: Clock,
    ) -> Self {
        let config = Config {
            limits,
            ..Config::of(groups)
        };
        Self::start_as(config, clock).await
    }

    /// A console as this configuration says, except for where it listens.
    pub async fn start_as(mut config: Config, clock: Clock) -> Self {
        let folder = tempfile::tempdir().unwrap();
        if config.storage == StorageConfig::default() {
            config.storage = StorageConfig::file(folder.path().join("lockkeeper.db"));
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let serving = tokio::spawn(lockkeeper::server::serve(
            listener,
            config,
            clock,
            stop.clone(),
        ));
        Self {
            address,
            folder,
            stop,
            serving,
        }
    }

    /// Its storage, unless its configuration says where.
    pub fn storage_file(&self) -> PathBuf {
        self.folder.path().join("lockkeeper.db")
    }

    /// Somebody who talks to it.
    pub fn person(&self) -> Person {
        Person::of(self.address)
    }

    /// The same, with a connection to every node: a lock is taken on those that can be asked, and nobody comes back to one
    /// that could not.
    pub async fn connected(self) -> Self {
        let person = self.person();
        eventually_is("every node is up", async || {
            let groups = person.get("/api/v1/groups").await.json();
            let groups = groups["groups"].as_array().unwrap().clone();
            let mut nodes = groups
                .iter()
                .flat_map(|group| group["nodes"].as_array().unwrap());
            nodes.all(|node| node["state"] == "up")
        })
        .await;
        self
    }

    /// Stops it and waits until every stream has ended.
    pub async fn stop(self) {
        self.stop.cancel();
        timeout(Duration::from_secs(10), self.serving)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
    }
}

/// Somebody who talks to a console over HTTP.
#[derive(Clone)]
pub struct Person {
    address: SocketAddr,
    client: Client<HttpConnector, Full<axum::body::Bytes>>,
}

/// What a console answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: http::HeaderMap,
    pub text: String,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|why| panic!("{why} in {} {}", self.status, self.text))
    }

    /// It is a problem with this status and this code.
    #[track_caller]
    pub fn is(&self, status: u16, code: &str) {
        let told = (self.status, self.code());
        assert_eq!(told, (status, code.to_owned()), "{}", self.text);
    }

    /// The stable code of a problem.
    pub fn code(&self) -> String {
        assert_eq!(
            self.headers["content-type"], "application/problem+json",
            "{}",
            self.text
        );
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        problem["code"].as_str().unwrap().to_owned()
    }
}

impl Person {
    /// Somebody who talks to the console at this address.
    pub fn of(address: SocketAddr) -> Self {
        Self {
            address,
            client: Client::builder(TokioExecutor::new()).build_http(),
        }
    }

    /// Somebody who calls from another of this machine's addresses (127.0.0.2, 127.0.0.3 …).
    pub fn calling_from(&self, from: [u8; 4]) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_local_address(Some(from.into()));
        Self {
            address: self.address,
            client: Client::builder(TokioExecutor::new()).build(connector),
        }
    }

    /// Where the console is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    /// Posts JSON.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(
            "POST",
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    /// Waits until so many locks are listed.
    pub async fn sees(&self, locks: usize) {
        eventually_is("so many locks are listed", async || {
            self.get("/api/v1/locks?limit=1").await.json()["total"] == locks
        })
        .await;
    }

    /// The first node of the first group.
    pub async fn node(&self) -> Value {
        self.get("/api/v1/groups").await.json()["groups"][0]["nodes"][0].clone()
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> Answer {
        let mut request = http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body.into())).unwrap();
        let exchange = async {
            let response = self.client.request(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await.unwrap().to_bytes();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Answer {
                status: parts.status.as_u16(),
                headers: parts.headers,
                text,
            }
        };
        timeout(Duration::from_secs(10), exchange)
            .await
            .expect("the console answers")
    }

    /// Posts JSON to a console that may not live to answer.
    pub async fn send_unanswered(&self, method: &str, path: &str, body: Value) {
        let request = http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("content-type", "application/json")
            .body(Full::from(body.to_string()))
            .unwrap();
        let _no_answer = self.client.request(request).await;
    }

    /// Begins to watch.
    pub async fn watch(&self, query: &str, last_event_id: Option<&str>) -> Watching {
        let headers = last_event_id.map(|id| ("last-event-id", id));
        self.watch_with(query, headers.as_slice()).await
    }

    /// Begins to watch with these headers.
    pub async fn watch_with(&self, query: &str, headers: &[(&str, &str)]) -> Watching {
        let mut request =
            http::Request::get(format!("http://{}/api/v1/events{query}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self
            .client
            .request(request.body(Full::default()).unwrap())
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Watching {
            body: response.into_body(),
            text: Vec::new(),
            ready: VecDeque::new(),
        }
    }
}

/// A stream of server-sent events.
pub struct Watching {
    body: hyper::body::Incoming,
    text: Vec<u8>,
    ready: VecDeque<Told>,
}

/// One event.
#[derive(Debug)]
pub struct Told {
    pub event: String,
    pub id: String,
    pub data: Value,
}

impl Watching {
    /// The next event; nothing at the end of the stream.
    pub async fn next(&mut self) -> Option<Told> {
        loop {
            if let Some(told) = self.ready.pop_front() {
                return Some(told);
            }
            let frame = timeout(Duration::from_secs(10), self.body.frame()).await;
            let frame = frame.expect("a stream is never silent for long")?.ok()?;
            // A frame may end within a letter.
            self.text.extend_from_slice(frame.data_ref()?);
            while let Some(at) = self.text.windows(2).position(|two| two == b"\n\n") {
                let rest = self.text.split_off(at + 2);
                let block = String::from_utf8(std::mem::replace(&mut self.text, rest)).unwrap();
                let field = |name: &str| {
                    let prefix = format!("{name}: ");
                    block
                        .lines()
                        .find_map(|line| line.strip_prefix(&prefix))
                        .unwrap_or("")
                };
                if !field("event").is_empty() {
                    let data = serde_json::from_str(field("data")).unwrap();
                    let (event, id) = (field("event").to_owned(), field("id").to_owned());
                    self.ready.push_back(Told { event, id, data });
                }
            }
        }
    }

    /// The next event that the condition likes.
    pub async fn until(&mut self, mut likes: impl FnMut(&Told) -> bool) -> Told {
        loop {
            let told = self.next().await.expect("the stream goes on");
            if likes(&told) {
                return told;
            }
        }
    }
}
