//! Extend and release with the owner's token: check, audit, run on the nodes, refresh the index.
//! Tokens are never logged or audited.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;
use tracing::Span;
use utoipa::ToSchema;

use super::audit_scope::{audit_record, log_refusal, release_audit_end, webhook_principal};
use super::{Operations, check_key, count, millis};
use crate::domain::operation_error::InvalidValue;
use crate::domain::{
    Fingerprint, LockId, NodeOutcome, NodeResult, OperationError, OperationKind, Permission,
    ReleaseResult, Timestamp,
};
use crate::server::access::Principal;
use crate::server::audit::AuditOutcome;
use crate::server::stores::{AcquireOutcome, AcquireResult, Group, Token, remaining_holds};
use crate::server::webhooks::OperationEvent;

/// The maximum length of a token in bytes: owners are read up to this length, so a longer token
/// could not be compared.
const MAX_TOKEN_BYTES: usize = 512;

/// An extended lease.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Extended)]
pub struct ExtendedLease {
    /// How long the lock is valid from now on.
    pub validity_ms: u64,
    /// The end of the validity.
    pub expires_at: Timestamp,
    /// (`legacy-timestamp` only) The token as the lock stores it now; its fingerprint is the one
    /// displayed. The previous token stays usable. Missing if the lock already lasts longer, since
    /// its value then stays unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The outcome on each node.
    pub nodes: Vec<NodeResult>,
}

impl Operations {
    /// Extends a lease with the owner's token.
    pub async fn extend(
        &self,
        principal: &Principal,
        id: &LockId,
        token: &str,
        ttl_ms: u64,
    ) -> Result<ExtendedLease, OperationError> {
        let extending = async {
            let mut record = audit_record(OperationKind::Extend, principal, id);
            record.ttl_ms = Some(ttl_ms);
            let prepared = self.prepare_extend(principal, id, token, ttl_ms);
            let (group, token, ttl) = self.audit_refusal(&record, prepared)?;
            record.fingerprint = Some(group.owner_fingerprint(&token));
            Span::current().record("lockkeeper.format", group.format_of_token(&token).slug());
            let audit_entry = self.begin_audited(record, id).await?;
            let result = self.extend_on(&group, id, &token, ttl).await;
            audit_entry.end(&match &result {
                Ok((extended, owner)) => AuditOutcome::done(&extended.nodes).with_owner(*owner),
                Err(error) => AuditOutcome::from_error(error),
            });
            result.map(|(extended, _)| extended)
        };
        self.instrumented(OperationKind::Extend, id, extending, |result| {
            let nodes = result.as_ref().map(|extended| &extended.nodes[..]);
            OperationEvent::new(
                OperationKind::Extend,
                webhook_principal(principal),
                id,
                nodes,
            )
            .with_owner(Some(token_fingerprint(token)))
        })
        .await
    }

    fn prepare_extend(
        &self,
        principal: &Principal,
        id: &LockId,
        token: &str,
        ttl_ms: u64,
    ) -> Result<(Arc<Group>, Token, Duration), OperationError> {
        let group = self.group_for_operation(principal, Permission::Extend, id)?;
        check_key(&id.key)?;
        let token = check_token(token)?;
        let ttl = check_ttl(&group, id, ttl_ms)?;
        Ok((group, token, ttl))
    }

    /// Also returns the fingerprint under which the owner appears from now on.
    async fn extend_on(
        &self,
        group: &Group,
        id: &LockId,
        token: &Token,
        ttl: Duration,
    ) -> Result<(ExtendedLease, Fingerprint), OperationError> {
        let outcome = group.extend(&id.key, token, ttl).await;
        let stored_token = outcome.token.as_ref().map(token_text);
        let owner = group.owner_fingerprint(outcome.token.as_ref().unwrap_or(token));
        let (validity, nodes) = acquired_or_error(group, outcome, AttemptKind::Extend)
            .inspect_err(|error| log_refusal("extend", id, error))?;
        let expires_at = self.index().now().plus(validity);
        tracing::debug!(action = "extend", lock.group = id.group, lock.key = ?id.key, owner = %owner, "extended");
        self.index().record_local_renewals(id, &owner, 1);
        if let Some(renewal) = self.renewals.get(id, &group.hold_id(token)) {
            renewal.record_extension(ttl, validity, nodes.clone(), owner);
        }
        self.index().poll_soon(id);
        let extended = ExtendedLease {
            validity_ms: millis(validity),
            expires_at,
            token: stored_token,
            nodes,
        };
        Ok((extended, owner))
    }

