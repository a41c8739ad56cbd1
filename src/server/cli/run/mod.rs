//! `lockkeeper run`: holds a lock for as long as a command runs, and ends the command when the lock is lost.

pub mod job;
pub mod terminal;
mod watch;

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::Signal;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use super::acquire::{format, obtain, until_signalled};
use super::answer::{note, status};
use super::direct::{Direct, failed};
use super::options::{Straight, Which, millis, span};
use super::signals::{Signals, status_of};
use super::text::{short_name, visible};
use super::{Failure, token, who};
use crate::domain::{Fault, Format, LockId};
use crate::server::operations::{AcquireRequest, Acquired, Kept};
use watch::under_lock;

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
    /// Who wants it, readable for everybody who looks at the lock; by default user@host.pid.
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// The layout to write, which decides whom the lock keeps out: plain, redisson, redisson-fair, legacy-timestamp.
    #[arg(long, value_name = "FORMAT", default_value = "plain", value_parser = format)]
    format: Format,
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
    let id = options.which.id(&options.straight.nodes)?;
    let label = || format!("{}.{}", who::am_i(), std::process::id());
    let request = AcquireRequest {
        ttl_ms: millis(options.ttl),
        wait_ms: 0,
        label: Some(options.label.unwrap_or_else(label)),
        format: options.format,
        // Always a lock of its own: under a lock that is held already, it waits like everybody else.
        token: None,
        auto_renew: false,
    };
    let direct = Direct::start(options.straight.nodes, Some(&id.group))?;
    let wait = options.wait.unwrap_or_default();
    let obtaining = obtain(&direct, &id, request, wait);
    let acquired = match until_signalled(&mut signals, obtaining).await {
        Ok(taken) => taken.map_err(failed(&id))?,
        Err(signal) => {
            direct.settle().await;
            return Ok(status_of(signal));
        }
    };
    let ahead = options.kill_after.min(options.ttl / 3);
    let kept = direct
        .operations
        .keep_here(&direct.actor, &id, &acquired, options.ttl, ahead);
    let lock = Lock {
        kept: kept.map_err(failed(&id))?,
        id,
    };
    let mut command = command(&options.command, &lock.id, &acquired);
    let ended = under_lock(&mut command, &lock, &mut signals, options.kill_after).await;
    if let Some(why) = give_back(&direct, &lock, &acquired.token, &mut signals).await
        && !matches!(ended, Ok(status::LOST))
    {
        tell(&lock.id, &format!("not released: {why}"));
    }
    ended
}

/// The lock that the command runs under.
pub struct Lock {
    id: LockId,
    kept: Kept,
}

impl Lock {
    /// Whether somebody who relies on it may go on. Nothing may have been renewed for a while: we are stopped with the
    /// command.
    fn may_go_on(&self) -> bool {
        Instant::now() < self.kept.now().give_up_at()
    }
}

/// Releases the lock, again where too few nodes answer: what is not released keeps everybody out until it expires. Says
/// why it was not released.
async fn give_back(
    direct: &Direct,
    lock: &Lock,
    token: &str,
    signals: &mut Signals,
) -> Option<String> {
    lock.kept.stop();
    let until = (Instant::now() + LONGEST_RELEASE).min(lock.kept.now().valid_until());
    let mut was_released = false;
    loop {
        let (why, is_over) = match direct
            .operations
            .release(&direct.actor, &lock.id, token)
            .await
        {
            Ok(_) => (None, true),
            Err(fault @ Fault::PartlyReleased { .. }) => {
                was_released = true;
                (Some(format!("{fault}; it ends with its lease")), false)
            }
            Err(Fault::NotHeld { .. }) if was_released => (None, true),
            Err(fault @ (Fault::NotHeld { .. } | Fault::NotOwner { .. })) => {
                let why = format!("{fault}; the command may have run without it at the end");
                (Some(why), true)
            }
            Err(fault) => (Some(format!("{fault}; it ends with its lease")), false),
        };
        if is_over || Instant::now() >= until {
            return why;
        }
        tokio::select! {
            () = sleep(BETWEEN_RELEASES) => {}
            // Somebody is impatient: what could be done at once is done.
            Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT = signals.next() => return why,
        }
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

/// Says something about a lock to people, beside what the command says.
fn tell(id: &LockId, what: &str) {
    note(&format!(
        "lockkeeper: {}/{}: {}\n",
        id.group,
        short_name(&id.key),
        visible(what)
    ));
}
