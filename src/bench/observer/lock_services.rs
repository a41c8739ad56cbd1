//! The lock services beside Redis: how soon their locks are listed, the latency from a change to its
//! event, and what polling costs a PostgreSQL server. Services that are not installed are left out.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use lockkeeper::server::config::ServiceCredentials;
use lockkeeper::server::demo::lock_services::{Processes, etcd, zookeeper};
use lockkeeper::server::stores::etcd::client::{ClientOptions, EtcdClient, LeaseId};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::BenchError;
use super::super::budgets::Budget;
use super::super::cpu;
use super::super::testbed::{Process, Programs, START_TIMEOUT};
use super::latencies::Latencies;
use super::server::{Console, Events};
use super::{Scale, max_budget};

/// Locks in ZooKeeper whose listing is measured.
const ZOOKEEPER_LOCKS: u32 = 5_000;
/// Nodes that are created at the same time.
const CONCURRENT_CREATES: usize = 64;
/// How often a console is started on them.
const STARTS: u32 = 5;
/// Advisory locks that are polled.
const POSTGRES_LOCKS: u32 = 1_000;
/// The directory of the programs of Debian's `postgresql-15`.
const POSTGRES_PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// An unprivileged user: PostgreSQL refuses to run as root.
const UNPRIVILEGED_UID: u32 = 65_534;

pub async fn measure(programs: &Programs, scale: Scale) -> Result<Vec<Budget>, BenchError> {
    println!("\nlock services beside Redis:");
    let directory = new_directory()?;
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let processes = Processes {
        folder: directory.path(),
        tasks: &tasks,
        stop: &stop,
    };
    let bench = ServiceBench {
        programs,
        directory: directory.path(),
        scale,
    };
    let mut budgets = Vec::new();
    match zookeeper::start_servers(&processes).await {
        Ok(ports) => budgets.extend(bench.zookeeper(&ports).await?),
        Err(reason) => println!("  ZooKeeper is not measured: {reason}."),
    }
    match etcd::start_servers(&processes).await {
        Ok(endpoints) => budgets.push(bench.etcd(&endpoints).await?),
        Err(reason) => println!("  etcd is not measured: {reason}."),
    }
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    if Path::new(POSTGRES_PROGRAMS).is_dir() {
        let postgres = Postgres::start(&directory.path().join("postgres")).await?;
        budgets.extend(bench.postgres(&postgres).await?);
        postgres.process.stop().await;
    } else {
        println!("  PostgreSQL is not measured: {POSTGRES_PROGRAMS} does not exist.");
    }
    Ok(budgets)
}

/// A directory that other users can pass through, but not list.
fn new_directory() -> Result<TempDir, BenchError> {
    let directory = tempfile::Builder::new()
        .prefix("lockkeeper-bench-services-")
        .tempdir()?;
    let permissions = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(directory.path(), permissions)?;
    Ok(directory)
}

struct ServiceBench<'a> {
    programs: &'a Programs,
    directory: &'a Path,
    scale: Scale,
}

