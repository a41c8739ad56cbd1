//! A client of etcd's JSON gateway, which every etcd serves on its client port.
//!
//! Every call has a time limit and a limit for the size of its reply. A read is sent to another
//! member if one cannot reply; a write only if the first one certainly had no effect. Every request
//! requires a leader: a member without one would reply after 7 s, or never.

mod error;
mod metrics;
mod transport;
mod watch;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use data_encoding::BASE64;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch::Sender;
use tokio::time::{Instant, timeout_at};
use zeroize::Zeroizing;

pub use self::error::EtcdError;
pub use self::metrics::MemberMetrics;
use self::transport::GatewayTransport;
pub use self::transport::MAX_REPLY_BYTES;
pub use self::watch::{WatchStart, WatchStream};
use self::wire::{AuthenticateReply, GrantReply, KeepAliveReply, StreamLine};
pub use self::wire::{
    EventType, Header, KeyBytes, KeyRange, KeyValue, LeaseId, LeaseKeysReply, OperationReply,
    RangeReply, StatusReply, TimeToLiveReply, TxnReply, WatchEvent, WatchReply,
};
use crate::domain::reason::Reason;
use crate::server::config::ServiceCredentials;

/// Where and how to connect.
pub struct ClientOptions {
    /// The URLs of the members, without a trailing slash.
    pub urls: Vec<String>,
    /// User, password and certificates.
    pub credentials: ServiceCredentials,
    /// The limit for establishing a connection.
    pub connect_timeout: Duration,
    /// The limit for one call, with all its attempts.
    pub command_timeout: Duration,
}

/// A client of one cluster.
pub struct EtcdClient {
    urls: Vec<String>,
    transport: GatewayTransport,
    credentials: ServiceCredentials,
    token: tokio::sync::Mutex<Option<Arc<str>>>,
    command_timeout: Duration,
    /// The member that replied last.
    preferred: AtomicUsize,
    /// Whether the health checks found each member usable.
    is_usable: Sender<Vec<bool>>,
}

/// A reply and the index of the member that sent it.
#[derive(Clone, Debug)]
pub struct Reply<T> {
    /// The index of the member.
    pub member: usize,
    /// The reply.
    pub body: T,
}

/// Whether a request changes anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    None,
    Write,
}

/// The order of the keys in a range.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By key.
    Key,
    /// By the revision in which they were created: the order of a queue.
    Created,
}

impl EtcdClient {
    /// Creates a client. It connects with the first call.
    pub fn new(options: ClientOptions) -> Self {
        let transport =
            GatewayTransport::new(options.credentials.files.clone(), options.connect_timeout);
        Self {
            is_usable: Sender::new(vec![true; options.urls.len()]),
            urls: options.urls,
            transport,
            credentials: options.credentials,
            token: tokio::sync::Mutex::new(None),
            command_timeout: options.command_timeout,
            preferred: AtomicUsize::new(0),
        }
    }

    /// The number of members.
    pub fn member_count(&self) -> usize {
        self.urls.len()
    }

    /// The limit for one call.
    pub fn command_timeout(&self) -> Duration {
        self.command_timeout
    }

    /// Records whether a member can serve requests. Others are preferred to one that cannot.
    pub fn set_usable(&self, member: usize, is_usable: bool) {
        self.is_usable.send_if_modified(|all| {
            let before = std::mem::replace(&mut all[member], is_usable);
            before != is_usable
        });
    }

    /// Whether the health checks found a usable member.
    pub fn has_usable_member(&self) -> bool {
        self.is_usable.borrow().contains(&true)
    }

    /// Waits until a health check finds this member unusable and another one usable.
    pub async fn wait_until_replaceable(&self, member: usize) {
        let mut is_usable = self.is_usable.subscribe();
        let is_replaceable = |all: &Vec<bool>| !all[member] && all.contains(&true);
        // The sender is a field of this struct, so the channel cannot close.
        let _closed = is_usable.wait_for(is_replaceable).await;
    }

