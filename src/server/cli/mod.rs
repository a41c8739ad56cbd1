//! The command line: one file per command.

mod acquire;
mod advice_text;
mod audit;
mod check;
mod clear_restart_hazard;
mod completions;
mod config;
mod config_watcher;
mod create_token;
mod demo;
mod extend;
mod force_release;
mod hash_password;
mod help;
mod history;
mod identity;
mod json_input;
mod list;
mod man;
mod no_auth;
mod options;
mod output;
mod release;
mod run;
mod serve;
mod show;
mod signals;
mod standalone;
mod text;
mod token;
mod usage_error;

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rustix::process::DumpableBehavior;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use super::audit::flush_all;
use super::telemetry::logs;
use super::telemetry::otel::BoxedLayer;
use crate::server::config::LogFormat;
use output::{Failure, FailureOutput};
use signals::Signals;

/// Shows the distributed locks on Redis, ZooKeeper, etcd and PostgreSQL with their owners, and releases stuck locks without
/// affecting the next owner.
#[derive(Parser)]
#[command(version, max_term_width = 110, disable_help_subcommand = true, after_help = help::TOP)]
struct CommandLine {
    #[command(subcommand)]
    command: CliCommand,
    /// The log level or filter: `error`, `warn`, `info`, `debug` or `lockkeeper=debug` [default:
    /// info for serve and demo, warn for other commands].
    #[arg(long, global = true, env = "LOCKKEEPER_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// The format of log lines [default: `format` of `[log]` in the configuration, else text].
    #[arg(
        long,
        global = true,
        env = "LOCKKEEPER_LOG_FORMAT",
        value_name = "FORMAT"
    )]
    log_format: Option<LogFormat>,
}

#[derive(Subcommand)]
enum CliCommand {
    /// Serves the console and the API.
    #[command(after_help = help::SERVE)]
    Serve(serve::ServeArgs),
    /// Starts redis-servers with simulated clients, and serves the console on them.
    Demo(demo::DemoArgs),
    /// Lists the locks on the nodes.
    #[command(after_help = help::LIST)]
    List(list::ListArgs),
    /// Shows one lock: owner, lease, and the state on each node.
    #[command(after_help = help::SHOW)]
    Show(show::ShowArgs),
    /// Shows what happened to locks and nodes, from the storage of the console.
    #[command(after_help = help::HISTORY)]
    History(history::HistoryArgs),
    /// Acquires a lock and prints the token for extending and releasing it.
    #[command(after_help = help::ACQUIRE)]
    Acquire(acquire::AcquireArgs),
    /// Extends the lease of a lock with its token.
    #[command(after_help = help::EXTEND)]
    Extend(extend::ExtendArgs),
    /// Releases a lock with its token.
    #[command(after_help = help::RELEASE)]
    Release(release::ReleaseArgs),
    /// Releases locks of other owners, each only if the owner has not changed.
    #[command(after_help = help::FORCE_RELEASE)]
    ForceRelease(force_release::ForceReleaseArgs),
    /// Clears the restart hazard of a node that lost no locks, so that it is used for new locks at
    /// once.
    #[command(after_help = help::CLEAR_RESTART_HAZARD)]
    ClearRestartHazard(clear_restart_hazard::ClearRestartHazardArgs),
    /// Holds a lock while a command runs: acquires and renews it, runs the command, releases it.
    #[command(after_help = help::RUN)]
    Run(run::RunArgs),
    /// Verifies, searches, exports and imports the audit log.
    Audit(audit::AuditArgs),
    /// Checks whether the setup is fit for locking (the doctor).
    #[command(after_help = help::CHECK)]
    Check(check::CheckArgs),
    /// Prints the reference of the configuration file.
    Config(config::ConfigArgs),
    /// Creates a password hash for a `[[user]]` in the configuration.
    #[command(after_help = help::HASH_PASSWORD)]
    HashPassword(hash_password::HashPasswordArgs),
    /// Creates an API token and its `[[token]]` table for the configuration.
    #[command(after_help = help::CREATE_TOKEN)]
    CreateToken(create_token::CreateTokenArgs),
    /// Prints shell completions.
    #[command(after_help = help::COMPLETIONS)]
    Completions(completions::CompletionsArgs),
    /// Prints the manual page, or writes the pages of all commands.
    #[command(after_help = help::MAN)]
    Man(man::ManArgs),
}