impl ServiceBench<'_> {
    /// Starts a console that observes one group with these settings.
    async fn start_console(&self, name: &str, settings: &str) -> Result<Console, BenchError> {
        let file = self.directory.join(format!("{name}.toml"));
        std::fs::write(&file, format!("[[group]]\nname = \"{name}\"\n{settings}\n"))?;
        Console::start(
            self.programs,
            self.directory.join(format!("console-{name}")),
            &file,
        )
        .await
    }

    async fn zookeeper(&self, ports: &[u16]) -> Result<Vec<Budget>, BenchError> {
        let session = zookeeper::start_session(ports);
        session.wait_for_first_attempt().await;
        session.create_container("/locks").await?;
        stream::iter(0..ZOOKEEPER_LOCKS)
            .map(|n| {
                let session = &session;
                async move {
                    let path = format!("/locks/filled-{n}");
                    zookeeper::create_contender(session, &path, "lock", "10.0.0.1").await
                }
            })
            .buffer_unordered(CONCURRENT_CREATES)
            .try_for_each(async |_| Ok(()))
            .await?;
        let servers: Vec<String> = ports
            .iter()
            .map(|port| format!("127.0.0.1:{port}"))
            .collect();
        let settings = format!("kind = \"zookeeper\"\nservers = {servers:?}\nroots = [\"/locks\"]");
        let mut listed = Vec::new();
        for n in 0..STARTS {
            let started = Instant::now();
            let console = self
                .start_console(&format!("zookeeper-{n}"), &settings)
                .await?;
            console.wait_until_listed(ZOOKEEPER_LOCKS).await?;
            listed.push(started.elapsed());
            console.stop().await;
        }
        let slowest = listed.iter().max().map_or(f64::NAN, Duration::as_secs_f64);
        let median = Latencies::new(listed).median() / 1e3;

        let console = self.start_console("zookeeper", &settings).await?;
        // The events of these locks would be taken for those of the changes.
        console.wait_until_listed(ZOOKEEPER_LOCKS).await?;
        let lags = lags(&console, self.scale.service_changes, async |n| {
            let path = format!("/locks/changed-{n}");
            zookeeper::create_contender(&session, &path, "lock", "10.0.0.1").await?;
            Ok(())
        })
        .await?;
        console.stop().await;
        session.close().await;
        println!(
            "  ZooKeeper, {} servers: {ZOOKEEPER_LOCKS} locks listed {median:.2} s after the start of the process, at\n  \
             most {slowest:.2} s in {STARTS} starts; {}",
            ports.len(),
            describe(&lags)
        );
        Ok(vec![
            max_budget(
                "ZooKeeper: 5,000 locks listed after the start, slowest in s",
                slowest,
                0.5,
            ),
            max_budget(
                "ZooKeeper: change to event, median in ms",
                lags.median(),
                50.0,
            ),
        ])
    }

    async fn etcd(&self, endpoints: &[String]) -> Result<Budget, BenchError> {
        let client = EtcdClient::new(ClientOptions {
            urls: endpoints.to_vec(),
            credentials: ServiceCredentials::default(),
            connect_timeout: Duration::from_secs(2),
            command_timeout: Duration::from_secs(5),
        });
        let settings =
            format!("kind = \"etcd\"\nendpoints = {endpoints:?}\nprefixes = [\"jobs/\"]");
        let console = self.start_console("etcd", &settings).await?;
        let lags = lags(&console, self.scale.service_changes, async |n| {
            // As `concurrency.Mutex` writes it: a key with the id of its lease.
            let lease = LeaseId(i64::from(n) + 1);
            client.grant(lease, Duration::from_secs(600)).await?;
            let key = BASE64.encode(format!("jobs/{n}/{:x}", lease.0).as_bytes());
            let put = json!({ "request_put": { "key": key, "value": "", "lease": lease } });
            client.txn(&json!({ "success": [put] })).await?;
            Ok(())
        })
        .await?;
        console.stop().await;
        println!("  etcd, {} members: {}", endpoints.len(), describe(&lags));
        Ok(max_budget(
            "etcd: change to event, median in ms",
            lags.median(),
            50.0,
        ))
    }

    async fn postgres(&self, postgres: &Postgres) -> Result<Vec<Budget>, BenchError> {
        let client = tokio::sync::Mutex::new(postgres.connect().await?);
        let lock_all = "SELECT pg_advisory_lock(n) FROM generate_series(1, $1) n";
        sqlx::query(lock_all)
            .bind(i64::from(POSTGRES_LOCKS))
            .execute(&mut *client.lock().await)
            .await?;
        let settings = format!("kind = \"postgres\"\nurl = \"{}\"", postgres.url());
        let console = self.start_console("postgres", &settings).await?;
        console.wait_until_listed(POSTGRES_LOCKS).await?;
        let (before, started) = (postgres.cpu_time(), Instant::now());
        sleep(Duration::from_secs(self.scale.seconds.into()) * 2).await;
        let used = postgres.cpu_time().saturating_sub(before);
        let share = used.as_secs_f64() / started.elapsed().as_secs_f64() * 100.0;
        // An event can take a second, the interval of the polling.
        let lags = lags(&console, self.scale.service_changes / 8, async |n| {
            sqlx::query("SELECT pg_advisory_lock($1)")
                .bind(i64::from(POSTGRES_LOCKS + 1 + n))
                .execute(&mut *client.lock().await)
                .await?;
            Ok(())
        })
        .await?;
        console.stop().await;
        println!(
            "  PostgreSQL, {POSTGRES_LOCKS} advisory locks: {share:.2} % of a core of the server for polling; {}",
            describe(&lags)
        );
        Ok(vec![
            max_budget(
                "PostgreSQL: change to event, median in ms",
                lags.median(),
                1_500.0,
            ),
            max_budget(
                "PostgreSQL: CPU of the server for polling 1,000 locks in %",
                share,
                1.0,
            ),
        ])
    }
}

