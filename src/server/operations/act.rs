//! Acting: check, act on the nodes, look at what came of it. Every act and every refused act is logged, without tokens.

use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use super::{Operations, check_key, count, millis};
use crate::domain::{
    ActOutcome, Environment, Fault, Fingerprint, Format, LockId, LockKey, NodeAct, Released,
    Timestamp,
};
use crate::server::locking::{self, Attempt, End, Token};
use crate::server::nodes::Group;

/// The longest that an acquire may wait.
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// The longest label and reason, in characters.
const LONGEST_LABEL: usize = 64;
const LONGEST_REASON: usize = 500;

/// What an acquire asks for.
#[derive(Clone, Debug)]
pub struct AcquireRequest {
    /// The lease, in milliseconds.
    pub ttl_ms: u64,
    /// How long to wait for it, in milliseconds.
    pub wait_ms: u64,
    /// Who wants it, readable: becomes part of the token, so that every console shows it.
    pub label: Option<String>,
    /// The layout to write.
    pub format: Format,
    /// One's own token: a lock that it already holds is extended (Redisson's is entered once more).
    pub token: Option<String>,
    /// Renew the lease again and again until it is released or the longest hold is over.
    pub auto_renew: bool,
}

/// A lock that was acquired.
#[derive(Clone, Serialize, ToSchema)]
pub struct Acquired {
    /// The secret with which the lock is extended and released. Shown this once.
    pub token: String,
    /// What tells this hold from others; not a secret.
    pub fingerprint: Fingerprint,
    /// Rises with every acquire of this lock: a resource that remembers the largest can refuse the late ones. Null where
    /// fencing is off in the configuration.
    pub fencing_token: Option<u64>,
    /// For how long the lock may be relied on: `ttl − elapsed − drift`.
    pub validity_ms: u64,
    /// Until when that is.
    pub expires_at: Timestamp,
    /// What happened on each node.
    pub nodes: Vec<NodeAct>,
}

/// A lease that was renewed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Extended {
    /// For how long the lock may be relied on from now.
    pub validity_ms: u64,
    /// Until when that is.
    pub expires_at: Timestamp,
    /// What happened on each node.
    pub nodes: Vec<NodeAct>,
}

impl Operations {
    /// Takes a lock as any client of its format would.
    pub async fn acquire(&self, id: &LockId, request: &AcquireRequest) -> Result<Acquired, Fault> {
        let group = self.group_to_act_on(&id.group)?;
        check_key(&id.key)?;
        let ttl = check_ttl(&group, request.ttl_ms)?;
        let wait = Duration::from_millis(request.wait_ms);
        if wait > LONGEST_WAIT {
            return Err(impossible(
                "wait_ms",
                format!("is longer than {} ms", LONGEST_WAIT.as_millis()),
            ));
        }
        let label = request.label.as_deref().unwrap_or("").trim();
        if label.chars().count() > LONGEST_LABEL {
            return Err(impossible(
                "label",
                format!("is longer than {LONGEST_LABEL} characters"),
            ));
        }
        match request.format {
            Format::Plain => {}
            Format::RedisPy
            | Format::NodeRedlock
            | Format::Redsync
            | Format::Rslock
            | Format::Redisson
            | Format::RedissonFair
            | Format::ShedLock
            | Format::LegacyTimestamp => {
                return Err(impossible(
                    "format",
                    format!(
                        "{} cannot be acquired from here; `plain` can",
                        request.format
                    ),
                ));
            }
        }
        let token = Token::mint(if label.is_empty() { "console" } else { label });
        let attempt = if wait.is_zero() {
            locking::acquire(&group, &id.key, &token, ttl).await
        } else {
            locking::acquire_within(&group, &id.key, &token, ttl, wait).await
        };
        let (validity, nodes) = won(&group, attempt, Act::Acquire)
            .inspect_err(|fault| refused("acquire", id, fault))?;
        tracing::info!(act = "acquire", lock.group = id.group, lock.key = ?id.key, owner = %token.fingerprint(), "acquired");
        self.look_again(&group, &id.key).await?;
        Ok(Acquired {
            token: String::from_utf8_lossy(token.expose()).into_owned(),
            fingerprint: token.fingerprint(),
            fencing_token: None,
            validity_ms: millis(validity),
            expires_at: self.index().now().plus(validity),
            nodes,
        })
    }

