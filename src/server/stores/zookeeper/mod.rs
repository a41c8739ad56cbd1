//! Locks in ZooKeeper.
//!
//! The console has one session per group. `client` is the protocol; `scan` walks the tree below the
//! roots and finds the names of locks; `feed` watches the roots; `key_reader` reads one lock, and
//! `rounds` reads many of them in few round trips; `contender` and `formats` recognise libraries and
//! owners, without I/O; `servers` asks each server for its role and, where that is permitted, about
//! the sessions of other clients. `locking` acquires as Curator does, with one session per hold, and
//! `hold_token` is the token of such a hold.

mod admin_server;
pub mod client;
mod contender;
mod errors;
mod feed;
mod force_release;
mod formats;
mod four_letter_words;
mod hold_token;
mod key_reader;
mod locking;
mod products;
mod reading;
mod rounds;
mod scan;
mod servers;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use super::reading::NodeQueues;
use super::redis::locking::renewal::RenewableStore;
use super::server_states::ServerStates;
use super::service::Service;
use super::{
    AcquireOutcome, ForceRefusal, ForceReleaseOutcome, ForceTarget, GroupFeedCoverage, HoldRequest,
    HoldStatus, LockNames, LockReading, ReadCause, ScanEvent, Token,
};
use crate::domain::operation_error::InvalidValue;
use crate::domain::raw::RawNode;
use crate::domain::{Fingerprint, Format, LockKey, NodeResult};
use crate::server::clock::Clock;
use crate::server::config::{FormatOverride, GroupConfig, ServiceCredentials, ZookeeperConfig};
use admin_server::AdminServers;
use client::{Server, Session, SessionOptions, SessionState, TlsFiles};
use feed::Feed;
use hold_token::HoldToken;
use sessions::SessionReport;

/// The timeout of the session with which the console observes. The servers grant their maximum
/// instead, which is the longest lease of a lock. The session has no ephemeral nodes, and a server
/// that does not reply is replaced by another one long before.
const SESSION_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// A group whose locks are in ZooKeeper.
pub struct Zookeeper {
    service: Service,
    config: ZookeeperConfig,
    servers: Vec<Server>,
    session: Session,
    feed: Feed,
    /// Notified when locks may have been missed.
    rescan: Notify,
    session_report: Mutex<Arc<SessionReport>>,
    admin: Option<AdminServers>,
}

impl Zookeeper {
    /// The states of the servers of this configuration, before the first contact.
    pub fn server_states(config: &ZookeeperConfig) -> ServerStates {
        ServerStates::new("zookeeper", config.servers.iter().cloned())
    }

    /// Connects to the servers. The connections are open until the group is stopped.
    pub fn start(service: Service, config: ZookeeperConfig) -> Arc<Self> {
        let servers = servers(&config);
        let store = Arc::new_cyclic(|store: &std::sync::Weak<Self>| {
            let store = store.clone();
            let session = Session::start(SessionOptions {
                servers: servers.clone(),
                credentials: digest(config.credentials.clone()),
                connect_timeout: service.config.connect_timeout,
                request_timeout: service.config.command_timeout,
                session_timeout: SESSION_TIMEOUT,
                renews_expired_session: true,
                continued_session: None,
                on_event: Box::new(move |event| {
                    if let Some(store) = store.upgrade() {
                        store.handle_event(&event);
                    }
                }),
            });
            let timeout = service.config.connect_timeout;
            let admin = config.admin_port;
            let admin = admin.map(|port| AdminServers::new(port, timeout));
            Self {
                service,
                config,
                servers,
                session,
                feed: Feed::default(),
                rescan: Notify::new(),
                session_report: Mutex::default(),
                admin,
            }
        });
        store.spawn_checks();
        store
    }

    /// What all services have in common.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// What the servers last reported about sessions.
    fn sessions(&self) -> Arc<SessionReport> {
        Arc::clone(&self.session_report.lock())
    }

    /// Whether locks with this name are shown.
    fn is_searched(&self, key: &LockKey) -> bool {
        let excluded = self.service.prefixes.excluded();
        let mut patterns = self.service.config.key_patterns();
        patterns.excluded_prefixes = Some(&excluded);
        let name = key.as_bytes();
        let is_outside = patterns.keys_are_explicit && !patterns.matches_keys(name);
        !is_outside && !patterns.is_excluded(name)
    }

    /// Searches for locks repeatedly until `stop` is cancelled.
    pub async fn scan(
        self: Arc<Self>,
        events: mpsc::Sender<ScanEvent>,
        names: Arc<LockNames>,
        stop: CancellationToken,
    ) {
        self.run_scan(events, names, stop).await;
    }

    /// Watches for changes until `stop` is cancelled or the group is stopped.
    pub fn start_feeds(self: &Arc<Self>, _names: Arc<LockNames>, stop: CancellationToken) {
        self.spawn_feed(stop);
    }

    /// The keys whose changes are reported. Other keys must be polled.
    pub fn feed_coverage(&self) -> GroupFeedCoverage {
        self.feed.coverage()
    }

    /// Reads some locks.
    pub async fn read_locks(
        &self,
        keys: &[LockKey],
        _cause: ReadCause<'_>,
        _inferred_formats: &[FormatOverride],
    ) -> LockReading {
        self.read_all_locks(keys).await
    }