fn describe(lags: &Latencies) -> String {
    format!(
        "{} changes one after another, from the service's reply to the event: median {:.1} ms, p99 {:.1} ms",
        lags.count(),
        lags.median(),
        lags.p99()
    )
}

/// Acquires locks one after another and measures, for each, the time from the reply of the service to
/// the event.
async fn lags(
    console: &Console,
    count: u32,
    acquire: impl AsyncFn(u32) -> Result<(), BenchError>,
) -> Result<Latencies, BenchError> {
    let mut events = console.subscribe("").await?;
    events.next().await?;
    let mut lags = Vec::new();
    for n in 0..count {
        // The event can arrive before the reply.
        let (acquired, received) = tokio::join!(
            async {
                acquire(n).await?;
                Ok::<_, BenchError>(Instant::now())
            },
            next_appeared(&mut events)
        );
        lags.push(received?.saturating_duration_since(acquired?));
    }
    Ok(Latencies::new(lags))
}

/// When the next event of a lock that appeared is received.
async fn next_appeared(events: &mut Events) -> Result<Instant, BenchError> {
    let wait = async {
        loop {
            let event = events.next().await?;
            let at = Instant::now();
            if event.name != "change" {
                continue;
            }
            let change: serde_json::Value = serde_json::from_str(&event.data)?;
            if change["type"] == "appeared" {
                return Ok(at);
            }
        }
    };
    timeout(START_TIMEOUT, wait).await?
}

/// A PostgreSQL server with an empty database.
struct Postgres {
    process: Process,
    port: u16,
}

impl Postgres {
    /// Initialises this directory and starts a server on it.
    async fn start(directory: &Path) -> Result<Self, BenchError> {
        std::fs::create_dir(directory)?;
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            chown(directory, Some(UNPRIVILEGED_UID), Some(UNPRIVILEGED_UID))?;
        }
        let program = |name: &str| {
            Path::new(POSTGRES_PROGRAMS)
                .join(name)
                .display()
                .to_string()
        };
        let data = directory.display().to_string();
        let mut initdb = tokio::process::Command::new(program("initdb"));
        initdb.args([
            "-D",
            &data,
            "-U",
            "lockkeeper",
            "--auth=trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        ]);
        initdb
            .current_dir(directory)
            .stdout(std::process::Stdio::null());
        if is_root {
            initdb.uid(UNPRIVILEGED_UID).gid(UNPRIVILEGED_UID);
        }
        if !initdb.status().await?.success() {
            return Err("initdb failed".into());
        }
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?
            .local_addr()?
            .port();
        let port_text = port.to_string();
        let (server, id) = (program("postgres"), UNPRIVILEGED_UID.to_string());
        let sockets = format!("unix_socket_directories={data}");
        let mut command = vec![server.as_str(), "-D", &data, "-p", &port_text];
        command.extend(["-c", "listen_addresses=127.0.0.1", "-c", &sockets]);
        if is_root {
            command.splice(
                0..0,
                ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"],
            );
        }
        let (program, arguments) = command.split_first().expect("the command has a program");
        let arguments: Vec<String> = arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect();
        let process = Process::start(directory, &PathBuf::from(program), &arguments)?;
        let server = Self { process, port };
        let connects = async {
            while server.connect().await.is_err() {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(START_TIMEOUT, connects).await?;
        Ok(server)
    }

    fn url(&self) -> String {
        format!("postgres://lockkeeper@127.0.0.1:{}/postgres", self.port)
    }

    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        PgConnection::connect(&self.url()).await
    }

    /// The CPU time of the server and its processes that are still running.
    fn cpu_time(&self) -> Duration {
        self.process.pid().map_or(Duration::ZERO, |server| {
            cpu::of_process(server) + cpu::of_children(server)
        })
    }
}
