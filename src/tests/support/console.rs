//! A console in the test's process on a free port, and an HTTP client for its API.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, GroupConfig, LimitsConfig, LogFormat, StorageConfig};
use lockkeeper::server::telemetry::logs;
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::wait_until;

/// A console that runs in this process.
pub struct TestConsole {
    pub address: SocketAddr,
    /// Contains the database, unless the configuration names another storage.
    data_dir: TempDir,
    stop: CancellationToken,
    server_task: JoinHandle<std::io::Result<()>>,
}

impl TestConsole {
    /// Starts a console with the default configuration and the system clock.
    pub async fn start(groups: Vec<GroupConfig>) -> Self {
        Self::start_with_config(Config::with_groups(groups), Clock::system()).await
    }

    /// Starts a console with these limits and this clock.
    pub async fn start_with_limits(
        groups: Vec<GroupConfig>,
        limits: LimitsConfig,
        clock: Clock,
    ) -> Self {
        let config = Config {
            limits,
            ..Config::with_groups(groups)
        };
        Self::start_with_config(config, clock).await
    }

    /// Starts a console with this configuration. It listens on a free port, whatever the
    /// configuration names.
    pub async fn start_with_config(mut config: Config, clock: Clock) -> Self {
        // nextest prints the log of a failed test. It has causes that responses do not contain.
        logs::start("warn", LogFormat::Text, None).unwrap();
        let data_dir = tempfile::tempdir().unwrap();
        if config.storage == StorageConfig::default() {
            config.storage = StorageConfig::sqlite(data_dir.path().join("lockkeeper.db"));
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let server_task = tokio::spawn(lockkeeper::server::serve(
            listener,
            config,
            clock,
            stop.clone(),
        ));
        Self {
            address,
            data_dir,
            stop,
            server_task,
        }
    }

    /// The SQLite file that the console uses unless the configuration names another storage.
    pub fn storage_file(&self) -> PathBuf {
        self.data_dir.path().join("lockkeeper.db")
    }

    /// A client of this console.
    pub fn api(&self) -> ApiClient {
        ApiClient::new(self.address)
    }

    /// Waits until every node is up. An acquire skips nodes without a connection and does not
    /// return to them later, so a test that expects a lock on every node must wait first.
    pub async fn wait_until_connected(self) -> Self {
        let api = self.api();
        wait_until("every node is up", async || {
            let groups = api.get("/api/v1/groups").await.json();
            let groups = groups["groups"].as_array().unwrap().clone();
            let mut nodes = groups
                .iter()
                .flat_map(|group| group["nodes"].as_array().unwrap());
            nodes.all(|node| node["state"] == "up")
        })
        .await;
        self
    }

    /// Stops the console and waits until every stream has ended.
    pub async fn stop(self) {
        self.stop.cancel();
        timeout(Duration::from_secs(10), self.server_task)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
    }
}

/// An HTTP client of one console.
#[derive(Clone)]
pub struct ApiClient {
    address: SocketAddr,
    client: Client<HttpConnector, Full<axum::body::Bytes>>,
}

/// The response of a console.
#[derive(Debug)]
pub struct ApiResponse {
    pub status: u16,
    pub headers: http::HeaderMap,
    pub text: String,
}

impl ApiResponse {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{error} in {} {}", self.status, self.text))
    }

    /// Asserts that the response is a problem with this status and this code.
    #[track_caller]
    pub fn assert_problem(&self, status: u16, code: &str) {
        let actual = (self.status, self.problem_code());
        assert_eq!(actual, (status, code.to_owned()), "{}", self.text);
    }

    /// The stable code of a problem. Panics if the response is not a problem.
    pub fn problem_code(&self) -> String {
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

impl ApiClient {
    /// A client of the console at this address.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            client: Client::builder(TokioExecutor::new()).build_http(),
        }
    }

    /// A client that connects from another loopback address (127.0.0.2, 127.0.0.3 …).
    pub fn with_local_address(&self, local_address: [u8; 4]) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_local_address(Some(local_address.into()));
        Self {
            address: self.address,
            client: Client::builder(TokioExecutor::new()).build(connector),
        }
    }

    /// The address of the console.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub async fn get(&self, path: &str) -> ApiResponse {
        self.send("GET", path, &[], "").await
    }

    /// Posts JSON.
    pub async fn post(&self, path: &str, body: Value) -> ApiResponse {
        self.send(
            "POST",
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    /// Waits until exactly `count` locks are listed.
    pub async fn wait_for_lock_count(&self, count: usize) {
        wait_until("the expected number of locks is listed", async || {
            self.get("/api/v1/locks?limit=1").await.json()["total"] == count
        })
        .await;
    }

    /// The first node of the first group, as the API returns it.
    pub async fn first_node(&self) -> Value {
        self.get("/api/v1/groups").await.json()["groups"][0]["nodes"][0].clone()
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> ApiResponse {
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
            ApiResponse {
                status: parts.status.as_u16(),
                headers: parts.headers,
                text,
            }
        };
        timeout(Duration::from_secs(30), exchange)
            .await
            .expect("the console responds within 30 s")
    }

    /// Sends JSON to a console that may be killed before it responds.
    pub async fn send_ignoring_response(&self, method: &str, path: &str, body: Value) {
        let request = http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("content-type", "application/json")
            .body(Full::from(body.to_string()))
            .unwrap();
        let _ignored = self.client.request(request).await;
    }

    /// Subscribes to the event stream.
    pub async fn subscribe(&self, query: &str, last_event_id: Option<&str>) -> EventStream {
        let headers = last_event_id.map(|id| ("last-event-id", id));
        self.subscribe_with_headers(query, headers.as_slice()).await
    }

    /// Subscribes to the event stream with these request headers.
    pub async fn subscribe_with_headers(
        &self,
        query: &str,
        headers: &[(&str, &str)],
    ) -> EventStream {
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
        EventStream {
            body: response.into_body(),
            buffer: Vec::new(),
            queued: VecDeque::new(),
        }
    }
}

/// A stream of server-sent events.
pub struct EventStream {
    body: hyper::body::Incoming,
    buffer: Vec<u8>,
    queued: VecDeque<ServerSentEvent>,
}

/// One server-sent event with its data parsed as JSON.
#[derive(Debug)]
pub struct ServerSentEvent {
    pub event: String,
    pub id: String,
    pub data: Value,
}

impl EventStream {
    /// The next event, or `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<ServerSentEvent> {
        loop {
            if let Some(event) = self.queued.pop_front() {
                return Some(event);
            }
            let frame = timeout(Duration::from_secs(10), self.body.frame()).await;
            let frame = frame
                .expect("the stream sends something within 10 s")?
                .ok()?;
            // A frame may end inside a UTF-8 sequence, so bytes are decoded per event.
            self.buffer.extend_from_slice(frame.data_ref()?);
            while let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let rest = self.buffer.split_off(end + 2);
                let block = String::from_utf8(std::mem::replace(&mut self.buffer, rest)).unwrap();
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
                    self.queued.push_back(ServerSentEvent { event, id, data });
                }
            }
        }
    }

    /// Waits for the next event that meets the condition.
    pub async fn wait_for(
        &mut self,
        mut matches: impl FnMut(&ServerSentEvent) -> bool,
    ) -> ServerSentEvent {
        loop {
            let event = self.next().await.expect("the stream continues");
            if matches(&event) {
                return event;
            }
        }
    }
}