    /// Renews a lease with the owner's token.
    pub async fn extend(&self, id: &LockId, token: &str, ttl_ms: u64) -> Result<Extended, Fault> {
        let group = self.group_to_act_on(&id.group)?;
        check_key(&id.key)?;
        let token = check_token(token)?;
        let ttl = check_ttl(&group, ttl_ms)?;
        let attempt = locking::extend(&group, &id.key, &token, ttl).await;
        let (validity, nodes) =
            won(&group, attempt, Act::Extend).inspect_err(|fault| refused("extend", id, fault))?;
        tracing::info!(act = "extend", lock.group = id.group, lock.key = ?id.key, owner = %token.fingerprint(), "extended");
        self.look_again(&group, &id.key).await?;
        Ok(Extended {
            validity_ms: millis(validity),
            expires_at: self.index().now().plus(validity),
            nodes,
        })
    }

    /// Releases a lock with the owner's token.
    pub async fn release(&self, id: &LockId, token: &str) -> Result<Released, Fault> {
        let group = self.group_to_act_on(&id.group)?;
        check_key(&id.key)?;
        let token = check_token(token)?;
        let nodes = locking::release(&group, &id.key, &token).await;
        let at = self.index().now();
        let other = |nodes| Fault::NotOwner { nodes };
        released(&group, &nodes, other).inspect_err(|fault| refused("release", id, fault))?;
        tracing::info!(act = "release", lock.group = id.group, lock.key = ?id.key, owner = %token.fingerprint(), "released");
        let seen_after = self.look_again(&group, &id.key).await?.lock;
        Ok(Released {
            nodes,
            at,
            seen_after,
        })
    }

    /// Releases somebody else's lock, if its owner is still the one that was seen.
    pub async fn force_release(
        &self,
        id: &LockId,
        fingerprint: &Fingerprint,
        reason: &str,
        confirm: Option<&str>,
    ) -> Result<Released, Fault> {
        let group = self.group_to_act_on(&id.group)?;
        check_key(&id.key)?;
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(impossible(
                "reason",
                "is blank; say why the lock is broken".into(),
            ));
        }
        if reason.chars().count() > LONGEST_REASON {
            return Err(impossible(
                "reason",
                format!("is longer than {LONGEST_REASON} characters"),
            ));
        }
        match group.config.environment {
            Environment::Production if confirm != Some(&*id.key.text()) => {
                return Err(Fault::ConfirmRequired {
                    key: id.key.clone(),
                });
            }
            Environment::Production | Environment::Staging | Environment::Development => {}
        }
        // Written before the act, so that an act which kills us is still in the log.
        tracing::info!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, reason = ?reason, "begins");
        let forced = locking::force_release(&group, &id.key, fingerprint).await;
        let at = self.index().now();
        let other = |nodes| Fault::OwnerChanged {
            owner: forced.owner_now.clone(),
            nodes,
        };
        let end = released(&group, &forced.nodes, other);
        let seen_after = self.look_again(&group, &id.key).await?.lock;
        end.inspect_err(|fault| refused("force-release", id, fault))?;
        tracing::info!(act = "force-release", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, nodes = ?outcomes(&forced.nodes), "released");
        Ok(Released {
            nodes: forced.nodes,
            at,
            seen_after,
        })
    }
}

enum Act {
    Acquire,
    Extend,
}