    /// Releases a lock with the owner's token; of a reentrant lock, one hold.
    pub async fn release(
        &self,
        principal: &Principal,
        id: &LockId,
        token: &str,
    ) -> Result<ReleaseResult, OperationError> {
        let releasing = async {
            let mut record = audit_record(OperationKind::Release, principal, id);
            let prepared = self.prepare_release(principal, id, token);
            let (group, token) = self.audit_refusal(&record, prepared)?;
            record.fingerprint = Some(group.owner_fingerprint(&token));
            Span::current().record("lockkeeper.format", group.format_of_token(&token).slug());
            let audit_entry = self.begin_audited(record, id).await?;
            let result = self.release_on(&group, id, &token).await;
            audit_entry.end(&release_audit_end(&result));
            result
        };
        self.instrumented(OperationKind::Release, id, releasing, |result| {
            let nodes = result.as_ref().map(|released| &released.nodes[..]);
            OperationEvent::new(
                OperationKind::Release,
                webhook_principal(principal),
                id,
                nodes,
            )
            .with_owner(Some(token_fingerprint(token)))
        })
        .await
    }

    fn prepare_release(
        &self,
        principal: &Principal,
        id: &LockId,
        token: &str,
    ) -> Result<(Arc<Group>, Token), OperationError> {
        let group = self.group_for_operation(principal, Permission::Release, id)?;
        check_key(&id.key)?;
        Ok((group, check_token(token)?))
    }

    async fn release_on(
        &self,
        group: &Group,
        id: &LockId,
        token: &Token,
    ) -> Result<ReleaseResult, OperationError> {
        let _renewal_pause = self.renewals.prepare_release(id, &group.hold_id(token));
        let nodes = group.release(&id.key, token).await;
        let at = self.index().now();
        let other = |nodes| OperationError::NotOwner { nodes };
        let result = match is_held_by_others(group.quorum(), &nodes) {
            true => Err(other(nodes.clone())),
            false => check_released(group.quorum(), &nodes, other),
        };
        if let Err(error) = result {
            log_refusal("release", id, &error);
            // The release may have removed remains of the lock on some nodes.
            self.index().poll_soon(id);
            return Err(error);
        }
        tracing::debug!(action = "release", lock.group = id.group, lock.key = ?id.key, owner = %group.owner_fingerprint(token), "released");
        let holds = remaining_holds(&nodes);
        if holds.is_none() {
            self.queues(&id.group).wake_first(&id.key);
        }
        self.index().poll_soon(id);
        Ok(ReleaseResult {
            nodes,
            at,
            hold_count: holds,
            observed_after: None,
        })
    }
}

/// The operation of an attempt.
pub(super) enum AttemptKind {
    Acquire,
    Extend,
}

/// Returns the remaining validity and the node outcomes of a successful attempt, or the error of a
/// failed one.
pub(super) fn acquired_or_error(
    group: &Group,
    outcome: AcquireOutcome,
    kind: AttemptKind,
) -> Result<(Duration, Vec<NodeResult>), OperationError> {
    let now = Instant::now();
    let until = outcome.valid_until().unwrap_or(now);
    let AcquireOutcome { nodes, result, .. } = outcome;
    match (result, kind) {
        (AcquireResult::Acquired(_), _) => Ok((until.saturating_duration_since(now), nodes)),
        (AcquireResult::HeldByOther { owner, lease_ms }, AttemptKind::Acquire) => {
            Err(OperationError::Held {
                owner,
                lease_ms,
                retry_after_ms: retry_after_ms(lease_ms),
                nodes,
            })
        }
        (AcquireResult::HeldByOther { .. }, AttemptKind::Extend) => {
            Err(OperationError::NotOwner { nodes })
        }
        (AcquireResult::NotHeld, _) => Err(OperationError::NotHeld { nodes }),
        (AcquireResult::NoQuorum, _) => Err(no_quorum_error(group.quorum(), nodes)),
        (AcquireResult::WrongType(type_name), _) => {
            Err(OperationError::WrongType { type_name, nodes })
        }
    }
}

