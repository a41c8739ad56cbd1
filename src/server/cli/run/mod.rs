//! `lockkeeper run`: holds a lock for as long as a command runs, and ends the command when the lock is lost.

pub mod job;
mod keep;
pub mod terminal;

use std::cell::Cell;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, sleep_until};

use super::acquire::{obtain, until_signalled};
use super::answer::status;
use super::direct::{Direct, failed};
use super::options::{Straight, Which, millis, span};
use super::signals::{Signals, status_of};
use super::text::short_name;
use super::{Failure, token, who};
use crate::domain::{ActOutcome, Fault, Format, LockId, NodeAct};
use crate::server::operations::{AcquireRequest, Acquired};
use job::{Job, Remains};
use keep::{Keeper, Loss};
use terminal::{Terminal, what_stopped};

/// How long to go on trying to release, and the pause between two tries.
const LONGEST_RELEASE: Duration = Duration::from_secs(5);
const BETWEEN_RELEASES: Duration = Duration::from_millis(100);

/// What `run` is told.
#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    which: Which,
    /// The lease, renewed at a third of it: how long the lock outlives a machine that dies.
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = span)]
    ttl: Duration,
    /// Wait this long for a lock that somebody else holds [default: one try].
    #[arg(long, value_name = "SPAN", value_parser = span)]
    wait: Option<Duration>,
    /// Who wants it, readable for everybody who looks at the lock [default: user@host.pid].
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// How long the command may take to end after TERM, once the lock is lost, before it is killed.
    #[arg(long, value_name = "SPAN", default_value = "10s", value_parser = span)]
    kill_after: Duration,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    straight: Straight,
}

impl Run {
    pub fn wants_json(&self) -> bool {
        self.straight.json
    }
}

/// Runs the command under the lock; the exit status is the command's.
pub async fn run(options: Run) -> Result<u8, Failure> {
    let mut signals = Signals::listen(&[
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        Signal::SIGTSTP,
        Signal::SIGCHLD,
    ])?;
    let id = options.which.id()?;
    let label = || format!("{}.{}", who::am_i(), std::process::id());
    let request = AcquireRequest {
        ttl_ms: millis(options.ttl),
        wait_ms: 0,
        label: Some(options.label.unwrap_or_else(label)),
        format: Format::Plain,
        // Always a lock of its own: under a lock that is held already, it waits like everybody else.
        token: None,
        auto_renew: false,
    };
    let direct = Direct::start(options.straight.nodes, Some(&id.group))?;
    let wait = options.wait.unwrap_or_default();
    let acquired = match until_signalled(&mut signals, obtain(&direct, &id, request, wait)).await {
        Ok(taken) => taken.map_err(failed(&id))?,
        Err(signal) => return Ok(status_of(signal)),
    };
    let ahead = options.kill_after.min(options.ttl / 3);
    let validity = Duration::from_millis(acquired.validity_ms);
    let keeper = Keeper {
        operations: &direct.operations,
        id: &id,
        token: &acquired.token,
        ttl: options.ttl,
        ahead,
        valid_until: Cell::new(Instant::now() + validity),
    };
    let mut command = command(&options.command, &id, &acquired);
    let ended = under_lock(&mut command, &keeper, &mut signals, options.kill_after).await;
    let why = match until_signalled(&mut signals, give_back(&direct, &keeper)).await {
        Ok(Ok(())) => None,
        Ok(Err(fault)) => Some(unreleased(&fault)),
        Err(signal) => Some(format!("{signal} came first; it ends with its lease")),
    };
    if let Some(why) = why
        && !matches!(ended, Ok(status::LOST))
    {
        eprintln!(
            "lockkeeper: {}/{}: not released: {why}",
            id.group,
            short_name(&id.key)
        );
    }
    ended
}

/// Releases the lock, again where too few nodes answer: what is not released keeps everybody out until it expires.
async fn give_back(direct: &Direct, keeper: &Keeper<'_>) -> Result<(), Fault> {
    let until = (Instant::now() + LONGEST_RELEASE).min(keeper.valid_until.get());
    let quorum: usize = direct.groups.iter().map(|group| group.quorum()).sum();
    let mut was_released = false;
    loop {
        let end = match direct.operations.release(keeper.id, keeper.token).await {
            Ok(released) => {
                was_released = true;
                let failed = |act: &&NodeAct| matches!(act.outcome, ActOutcome::Failed { .. });
                if released.nodes.iter().filter(failed).count() < quorum {
                    return Ok(());
                }
                Ok(())
            }
            Err(Fault::NotHeld { .. }) if was_released => return Ok(()),
            Err(fault @ Fault::NoQuorum { .. }) => Err(fault),
            Err(fault) => return Err(fault),
        };
        if Instant::now() >= until {
            return end;
        }
        sleep(BETWEEN_RELEASES).await;
    }
}

fn command(words: &[OsString], id: &LockId, acquired: &Acquired) -> Command {
    let (program, arguments) = words
        .split_first()
        .expect("clap asks for one word at least");
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env(token::KEY_VARIABLE, token::key_variable(&id.key))
        .env(token::VARIABLE, &acquired.token);
    match acquired.fencing_token {
        Some(fencing) => command.env(token::FENCING_VARIABLE, fencing.to_string()),
        // Not that of a run around us.
        None => command.env_remove(token::FENCING_VARIABLE),
    };
    command.kill_on_drop(true);
    command
}

