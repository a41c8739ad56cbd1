//! Acting: check, act on the nodes, look at what came of it. Every act and every refused act is logged, without tokens.

use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use super::kept::Won;
use super::{Operations, check_key, count, millis};
use crate::domain::{
    ActOutcome, Fault, Fingerprint, Format, LockId, LockKey, NodeAct, Released, Timestamp,
};
use crate::server::locking::{self, Attempt, End, Layout, Token, Want};
use crate::server::nodes::Group;

/// The longest that an acquire may wait.
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// The longest label, in characters.
const LONGEST_LABEL: usize = 64;
/// The longest token: nobody reads more of an owner, so more could not be compared.
const LONGEST_TOKEN: usize = 512;

/// What an acquire asks for. It has no `Debug`: a token may be in it.
#[derive(Clone)]
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
    /// The secret with which the lock is extended and released. Shown in the answer to the acquire, and nowhere else.
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
    /// (`legacy-timestamp` only) the token as the lock shows it now, and so the one whose fingerprint everybody sees. The one
    /// before goes on working.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
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
        let Some(layout) = Layout::of(request.format) else {
            return Err(impossible(
                "format",
                format!(
                    "{} cannot be acquired from here; `plain`, `redisson`, `redisson-fair` and `legacy-timestamp` can",
                    request.format
                ),
            ));
        };
        let token = match &request.token {
            Some(token) => {
                let token = check_token(token)?;
                if let Some(objection) = layout.objection(&token) {
                    return Err(impossible("token", objection.to_owned()));
                }
                token
            }
            None => layout.mint(if label.is_empty() { "console" } else { label }),
        };
        let mut want = Want {
            layout,
            key: id.key.clone(),
            token,
            ttl,
            brought: request.token.is_some(),
        };
        let place = self.place_to_keep(id, request, &Layout::name_of_hold(&want.token))?;
        let attempt = self.attempt(&group, id, &want, wait).await;
        let fencing_token = attempt.fence;
        if let Some(written) = &attempt.token {
            want.token = written.clone();
        }
        let (validity, nodes) = won(&group, attempt, Act::Acquire)
            .inspect_err(|fault| self.refused_acquire(id, fault))?;
        let fingerprint = want.token.fingerprint();
        tracing::debug!(act = "acquire", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, "acquired");
        let won = Won::new(id, request, &want, validity, &nodes);
        self.keep(&group, &won, place);
        self.index().look_soon(id);
        Ok(Acquired {
            token: text(&want.token),
            fingerprint,
            fencing_token,
            validity_ms: millis(validity),
            expires_at: self.index().now().plus(validity),
            nodes,
        })
    }

    /// One try, or as many as fit into the time.
    async fn attempt(&self, group: &Group, id: &LockId, want: &Want, wait: Duration) -> Attempt {
        if wait.is_zero() {
            return self.queues(&id.group).attempt(group, want).await;
        }
        let place = self.queues(&id.group).join(&id.key);
        // Whoever looks at the lock sees how many wait for it, also when one of them goes away.
        let told = Waiters {
            operations: self,
            id,
        };
        told.tell();
        locking::acquire_within(group, want, wait, place).await
    }

    fn refused_acquire(&self, id: &LockId, fault: &Fault) {
        if matches!(fault, Fault::Held { .. }) {
            self.index().wants().refused(id, self.index().now());
        }
        refused("acquire", id, fault);
    }

    /// Renews a lease with the owner's token.
    pub async fn extend(&self, id: &LockId, token: &str, ttl_ms: u64) -> Result<Extended, Fault> {
        let group = self.group_to_act_on(&id.group)?;
        check_key(&id.key)?;
        let token = check_token(token)?;
        let ttl = check_ttl(&group, ttl_ms)?;
        let attempt = locking::extend(&group, &id.key, &token, ttl).await;
        let written = attempt.token.as_ref().map(text);
        let (validity, nodes) =
            won(&group, attempt, Act::Extend).inspect_err(|fault| refused("extend", id, fault))?;
        tracing::debug!(act = "extend", lock.group = id.group, lock.key = ?id.key, owner = %token.fingerprint(), "extended");
        if let Some(kept) = self.kept.get(id, &Layout::name_of_hold(&token)) {
            kept.extended(ttl, validity, nodes.clone());
        }
        self.index().look_soon(id);
        Ok(Extended {
            validity_ms: millis(validity),
            expires_at: self.index().now().plus(validity),
            token: written,
            nodes,
        })
    }

    /// Releases a lock with the owner's token: once, where it may be held more often.
    pub async fn release(&self, id: &LockId, token: &str) -> Result<Released, Fault> {
        let group = self.group_to_act_on(&id.group)?;
        check_key(&id.key)?;
        let token = check_token(token)?;
        let _until_it_is_released = self.kept.let_go(id, &Layout::name_of_hold(&token));
        let nodes = locking::release(&group, &id.key, &token).await;
        let at = self.index().now();
        let other = |nodes| Fault::NotOwner { nodes };
        released(&group, &nodes, other).inspect_err(|fault| refused("release", id, fault))?;
        tracing::debug!(act = "release", lock.group = id.group, lock.key = ?id.key, owner = %token.fingerprint(), "released");
        let holds = locking::holds_left(&nodes);
        if holds.is_none() {
            self.queues(&id.group).freed(&id.key);
        }
        self.index().look_soon(id);
        Ok(Released {
            nodes,
            at,
            holds,
            seen_after: None,
        })
    }
}

