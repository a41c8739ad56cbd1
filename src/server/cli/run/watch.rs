//! Watches over the command: passes signals on, hears when the lock is lost, and ends what must not go on.

use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until};

use super::job::{Job, Remains};
use super::terminal::{Terminal, what_stopped};
use super::{Lock, tell};
use crate::server::cli::Failure;
use crate::server::cli::answer::status;
use crate::server::cli::signals::Signals;
use crate::server::operations::Loss;

/// Starts the command and waits for its end or that of the lock, passing signals on.
pub async fn under_lock(
    command: &mut Command,
    lock: &Lock,
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
            Ok(watch_over(child, &mut job, &mut terminal, lock, signals, kill_after).await)
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
    lock: &Lock,
    signals: &mut Signals,
    kill_after: Duration,
) -> u8 {
    let pid = child
        .id()
        .and_then(|pid| i32::try_from(pid).ok())
        .map(Pid::from_raw);
    let losing = lock.kept.lost();
    tokio::pin!(losing);
    let mut kill_at: Option<Instant> = None;
    let mut is_killed = false;
    let ended = loop {
        tokio::select! {
            biased;
            ended = child.wait() => break ended,
            loss = &mut losing, if kill_at.is_none() => kill_at = Some(on_loss(&loss, job, lock, kill_after)),
            () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() && !is_killed => {
                job.signal(Signal::SIGKILL);
                is_killed = true;
            }
            signal = signals.next() => match signal {
                Signal::SIGTSTP => terminal.suspend(job, || lock.may_go_on()),
                Signal::SIGCHLD => {
                    if let Some(by) = pid.and_then(what_stopped) {
                        terminal.stopped(by, job, || lock.may_go_on());
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
                loss = &mut losing, if kill_at.is_none() => {
                    tell_lost(lock, &loss, "what the command left running");
                    kill_at = Some(Instant::now());
                    let _gone = killpg(group, Signal::SIGKILL);
                }
            }
        }
    };
    if remains == Remains::Ended {
        tell(
            &lock.id,
            "what the command left running was ended before the release",
        );
    }
    match (kill_at, ended) {
        (Some(_), _) => status::LOST,
        (None, Ok(ended)) => own_status(ended),
        (None, Err(_)) => status::FAILED,
    }
}

/// Tells the command to end, and when it is to be dead.
fn on_loss(loss: &Loss, job: &Job, lock: &Lock, kill_after: Duration) -> Instant {
    tell_lost(lock, loss, "the command");
    let now = Instant::now();
    let at = match loss {
        Loss::Gone | Loss::Taken(_) | Loss::WrongType(_) | Loss::Forced => now + kill_after,
        // Nobody else can have it before its validity is over, and nobody shall meet the command then.
        Loss::Unrenewed | Loss::RanOut(_) | Loss::Revoked => {
            (now + kill_after).min(lock.kept.now().valid_until())
        }
    };
    if at > now {
        job.signal(Signal::SIGTERM);
        job.signal(Signal::SIGCONT);
    } else {
        // Not even woken up to hear that it is late.
        job.signal(Signal::SIGKILL);
    }
    at
}

fn tell_lost(lock: &Lock, loss: &Loss, ended: &str) {
    tell(
        &lock.id,
        &format!("the lock is lost, {ended} is told to end: {loss}"),
    );
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
