//! Supervises the command: forwards signals, and terminates the command if the lock is lost.

use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until};

use super::process_group::{Leftovers, ProcessGroup};
use super::terminal::{Terminal, stop_signal};
use super::{HeldLock, print_lock_message};
use crate::server::cli::Failure;
use crate::server::cli::output::status;
use crate::server::cli::signals::Signals;
use crate::server::operations::Loss;

/// Starts the command and waits until it ends or the lock is lost.
pub async fn run_under_lock(
    command: &mut Command,
    lock: &HeldLock,
    signals: &mut Signals,
    kill_after: Duration,
) -> Result<u8, Failure> {
    let mut group = ProcessGroup::start().map_err(|why| {
        Failure::failed(format!(
            "cannot start a process group for the command: {why}"
        ))
    })?;
    let mut terminal = Terminal::open();
    terminal.hand_over_at_start(&group);
    command.process_group(group.id().as_raw());
    let result = match command.spawn() {
        Ok(child) => {
            Ok(supervise(child, &mut group, &mut terminal, lock, signals, kill_after).await)
        }
        Err(why) => Err(spawn_failure(command, &why)),
    };
    terminal.take_back(&group);
    if result.is_err() {
        group.terminate(Duration::ZERO).await;
    }
    result
}

async fn supervise(
    mut child: Child,
    group: &mut ProcessGroup,
    terminal: &mut Terminal,
    lock: &HeldLock,
    signals: &mut Signals,
    kill_after: Duration,
) -> u8 {
    let pid = child
        .id()
        .and_then(|pid| i32::try_from(pid).ok())
        .map(Pid::from_raw);
    let lost = lock.renewal.wait_until_lost();
    tokio::pin!(lost);
    let mut kill_at: Option<Instant> = None;
    let mut is_killed = false;
    let result = loop {
        tokio::select! {
            biased;
            result = child.wait() => break result,
            loss = &mut lost, if kill_at.is_none() => kill_at = Some(on_loss(&loss, group, lock, kill_after)),
            () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() && !is_killed => {
                group.signal(Signal::SIGKILL);
                is_killed = true;
            }
            signal = signals.next() => match signal {
                Signal::SIGTSTP => terminal.suspend(group, || lock.may_continue()),
                Signal::SIGCHLD => {
                    if let Some(by) = pid.and_then(stop_signal) {
                        terminal.on_command_stopped(by, group, || lock.may_continue());
                    }
                }
                Signal::SIGUSR1 | Signal::SIGUSR2 => {
                    // USR1 and USR2 are meant for the command only; their default action would kill
                    // its children.
                    let _ended = pid.map(|pid| kill(pid, signal));
                }
                signal => {
                    group.signal(signal);
                    group.signal(Signal::SIGCONT);
                }
            },
        }
    };
    // Background processes of the command end before the lock is released.
    let grace = kill_at.map_or(kill_after, |at| {
        at.saturating_duration_since(Instant::now())
    });
    let group_id = group.id();
    let leftovers = {
        let terminating = group.terminate(grace);
        tokio::pin!(terminating);
        loop {
            tokio::select! {
                leftovers = &mut terminating => break leftovers,
                loss = &mut lost, if kill_at.is_none() => {
                    print_loss(lock, &loss, "processes left by the command are killed");
                    kill_at = Some(Instant::now());
                    let _ended = killpg(group_id, Signal::SIGKILL);
                }
            }
        }
    };
    if leftovers == Leftovers::Terminated {
        print_lock_message(
            &lock.id,
            "processes left by the command were terminated before the release",
        );
    }
    match (kill_at, result) {
        (Some(_), _) => status::LOST,
        (None, Ok(result)) => command_status(result),
        (None, Err(_)) => status::FAILED,
    }
}

/// Terminates the command after the loss of the lock. Returns the time at which it must be killed.
fn on_loss(loss: &Loss, group: &ProcessGroup, lock: &HeldLock, kill_after: Duration) -> Instant {
    print_loss(lock, loss, "the command is terminated");
    let now = Instant::now();
    let at = match loss {
        Loss::Gone | Loss::HeldByOther(_) | Loss::WrongType(_) | Loss::ForceReleased => {
            now + kill_after
        }
        // No other client can acquire the lock before its validity ends, and the command must not
        // run longer.
        Loss::RenewalFailed | Loss::LimitReached(_) | Loss::Revoked => {
            (now + kill_after).min(lock.renewal.state().valid_until())
        }
    };
    if at > now {
        group.signal(Signal::SIGTERM);
        group.signal(Signal::SIGCONT);
    } else {
        // The validity has already ended, so the command must not continue even to handle TERM.
        group.signal(Signal::SIGKILL);
    }
    at
}

fn print_loss(lock: &HeldLock, loss: &Loss, action: &str) {
    print_lock_message(
        &lock.id,
        &format!("the lock was lost, {action}: {}", loss.reason()),
    );
}

/// The exit status of the command, as in shells.
fn command_status(result: ExitStatus) -> u8 {
    let number = match (result.code(), result.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => i32::from(status::SIGNAL_BASE) + signal,
        (None, None) => i32::from(status::FAILED),
    };
    u8::try_from(number).unwrap_or(u8::MAX)
}

fn spawn_failure(command: &Command, why: &std::io::Error) -> Failure {
    let program = command.as_std().get_program().to_string_lossy();
    let (status, code) = match why.kind() {
        ErrorKind::NotFound => (status::NOT_FOUND, "command-not-found"),
        _ => (status::NOT_EXECUTABLE, "command-not-executable"),
    };
    Failure::new(status, code, format!("{program}: {why}"))
        .with_advice("The command did not run; the lock was released.")
}
