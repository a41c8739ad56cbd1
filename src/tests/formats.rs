//! The recognisers against what real libraries write into a real server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lockkeeper::domain::{Format, LockKey};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::formats::{Recognised, recognise};
use lockkeeper::server::nodes::sighting::{Sighting, Ttl, Value};
use redis::aio::MultiplexedConnection;

const REPO: &str = env!("CARGO_MANIFEST_DIR");

#[tokio::test]
async fn redis_py_locks_name_their_host_and_time() {
    let mut server = Server::start().await;
    let before = Clock::real().now();
    let tokens = run(&python(), "redis_py.py", &[&server.port.to_string()]);
    assert_eq!(tokens.len(), 3);
    for (key, token) in tokens {
        let lock = server.recognise(&key).await;
        assert_eq!(
            (lock.format, lock.owners[0].bytes.expose()),
            (Format::RedisPy, token.as_bytes())
        );
        let claimed = lock.claimed_at.unwrap();
        assert!(
            claimed.millis_since(before) > -1000,
            "{key}: {claimed} is before {before}"
        );
        assert!(
            claimed <= Clock::real().now().plus_millis(1000),
            "{key}: {claimed} is yet to come"
        );
        assert_eq!(lock.lease.expires_at().is_some(), key != "nightly");
    }
}

#[tokio::test]
async fn both_versions_of_node_redlock_write_alike() {
    for package in ["redlock", "redlock4"] {
        let mut server = Server::start().await;
        let tokens = run(
            &node(package),
            "node_redlock.mjs",
            &[&server.port.to_string(), package],
        );
        assert_eq!(tokens.len(), 2);
        for (key, token) in tokens {
            let lock = server.recognise(&key).await;
            assert_eq!(
                (lock.format, lock.owners[0].bytes.expose()),
                (Format::NodeRedlock, token.as_bytes())
            );
            assert!(lock.lease.expires_at().is_some());
        }
    }
}

#[tokio::test]
async fn node_redisson_writes_a_hash_that_counts() {
    let mut server = Server::start().await;
    let fields = run(
        &node("node-redisson"),
        "node_redisson.mjs",
        &[&server.port.to_string()],
    );
    let lock = server.recognise("order:42").await;
    assert_eq!((lock.format, lock.owners.len()), (Format::Redisson, 1));
    assert_eq!(lock.owners[0].bytes.expose(), fields["order:42"].as_bytes());
    assert_eq!(lock.owners[0].owner.holds, Some(2));
    assert!(lock.lease.expires_at().is_some());
}

#[tokio::test]
async fn rslock_writes_bytes_that_are_no_text() {
    let mut server = Server::start().await;
    let manager = rslock::LockManager::new(vec![format!("redis://127.0.0.1:{}/", server.port)]);
    let taken = manager
        .acquire_no_guard("payouts", Duration::from_secs(30))
        .await
        .unwrap();
    let lock = server.recognise("payouts").await;
    assert_eq!(
        (lock.format, lock.owners[0].bytes.expose()),
        (Format::Rslock, taken.val.as_slice())
    );
}

/// Python with redis-py in it.
fn python() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || Path::new(&std::env::var_os("HOME").unwrap()).join(".cache"),
        PathBuf::from,
    );
    let python = cache.join("lockkeeper/tools/redis-py-8.1.0/bin/python3");
    assert!(
        python.exists(),
        "redis-py 8.1.0 is not installed; `make setup` installs it"
    );
    python
}

/// Node.js, once the npm package is there.
fn node(package: &str) -> PathBuf {
    let folder = Path::new(REPO).join("node_modules").join(package);
    assert!(
        folder.exists(),
        "the npm package {package} is not installed; `make setup` installs it"
    );
    PathBuf::from("node")
}

/// Runs a client, which prints names and tokens, to its end.
fn run(program: &Path, script: &str, arguments: &[&str]) -> BTreeMap<String, String> {
    let script = Path::new(REPO).join("src/tests/clients").join(script);
    let output = Command::new(program)
        .arg(&script)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = output.unwrap_or_else(|error| {
        panic!(
            "{} does not start ({error}); `make setup` installs it",
            program.display()
        )
    });
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}: {printed}{}",
        script.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    printed
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(key, token)| (key.to_owned(), token.to_owned()))
        .collect()
}

/// One real server that ends with the test.
struct Server {
    process: Child,
    port: u16,
    connection: MultiplexedConnection,
}

impl Server {
    async fn start() -> Self {
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let process = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                "/",
            ])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is not installed; `make setup` installs it");
        let client = redis::Client::open(format!("redis://127.0.0.1:{port}/")).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match client.get_multiplexed_async_connection().await {
                Ok(connection) => {
                    return Self {
                        process,
                        port,
                        connection,
                    };
                }
                Err(error) => assert!(
                    Instant::now() < deadline,
                    "redis-server on port {port} does not answer: {error}"
                ),
            }
        }
    }

    async fn recognise(&mut self, key: &str) -> Recognised {
        let sighting = self.look(key).await;
        recognise(&sighting, false)
            .unwrap_or_else(|| panic!("{key} is not recognised: {sighting:?}"))
    }

    async fn look(&mut self, key: &str) -> Sighting {
        let type_name: String = self.ask("TYPE", key).await;
        let value = match type_name.as_str() {
            "string" => Value::Text(self.ask("GET", key).await),
            "hash" => Value::Hash(self.ask("HGETALL", key).await),
            _ => Value::Other { type_name },
        };
        let ttl: i64 = self.ask("PTTL", key).await;
        let ttl = u64::try_from(ttl).map_or(Ttl::Never, Ttl::Ms);
        Sighting {
            key: LockKey::from(key),
            value,
            ttl,
            seen_at: Clock::real().now(),
        }
    }

    async fn ask<T: redis::FromRedisValue>(&mut self, command: &str, key: &str) -> T {
        redis::cmd(command)
            .arg(key)
            .query_async(&mut self.connection)
            .await
            .unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _already_gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}
