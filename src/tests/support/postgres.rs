//! A PostgreSQL server of a test's own, with an empty database.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::eventually_is;
use super::redis_nodes::free_port;

/// Where Debian's `postgresql-15` has its programs.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// It refuses to run as root: then it runs as nobody.
const NOBODY: u32 = 65_534;

/// A server on a free port. It is killed with the test.
pub struct Postgres {
    folder: TempDir,
    port: u16,
    server: Option<Child>,
}

impl Postgres {
    /// Starts one.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        if rustix::process::geteuid().is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let made = program("initdb", folder.path())
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
        assert!(made.await.unwrap().success(), "initdb");
        let mut server = Self {
            folder,
            port: free_port(),
            server: None,
        };
        server.restart().await;
        server
    }

    /// The URL of its database.
    pub fn url(&self) -> String {
        format!("postgres://lockkeeper@127.0.0.1:{}/postgres", self.port)
    }

    /// Ends it at once, with everything that it has in memory.
    pub async fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            // Its own children end with it; `immediate` is what they are told.
            let pid = nix::unistd::Pid::from_raw(server.id().unwrap().try_into().unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGQUIT).unwrap();
            server.wait().await.unwrap();
        }
    }

    /// Starts it again.
    pub async fn restart(&mut self) {
        let socket = self.folder.path().display();
        let server = program("postgres", self.folder.path())
            .args(["-p", &self.port.to_string()])
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .args(["-c", &format!("unix_socket_directories={socket}")])
            .spawn();
        self.server = Some(server.unwrap());
        let url = self.url();
        eventually_is("the server answers", async || {
            let is_open = TcpStream::connect(("127.0.0.1", self.port)).await.is_ok();
            is_open && answers(&url).await
        })
        .await;
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(pid) = self.server.as_ref().and_then(Child::id) {
            let pid = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
            let _ended = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGQUIT);
        }
    }
}

async fn answers(url: &str) -> bool {
    let asked = Command::new(Path::new(PROGRAMS).join("pg_isready"))
        .args(["-q", "-d", url])
        .status();
    asked.await.unwrap().success()
}

/// One of its programs, on this folder.
fn program(name: &str, folder: &Path) -> Command {
    let program = PathBuf::from(PROGRAMS).join(name);
    assert!(
        program.exists(),
        "PostgreSQL 15 is not installed; `make setup` installs it"
    );
    let mut command = Command::new(program);
    command.arg("-D").arg(folder).current_dir(folder);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.kill_on_drop(false);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}