    /// Reads the certificate files again.
    pub fn reload_certificates(&self) {
        self.transport.reload_certificates();
    }

    /// Reads a range of keys with their values. Linearizable: it fails without a quorum.
    pub async fn range(
        &self,
        range: &KeyRange,
        order: Order,
        limit: usize,
    ) -> Result<Reply<RangeReply>, EtcdError> {
        let body = range_fields(range, order, limit);
        self.call("/v3/kv/range", &body, Effect::None).await
    }

    /// Executes several ranges in one transaction, at one revision. etcd accepts 128 by default.
    pub async fn ranges(&self, ranges: Vec<Value>) -> Result<Reply<TxnReply>, EtcdError> {
        let operations = ranges.into_iter();
        let operations = operations.map(|range| json!({ "request_range": range }));
        let body = json!({ "success": operations.collect::<Vec<_>>() });
        self.call("/v3/kv/txn", &body, Effect::None).await
    }

    /// Executes a transaction that writes.
    pub async fn txn(&self, body: &Value) -> Result<Reply<TxnReply>, EtcdError> {
        self.call("/v3/kv/txn", body, Effect::Write).await
    }

    /// Creates a lease with a TTL in seconds and returns the TTL that the server granted. The id is
    /// chosen by the caller, so that the lease of a request without a reply can be revoked.
    pub async fn grant(&self, lease: LeaseId, ttl: Duration) -> Result<Duration, EtcdError> {
        let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
        let body = json!({ "ID": lease, "TTL": seconds.to_string() });
        let reply = self
            .call::<GrantReply>("/v3/lease/grant", &body, Effect::Write)
            .await?;
        if reply.body.id != lease {
            return Err(EtcdError::InvalidReply("another lease".to_owned()));
        }
        Ok(Duration::from_secs(
            u64::try_from(reply.body.ttl).unwrap_or(0),
        ))
    }

    /// How much is left of a lease.
    pub async fn time_to_live(&self, lease: LeaseId) -> Result<TimeToLiveReply, EtcdError> {
        let body = json!({ "ID": lease });
        let reply = self.call("/v3/lease/timetolive", &body, Effect::None).await;
        reply.map(|reply| reply.body)
    }

    /// The keys of a lease.
    ///
    /// # Errors
    /// [`EtcdError::LeaseNotFound`] if it has ended.
    pub async fn lease_keys(&self, lease: LeaseId) -> Result<Vec<KeyBytes>, EtcdError> {
        let body = json!({ "ID": lease, "keys": true });
        let reply = self
            .call::<LeaseKeysReply>("/v3/lease/timetolive", &body, Effect::None)
            .await?;
        match reply.body.ttl {
            ..0 => Err(EtcdError::LeaseNotFound),
            0.. => Ok(reply.body.keys),
        }
    }

