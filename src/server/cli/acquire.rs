//! `lockkeeper acquire`: takes a lock and hands its token out.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::answer::{acts, document, print};
use super::direct::{Direct, failed};
use super::options::{Straight, Which, millis, span, word};
use super::run::terminal::suspend_waiting;
use super::signals::{Signals, status_of};
use super::text::{self, Page};
use super::token::{self, TokenFile};
use super::{Failure, who};
use crate::domain::{Fault, Format, LockId};
use crate::server::config;
use crate::server::operations::{AcquireRequest, Acquired};

/// What `acquire` is told.
#[derive(Args)]
pub struct Acquire {
    #[command(flatten)]
    which: Which,
    /// The lease: 500ms, 30s, 5m. The lock ends by itself when it is over.
    #[arg(long, value_name = "SPAN", value_parser = span)]
    ttl: Duration,
    /// Wait this long for a lock that somebody else holds [default: one try].
    #[arg(long, value_name = "SPAN", value_parser = span)]
    wait: Option<Duration>,
    /// Who wants it, readable for everybody who looks at the lock; by default user@host.
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// The layout to write: plain, redisson, redisson-fair, legacy-timestamp.
    #[arg(long, value_name = "FORMAT", default_value = "plain", value_parser = format)]
    format: Format,
    /// Write the token into this new file, readable for its owner alone, instead of printing it.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The file with one's own token (`-` is standard input), else `LOCKKEEPER_TOKEN`: a lock that it holds already is
    /// extended.
    #[arg(long, value_name = "FILE")]
    own_token_file: Option<PathBuf>,
    #[command(flatten)]
    straight: Straight,
}

impl Acquire {
    pub fn wants_json(&self) -> bool {
        self.straight.json
    }

    /// The token that the caller brings along.
    ///
    /// The one in the environment of a command under `lockkeeper run` belongs to that lock and to no other.
    fn own_token(&self, id: &LockId) -> Result<Option<String>, Failure> {
        match &self.own_token_file {
            Some(path) => token::read(path).map(Some),
            None => {
                let of = config::variable(token::KEY_VARIABLE);
                if of.is_some_and(|key| key != token::key_variable(&id.key)) {
                    return Ok(None);
                }
                token::from_environment()
            }
        }
    }
}

/// Reads the name of a format.
pub fn format(slug: &str) -> Result<Format, String> {
    word(slug).map_err(|why| format!("a format: {why}"))
}

/// Takes the lock; the exit status is 0, or that of a signal that ended the waiting.
pub async fn run(options: Acquire) -> Result<u8, Failure> {
    let mut signals = Signals::that_end()?;
    let id = options.which.id(&options.straight.nodes)?;
    let request = AcquireRequest {
        ttl_ms: millis(options.ttl),
        wait_ms: 0,
        label: options.label.clone().or_else(|| Some(who::am_i())),
        format: options.format,
        token: options.own_token(&id)?,
        auto_renew: false,
    };
    let file = options
        .token_file
        .as_deref()
        .map(TokenFile::prepare)
        .transpose()?;
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
    let handed_out = match file {
        Some(file) => file.keep(&acquired.token),
        None => Ok(()),
    };
    let text = if options.straight.json {
        document(&as_json(&acquired, options.token_file.as_ref()))
    } else {
        words(&id, &acquired, options.token_file.as_ref())
    };
    let handed_out = handed_out.and_then(|()| {
        print(&text).map_err(|why| Failure::broken(format!("standard output: {why}")))
    });
    if let Err(failure) = handed_out {
        // Nobody has the token, so nobody could ever release it.
        let _expires_otherwise = direct
            .operations
            .release(&direct.actor, &id, &acquired.token)
            .await;
        return Err(failure.advise("The lock was released again."));
    }
    Ok(0)
}

/// Takes the lock, waiting up to `wait` for it: with one token all the while, and so in one place in line.
pub async fn obtain(
    direct: &Direct,
    id: &LockId,
    mut request: AcquireRequest,
    wait: Duration,
) -> Result<Acquired, Fault> {
    direct.quorum_is_up().await;
    request.wait_ms = millis(wait.min(Duration::from_hours(24 * 365)));
    let taken = direct.operations.acquire(&direct.actor, id, &request).await;
    if taken.is_err() {
        direct.settle().await;
    }
    taken
}

/// Does something until a signal comes that ends it.
pub async fn until_signalled<T>(
    signals: &mut Signals,
    doing: impl Future<Output = T>,
) -> Result<T, Signal> {
    let mut doing = Box::pin(doing);
    loop {
        tokio::select! {
            done = &mut doing => return Ok(done),
            signal = signals.next() => match signal {
                Signal::SIGTSTP => suspend_waiting(),
                Signal::SIGCHLD => {}
                signal => return Err(signal),
            },
        }
    }
}

fn as_json(acquired: &Acquired, file: Option<&PathBuf>) -> Value {
    let mut answer = json!(acquired);
    if let (Some(fields), Some(path)) = (answer.as_object_mut(), file) {
        fields.remove("token");
        fields.insert("token_file".to_owned(), json!(path.to_string_lossy()));
    }
    answer
}

fn words(id: &LockId, acquired: &Acquired, file: Option<&PathBuf>) -> String {
    let token = match file {
        Some(path) => ("token in", text::visible(&path.to_string_lossy())),
        None => ("token", acquired.token.clone()),
    };
    let mut facts = vec![
        ("lock", text::name(&id.key)),
        token,
        ("fingerprint", acquired.fingerprint.to_string()),
    ];
    if let Some(fencing) = acquired.fencing_token {
        facts.push(("fencing token", fencing.to_string()));
    }
    let validity = text::span(acquired.validity_ms);
    facts.push((
        "valid for",
        format!("{validity}, until {}", acquired.expires_at),
    ));
    facts.push(("nodes", acts(&acquired.nodes)));
    Page::of_stdout().facts(&facts)
}
