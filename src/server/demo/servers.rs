//! The demo's Redis servers: child processes on free loopback ports that never outlive the console.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use redis::AsyncConnectionConfig;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::DemoError;

/// How long a server may take to start. Generous, for machines under load.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Attempts with another port if the port was taken in the meantime.
const MAX_PORT_ATTEMPTS: usize = 8;

/// A server program that was verified to run.
pub struct Program(OsString);

impl Program {
    /// The given program, or the first known one on `PATH`.
    pub async fn find(program: Option<PathBuf>) -> Result<Self, DemoError> {
        match program {
            Some(path) => match check_version(&path).await {
                Ok(()) => Ok(Self(path.into_os_string())),
                Err(reason) => Err(DemoError::NotAServer { path, reason }),
            },
            None => Self::first_of(&["redis-server", "valkey-server"]).await,
        }
    }

    async fn first_of(names: &[&str]) -> Result<Self, DemoError> {
        for name in names {
            if check_version(Path::new(name)).await.is_ok() {
                return Ok(Self(name.into()));
            }
        }
        Err(DemoError::NoServer)
    }
}

/// Verifies that a program is a server, by the output of `--version`, such as `Redis server
/// v=7.0.15`.
async fn check_version(program: &Path) -> Result<(), String> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .await
        .map_err(|error| error.to_string())?;
    let output_text = String::from_utf8_lossy(&output.stdout);
    if output_text.contains(" server v=") {
        Ok(())
    } else {
        Err("unexpected output of --version".to_owned())
    }
}

/// A running server.
pub struct DemoServer {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The process id.
    pub pid: u32,
    watchdog: Child,
    lifeline: ChildStdin,
}

impl DemoServer {
    /// Starts a server in its own folder and waits until it replies.
    pub async fn start(
        program: &Program,
        folder: PathBuf,
        name: String,
    ) -> Result<Self, DemoError> {
        std::fs::create_dir(&folder)?;
        // The server reports its folder with symbolic links resolved.
        let folder = folder.canonicalize()?;
        let mut last_error = String::new();
        for _ in 0..MAX_PORT_ATTEMPTS {
            match Self::start_on_free_port(program, &folder).await {
                Ok(server) => return Ok(server),
                Err(reason) => last_error = reason,
            }
        }
        Err(DemoError::StartFailed {
            name,
            reason: last_error,
        })
    }

    async fn start_on_free_port(program: &Program, folder: &Path) -> Result<Self, String> {
        let to_text = |error: std::io::Error| error.to_string();
        let port = free_port().map_err(to_text)?;
        let arguments = redis_arguments(folder, port);
        let mut watchdog = watchdog(&program.0, folder, arguments)
            .spawn()
            .map_err(to_text)?;
        let lifeline = watchdog.stdin.take().expect("stdin is piped");
        let pid = tokio::select! {
            status = watchdog.wait() => {
                let status = status.map_err(to_text)?;
                return Err(format!("exited immediately with {status}"));
            }
            pid = timeout(START_TIMEOUT, wait_until_ready(port, folder)) => pid.map_err(|_| format!("no reply within {} s", START_TIMEOUT.as_secs()))?,
        };
        Ok(Self {
            port,
            pid,
            watchdog,
            lifeline,
        })
    }

    /// Waits until the server exits, or stops it when `stop` is cancelled. Dropping the future also
    /// stops the server.
    pub async fn run_until(self, stop: CancellationToken) {
        let Self {
            port,
            pid,
            mut watchdog,
            lifeline,
        } = self;
        tokio::select! {
            _ = watchdog.wait() => tracing::warn!(port, pid, "demo server exited"),
            () = stop.cancelled() => {
                drop(lifeline);
                if let Err(error) = watchdog.wait().await {
                    tracing::warn!(port, pid, %error, "stopping a demo server failed");
                }
            }
        }
    }
}

/// A port that was free a moment ago.
pub(super) fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?
        .local_addr()?
        .port())
}

fn redis_arguments(folder: &Path, port: u16) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec![
        "--port".into(),
        port.to_string().into(),
        "--dir".into(),
        folder.into(),
    ];
    let settings = [
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
    ];
    arguments.extend(settings.map(OsString::from));
    arguments
}

/// A process that runs a program for as long as the console holds its standard input open. Then it
/// kills the program and removes `folder`.
pub(super) fn watchdog(
    program: &OsStr,
    folder: &Path,
    arguments: impl IntoIterator<Item = OsString>,
) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", include_str!("watchdog.sh"), "sh"])
        .arg(folder)
        .arg(program)
        .args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // A separate process group, because Ctrl-C must reach only the console, which then stops its
    // servers in order.
    command.process_group(0);
    command
}

/// Waits for the server in this folder and returns its process id.
///
/// The folder identifies the server: another process may have taken the port before the server
/// started, and two demos starting at the same time do find each other's servers.
async fn wait_until_ready(port: u16, folder: &Path) -> u32 {
    loop {
        if let Ok(Some(pid)) = server_pid(port, folder).await {
            return pid;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

async fn server_pid(port: u16, folder: &Path) -> redis::RedisResult<Option<u32>> {
    let limits = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(Duration::from_secs(1)))
        .set_response_timeout(Some(Duration::from_secs(1)));
    let client = redis::Client::open(("127.0.0.1", port))?;
    let mut connection = client
        .get_multiplexed_async_connection_with_config(&limits)
        .await?;
    let (_, server_folder): (String, String) = redis::cmd("CONFIG")
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
        .filter(|_| Path::new(&server_folder) == folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_a_server_the_error_says_how_to_install_one() {
        let error = Program::first_of(&["no-such-redis-server"])
            .await
            .map(|_| ())
            .unwrap_err();
        let output_text = error.to_string();
        assert!(
            output_text.contains("apt-get install redis-server")
                && output_text.contains("--redis-server"),
            "{output_text}"
        );
        assert!(!output_text.contains('\n'), "{output_text}");
    }

    #[tokio::test]
    async fn a_program_that_is_not_a_server_is_rejected() {
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
        let mut server = DemoServer::start(&program, folder.path().join("a"), "a".into())
            .await
            .unwrap();
        drop(server.lifeline);
        let status = server.watchdog.wait().await.unwrap();
        assert_eq!(status.code(), Some(137), "128 + SIGKILL");
        assert!(server_pid(server.port, folder.path()).await.is_err());
        assert!(!folder.path().exists(), "the folder is removed");
    }

    #[tokio::test]
    async fn a_watchdog_ends_with_its_server() {
        let folder = tempfile::tempdir().unwrap();
        let program = Program::find(None).await.unwrap();
        let mut server = DemoServer::start(&program, folder.path().join("a"), "a".into())
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