    /// What is stored under a key, without secret parts.
    pub async fn read_raw(&self, key: &LockKey) -> Vec<RawNode> {
        self.read_raw_key(key).await
    }

    /// Whether waiters for locks of this format are known.
    pub fn has_queue(&self, format: Format) -> bool {
        !matches!(format, Format::ShedLock | Format::EphemeralNode)
    }

    /// Reads the wait queues of some locks.
    pub async fn read_queues(&self, keys: &[LockKey]) -> Vec<NodeQueues> {
        self.read_all_queues(keys).await
    }

    /// Why this token cannot be used for an acquire. The token of a hold belongs to its session, so
    /// it is not used again.
    pub fn invalid_token_reason(&self, _format: Format, _token: &Token) -> Option<InvalidValue> {
        Some(InvalidValue::GeneratedTokenOnly)
    }

    /// Generates the token of a request. The acquire adds what identifies the hold.
    pub fn generate_token(&self, _format: Format, label: &str) -> Token {
        Token::generate(label)
    }

    /// The format that the form of a token suggests.
    pub fn format_of_token(&self, _token: &Token) -> Format {
        Format::Curator
    }

    /// Identifies a hold within this process.
    pub fn hold_id(&self, token: &Token) -> Fingerprint {
        hold_token::hold_id(token)
    }

    /// The fingerprint with which the owner of this token is shown.
    pub fn owner_fingerprint(&self, token: &Token) -> Fingerprint {
        HoldToken::parse(token).map_or_else(|| token.fingerprint(), |hold| hold.owner)
    }

    /// The shortest TTL that can work, given the round trips. Servers grant longer sessions anyway.
    pub fn min_ttl(&self) -> Option<Duration> {
        None
    }

    /// The longest TTL: the longest session that the servers grant. `None` until it is known.
    pub fn max_ttl(&self) -> Option<Duration> {
        match self.session.state() {
            SessionState::Connected(connected) => Some(connected.session_timeout),
            SessionState::Connecting | SessionState::Disconnected(_) | SessionState::Ended(_) => {
                None
            }
        }
    }

    /// Makes one attempt to acquire a lock.
    pub async fn acquire_once(&self, request: &HoldRequest) -> AcquireOutcome {
        self.acquire_lock(request, Duration::ZERO, CancellationToken::new())
            .await
    }

    /// Acquires a lock as soon as it is available, until `wait` is over or `cancellation` is
    /// cancelled.
    pub async fn acquire_within(
        &self,
        request: &HoldRequest,
        wait: Duration,
        cancellation: CancellationToken,
    ) -> AcquireOutcome {
        self.acquire_lock(request, wait, cancellation).await
    }

    /// Extends the lease where the token owns the lock.
    pub async fn extend(&self, key: &LockKey, token: &Token, ttl: Duration) -> AcquireOutcome {
        self.extend_lock(key, token, ttl).await
    }

    /// Releases the lock where the token owns it.
    pub async fn release(&self, key: &LockKey, token: &Token) -> Vec<NodeResult> {
        self.release_lock(key, token).await
    }

    /// Whether the token still holds the lock.
    pub async fn check_hold(&self, key: &LockKey, token: &Token) -> HoldStatus {
        self.check_held(key, token).await
    }

    /// Releases exactly the hold that an operator saw.
    pub async fn force_release(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        self.release_hold(target).await
    }

    /// Returns what [`Self::force_release`] would do, without changing anything.
    pub async fn dry_run_force_release(
        &self,
        target: ForceTarget<'_>,
    ) -> Result<ForceReleaseOutcome, ForceRefusal> {
        self.dry_run_release(target).await
    }
}

impl RenewableStore for Zookeeper {
    fn config(&self) -> &GroupConfig {
        &self.service.config
    }

    fn clock(&self) -> &Clock {
        &self.service.clock
    }

    fn stop(&self) -> &CancellationToken {
        &self.service.stop
    }

    fn format_of_token(&self, token: &Token) -> Format {
        Self::format_of_token(self, token)
    }

    fn owner_fingerprint(&self, token: &Token) -> Fingerprint {
        Self::owner_fingerprint(self, token)
    }

    async fn extend(&self, key: &LockKey, token: &Token, ttl: Duration) -> AcquireOutcome {
        Self::extend(self, key, token, ttl).await
    }
}

/// The servers of the configuration.
fn servers(config: &ZookeeperConfig) -> Vec<Server> {
    let tls = config.tls.then(|| TlsFiles {
        ca: config.credentials.files.ca.clone(),
        identity: config.credentials.files.identity.clone(),
    });
    let server = |address: &String| {
        let (host, port) = address
            .rsplit_once(':')
            .expect("the configuration has host and port");
        Server {
            name: address.clone(),
            host: host
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned(),
            port: port.parse().expect("the configuration has a port"),
            tls: tls.clone(),
        }
    };
    config.servers.iter().map(server).collect()
}

/// What is sent to each server for the scheme `digest`.
fn digest(
    credentials: ServiceCredentials,
) -> Box<dyn Fn() -> Result<Option<Zeroizing<String>>, String> + Send> {
    Box::new(move || {
        let Some(username) = &credentials.username else {
            return Ok(None);
        };
        let password = Zeroizing::new(credentials.read_password()?.unwrap_or_default());
        Ok(Some(Zeroizing::new(format!("{username}:{}", *password))))
    })
}