/// The number of nodes that may still hold the lock for its owner after a release.
pub(super) fn unreleased_count(nodes: &[NodeResult]) -> usize {
    let may_hold = |node: &&NodeResult| match node.outcome {
        NodeOutcome::Failed { .. } | NodeOutcome::Pending | NodeOutcome::OtherHold => true,
        NodeOutcome::Acquired
        | NodeOutcome::Extended
        | NodeOutcome::Released
        | NodeOutcome::Releasable
        | NodeOutcome::Holds { .. }
        | NodeOutcome::NotHeld
        | NodeOutcome::OtherOwner { .. } => false,
    };
    nodes.iter().filter(may_hold).count()
}

/// Whether another owner already held the lock on a quorum when its previous owner released the
/// remains.
fn is_held_by_others(quorum: usize, nodes: &[NodeResult]) -> bool {
    let is_other_owner =
        |node: &&NodeResult| matches!(node.outcome, NodeOutcome::OtherOwner { .. });
    nodes.iter().filter(is_other_owner).count() >= quorum
}

/// When a retry makes sense, in milliseconds. An expired or unlimited lease gives no hint.
fn retry_after_ms(lease_ms: Option<u64>) -> u64 {
    /// Earlier retries would cost the nodes more than they gain.
    const MIN: u64 = 250;
    /// A lock may be released long before its lease ends.
    const MAX: u64 = 30_000;
    /// Used if the end of the lease is unknown.
    const UNKNOWN: u64 = 1_000;
    match lease_ms {
        None | Some(0) => UNKNOWN,
        Some(left) => left.clamp(MIN, MAX),
    }
}

/// Checks whether a release took effect; `other` creates the error for a lock that another owner
/// holds.
///
/// A release took effect only if the nodes that it did not reach are too few for a quorum of the
/// same owner.
pub(super) fn check_released(
    quorum: usize,
    nodes: &[NodeResult],
    other: impl FnOnce(Vec<NodeResult>) -> OperationError,
) -> Result<(), OperationError> {
    if remaining_holds(nodes).is_some() {
        return Ok(());
    }
    let any =
        |predicate: fn(&NodeOutcome) -> bool| nodes.iter().any(|node| predicate(&node.outcome));
    let is_released =
        |outcome: &NodeOutcome| matches!(outcome, NodeOutcome::Released | NodeOutcome::Releasable);
    let was_reached = |node: &&NodeResult| {
        is_released(&node.outcome) || matches!(node.outcome, NodeOutcome::Holds { .. })
    };
    let (reached, remaining) = (
        nodes.iter().filter(was_reached).count(),
        unreleased_count(nodes),
    );
    if reached > 0 && remaining >= quorum {
        return Err(OperationError::PartlyReleased {
            released: count(reached),
            remaining: count(remaining),
            nodes_total: count(nodes.len()),
            quorum: count(quorum),
            nodes: nodes.to_vec(),
        });
    }
    if nodes.iter().any(|node| is_released(&node.outcome)) {
        return Ok(());
    }
    if any(|outcome| matches!(outcome, NodeOutcome::OtherOwner { .. })) {
        return Err(other(nodes.to_vec()));
    }
    if any(|outcome| matches!(outcome, NodeOutcome::OtherHold)) {
        return Err(OperationError::HoldChanged {
            nodes: nodes.to_vec(),
        });
    }
    let failed = nodes
        .iter()
        .filter(|node| matches!(node.outcome, NodeOutcome::Failed { .. }))
        .count();
    if failed >= quorum {
        return Err(no_quorum_error(quorum, nodes.to_vec()));
    }
    Err(OperationError::NotHeld {
        nodes: nodes.to_vec(),
    })
}

pub(super) fn no_quorum_error(quorum: usize, nodes: Vec<NodeResult>) -> OperationError {
    let reached = nodes
        .iter()
        .filter(|node| !matches!(node.outcome, NodeOutcome::Failed { .. }))
        .count();
    OperationError::NoQuorum {
        nodes_reached: count(reached),
        quorum: count(quorum),
        nodes,
    }
}

