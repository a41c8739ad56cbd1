//! A contender of this console in the queue of a lock.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::hold_token::{TokenParts, stored_token};
use super::{RETRY_PAUSE, validity};
use crate::domain::reason::{PossibleEffect, Reason};
use crate::domain::{LockKey, NodeOutcome};
use crate::server::stores::etcd::Shared;
use crate::server::stores::etcd::client::{
    EtcdError, EventType, KeyRange, KeyValue, LeaseId, Order, TxnReply, WatchStart, encode,
    range_fields,
};
use crate::server::stores::etcd::formats::CONSOLE_VALUE_PREFIX;
use crate::server::stores::{AcquireOutcome, AcquireResult, HoldRequest};

/// A waiter renews its lease this often within its TTL.
const RENEWALS_PER_TTL: u32 = 3;

/// The key of a contender of this console. Its lease is revoked when this is dropped, unless it holds
/// the lock by then.
pub(super) struct QueuedContender {
    shared: Arc<Shared>,
    lease: LeaseId,
    key: Vec<u8>,
    name: LockKey,
    value: String,
    ttl: Duration,
    /// The TTL that the server granted, and when the last grant or renewal was requested.
    granted: Duration,
    renewed_at: Instant,
    create_revision: i64,
    is_kept: bool,
}

/// Where a contender stands.
pub(super) enum Place {
    First { member: usize },
    Behind,
}

impl QueuedContender {
    pub(super) fn new(shared: &Arc<Shared>, request: &HoldRequest, parts: TokenParts) -> Self {
        Self {
            shared: Arc::clone(shared),
            lease: parts.lease,
            key: parts.key(&request.key),
            name: request.key.clone(),
            value: format!("{CONSOLE_VALUE_PREFIX}{}", request.token.label()),
            ttl: request.ttl,
            granted: request.ttl,
            renewed_at: Instant::now(),
            create_revision: 0,
            is_kept: false,
        }
    }

    /// Creates lease and key, or finds those of an earlier request with the same token.
    pub(super) async fn enter(&mut self) -> Result<Place, EtcdError> {
        self.renewed_at = Instant::now();
        self.granted = match self.shared.client.grant(self.lease, self.ttl).await {
            Ok(granted) => granted,
            // The lease exists.
            Err(EtcdError::Rejected(_)) => self.shared.client.keep_alive(self.lease).await?,
            Err(error) => return Err(error),
        };
        let reply = self.shared.client.txn(&self.put()).await?;
        let member = reply.member;
        let (revision, first) = self.read_place(&reply.body)?;
        self.create_revision = revision;
        if first == revision {
            Ok(Place::First { member })
        } else {
            Ok(Place::Behind)
        }
    }

    fn put(&self) -> Value {
        let key = encode(&self.key);
        let first = range_fields(&self.contenders(), Order::Created, 1);
        json!({
            "compare": [{ "key": key, "target": "CREATE", "result": "EQUAL", "create_revision": "0" }],
            "success": [
                { "request_put": { "key": key, "value": encode(self.value.as_bytes()), "lease": self.lease } },
                { "request_range": first },
            ],
            "failure": [
                { "request_range": { "key": key } },
                { "request_range": first },
            ],
        })
    }

    /// The `create_revision` of this contender and of the first one.
    fn read_place(&self, reply: &TxnReply) -> Result<(i64, i64), EtcdError> {
        let range = |n: usize| {
            let range = reply.responses.get(n)?.response_range.as_ref()?;
            range.kvs.first()
        };
        let own = if reply.succeeded {
            Some(reply.header.revision)
        } else {
            range(0)
                .filter(|kv| kv.lease == self.lease)
                .map(|kv| kv.create_revision)
        };
        let first = range(1).map(|kv| kv.create_revision);
        let missing = || EtcdError::InvalidReply("a key is missing".to_owned());
        Ok((own.ok_or_else(missing)?, first.ok_or_else(missing)?))
    }

    fn contenders(&self) -> KeyRange {
        KeyRange::prefix(&[self.name.as_bytes(), b"/"].concat())
    }

