//! The command line: one file per command.

mod acquire;
mod answer;
mod api_token;
mod audit;
mod check;
mod completions;
mod demo;
mod direct;
mod documents;
mod extend;
mod force_release;
mod force_releases;
mod hash_password;
mod help;
mod list;
mod man;
mod mistake;
mod openness;
mod options;
mod reader;
mod release;
mod run;
mod serve;
mod show;
mod signals;
mod text;
mod token;
mod vouch;
mod who;

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rustix::process::DumpableBehavior;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use super::audit::settle_all;
use super::config::LogFormat;
use super::telemetry::logs;
use super::telemetry::otel::BoxedLayer;
use answer::{Failure, Tell};
use signals::Signals;

/// See every distributed lock on your Redis nodes, know who holds it, and free a stuck one without breaking the next owner.
#[derive(Parser)]
#[command(version, max_term_width = 110, disable_help_subcommand = true, after_help = help::TOP)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    /// What to log: `error`, `warn`, `info`, `debug`, or a filter like `lockkeeper=debug` [default: info for serve and
    /// demo, warn for the others].
    #[arg(long, global = true, env = "LOCKKEEPER_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// What log lines look like [default: `format` of `[log]` in the configuration, else text].
    #[arg(
        long,
        global = true,
        env = "LOCKKEEPER_LOG_FORMAT",
        value_name = "FORMAT"
    )]
    log_format: Option<LogFormat>,
}

#[derive(Subcommand)]
enum Command {
    /// Serves the console and the API.
    #[command(after_help = help::SERVE)]
    Serve(serve::Serve),
    /// Starts real redis-servers of its own with lively made-up clients, and serves the console on them.
    Demo(demo::Demo),
    /// Lists the locks that are on the nodes right now.
    #[command(after_help = help::LIST)]
    List(list::List),
    /// Shows one lock: who holds it, for how long, and what each node says.
    #[command(after_help = help::SHOW)]
    Show(show::Show),
    /// Takes a lock and prints its token, with which it is extended and released.
    #[command(after_help = help::ACQUIRE)]
    Acquire(acquire::Acquire),
    /// Renews the lease of a lock, with its token.
    #[command(after_help = help::EXTEND)]
    Extend(extend::Extend),
    /// Gives a lock back, with its token.
    #[command(after_help = help::RELEASE)]
    Release(release::Release),
    /// Frees a lock that somebody else holds, if its owner is still the one you saw.
    #[command(after_help = help::FORCE_RELEASE)]
    ForceRelease(force_release::Options),
    /// Frees many locks that others hold, each only if its owner is still the one you saw.
    #[command(after_help = help::FORCE_RELEASES)]
    ForceReleases(force_releases::Options),
    /// Says that a node that may have lost locks lost none: it takes new ones at once.
    #[command(after_help = help::VOUCH)]
    Vouch(vouch::Options),
    /// Holds a lock while a command runs: takes it, renews it, runs the command, releases it.
    #[command(after_help = help::RUN)]
    Run(run::Run),
    /// Looks after the audit: who did what to which lock.
    Audit(audit::Audit),
    /// The doctor: is this set-up fit for locking?
    #[command(after_help = help::CHECK)]
    Check(check::Check),
    /// Makes the hash of a password, for a `[[user]]` of the configuration.
    #[command(after_help = help::HASH_PASSWORD)]
    HashPassword(hash_password::HashPassword),
    /// Makes an API token, and the `[[token]]` of the configuration that accepts it.
    #[command(after_help = help::TOKEN)]
    Token(api_token::ApiToken),
    /// Prints the completions for a shell.
    #[command(after_help = help::COMPLETIONS)]
    Completions(completions::Completions),
    /// Prints the manual page, or writes those of all commands.
    #[command(after_help = help::MAN)]
    Man(man::Manual),
}