/// Starts the command and waits for its end, renewing the lock and passing signals on.
async fn under_lock(
    command: &mut Command,
    keeper: &Keeper<'_>,
    signals: &mut Signals,
    kill_after: Duration,
) -> Result<u8, Failure> {
    let mut job = Job::start().map_err(|why| {
        Failure::broken(format!(
            "cannot start a process group for the command: {why}"
        ))
    })?;
    let mut terminal = Terminal::find();
    terminal.give_at_start(&job);
    command.process_group(job.group().as_raw());
    let ended = match command.spawn() {
        Ok(child) => {
            Ok(watch_over(child, &mut job, &mut terminal, keeper, signals, kill_after).await)
        }
        Err(why) => Err(not_started(command, &why)),
    };
    terminal.take_back(&job);
    if ended.is_err() {
        job.end(Duration::ZERO).await;
    }
    ended
}

async fn watch_over(
    mut child: Child,
    job: &mut Job,
    terminal: &mut Terminal,
    keeper: &Keeper<'_>,
    signals: &mut Signals,
    kill_after: Duration,
) -> u8 {
    let pid = child
        .id()
        .and_then(|pid| i32::try_from(pid).ok())
        .map(Pid::from_raw);
    let keeping = keeper.keep();
    tokio::pin!(keeping);
    let mut kill_at: Option<Instant> = None;
    let mut is_killed = false;
    let ended = loop {
        tokio::select! {
            biased;
            ended = child.wait() => break ended,
            loss = &mut keeping, if kill_at.is_none() => kill_at = Some(on_loss(&loss, job, keeper, kill_after)),
            () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() && !is_killed => {
                job.signal(Signal::SIGKILL);
                is_killed = true;
            }
            signal = signals.next() => match signal {
                Signal::SIGTSTP => terminal.suspend(job, || keeper.may_go_on()),
                Signal::SIGCHLD => {
                    if let Some(by) = pid.and_then(what_stopped) {
                        terminal.stopped(by, job, || keeper.may_go_on());
                    }
                }
                Signal::SIGUSR1 | Signal::SIGUSR2 => {
                    // A word between two processes. Others in the group would die of it.
                    let _gone = pid.map(|pid| kill(pid, signal));
                }
                signal => {
                    job.signal(signal);
                    job.signal(Signal::SIGCONT);
                }
            },
        }
    };
    // What the command started ends before the lock does.
    let grace = kill_at.map_or(kill_after, |at| {
        at.saturating_duration_since(Instant::now())
    });
    let group = job.group();
    let remains = {
        let ending = job.end(grace);
        tokio::pin!(ending);
        loop {
            tokio::select! {
                remains = &mut ending => break remains,
                loss = &mut keeping, if kill_at.is_none() => {
                    say_lost(keeper.id, &loss, "what the command left running");
                    kill_at = Some(Instant::now());
                    let _gone = killpg(group, Signal::SIGKILL);
                }
            }
        }
    };
    if remains == Remains::Ended {
        eprintln!("lockkeeper: what the command left running was ended before the release");
    }
    match (kill_at, ended) {
        (Some(_), _) => status::LOST,
        (None, Ok(ended)) => own_status(ended),
        (None, Err(_)) => status::FAILED,
    }
}

/// Tells the command to end, and when it is to be dead.
fn on_loss(loss: &Loss, job: &Job, keeper: &Keeper<'_>, kill_after: Duration) -> Instant {
    say_lost(keeper.id, loss, "the command");
    job.signal(Signal::SIGTERM);
    job.signal(Signal::SIGCONT);
    let at = Instant::now() + kill_after;
    match loss {
        Loss::Gone(_) => at,
        // Nobody else can have it before its validity is over, and nobody shall meet the command then.
        Loss::Unrenewed(_) => at.min(keeper.valid_until.get()),
    }
}

fn say_lost(id: &LockId, loss: &Loss, ended: &str) {
    let name = short_name(&id.key);
    let why = match loss {
        Loss::Gone(why) => why.clone(),
        Loss::Unrenewed(why) => format!("it could not be renewed in time: {why}"),
    };
    eprintln!(
        "lockkeeper: {}/{name}: the lock is lost, {ended} is told to end: {why}",
        id.group
    );
}

fn unreleased(fault: &Fault) -> String {
    match fault {
        Fault::NotHeld { .. } | Fault::NotOwner { .. } => {
            format!("{fault}; the command may have run without it at the end")
        }
        _ => format!("{fault}; it ends with its lease"),
    }
}

/// The exit status as a shell would tell it.
fn own_status(ended: ExitStatus) -> u8 {
    let number = match (ended.code(), ended.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => i32::from(status::SIGNALLED) + signal,
        (None, None) => i32::from(status::FAILED),
    };
    u8::try_from(number).unwrap_or(u8::MAX)
}

fn not_started(command: &Command, why: &std::io::Error) -> Failure {
    let program = command.as_std().get_program().to_string_lossy();
    let (status, code) = match why.kind() {
        ErrorKind::NotFound => (status::NOT_FOUND, "command-not-found"),
        _ => (status::NOT_EXECUTABLE, "command-not-executable"),
    };
    Failure::new(status, code, format!("{program}: {why}"))
        .advise("Nothing was run; the lock was released.")
}
