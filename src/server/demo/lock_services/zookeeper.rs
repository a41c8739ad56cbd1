//! The demo's ZooKeeper ensemble, with clients that write the nodes of Curator's mutex and leader latch.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::{Processes, SERVERS, find_program, group, wait_until_ready};
use crate::domain::GroupKind;
use crate::server::config::{GroupConfig, ServiceConfig, ServiceCredentials, ZookeeperConfig};
use crate::server::demo::clients::{RESTART_DELAY, pause};
use crate::server::demo::servers::free_port;
use crate::server::stores::zookeeper::client::{ClientError, Server, Session, SessionOptions};

/// The folder of Debian's Java libraries.
const JARS: &str = "/usr/share/java";
const CLASS_PATH: [&str; 3] = ["zookeeper.jar", "slf4j-simple.jar", "servlet-api.jar"];
const MAIN_CLASS: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
/// How often a waiting client looks whether it is the first.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// Starts the ensemble and its clients, and returns its group. The error says what is missing.
pub async fn start(processes: &Processes<'_>) -> Result<GroupConfig, String> {
    let client_ports = start_servers(processes).await?;
    start_clients(processes, &client_ports);
    let config = ZookeeperConfig {
        servers: client_ports.iter().map(address).collect(),
        roots: vec!["/locks".to_owned()],
        tls: false,
        admin_port: None,
        credentials: ServiceCredentials::default(),
    };
    let service = ServiceConfig::Zookeeper(config);
    Ok(group("zookeeper", GroupKind::Zookeeper, service))
}

fn address(port: &u16) -> String {
    format!("127.0.0.1:{port}")
}

/// Starts the ensemble, waits until it serves clients, and returns the ports of its servers on
/// 127.0.0.1. The error says what is missing.
pub async fn start_servers(processes: &Processes<'_>) -> Result<Vec<u16>, String> {
    let java = find_program("java")?;
    let jars: Vec<OsString> = CLASS_PATH
        .iter()
        .map(|jar| Path::new(JARS).join(jar))
        .filter(|jar| jar.is_file())
        .map(Into::into)
        .collect();
    if !Path::new(JARS).join(CLASS_PATH[0]).is_file() {
        return Err(format!("{JARS}/{} does not exist", CLASS_PATH[0]));
    }
    let class_path = std::env::join_paths(jars).map_err(|why| why.to_string())?;
    let ports = || -> std::io::Result<Vec<u16>> { (0..SERVERS).map(|_| free_port()).collect() };
    let client_ports = ports().map_err(|why| why.to_string())?;
    let peer_ports = ports().map_err(|why| why.to_string())?;
    let election_ports = ports().map_err(|why| why.to_string())?;
    let members: Vec<String> = (1..)
        .zip(peer_ports.iter().zip(&election_ports))
        .map(|(n, (peer, election))| format!("server.{n}=127.0.0.1:{peer}:{election}"))
        .collect();
    for (n, port) in (1..).zip(&client_ports) {
        let name = format!("zookeeper-{n}");
        let folder = processes.folder_of(&name);
        let settings =
            write_settings(&folder, n, *port, &members).map_err(|why| why.to_string())?;
        let mut arguments: Vec<OsString> = [
            "-Xms16m",
            "-Xmx96m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Dzookeeper.preAllocSize=64",
            "-cp",
        ]
        .map(OsString::from)
        .to_vec();
        arguments.extend([class_path.clone(), MAIN_CLASS.into(), settings]);
        processes.spawn(&name, java.as_os_str(), arguments)?;
    }
    wait_until_ready(&client_ports, "srvr", "Mode:").await?;
    Ok(client_ports)
}

fn write_settings(
    folder: &Path,
    n: u8,
    port: u16,
    members: &[String],
) -> std::io::Result<OsString> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("myid"), n.to_string())?;
    let file = folder.join("zoo.cfg");
    let settings = format!(
        "tickTime=1000\ninitLimit=10\nsyncLimit=5\ndataDir={}\nclientPort={port}\n\
         clientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=srvr\n{}\n",
        folder.display(),
        members.join("\n")
    );
    std::fs::write(&file, settings)?;
    Ok(file.into())
}