pub(super) fn check_ttl(
    group: &Group,
    id: &LockId,
    ttl_ms: u64,
) -> Result<Duration, OperationError> {
    /// Drift (1 % + 2 ms) and one round trip use up any shorter lease.
    const MIN: Duration = Duration::from_millis(10);
    let ttl = Duration::from_millis(ttl_ms);
    let max = group.config.locking.max_lease;
    let max = group.max_ttl().map_or(max, |granted| max.min(granted));
    let too_short = |min_ms, cause| OperationError::Impossible {
        field: "ttl_ms".to_owned(),
        cause,
        min_ttl_ms: Some(min_ms),
    };
    if ttl < MIN {
        let min_ms = millis(MIN);
        return Err(too_short(min_ms, InvalidValue::TooShort { min_ms }));
    }
    let min = group.min_ttl(&id.key);
    if let Some(min) = min.filter(|min| ttl < *min) {
        let min_ms = millis(min);
        return Err(too_short(
            min_ms,
            InvalidValue::ShorterThanRoundTrips { min_ms },
        ));
    }
    if ttl > max {
        let max_ms = millis(max);
        return Err(OperationError::invalid_field(
            "ttl_ms",
            InvalidValue::ExceedsMaxLease { max_ms },
        ));
    }
    Ok(ttl)
}

fn token_fingerprint(token: &str) -> Fingerprint {
    Token::from_bytes(token.as_bytes()).fingerprint()
}

pub(super) fn token_text(token: &Token) -> String {
    String::from_utf8_lossy(token.expose()).into_owned()
}

pub(super) fn check_token(token: &str) -> Result<Token, OperationError> {
    if token.is_empty() {
        return Err(OperationError::invalid_field("token", InvalidValue::Empty));
    }
    if token.len() > MAX_TOKEN_BYTES {
        return Err(OperationError::invalid_field(
            "token",
            InvalidValue::TooManyBytes {
                max: MAX_TOKEN_BYTES,
            },
        ));
    }
    Ok(Token::from_bytes(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reason::Reason;

    fn results(outcomes: &str) -> Vec<NodeResult> {
        let outcome = |letter| match letter {
            'r' => NodeOutcome::Released,
            'n' => NodeOutcome::NotHeld,
            'o' => NodeOutcome::OtherOwner { owner: None },
            'a' => NodeOutcome::OtherHold,
            'p' => NodeOutcome::Pending,
            'h' => NodeOutcome::Holds { hold_count: 1 },
            _ => NodeOutcome::Failed {
                reason: Reason::NoReply { timeout_ms: 500 },
            },
        };
        let result = |letter| NodeResult {
            node: "a".to_owned(),
            outcome: outcome(letter),
        };
        outcomes.chars().map(result).collect()
    }

    #[test]
    fn a_release_takes_effect_only_if_the_owner_cannot_have_a_quorum_left() {
        for (nodes, expected) in [
            ("r", "released"),
            ("rrr", "released"),
            ("rrf", "released"),
            ("rrp", "released"),
            ("rff", "partly-released"),
            ("rfa", "partly-released"),
            ("raa", "partly-released"),
            ("hff", "partly-released"),
            ("rfn", "released"),
            ("rfo", "released"),
            ("rrfff", "partly-released"),
            ("rrrff", "released"),
            ("rnnff", "released"),
            ("rf", "released"),
            ("rfff", "partly-released"),
            ("hhf", "released"),
            ("fff", "no-quorum"),
            ("nff", "no-quorum"),
            ("nnf", "not-held"),
            ("onf", "other"),
            ("noo", "other"),
            ("naa", "hold-changed"),
        ] {
            let results = results(nodes);
            let quorum = crate::domain::quorum::majority(results.len());
            let result =
                check_released(quorum, &results, |nodes| OperationError::NotOwner { nodes });
            let code = match result {
                Ok(()) => "released",
                Err(OperationError::NotOwner { .. }) => "other",
                Err(error) => error.code(),
            };
            assert_eq!(code, expected, "{nodes}");
        }
    }

    #[test]
    fn an_owner_has_lost_its_lock_if_others_hold_a_quorum() {
        for (nodes, expected) in [("roo", true), ("rro", false), ("fno", false), ("o", true)] {
            let results = results(nodes);
            let quorum = crate::domain::quorum::majority(results.len());
            assert_eq!(is_held_by_others(quorum, &results), expected, "{nodes}");
        }
    }

    #[test]
    fn the_retry_delay_is_bounded() {
        for (lease_ms, expected) in [
            (None, 1_000),
            (Some(0), 1_000),
            (Some(1), 250),
            (Some(26_000), 26_000),
            (Some(3_600_000), 30_000),
        ] {
            assert_eq!(retry_after_ms(lease_ms), expected, "{lease_ms:?}");
        }
    }
}
