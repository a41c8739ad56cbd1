//! The demo's servers: children on free loopback ports that never outlive the console.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use redis::AsyncConnectionConfig;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::DemoError;

/// How long a server may take until it answers: far longer than it needs, for machines that have other work.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often another port is tried when somebody else was faster to take it.
const TRIES: usize = 8;

/// A server program that is known to start.
pub struct Program(OsString);

impl Program {
    /// The program that was named, or the first one on `PATH`.
    pub async fn find(named: Option<PathBuf>) -> Result<Self, DemoError> {
        match named {
            Some(path) => match version(&path).await {
                Ok(()) => Ok(Self(path.into_os_string())),
                Err(reason) => Err(DemoError::NotAServer { path, reason }),
            },
            None => Self::first_of(&["redis-server", "valkey-server"]).await,
        }
    }

    async fn first_of(names: &[&str]) -> Result<Self, DemoError> {
        for name in names {
            if version(Path::new(name)).await.is_ok() {
                return Ok(Self(name.into()));
            }
        }
        Err(DemoError::NoServer)
    }
}

/// Asks a program whether it is a server. What it prints begins with `Redis server v=7.0.15` or the like.
async fn version(program: &Path) -> Result<(), String> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .await
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    if said.contains(" server v=") {
        Ok(())
    } else {
        Err("it does not say so when asked for its --version".to_owned())
    }
}

/// One running server.
pub struct Server {
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// Its process.
    pub pid: u32,
    watchdog: Child,
    alive: ChildStdin,
}

impl Server {
    /// Starts a server in a folder of its own and waits until it answers.
    pub async fn start(
        program: &Program,
        folder: PathBuf,
        name: String,
    ) -> Result<Self, DemoError> {
        std::fs::create_dir(&folder)?;
        // The server tells its folder with links resolved.
        let folder = folder.canonicalize()?;
        let mut last = String::new();
        for _ in 0..TRIES {
            match Self::on_some_port(program, &folder).await {
                Ok(server) => return Ok(server),
                Err(reason) => last = reason,
            }
        }
        Err(DemoError::NotUp { name, reason: last })
    }

    async fn on_some_port(program: &Program, folder: &Path) -> Result<Self, String> {
        let in_words = |error: std::io::Error| error.to_string();
        let port = free_port().map_err(in_words)?;
        let mut watchdog = watchdog(program, folder, port).spawn().map_err(in_words)?;
        let alive = watchdog.stdin.take().expect("it was asked for");
        let pid = tokio::select! {
            ended = watchdog.wait() => {
                let how = ended.map_err(in_words)?;
                return Err(format!("it ended at once with {how}"));
            }
            pid = timeout(PATIENCE, answer(port, folder)) => pid.map_err(|_| format!("no answer within {} s", PATIENCE.as_secs()))?,
        };
        Ok(Self {
            port,
            pid,
            watchdog,
            alive,
        })
    }

    /// Lives until the server ends, or ends it when `stop` is cancelled. Dropped half-way it ends the server, too.
    pub async fn live(self, stop: CancellationToken) {
        let Self {
            port,
            pid,
            mut watchdog,
            alive,
        } = self;
        tokio::select! {
            _ = watchdog.wait() => tracing::warn!(port, pid, "a demo server has ended"),
            () = stop.cancelled() => {
                drop(alive);
                if let Err(error) = watchdog.wait().await {
                    tracing::warn!(port, pid, %error, "a demo server was told to end; whether it did is not known");
                }
            }
        }
    }
}

/// A port that nobody listened on a moment ago.
fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?
        .local_addr()?
        .port())
}

fn watchdog(program: &Program, folder: &Path, port: u16) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", include_str!("watchdog.sh"), "sh"])
        .arg(folder)
        .arg(&program.0);
    command
        .arg("--port")
        .arg(port.to_string())
        .arg("--dir")
        .arg(folder);
    command.args([
        "--save",
        "",
        "--appendonly",
        "no",
        "--bind",
        "127.0.0.1",
        "--protected-mode",
        "yes",
        "--loglevel",
        "warning",
    ]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // A process group of its own: Ctrl-C is for the console, which then ends its servers in order.
    command.process_group(0);
    command
}

/// The process id of the server in this folder, once it answers.
///
/// The folder proves that it is ours: another program may have taken the port between our look and our server's start,
/// and two demos that start together do find each other's servers.
async fn answer(port: u16, folder: &Path) -> u32 {
    loop {
        if let Ok(Some(pid)) = ask(port, folder).await {
            return pid;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

async fn ask(port: u16, folder: &Path) -> redis::RedisResult<Option<u32>> {
    let limits = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(Duration::from_secs(1)))
        .set_response_timeout(Some(Duration::from_secs(1)));
    let client = redis::Client::open(("127.0.0.1", port))?;
    let mut connection = client
        .get_multiplexed_async_connection_with_config(&limits)
        .await?;
    let (_, its_folder): (String, String) = redis::cmd("CONFIG")
        .arg("GET")
        .arg("dir")
        .query_async(&mut connection)
        .await?;
    let info: redis::InfoDict = redis::cmd("INFO")
        .arg("server")
        .query_async(&mut connection)
        .await?;
    Ok(info
        .get("process_id")
        .filter(|_| Path::new(&its_folder) == folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_a_server_on_path_one_sentence_says_how_to_get_one() {
        let error = Program::first_of(&["no-such-redis-server"])
            .await
            .map(|_| ())
            .unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("apt-get install redis-server") && said.contains("--redis-server"),
            "{said}"
        );
        assert!(!said.contains('\n'), "{said}");
    }

    #[tokio::test]
    async fn a_program_that_is_no_server_is_refused() {
        for path in ["/no/such/file", "true", "/"] {
            let error = Program::find(Some(path.into()))
                .await
                .map(|_| ())
                .unwrap_err();
            assert!(
                matches!(error, DemoError::NotAServer { .. }),
                "{path}: {error}"
            );
        }
    }

    #[tokio::test]
    async fn a_server_ends_when_the_pipe_to_its_watchdog_closes() {
        let folder = tempfile::tempdir().unwrap();
        let program = Program::find(None).await.unwrap();
        let mut server = Server::start(&program, folder.path().join("a"), "a".into())
            .await
            .unwrap();
        drop(server.alive);
        let ended = server.watchdog.wait().await.unwrap();
        assert_eq!(ended.code(), Some(137), "killed, says the shell");
        assert!(ask(server.port, folder.path()).await.is_err());
        assert!(!folder.path().exists(), "nothing is left behind");
    }

    #[tokio::test]
    async fn a_watchdog_ends_with_its_server() {
        let folder = tempfile::tempdir().unwrap();
        let program = Program::find(None).await.unwrap();
        let mut server = Server::start(&program, folder.path().join("a"), "a".into())
            .await
            .unwrap();
        let client = redis::Client::open(("127.0.0.1", server.port)).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let _hung_up = redis::cmd("SHUTDOWN")
            .arg("NOSAVE")
            .query_async::<()>(&mut connection)
            .await;
        assert_eq!(server.watchdog.wait().await.unwrap().code(), Some(0));
        assert!(folder.path().exists());
    }
}