/// The validity and the nodes of an attempt that was won, or why it was not.
fn won(group: &Group, attempt: Attempt, act: Act) -> Result<(Duration, Vec<NodeAct>), Fault> {
    let Attempt { nodes, end } = attempt;
    match (end, act) {
        (End::Won(validity), _) => Ok((validity, nodes)),
        (End::Taken { owner, lease_ms }, Act::Acquire) => {
            // Without an end in sight, a second is as good as any.
            let retry_after_ms = lease_ms.unwrap_or(1_000).max(1);
            Err(Fault::Held {
                owner,
                lease_ms,
                retry_after_ms,
                nodes,
            })
        }
        (End::Taken { .. }, Act::Extend) => Err(Fault::NotOwner { nodes }),
        (End::NotHeld, _) => Err(Fault::NotHeld { nodes }),
        (End::NoQuorum, _) => Err(no_quorum(group, nodes)),
        (End::WrongType(detail), _) => Err(Fault::WrongType { detail, nodes }),
    }
}

/// Whether a release took place, or why not; `other` makes the fault for a lock that somebody else holds.
fn released(
    group: &Group,
    nodes: &[NodeAct],
    other: impl FnOnce(Vec<NodeAct>) -> Fault,
) -> Result<(), Fault> {
    let any = |wanted: fn(&ActOutcome) -> bool| nodes.iter().any(|node| wanted(&node.outcome));
    if any(|outcome| matches!(outcome, ActOutcome::Released)) {
        return Ok(());
    }
    if any(|outcome| matches!(outcome, ActOutcome::OtherOwner { .. })) {
        return Err(other(nodes.to_vec()));
    }
    let failed = nodes
        .iter()
        .filter(|node| matches!(node.outcome, ActOutcome::Failed { .. }))
        .count();
    if failed >= group.quorum() {
        return Err(no_quorum(group, nodes.to_vec()));
    }
    Err(Fault::NotHeld {
        nodes: nodes.to_vec(),
    })
}

fn no_quorum(group: &Group, nodes: Vec<NodeAct>) -> Fault {
    let reached = nodes
        .iter()
        .filter(|node| !matches!(node.outcome, ActOutcome::Failed { .. }))
        .count();
    Fault::NoQuorum {
        reached: count(reached),
        quorum: count(group.quorum()),
        nodes,
    }
}

fn check_ttl(group: &Group, ttl_ms: u64) -> Result<Duration, Fault> {
    /// Below this, drift alone (1 % + 2 ms) and one round trip eat the lease up.
    const SHORTEST: Duration = Duration::from_millis(10);
    let ttl = Duration::from_millis(ttl_ms);
    let longest = group.config.locking.longest_lease;
    if ttl < SHORTEST {
        return Err(impossible(
            "ttl_ms",
            format!("must be at least {} ms", SHORTEST.as_millis()),
        ));
    }
    if ttl > longest {
        return Err(impossible(
            "ttl_ms",
            format!(
                "is beyond the longest lease of this group, {} ms",
                longest.as_millis()
            ),
        ));
    }
    Ok(ttl)
}

fn check_token(token: &str) -> Result<Token, Fault> {
    if token.is_empty() {
        return Err(impossible("token", "is empty".into()));
    }
    Ok(Token::from_bytes(token.as_bytes()))
}

fn impossible(field: &str, detail: String) -> Fault {
    Fault::Impossible {
        field: field.to_owned(),
        detail,
    }
}

fn refused(act: &str, id: &LockId, fault: &Fault) {
    tracing::info!(act, lock.group = id.group, lock.key = ?id.key, code = fault.code(), "refused: {fault}");
}

fn outcomes(nodes: &[NodeAct]) -> Vec<String> {
    nodes
        .iter()
        .map(|node| {
            let word = match &node.outcome {
                ActOutcome::Acquired => "acquired",
                ActOutcome::Extended => "extended",
                ActOutcome::Released => "released",
                ActOutcome::NotHeld => "not-held",
                ActOutcome::OtherOwner { .. } => "other-owner",
                ActOutcome::Pending => "pending",
                ActOutcome::Failed { .. } => "failed",
            };
            format!("{}={word}", node.node)
        })
        .collect()
}

/// Whether the key is one that a person can acquire from a page: not empty.
pub(super) fn check_typed_key(key: &LockKey) -> Result<(), Fault> {
    if key.as_bytes().is_empty() {
        return Err(impossible("key", "is empty; give the lock a name".into()));
    }
    Ok(())
}