impl Command {
    /// Where a failure is printed, and as what.
    fn tell(&self) -> Tell {
        let (wants_json, to) = match self {
            Self::Serve(_)
            | Self::Demo(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::HashPassword(_) => (false, Tell::People),
            Self::Token(options) => (options.wants_json(), Tell::ScriptOnStdout),
            Self::List(options) => (options.wants_json(), Tell::ScriptOnStdout),
            Self::Check(options) => (options.wants_json(), Tell::ScriptOnStdout),
            Self::Show(options) => (options.wants_json(), Tell::ScriptOnStdout),
            Self::Acquire(options) => (options.wants_json(), Tell::ScriptOnStdout),
            Self::Extend(options) => (options.wants_json(), Tell::ScriptOnStdout),
            Self::Release(options) => (options.wants_json(), Tell::ScriptOnStdout),
            Self::ForceRelease(options) => (options.wants_json(), Tell::ScriptOnStdout),
            Self::Audit(options) => (options.wants_json(), Tell::ScriptOnStdout),
            Self::ForceReleases(options) => (options.wants_json(), Tell::ScriptOnStdout),
            Self::Vouch(options) => (options.wants_json(), Tell::ScriptOnStdout),
            // Standard output is the command's.
            Self::Run(options) => (options.wants_json(), Tell::ScriptOnStderr),
        };
        if wants_json { to } else { Tell::People }
    }

    /// Whether it runs a server. The other commands end soon and log warnings only.
    fn serves(&self) -> bool {
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
            Self::Acquire(options) => acquire::run(options).await,
            Self::Extend(options) => extend::run(options).await.map(|()| 0),
            Self::Release(options) => release::run(options).await.map(|()| 0),
            Self::ForceRelease(options) => force_release::run(options).await.map(|()| 0),
            Self::ForceReleases(options) => force_releases::run(options).await,
            Self::Vouch(options) => vouch::run(options).await.map(|()| 0),
            Self::Run(options) => run::run(options).await,
            Self::Audit(options) => audit::run(options).await,
            Self::HashPassword(_) => hash_password::run().map(|()| 0),
            Self::Token(options) => api_token::run(&options).map(|()| 0),
            Self::Completions(options) => completions::run(&options).map(|()| 0),
            Self::Man(options) => man::run(&options).map(|()| 0),
        }
    }
}

/// What the command line says about the log.
struct Logging {
    filter: String,
    format: Option<LogFormat>,
}

impl Logging {
    /// Starts logging and, where `traces` is given, exporting spans. `usual` is the format unless the command line names one.
    fn start(&self, usual: LogFormat, traces: Option<BoxedLayer>) -> Result<(), Failure> {
        let format = self.format.unwrap_or(usual);
        logs::start(&self.filter, format, traces).map_err(Failure::unusable)
    }
}

/// Forbids core dumps and reading the process's memory by other processes of the same user: there are passwords and tokens in it. A
/// command that `run` starts is not affected.
fn keep_memory_private() {
    // Not every system supports it.
    let _best_effort = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Reads the command line and does what it says.
pub fn run() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == run::job::GUARD)
    {
        return run::job::guard();
    }
    keep_memory_private();
    let line = CommandLine::try_parse().unwrap_or_else(|told| mistake::tell(told));
    let (command, tell) = (&line.command, line.command.tell());
    let usual = if command.serves() { "info" } else { "warn" };
    let logging = Logging {
        filter: line.log.unwrap_or_else(|| usual.to_owned()),
        format: line.log_format,
    };
    // rustls needs to be told which cryptography provider to use; ring is the one that is compiled in.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    // Several threads only where there is work for them: starting them takes longer than most commands run.
    let mut builder = if command.serves() || matches!(command, Command::List(_) | Command::Check(_))
    {
        Builder::new_multi_thread()
    } else {
        Builder::new_current_thread()
    };
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(why) => return fail(&Failure::broken(format!("cannot start: {why}")), tell),
    };
    let serves = line.command.serves();
    let end = runtime.block_on(async {
        let end = line.command.run(&logging).await;
        // A server waits for its own audit entries when it stops.
        if !serves {
            settle_all().await;
        }
        end
    });
    // A DNS lookup or file read that hangs must not keep the process alive.
    runtime.shutdown_background();
    match end {
        Ok(status) => ExitCode::from(status),
        Err(failure) => fail(&failure, tell),
    }
}

fn fail(failure: &Failure, tell: Tell) -> ExitCode {
    failure.tell(tell);
    ExitCode::from(failure.status)
}

/// Opens the port.
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
    stop_on(Signals::that_end()?)
}

/// Cancelled by any of these.
fn stop_on(mut signals: Signals) -> Result<CancellationToken, Failure> {
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    tokio::spawn(async move {
        signals.next().await;
        cancelled.cancel();
    });
    Ok(stop)
}

/// A count with its noun: `1 node`, `3 nodes`.
fn counted(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        _ => format!("{n} {noun}s"),
    }
}