/// Keeps the number of those who wait for a lock told: when one begins and when one ends, however it ends.
struct Waiters<'a> {
    operations: &'a Operations,
    id: &'a LockId,
}

impl Waiters<'_> {
    fn tell(&self) {
        let waiting = self.operations.queues(&self.id.group).waiting(&self.id.key);
        self.operations.index().wants().waiting(self.id, waiting);
    }
}

impl Drop for Waiters<'_> {
    fn drop(&mut self) {
        self.tell();
    }
}

enum Act {
    Acquire,
    Extend,
}

/// The validity and the nodes of an attempt that was won, or why it was not.
fn won(group: &Group, attempt: Attempt, act: Act) -> Result<(Duration, Vec<NodeAct>), Fault> {
    let Attempt { nodes, end, .. } = attempt;
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
pub(super) fn released(
    group: &Group,
    nodes: &[NodeAct],
    other: impl FnOnce(Vec<NodeAct>) -> Fault,
) -> Result<(), Fault> {
    let any = |wanted: fn(&ActOutcome) -> bool| nodes.iter().any(|node| wanted(&node.outcome));
    if any(|outcome| matches!(outcome, ActOutcome::Released))
        || locking::holds_left(nodes).is_some()
    {
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

fn text(token: &Token) -> String {
    String::from_utf8_lossy(token.expose()).into_owned()
}

fn check_token(token: &str) -> Result<Token, Fault> {
    if token.is_empty() {
        return Err(impossible("token", "is empty".into()));
    }
    if token.len() > LONGEST_TOKEN {
        return Err(impossible(
            "token",
            format!("is longer than {LONGEST_TOKEN} bytes"),
        ));
    }
    Ok(Token::from_bytes(token.as_bytes()))
}

pub(super) fn impossible(field: &str, detail: String) -> Fault {
    Fault::Impossible {
        field: field.to_owned(),
        detail,
    }
}

pub(super) fn refused(act: &str, id: &LockId, fault: &Fault) {
    tracing::debug!(act, lock.group = id.group, lock.key = ?id.key, code = fault.code(), "refused: {fault}");
}

/// Whether the key is one that a person can acquire from a page: not empty.
pub(super) fn check_typed_key(key: &LockKey) -> Result<(), Fault> {
    if key.as_bytes().is_empty() {
        return Err(impossible("key", "is empty; give the lock a name".into()));
    }
    Ok(())
}