fn start_clients(processes: &Processes<'_>, ports: &[u16]) {
    let spawn = |client: Client, hold: Option<std::ops::Range<u64>>| {
        let stop = processes.stop.clone();
        let work = client.run(hold);
        processes.tasks.spawn(stop.run_until_cancelled_owned(work));
    };
    let client = |path, kind, data| Client {
        ports: ports.to_vec(),
        path,
        kind,
        data,
    };
    for address in ["10.4.1.7", "10.4.1.8", "10.4.1.9"] {
        spawn(
            client("/locks/invoices", "lock", address),
            Some(4_000..15_000),
        );
    }
    // The owner no longer works inside the lock, but its process keeps the session alive.
    for address in ["10.4.2.3", "10.4.2.4"] {
        spawn(client("/locks/export", "lock", address), None);
    }
    for id in ["node-1", "node-2", "node-3"] {
        spawn(client("/locks/scheduler-leader", "latch", id), None);
    }
}

/// A client that imitates a recipe of Curator.
struct Client {
    ports: Vec<u16>,
    path: &'static str,
    /// The part of the node's name that tells the recipe: `lock` or `latch`.
    kind: &'static str,
    data: &'static str,
}

impl Client {
    /// Acquires the lock again and again, and holds it for as many milliseconds; with `None` it never
    /// releases it.
    async fn run(self, hold: Option<std::ops::Range<u64>>) {
        let session = start_session(&self.ports);
        loop {
            if let Err(error) = self.hold_once(&session, hold.clone()).await {
                tracing::debug!(%error, path = self.path, "a demo client lost its lock");
            }
            pause(500..2_000).await;
        }
    }

    async fn hold_once(
        &self,
        session: &Session,
        hold: Option<std::ops::Range<u64>>,
    ) -> Result<(), ClientError> {
        session.create_container("/locks").await?;
        let node = create_contender(session, self.path, self.kind, self.data).await?;
        let own = node.rsplit('/').next().unwrap_or_default().to_owned();
        loop {
            let (mut children, _) = session.children(self.path).await?;
            children.sort_by_key(|name| name[name.len().saturating_sub(10)..].to_owned());
            if children.first() == Some(&own) {
                break;
            }
            if !children.contains(&own) {
                return Ok(());
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        match hold {
            Some(hold) => {
                pause(hold).await;
                session.delete(&node).await
            }
            None => loop {
                pause(5_000..6_000).await;
                if session.exists(&node, false).await?.is_none() {
                    // A user released it.
                    tokio::time::sleep(RESTART_DELAY).await;
                    return Ok(());
                }
            },
        }
    }
}

/// Starts a session of a client with the servers at these ports.
pub fn start_session(ports: &[u16]) -> Session {
    let server = |port: &u16| Server {
        name: address(port),
        host: "127.0.0.1".to_owned(),
        port: *port,
        tls: None,
    };
    Session::start(SessionOptions {
        servers: ports.iter().map(server).collect(),
        credentials: Box::new(|| Ok(None)),
        connect_timeout: Duration::from_secs(1),
        request_timeout: Duration::from_secs(5),
        session_timeout: Duration::from_secs(10),
        renews_expired_session: true,
        continued_session: None,
        on_event: Box::new(|_| {}),
    })
}

/// Creates the node of a contender at this path, as a recipe of Curator does, and returns its path.
/// `kind` is the part of the name that tells the recipe.
pub async fn create_contender(
    session: &Session,
    path: &str,
    kind: &str,
    data: &str,
) -> Result<String, ClientError> {
    session.create_container(path).await?;
    let prefix = format!("{path}/_c_{}-{kind}-", uuid());
    let (node, _) = session
        .create_ephemeral_sequential(&prefix, data.as_bytes())
        .await?;
    Ok(node)
}

/// A random UUID, as Curator writes it.
fn uuid() -> String {
    let digits = data_encoding::HEXLOWER.encode(&rand::random::<[u8; 16]>());
    format!(
        "{}-{}-4{}-a{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[13..16],
        &digits[17..20],
        &digits[20..]
    )
}