    /// Renews a lease to the TTL that was granted, and returns it.
    ///
    /// # Errors
    /// [`EtcdError::LeaseNotFound`] if it has ended.
    pub async fn keep_alive(&self, lease: LeaseId) -> Result<Duration, EtcdError> {
        let body = json!({ "ID": lease });
        // A renewal can be repeated, unlike other writes.
        let reply = self
            .call::<StreamLine<KeepAliveReply>>("/v3/lease/keepalive", &body, Effect::None)
            .await?;
        let line = reply.body;
        if let Some(error) = line.error {
            return Err(EtcdError::from_reply(&error));
        }
        let ttl = line.result.map_or(0, |result| result.ttl);
        match u64::try_from(ttl) {
            Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds)),
            Ok(0) | Err(_) => Err(EtcdError::LeaseNotFound),
        }
    }

    /// Ends a lease and deletes its keys.
    pub async fn revoke(&self, lease: LeaseId) -> Result<(), EtcdError> {
        // Repeating it is harmless: an id is used for one lease only.
        self.revoke_with(lease, Effect::None).await
    }

    /// Ends a lease like [`Self::revoke`], and never sends a request twice: an error that has no
    /// effect then means that the lease was not revoked by this call.
    pub async fn revoke_once(&self, lease: LeaseId) -> Result<(), EtcdError> {
        self.revoke_with(lease, Effect::Write).await
    }

    async fn revoke_with(&self, lease: LeaseId, effect: Effect) -> Result<(), EtcdError> {
        let body = json!({ "ID": lease });
        let reply = self.call::<Value>("/v3/lease/revoke", &body, effect).await;
        reply.map(drop)
    }

    /// The state of one member.
    pub async fn status(&self, member: usize) -> Result<StatusReply, EtcdError> {
        let deadline = Instant::now() + self.command_timeout;
        let body = Bytes::from_static(b"{}");
        self.call_member(member, "/v3/maintenance/status", &body, deadline)
            .await
    }

    /// The state of one member from its metrics, which need no permission.
    pub async fn metrics(&self, member: usize) -> Result<MemberMetrics, EtcdError> {
        let reading = self.transport.get(self.url(member, "/metrics"));
        let text = tokio::time::timeout(self.command_timeout, reading).await;
        let text = text.map_err(|_| self.timed_out())??;
        Ok(MemberMetrics::parse(&text))
    }

    /// Starts a watch on one member. Returns it with the revision of the store at its start.
    pub async fn watch(
        &self,
        member: usize,
        start: &WatchStart,
    ) -> Result<(WatchStream, i64), EtcdError> {
        let deadline = Instant::now() + self.command_timeout;
        let body = Bytes::from(start.to_json().to_string());
        let url = self.url(member, "/v3/watch");
        let token = self.token(deadline, None).await?;
        let sending = self.transport.send(url, body, token.as_deref());
        let response = timeout_at(deadline, sending)
            .await
            .map_err(|_| self.timed_out())??;
        let mut stream = WatchStream::new(response);
        let created = timeout_at(deadline, stream.wait_until_created()).await;
        match created.map_err(|_| self.timed_out())? {
            Ok(revision) => Ok((stream, revision)),
            Err(error) => {
                if needs_new_token(&error) {
                    self.token(deadline, Some(token)).await?;
                }
                Err(error)
            }
        }
    }

    /// The members in the order in which a call tries them.
    pub fn members_by_preference(&self) -> Vec<usize> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let count = self.urls.len();
        let mut order: Vec<usize> = (0..count).map(|n| (preferred + n) % count).collect();
        let is_usable = self.is_usable.borrow();
        order.sort_by_key(|&member| !is_usable[member]);
        order
    }

    async fn call<T: DeserializeOwned>(
        &self,
        path: &'static str,
        body: &Value,
        effect: Effect,
    ) -> Result<Reply<T>, EtcdError> {
        let deadline = Instant::now() + self.command_timeout;
        let body = Bytes::from(body.to_string());
        let members = self.members_by_preference();
        let mut reported: Option<EtcdError> = None;
        for (n, &member) in members.iter().enumerate() {
            // A member that does not reply leaves half of the remaining time to the others.
            let now = Instant::now();
            let is_last = n + 1 == members.len();
            let attempt_deadline = match (is_last, effect) {
                (false, Effect::None) => now + deadline.saturating_duration_since(now) / 2,
                (true, _) | (false, Effect::Write) => deadline,
            };
            match self
                .call_member(member, path, &body, attempt_deadline)
                .await
            {
                Ok(body) => {
                    self.preferred.store(member, Ordering::Relaxed);
                    return Ok(Reply { member, body });
                }
                Err(error) => {
                    let may_retry = effect == Effect::None || error.is_without_effect();
                    if !error.concerns_member() || !may_retry {
                        return Err(error);
                    }
                    // A member that replied knows more than one that is down.
                    if reported
                        .as_ref()
                        .is_none_or(|reported| matches!(reported, EtcdError::NotConnected(_)))
                    {
                        reported = Some(error);
                    }
                }
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        Err(reported.unwrap_or(EtcdError::NotConnected(Reason::NotChecked)))
    }

    async fn call_member<T: DeserializeOwned>(
        &self,
        member: usize,
        path: &'static str,
        body: &Bytes,
        deadline: Instant,
    ) -> Result<T, EtcdError> {
        let token = self.token(deadline, None).await?;
        let result = self
            .send(member, path, body, token.as_deref(), deadline)
            .await;
        match result {
            Err(error) if self.credentials.username.is_some() && needs_new_token(&error) => {
                let token = self.token(deadline, Some(token)).await?;
                self.send(member, path, body, token.as_deref(), deadline)
                    .await
            }
            result => result,
        }
    }

    async fn send<T: DeserializeOwned>(
        &self,
        member: usize,
        path: &'static str,
        body: &Bytes,
        token: Option<&str>,
        deadline: Instant,
    ) -> Result<T, EtcdError> {
        let call = self
            .transport
            .call(self.url(member, path), body.clone(), token);
        timeout_at(deadline, call)
            .await
            .map_err(|_| self.timed_out())?
    }

    fn url(&self, member: usize, path: &'static str) -> String {
        format!("{}{path}", self.urls[member])
    }

    /// The current token; a new one if there is none, or if `rejected` is the current one.
    async fn token(
        &self,
        deadline: Instant,
        rejected: Option<Option<Arc<str>>>,
    ) -> Result<Option<Arc<str>>, EtcdError> {
        let Some(user) = &self.credentials.username else {
            return Ok(None);
        };
        let locking = timeout_at(deadline, self.token.lock());
        let mut current = locking.await.map_err(|_| self.timed_out())?;
        if current.is_some() && rejected.is_none_or(|rejected| rejected != *current) {
            return Ok(current.clone());
        }
        *current = self.authenticate(user, deadline).await?;
        Ok(current.clone())
    }

    async fn authenticate(
        &self,
        user: &str,
        deadline: Instant,
    ) -> Result<Option<Arc<str>>, EtcdError> {
        let password = self.password().await?;
        let body = json!({ "name": user, "password": *password });
        let body = Bytes::from(body.to_string());
        let path = "/v3/auth/authenticate";
        let mut first_error = None;
        for member in self.members_by_preference() {
            let reply: Result<AuthenticateReply, _> =
                self.send(member, path, &body, None, deadline).await;
            match reply {
                Ok(reply) => return Ok(Some(reply.token.into())),
                Err(EtcdError::AuthenticationDisabled) => return Ok(None),
                Err(error) if error.concerns_member() => {
                    first_error.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(first_error.unwrap_or(EtcdError::NotConnected(Reason::NotChecked)))
    }

    async fn password(&self) -> Result<Zeroizing<String>, EtcdError> {
        let credentials = self.credentials.clone();
        let reading = tokio::task::spawn_blocking(move || credentials.read_password());
        let password = match reading.await {
            Ok(Ok(password)) => password,
            Ok(Err(text)) => {
                return Err(EtcdError::NotConnected(Reason::UnusableCredentials {
                    text,
                }));
            }
            Err(_) => return Err(EtcdError::NotConnected(Reason::ShuttingDown)),
        };
        Ok(Zeroizing::new(password.unwrap_or_default()))
    }

    fn timed_out(&self) -> EtcdError {
        let timeout_ms = u64::try_from(self.command_timeout.as_millis()).unwrap_or(u64::MAX);
        EtcdError::NoReply(Reason::NoReply { timeout_ms })
    }
}

/// Whether a request can succeed with a new token: the old one has expired, or users were added
/// since the server needed none.
fn needs_new_token(error: &EtcdError) -> bool {
    matches!(
        error,
        EtcdError::TokenExpired | EtcdError::Unauthenticated(Reason::AuthenticationRequired)
    )
}

/// The fields of a range request.
pub fn range_fields(range: &KeyRange, order: Order, limit: usize) -> Value {
    let mut fields = range.to_json();
    fields["limit"] = limit.to_string().into();
    if order == Order::Created {
        fields["sort_target"] = "CREATE".into();
        fields["sort_order"] = "ASCEND".into();
    }
    fields
}

/// Bytes as the gateway expects them.
pub fn encode(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}
