//! A PostgreSQL server with an empty database, for one test.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::redis_nodes::free_port;
use super::wait_until;

/// The directory of the programs of Debian's `postgresql-15`.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// An unprivileged user: PostgreSQL refuses to run as root.
const UNPRIVILEGED_UID: u32 = 65_534;

/// A server on a free port. It is stopped when this is dropped.
pub struct Postgres {
    data_dir: TempDir,
    port: u16,
    /// Settings in addition to those of every test server.
    settings: Vec<String>,
    server: Option<Child>,
}

impl Postgres {
    /// Initialises a data directory and starts a server on it.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// The same with settings like `name=value`.
    pub async fn start_with(settings: &[&str]) -> Self {
        let data_dir = new_data_dir();
        let status = program("initdb", data_dir.path())
            .args([
                "-U",
                "lockkeeper",
                "--auth=trust",
                "--no-sync",
                "-E",
                "UTF8",
            ])
            .arg("--locale=C")
            .status();
        assert!(status.await.unwrap().success(), "initdb");
        let mut server = Self {
            data_dir,
            port: free_port(),
            settings: settings
                .iter()
                .map(|setting| (*setting).to_owned())
                .collect(),
            server: None,
        };
        server.restart().await;
        server
    }

    /// Starts a replica of this server on a copy of its data.
    pub async fn start_replica(&self) -> Self {
        let data_dir = new_data_dir();
        let status = program("pg_basebackup", data_dir.path())
            .args([
                "-d",
                &self.url(),
                "--write-recovery-conf",
                "--checkpoint=fast",
            ])
            .arg("--no-sync")
            .status();
        assert!(status.await.unwrap().success(), "pg_basebackup");
        let mut replica = Self {
            data_dir,
            port: free_port(),
            settings: Vec::new(),
            server: None,
        };
        replica.restart().await;
        replica
    }

    /// Makes a replica a primary.
    pub async fn promote(&self) {
        let status = program("pg_ctl", self.data_dir.path())
            .args(["promote", "-w"])
            .status();
        assert!(status.await.unwrap().success(), "pg_ctl promote");
    }

    /// The URL of the database.
    pub fn url(&self) -> String {
        format!("postgres://lockkeeper@127.0.0.1:{}/postgres", self.port)
    }

    /// Shuts the server down immediately, without a checkpoint.
    pub async fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            // SIGQUIT is PostgreSQL's immediate shutdown: it also ends the child processes, which
            // SIGKILL would leave.
            let pid = nix::unistd::Pid::from_raw(server.id().unwrap().try_into().unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGQUIT).unwrap();
            server.wait().await.unwrap();
        }
    }

    /// Starts the server and waits until it accepts connections.
    pub async fn restart(&mut self) {
        let socket = self.data_dir.path().display();
        let server = program("postgres", self.data_dir.path())
            .args(["-p", &self.port.to_string()])
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .args(["-c", &format!("unix_socket_directories={socket}")])
            .args(self.settings.iter().flat_map(|setting| ["-c", setting]))
            .spawn();
        self.server = Some(server.unwrap());
        let url = self.url();
        wait_until("PostgreSQL accepts connections", async || {
            let is_open = TcpStream::connect(("127.0.0.1", self.port)).await.is_ok();
            is_open && accepts_connections(&url).await
        })
        .await;
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(pid) = self.server.as_ref().and_then(Child::id) {
            let pid = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
            let _may_have_exited = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGQUIT);
        }
    }
}

/// An empty directory that the server's user owns.
fn new_data_dir() -> TempDir {
    let data_dir = tempfile::tempdir().unwrap();
    // The server does not start on a directory that others can read.
    set_permissions(data_dir.path(), Permissions::from_mode(0o700)).unwrap();
    if rustix::process::geteuid().is_root() {
        let owner = Some(UNPRIVILEGED_UID);
        chown(data_dir.path(), owner, owner).unwrap();
    }
    data_dir
}

async fn accepts_connections(url: &str) -> bool {
    let status = Command::new(Path::new(PROGRAMS).join("pg_isready"))
        .args(["-q", "-d", url])
        .status();
    status.await.unwrap().success()
}

/// A PostgreSQL program on this data directory.
fn program(name: &str, data_dir: &Path) -> Command {
    let program = PathBuf::from(PROGRAMS).join(name);
    assert!(
        program.exists(),
        "PostgreSQL 15 is not installed; `make setup` installs it"
    );
    let mut command = Command::new(program);
    command.arg("-D").arg(data_dir).current_dir(data_dir);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.kill_on_drop(false);
    if rustix::process::geteuid().is_root() {
        command.uid(UNPRIVILEGED_UID).gid(UNPRIVILEGED_UID);
    }
    command
}