impl CliCommand {
    /// How and where a failure of this command is printed.
    fn failure_output(&self) -> FailureOutput {
        let (wants_json, to) = match self {
            Self::Serve(_)
            | Self::Demo(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Config(_)
            | Self::HashPassword(_) => (false, FailureOutput::Text),
            Self::CreateToken(options) => (options.prints_json(), FailureOutput::JsonOnStdout),
            Self::List(options) => (options.prints_json(), FailureOutput::JsonOnStdout),
            Self::Check(options) => (options.prints_json(), FailureOutput::JsonOnStdout),
            Self::Show(options) => (options.prints_json(), FailureOutput::JsonOnStdout),
            Self::History(options) => (options.prints_json(), FailureOutput::JsonOnStdout),
            Self::Acquire(options) => (options.prints_json(), FailureOutput::JsonOnStdout),
            Self::Extend(options) => (options.prints_json(), FailureOutput::JsonOnStdout),
            Self::Release(options) => (options.prints_json(), FailureOutput::JsonOnStdout),
            Self::ForceRelease(options) => (options.prints_json(), FailureOutput::JsonOnStdout),
            Self::Audit(options) => (options.prints_json(), FailureOutput::JsonOnStdout),
            Self::ClearRestartHazard(options) => {
                (options.prints_json(), FailureOutput::JsonOnStdout)
            }
            // Standard output belongs to the command.
            Self::Run(options) => (options.prints_json(), FailureOutput::JsonOnStderr),
        };
        if wants_json { to } else { FailureOutput::Text }
    }

    /// Whether the command runs a server. Other commands end soon and log warnings only.
    fn is_server(&self) -> bool {
        matches!(self, Self::Serve(_) | Self::Demo(_))
    }

    async fn run(self, logging: &Logging) -> Result<u8, Failure> {
        // `serve` starts logging itself: its configuration may set the format.
        if !matches!(self, Self::Serve(_)) {
            logging.start(LogFormat::Text, None)?;
        }
        match self {
            Self::Serve(options) => serve::run(options, logging).await.map(|()| 0),
            Self::Demo(options) => demo::run(options).await.map(|()| 0),
            Self::List(options) => list::run(options).await,
            Self::Check(options) => check::run(options).await,
            Self::Show(options) => show::run(options).await.map(|()| 0),
            Self::History(options) => history::run(options).await.map(|()| 0),
            Self::Acquire(options) => acquire::run(options).await,
            Self::Extend(options) => extend::run(options).await.map(|()| 0),
            Self::Release(options) => release::run(options).await.map(|()| 0),
            Self::ForceRelease(options) => force_release::run(options).await,
            Self::ClearRestartHazard(options) => {
                clear_restart_hazard::run(options).await.map(|()| 0)
            }
            Self::Run(options) => run::run(options).await,
            Self::Audit(options) => audit::run(options).await,
            Self::Config(options) => config::run(&options).map(|()| 0),
            Self::HashPassword(_) => hash_password::run().map(|()| 0),
            Self::CreateToken(options) => create_token::run(&options).map(|()| 0),
            Self::Completions(options) => completions::run(&options).map(|()| 0),
            Self::Man(options) => man::run(&options).map(|()| 0),
        }
    }
}

/// The logging options of the command line.
struct Logging {
    filter: String,
    format: Option<LogFormat>,
}

impl Logging {
    /// Starts logging, and exporting spans if `traces` is given. `default` is the format unless the
    /// command line sets one.
    fn start(&self, default: LogFormat, traces: Option<BoxedLayer>) -> Result<(), Failure> {
        let format = self.format.unwrap_or(default);
        logs::start(&self.filter, format, traces).map_err(Failure::invalid_input)
    }
}

/// Disables core dumps, and access to the process's memory by other processes of the same user,
/// because it contains passwords and tokens. Commands started by `run` are not affected.
fn protect_memory() {
    // Not every system supports it.
    let _best_effort = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Parses the command line and runs the command.
pub fn run() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == run::process_group::GUARD_ARGUMENT)
    {
        return run::process_group::run_guard();
    }
    protect_memory();
    let line = CommandLine::try_parse().unwrap_or_else(|error| usage_error::print_and_exit(error));
    let (command, output) = (&line.command, line.command.failure_output());
    let default_filter = if command.is_server() { "info" } else { "warn" };
    let logging = Logging {
        filter: line.log.unwrap_or_else(|| default_filter.to_owned()),
        format: line.log_format,
    };
    // rustls requires an explicit cryptography provider; ring is the one that is compiled in.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    // Starting worker threads takes longer than most commands run.
    let mut builder =
        if command.is_server() || matches!(command, CliCommand::List(_) | CliCommand::Check(_)) {
            Builder::new_multi_thread()
        } else {
            Builder::new_current_thread()
        };
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(why) => {
            return report_failure(
                &Failure::failed(format!("cannot start the runtime: {why}")),
                output,
            );
        }
    };
    let is_server = line.command.is_server();
    let result = runtime.block_on(async {
        let result = line.command.run(&logging).await;
        // A server waits for its own audit entries when it stops.
        if !is_server {
            flush_all().await;
        }
        result
    });
    // A DNS lookup or file read that hangs must not keep the process alive.
    runtime.shutdown_background();
    match result {
        Ok(status) => ExitCode::from(status),
        Err(failure) => report_failure(&failure, output),
    }
}

fn report_failure(failure: &Failure, output: FailureOutput) -> ExitCode {
    failure.print(output);
    ExitCode::from(failure.status)
}

/// Binds the listen address.
async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|why| match why.kind() {
            std::io::ErrorKind::AddrInUse => Failure::failed(format!(
                "{address} is already in use, possibly by another lockkeeper; choose another address with --listen"
            )),
            _ => Failure::failed(format!("cannot listen on {address}: {why}")),
        })
}

/// A token that INT, TERM or HUP cancels.
fn stop_on_signal() -> Result<CancellationToken, Failure> {
    cancel_on(Signals::termination()?)
}

/// A token that any of these signals cancels.
fn cancel_on(mut signals: Signals) -> Result<CancellationToken, Failure> {
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    tokio::spawn(async move {
        signals.next().await;
        cancelled.cancel();
    });
    Ok(stop)
}

/// A count with its noun: `1 node`, `3 nodes`.
fn pluralize(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        _ => format!("{n} {noun}s"),
    }
}
