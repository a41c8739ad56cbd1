//! `lockkeeper acquire`: acquires a lock and prints its token.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::options::{CommonArgs, LockArgs, as_whole_millis, parse_duration, parse_variant};
use super::output::{json_line, node_outcomes, print_checked};
use super::signals::{Signals, exit_status, suspend_self};
use super::standalone::{Standalone, lock_failure};
use super::text::{self, TextFormat};
use super::token::{self, TokenFile};
use super::{Failure, identity};
use crate::domain::{Format, LockId, OperationError};
use crate::server::config;
use crate::server::operations::{AcquireRequest, AcquiredLock};

/// The arguments of `acquire`.
#[derive(Args)]
pub struct AcquireArgs {
    #[command(flatten)]
    lock: LockArgs,
    /// The lease, like 500ms, 30s or 5m. The lock expires at its end.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    ttl: Duration,
    /// How long to wait for a lock that another owner holds [default: no waiting].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    wait: Option<Duration>,
    /// A readable name of the owner, visible to everyone who can see the lock (default: user and host).
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// The lock format: plain, redisson, redisson-fair, legacy-timestamp [default: plain; curator in
    /// ZooKeeper, etcd-mutex in etcd, advisory-lock in PostgreSQL].
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    format: Option<Format>,
    /// Write the token to this new file, readable only by you, instead of printing it.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A file with your own token (`-` is standard input) instead of `LOCKKEEPER_TOKEN`. If the
    /// token already holds the lock, the lease is extended.
    #[arg(long, value_name = "FILE")]
    own_token_file: Option<PathBuf>,
    #[command(flatten)]
    common: CommonArgs,
}

impl AcquireArgs {
    pub fn prints_json(&self) -> bool {
        self.common.json
    }

    /// The token supplied by the caller.
    ///
    /// In a command under `lockkeeper run`, the token in the environment belongs to the lock of
    /// `run` and is not used for other locks.
    fn own_token(&self, id: &LockId) -> Result<Option<String>, Failure> {
        match &self.own_token_file {
            Some(path) => token::read_token(path).map(Some),
            None => {
                let of = config::os_env_var(token::KEY_VARIABLE);
                if of.is_some_and(|key| key != token::key_env_value(&id.key)) {
                    return Ok(None);
                }
                token::token_from_env()
            }
        }
    }
}

/// Parses the name of a format.
pub fn parse_format(slug: &str) -> Result<Format, String> {
    parse_variant(slug)
}

/// Acquires the lock. Returns the exit status: 0, or that of a signal during the wait.
pub async fn run(options: AcquireArgs) -> Result<u8, Failure> {
    let mut signals = Signals::termination()?;
    let id = options.lock.lock_id(&options.common.source)?;
    let token = options.own_token(&id)?;
    let standalone = Standalone::start(options.common.source, Some(&id.group))?;
    let request = AcquireRequest {
        ttl_ms: as_whole_millis(options.ttl),
        wait_ms: 0,
        label: options
            .label
            .clone()
            .or_else(|| Some(identity::user_at_host())),
        format: options
            .format
            .unwrap_or_else(|| standalone.operations.default_format(&id.group)),
        token,
        auto_renew: false,
    };
    let file = options
        .token_file
        .as_deref()
        .map(TokenFile::prepare)
        .transpose()?;
    let wait = options.wait.unwrap_or_default();
    let acquiring = acquire_with_wait(&standalone, &id, request, wait);
    let acquired = match until_signalled(&mut signals, acquiring).await {
        Ok(result) => result.map_err(lock_failure(&id))?,
        Err(signal) => {
            standalone.finish_background_work().await;
            return Ok(exit_status(signal));
        }
    };
    let handed_out = match file {
        Some(file) => file.write(&acquired.token),
        None => Ok(()),
    };
    let text = if options.common.json {
        json_line(&as_json(&acquired, options.token_file.as_ref()))
    } else {
        describe(&id, &acquired, options.token_file.as_ref())
    };
    let handed_out = handed_out.and_then(|()| {
        print_checked(&text).map_err(|why| Failure::failed(format!("standard output: {why}")))
    });
    if let Err(failure) = handed_out {
        // The token was not delivered, so the caller could never release the lock.
        let _expires_otherwise = standalone
            .operations
            .release(&standalone.principal, &id, &acquired.token)
            .await;
        return Err(failure.with_advice("The lock was released."));
    }
    Ok(0)
}

/// Acquires the lock, waiting up to `wait`. The same token is used for all attempts, so the
/// position in the wait queue is kept.
pub async fn acquire_with_wait(
    standalone: &Standalone,
    id: &LockId,
    mut request: AcquireRequest,
    wait: Duration,
) -> Result<AcquiredLock, OperationError> {
    standalone.wait_for_quorum().await;
    request.wait_ms = as_whole_millis(wait.min(Duration::from_hours(24 * 365)));
    let taken = standalone
        .operations
        .acquire(&standalone.principal, id, &request)
        .await;
    if taken.is_err() {
        standalone.finish_background_work().await;
    }
    taken
}

/// Runs a future until it completes or a terminating signal arrives.
pub async fn until_signalled<T>(
    signals: &mut Signals,
    doing: impl Future<Output = T>,
) -> Result<T, Signal> {
    let mut doing = Box::pin(doing);
    loop {
        tokio::select! {
            done = &mut doing => return Ok(done),
            signal = signals.next() => match signal {
                Signal::SIGTSTP => suspend_self(),
                Signal::SIGCHLD => {}
                signal => return Err(signal),
            },
        }
    }
}

fn as_json(acquired: &AcquiredLock, file: Option<&PathBuf>) -> Value {
    let mut answer = json!(acquired);
    if let (Some(fields), Some(path)) = (answer.as_object_mut(), file) {
        fields.remove("token");
        fields.insert("token_file".to_owned(), json!(path.to_string_lossy()));
    }
    answer
}

fn describe(id: &LockId, acquired: &AcquiredLock, file: Option<&PathBuf>) -> String {
    let token = match file {
        Some(path) => ("token in", text::escape_invisible(&path.to_string_lossy())),
        None => ("token", acquired.token.clone()),
    };
    let mut fields = vec![
        ("lock", text::lock_name(&id.key)),
        token,
        ("fingerprint", acquired.fingerprint.to_string()),
    ];
    if let Some(fencing) = acquired.fencing_token {
        fields.push(("fencing token", fencing.to_string()));
    }
    let validity = text::format_ms(acquired.validity_ms);
    fields.push((
        "valid for",
        format!("{validity}, until {}", acquired.expires_at),
    ));
    fields.push(("nodes", node_outcomes(&acquired.nodes)));
    TextFormat::for_stdout().fields(&fields)
}
