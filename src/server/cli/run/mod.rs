//! `lockkeeper run`: holds a lock while a command runs, and terminates the command if the lock is
//! lost.

pub mod process_group;
mod supervisor;
mod terminal;

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::Signal;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use super::acquire::{acquire_with_wait, parse_format, until_signalled};
use super::options::{CommonArgs, LockArgs, as_whole_millis, parse_duration};
use super::output::{print_stderr, status};
use super::signals::{Signals, exit_status};
use super::standalone::{Standalone, lock_failure};
use super::text::{escape_invisible, short_lock_name};
use super::{Failure, identity, token};
use crate::domain::{Format, LockId, OperationError};
use crate::server::operations::{AcquireRequest, AcquiredLock, RenewalHandle};
use supervisor::run_under_lock;

/// The time limit for retrying the release, and the interval between attempts.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
const RELEASE_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The arguments of `run`.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    lock: LockArgs,
    /// The lease, renewed after each third of it. If this machine crashes, the lock expires after
    /// this time.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    ttl: Duration,
    /// How long to wait for a lock that another owner holds [default: no waiting].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    wait: Option<Duration>,
    /// A readable name of the owner, visible to everyone who can see the lock
    /// (default: user, host and process id).
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// The lock format, which determines the clients that the lock excludes: plain, redisson,
    /// redisson-fair, legacy-timestamp [default: plain; curator in ZooKeeper, etcd-mutex in etcd,
    /// advisory-lock in PostgreSQL].
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    format: Option<Format>,
    /// The time between TERM and KILL after the lock is lost.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    kill_after: Duration,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    common: CommonArgs,
}

impl RunArgs {
    pub fn prints_json(&self) -> bool {
        self.common.json
    }
}

/// Runs the command under the lock. Returns the exit status of the command.
pub async fn run(options: RunArgs) -> Result<u8, Failure> {
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
    let id = options.lock.lock_id(&options.common.source)?;
    let label = || format!("{}.{}", identity::user_at_host(), std::process::id());
    let standalone = Standalone::start(options.common.source, Some(&id.group))?;
    let request = AcquireRequest {
        ttl_ms: as_whole_millis(options.ttl),
        wait_ms: 0,
        label: Some(options.label.unwrap_or_else(label)),
        format: options
            .format
            .unwrap_or_else(|| standalone.operations.default_format(&id.group)),
        // Always a new token, so that a nested `run` on the same lock waits like any other client.
        token: None,
        auto_renew: false,
    };
    let wait = options.wait.unwrap_or_default();
    let acquiring = acquire_with_wait(&standalone, &id, request, wait);
    let acquired = match until_signalled(&mut signals, acquiring).await {
        Ok(result) => result.map_err(lock_failure(&id))?,
        Err(signal) => {
            standalone.finish_background_work().await;
            return Ok(exit_status(signal));
        }
    };
    let margin = options.kill_after.min(options.ttl / 3);
    let renewal = standalone.operations.start_local_renewal(
        &standalone.principal,
        &id,
        &acquired,
        options.ttl,
        margin,
    );
    let lock = HeldLock {
        renewal: renewal.map_err(lock_failure(&id))?,
        id,
    };
    let mut command = build_command(&options.command, &lock.id, &acquired);
    let result = run_under_lock(&mut command, &lock, &mut signals, options.kill_after).await;
    if let Some(why) = release_lock(&standalone, &lock, &acquired.token, &mut signals).await
        && !matches!(result, Ok(status::LOST))
    {
        print_lock_message(&lock.id, &format!("not released: {why}"));
    }
    result
}

/// The lock that the command runs under.
pub struct HeldLock {
    id: LockId,
    renewal: RenewalHandle,
}

impl HeldLock {
    /// Whether the command may continue after a stop (Ctrl-Z). While this process is stopped, the
    /// lock is not renewed.
    fn may_continue(&self) -> bool {
        Instant::now() < self.renewal.state().give_up_at()
    }
}

/// Releases the lock, with retries if too few nodes reply, because an unreleased lock blocks other
/// clients until it expires. Returns why it was not released.
async fn release_lock(
    standalone: &Standalone,
    lock: &HeldLock,
    token: &str,
    signals: &mut Signals,
) -> Option<String> {
    lock.renewal.stop();
    let deadline = (Instant::now() + RELEASE_TIMEOUT).min(lock.renewal.state().valid_until());
    let mut was_released = false;
    loop {
        let (why, is_final) = match standalone
            .operations
            .release(&standalone.principal, &lock.id, token)
            .await
        {
            Ok(_) => (None, true),
            Err(error @ OperationError::PartlyReleased { .. }) => {
                was_released = true;
                (Some(format!("{error}; it expires with its lease")), false)
            }
            Err(OperationError::NotHeld { .. }) if was_released => (None, true),
            Err(error @ (OperationError::NotHeld { .. } | OperationError::NotOwner { .. })) => {
                let why = format!("{error}; the command may have run without the lock at the end");
                (Some(why), true)
            }
            Err(error) => (Some(format!("{error}; it expires with its lease")), false),
        };
        if is_final || Instant::now() >= deadline {
            return why;
        }
        tokio::select! {
            () = sleep(RELEASE_RETRY_INTERVAL) => {}
            // A termination signal ends the retries.
            Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT = signals.next() => return why,
        }
    }
}

fn build_command(words: &[OsString], id: &LockId, acquired: &AcquiredLock) -> Command {
    let (program, arguments) = words
        .split_first()
        .expect("clap requires at least one word");
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env(token::KEY_VARIABLE, token::key_env_value(&id.key))
        .env(token::TOKEN_VARIABLE, &acquired.token);
    match acquired.fencing_token {
        Some(fencing) => command.env(token::FENCING_VARIABLE, fencing.to_string()),
        // Removes the variable of an enclosing `lockkeeper run`.
        None => command.env_remove(token::FENCING_VARIABLE),
    };
    command.kill_on_drop(true);
    command
}

/// Prints a message about the lock to standard error.
fn print_lock_message(id: &LockId, message: &str) {
    print_stderr(&format!(
        "lockkeeper: {}/{}: {}\n",
        id.group,
        short_lock_name(&id.key),
        escape_invisible(message)
    ));
}
