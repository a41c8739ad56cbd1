//! The program webdis, a gateway from HTTP to Redis in C without locking logic: what an HTTP server
//! in front of the two commands costs.

use std::path::Path;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::http::HttpConnection;
use super::load::Load;
use super::raw_redis;
use super::round::BenchClient;
use super::testbed::{Process, START_TIMEOUT, Testbed};
use super::{BenchError, LEASE};

/// A client with its own HTTP connection.
pub struct WebdisClient {
    connection: HttpConnection,
    key: String,
    /// The SHA-1 digest of the release script, which is loaded on the server.
    release_script: String,
}

#[derive(Deserialize)]
struct SetReply {
    #[serde(rename = "SET")]
    _status: (bool, String),
}

#[derive(Deserialize)]
struct EvalReply {
    #[serde(rename = "EVALSHA")]
    deleted: i64,
}

/// Starts webdis in front of the server at `redis_port`, with the number of threads that the Debian
/// package sets. Returns its port.
pub(super) async fn start(
    program: &Path,
    directory: &Path,
    redis_port: u16,
) -> Result<(Process, u16), BenchError> {
    std::fs::create_dir(directory)?;
    let port = std::net::TcpListener::bind(("127.0.0.1", 0))?
        .local_addr()?
        .port();
    let config = json!({
        "redis_host": "127.0.0.1",
        "redis_port": redis_port,
        "redis_auth": null,
        "http_host": "127.0.0.1",
        "http_port": port,
        "threads": 2,
        "daemonize": false,
        "database": 0,
        "verbosity": 1,
        "logfile": directory.join("webdis.log"),
    });
    let config_file = directory.join("webdis.json");
    std::fs::write(&config_file, config.to_string())?;
    let webdis = Process::start(directory, program, &[config_file.display().to_string()])?;
    let is_ready = async {
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(START_TIMEOUT, is_ready)
        .await
        .map_err(|_| "webdis does not accept connections")?;
    Ok((webdis, port))
}

/// Creates the clients of a load.
pub async fn clients(testbed: &Testbed, load: Load) -> Result<Vec<WebdisClient>, BenchError> {
    let address = testbed.webdis().ok_or("webdis was not started")?;
    let release_script = raw_redis::load_release_script(testbed.ports()[0]).await?;
    let mut clients = Vec::new();
    for n in 0..load.clients {
        clients.push(WebdisClient {
            connection: HttpConnection::open(address).await?,
            key: load.key(n),
            release_script: release_script.clone(),
        });
    }
    Ok(clients)
}

impl BenchClient for WebdisClient {
    async fn pair(&mut self) -> Result<(), BenchError> {
        let token = format!("{:032x}", rand::random::<u128>());
        let (key, millis) = (&self.key, LEASE.as_millis());
        let set = format!("SET/{key}/{token}/NX/PX/{millis}");
        let reply = self.run(set).await?;
        // A refused SET is null.
        let _: SetReply = serde_json::from_slice(&reply)
            .map_err(|_| "webdis: the lock is held by another client")?;
        let (key, script) = (&self.key, &self.release_script);
        let release = format!("EVALSHA/{script}/1/{key}/{token}");
        let reply: EvalReply = serde_json::from_slice(&self.run(release).await?)?;
        match reply.deleted {
            1 => Ok(()),
            _ => Err("webdis: the lock was lost".into()),
        }
    }
}

impl WebdisClient {
    /// Sends a command, whose words are separated by slashes, as the body of a POST.
    async fn run(&mut self, command: String) -> Result<Bytes, BenchError> {
        self.connection
            .post("/".to_owned(), command.into(), StatusCode::OK)
            .await
    }
}