    /// Enters the queue and waits until this contender is the first one.
    pub(super) async fn wait_until_first(&mut self) -> Result<usize, EtcdError> {
        if let Place::First { member } = self.enter().await? {
            return Ok(member);
        }
        loop {
            match self.wait_for_turn().await {
                Ok(Some(member)) => return Ok(member),
                Ok(None) => {}
                // Lease or key are gone: after an outage, or a forced release. It enters again, as
                // the last one.
                Err(EtcdError::LeaseNotFound) => {
                    if let Place::First { member } = self.enter().await? {
                        return Ok(member);
                    }
                }
                Err(error) if error.concerns_member() => {
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the contender before this one is gone, or a renewal is due. `Some` if there is
    /// none before it.
    async fn wait_for_turn(&mut self) -> Result<Option<usize>, EtcdError> {
        self.renew_if_due().await?;
        let mut before = range_fields(&self.contenders(), Order::Created, 1);
        before["max_create_revision"] = (self.create_revision - 1).to_string().into();
        before["sort_order"] = "DESCEND".into();
        let own = range_fields(&KeyRange::key(&self.key), Order::Key, 1);
        let reply = self.shared.client.ranges(vec![before, own]).await?;
        let mut ranges = reply.body.responses.into_iter();
        let mut next = || ranges.next().and_then(|range| range.response_range);
        let (Some(before), Some(own)) = (next(), next()) else {
            return Err(EtcdError::InvalidReply("a range is missing".to_owned()));
        };
        let is_own = |kv: &KeyValue| kv.create_revision == self.create_revision;
        if !own.kvs.first().is_some_and(is_own) {
            return Err(EtcdError::LeaseNotFound);
        }
        let Some(before) = before.kvs.into_iter().next() else {
            // The whole lease is left to a holder that has just waited.
            self.renew().await?;
            return Ok(Some(reply.member));
        };
        let start = WatchStart {
            range: KeyRange::key(&before.key),
            revision: reply.body.header.revision + 1,
        };
        self.wait_for_deletion(reply.member, &start).await?;
        Ok(None)
    }

    /// Waits until the key is deleted, or the next renewal is due.
    async fn wait_for_deletion(&self, member: usize, start: &WatchStart) -> Result<(), EtcdError> {
        let shared = &self.shared;
        let (mut stream, _) = shared.client.watch(member, start).await?;
        let renewal = tokio::time::sleep_until(self.renewed_at + self.renewal_interval());
        tokio::pin!(renewal);
        loop {
            tokio::select! {
                reply = stream.next() => {
                    let events = reply?.events;
                    if events.iter().any(|event| event.kind == EventType::Delete) {
                        return Ok(());
                    }
                }
                () = &mut renewal => return Ok(()),
                () = shared.client.wait_until_replaceable(member) => return Ok(()),
            }
        }
    }

    fn renewal_interval(&self) -> Duration {
        self.granted / RENEWALS_PER_TTL
    }

    async fn renew_if_due(&mut self) -> Result<(), EtcdError> {
        if self.renewed_at.elapsed() < self.renewal_interval() {
            return Ok(());
        }
        self.renew().await
    }

    async fn renew(&mut self) -> Result<(), EtcdError> {
        let started = Instant::now();
        self.granted = self.shared.client.keep_alive(self.lease).await?;
        self.renewed_at = started;
        Ok(())
    }

    /// The outcome of a contender that holds the lock.
    pub(super) fn acquired(mut self, member: usize) -> AcquireOutcome {
        let left = validity(self.granted, self.renewed_at);
        if left.is_zero() {
            // Dropping it gives the lock back.
            let error = EtcdError::NoReply(Reason::NotRenewedInTime);
            return self.shared.failed(&error, PossibleEffect::Acquired);
        }
        self.is_kept = true;
        let result = AcquireResult::Acquired(left);
        let mut outcome = self
            .shared
            .outcome_of(member, NodeOutcome::Acquired, result);
        let kv = KeyValue {
            key: self.key.clone(),
            create_revision: self.create_revision,
            ..KeyValue::default()
        };
        outcome.token = stored_token(&kv);
        let is_fenced = self.shared.service.config.locking.fencing;
        outcome.fence = u64::try_from(self.create_revision)
            .ok()
            .filter(|_| is_fenced);
        outcome
    }

    /// Leaves the queue, and waits until that is done as far as a member replies.
    pub(super) async fn leave(mut self) {
        let revoked = self.shared.client.revoke(self.lease).await;
        // Otherwise dropping it repeats the revocation.
        self.is_kept = matches!(revoked, Ok(()) | Err(EtcdError::LeaseNotFound));
    }
}

impl Drop for QueuedContender {
    fn drop(&mut self) {
        if !self.is_kept {
            self.shared.revoke_later(self.lease, self.granted);
        }
    }
}
