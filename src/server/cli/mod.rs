//! The command line: one file per command.

mod demo;
mod serve;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::telemetry;

/// Exit status for a command line or configuration that cannot be used.
const UNUSABLE: u8 = 2;

/// See every distributed lock on your Redis nodes, know who holds it, and free a stuck one without breaking the next owner.
#[derive(Parser)]
#[command(version, max_term_width = 110, disable_help_subcommand = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    /// What to log: `error`, `warn`, `info`, `debug`, or a filter like `lockkeeper=debug`.
    #[arg(
        long,
        global = true,
        default_value = "info",
        env = "LOCKKEEPER_LOG",
        value_name = "FILTER"
    )]
    log: String,
}

#[derive(Subcommand)]
enum Command {
    /// Serves the console and the API.
    #[command(
        after_help = "Examples:\n  lockkeeper serve --redis redis://127.0.0.1:6379\n  lockkeeper serve --redis redis://10.0.0.1 --redis redis://10.0.0.2 --redis redis://10.0.0.3\n  lockkeeper serve --config lockkeeper.toml --listen 127.0.0.1:8080\n\nWithout --config and --redis, lockkeeper.toml in the working folder, then in the user's and the\nsystem's configuration folder is read; without any, redis://127.0.0.1:6379 is watched."
    )]
    Serve(Serve),
    /// Starts real redis-servers of its own with lively made-up clients, and serves the console on them.
    Demo(Demo),
}

/// What `serve` is told.
#[derive(Args)]
struct Serve {
    /// The configuration file.
    #[arg(long, value_name = "FILE", conflicts_with = "redis")]
    config: Option<PathBuf>,
    /// A Redis server; several make one Redlock group "default".
    #[arg(long, value_name = "URL")]
    redis: Vec<String>,
    /// Where to listen [default: 127.0.0.1:7878].
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
}

/// What `demo` is told.
#[derive(Args)]
struct Demo {
    /// Where to listen; port 0 takes any.
    #[arg(long, value_name = "ADDR", default_value = super::config::DEFAULT_LISTEN)]
    listen: SocketAddr,
    /// The redis-server (or valkey-server) to start instead of the one on PATH.
    #[arg(long, value_name = "FILE")]
    redis_server: Option<PathBuf>,
}

/// Reads the command line and does what it says.
pub fn run() -> ExitCode {
    let line = CommandLine::parse();
    if let Err(why) = telemetry::start(&line.log) {
        return fail(UNUSABLE, &why);
    }
    // Both TLS libraries of rustls could be meant; this one is compiled in.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(why) => return fail(1, &format!("cannot start: {why}")),
    };
    let end = runtime.block_on(async {
        match line.command {
            Command::Serve(options) => serve::run(options).await,
            Command::Demo(options) => demo::run(options).await,
        }
    });
    // A lookup or file read that hangs must not keep the process.
    runtime.shutdown_background();
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(failure.status, &failure.message),
    }
}

/// Why a command ended badly.
struct Failure {
    status: u8,
    message: String,
}

impl Failure {
    fn unusable(message: impl Into<String>) -> Self {
        Self {
            status: UNUSABLE,
            message: message.into(),
        }
    }

    fn broken(message: impl Into<String>) -> Self {
        Self {
            status: 1,
            message: message.into(),
        }
    }
}

fn fail(status: u8, message: &str) -> ExitCode {
    eprintln!("lockkeeper: {message}");
    ExitCode::from(status)
}

/// Opens the port, or says who may have it.
async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|why| match why.kind() {
            std::io::ErrorKind::AddrInUse => Failure::broken(format!(
                "{address} is in use, perhaps by another lockkeeper; choose another with --listen"
            )),
            _ => Failure::broken(format!("cannot listen on {address}: {why}")),
        })
}

/// Cancelled by Ctrl-C, TERM or HUP.
fn stop_on_signal() -> Result<CancellationToken, Failure> {
    let stop = CancellationToken::new();
    for kind in [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ] {
        let mut signals = signal(kind)
            .map_err(|why| Failure::broken(format!("cannot listen to signals: {why}")))?;
        let stop = stop.clone();
        tokio::spawn(async move {
            signals.recv().await;
            stop.cancel();
        });
    }
    Ok(stop)
}
