//! Runs a node's change feed: selects the best level that works, detects lost connections, and
//! restarts with a full resync.

use std::sync::Arc;
use std::time::Duration;

use redis::RedisError;
use tokio::time::{Instant, sleep, timeout};

use super::super::node::Node;
use super::super::node_error::NodeError;
use super::key_filter::KeyFilter;
use super::permission_probe::{is_permission_denied, missing_permission};
use super::session::FeedSession;
use super::{FeedState, prefixes};
use crate::domain::reason::Reason;
use crate::domain::{FeedLevel, MissingPermission};
use crate::server::config::ChangeDetection;
use crate::server::stores::FeedCoverage;

/// How often an idle connection is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The first and the maximum delay before reconnecting.
const RECONNECT_DELAYS: (Duration, Duration) =
    (Duration::from_millis(20), Duration::from_millis(500));

/// How often a server that rejected all feeds is tried again: permissions may have been granted.
const RETRY_MODE_INTERVAL: Duration = Duration::from_secs(15);

/// Keyspace notifications do not report FLUSHALL, so all keys are read again at this interval.
const KEYSPACE_RESYNC_INTERVAL: Duration = Duration::from_secs(30);

/// The mode of a running feed.
enum FeedMode {
    /// Client tracking with prefixes that cover all patterns.
    Prefixes(Vec<Vec<u8>>),
    /// Client tracking of every write.
    AllKeys,
    /// Keyspace notifications.
    KeyspaceNotifications,
    /// No feed is available, for this reason.
    Unavailable(Reason),
}

impl Node {
    /// Runs the feed forever.
    pub(in super::super) async fn run_feed(&self, filter: Arc<KeyFilter>, mode: ChangeDetection) {
        let mut delay = RECONNECT_DELAYS.0;
        loop {
            self.wait_until_up().await;
            let started = Instant::now();
            let error = self.run_feed_once(&filter, mode).await;
            tracing::debug!(node.name = %self.name(), reason = %error.reason, "change feed connection lost");
            let cause = Box::new(error.reason);
            self.set_polling(Reason::FeedConnection { cause }, None);
            // A connection that lasted was healthy, so the next attempt starts without backoff.
            if started.elapsed() > RECONNECT_DELAYS.1 {
                delay = RECONNECT_DELAYS.0;
            }
            sleep(delay.mul_f64(rand::random_range(0.5..1.0))).await;
            delay = (delay * 2).min(RECONNECT_DELAYS.1);
        }
    }

    /// Connects and receives notifications until an error occurs.
    async fn run_feed_once(&self, filter: &Arc<KeyFilter>, mode: ChangeDetection) -> NodeError {
        let mut session = match FeedSession::open(self, Arc::clone(filter)).await {
            Ok(session) => session,
            Err(error) => return error,
        };
        match self.listen(&mut session, filter, mode).await {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }

    async fn listen(
        &self,
        session: &mut FeedSession,
        filter: &Arc<KeyFilter>,
        mode: ChangeDetection,
    ) -> Result<std::convert::Infallible, NodeError> {
        // The connection that `session` replaces. It reports writes until `session` does.
        let mut replaced: Option<FeedSession> = None;
        loop {
            let mut missing_permissions = session.probe_permissions(&self.acl_user()).await?;
            if let Some(replaced) = &replaced {
                replaced.mark_replaced();
            }
            let feed_mode = self
                .start_best_mode(session, filter, mode, &mut missing_permissions)
                .await?;
            if let Some(replaced) = replaced.take() {
                replaced.finish().await?;
            }
            match feed_mode {
                FeedMode::Unavailable(reason) => {
                    self.set_polling(reason, Some(missing_permissions));
                    self.check_for(session, RETRY_MODE_INTERVAL).await?;
                }
                FeedMode::Prefixes(prefixes) => {
                    let prefixes = prefixes::to_texts(&prefixes);
                    self.set_level(
                        FeedLevel::Tracking,
                        Reason::TrackedPrefixes { prefixes },
                        FeedCoverage::Everything,
                        missing_permissions,
                    );
                    self.check_for(session, Duration::MAX).await?;
                }
                FeedMode::KeyspaceNotifications => {
                    self.set_level(
                        FeedLevel::Keyspace,
                        Reason::KeyspaceNotifications,
                        FeedCoverage::Everything,
                        missing_permissions,
                    );
                    loop {
                        self.check_for(session, KEYSPACE_RESYNC_INTERVAL).await?;
                        self.feed().record_gap(self.clock().monotonic());
                    }
                }
                FeedMode::AllKeys => {
                    self.set_level(
                        FeedLevel::Tracking,
                        Reason::EveryWrite,
                        FeedCoverage::Everything,
                        missing_permissions.clone(),
                    );
                    self.run_until_overloaded(session).await?;
                    self.run_with_learned_prefixes(session, filter, &mut missing_permissions)
                        .await?;
                    let next = FeedSession::open(self, Arc::clone(filter)).await?;
                    replaced = Some(std::mem::replace(session, next));
                }
            }
        }
    }

    /// Starts the best mode that the server supports.
    async fn start_best_mode(
        &self,
        session: &mut FeedSession,
        filter: &KeyFilter,
        mode: ChangeDetection,
        missing_permissions: &mut Vec<MissingPermission>,
    ) -> Result<FeedMode, NodeError> {
        let mut reason = Reason::PollingConfigured;
        if matches!(mode, ChangeDetection::Auto | ChangeDetection::Tracking) {
            let prefixes = prefixes::from_patterns(&filter.patterns());
            match self
                .start_tracking(
                    session,
                    prefixes.as_deref().unwrap_or_default(),
                    missing_permissions,
                )
                .await?
            {
                None => return Ok(prefixes.map_or(FeedMode::AllKeys, FeedMode::Prefixes)),
                Some(rejection) => reason = rejection,
            }
        }
        if matches!(mode, ChangeDetection::Auto | ChangeDetection::Keyspace) {
            match self
                .start_keyspace_events(session, missing_permissions)
                .await?
            {
                None => return Ok(FeedMode::KeyspaceNotifications),
                Some(rejection) if mode == ChangeDetection::Auto => {
                    reason = Reason::Both {
                        first: Box::new(reason),
                        second: Box::new(rejection),
                    }
                }
                Some(rejection) => reason = rejection,
            }
        }
        Ok(FeedMode::Unavailable(reason))
    }

    /// Starts client tracking. Returns `None` on success, else why the server rejected it.
    pub(super) async fn start_tracking(
        &self,
        session: &mut FeedSession,
        prefixes: &[Vec<u8>],
        missing_permissions: &mut Vec<MissingPermission>,
    ) -> Result<Option<Reason>, NodeError> {
        const IMPACT: &str = "immediate notification of changes";
        let subscribed = session.subscribe_to_invalidations().await?;
        if let Err(error) = subscribed {
            if is_permission_denied(&Err::<(), _>(error.clone())) {
                let channel = "&__redis__:invalidate";
                missing_permissions.push(missing_permission(
                    &self.acl_user(),
                    "subscribe",
                    channel,
                    IMPACT,
                ));
            }
            // By default the server limits the output buffers of subscribers, but not those of
            // other clients. Without a subscription, a slow reader would make the buffer grow
            // without bound.
            return Ok(Some(rejected("SUBSCRIBE", &error)));
        }
        match session.enable_tracking(prefixes).await? {
            Ok(()) => Ok(None),
            Err(error) => {
                if is_permission_denied(&Err::<(), _>(error.clone())) {
                    missing_permissions.push(missing_permission(
                        &self.acl_user(),
                        "client|tracking",
                        "",
                        IMPACT,
                    ));
                }
                Ok(Some(rejected("CLIENT TRACKING", &error)))
            }
        }
    }

    /// Subscribes to keyspace notifications. Returns `None` on success, else why they are not
    /// available.
    async fn start_keyspace_events(
        &self,
        session: &mut FeedSession,
        missing_permissions: &mut Vec<MissingPermission>,
    ) -> Result<Option<Reason>, NodeError> {
        let Some(flags) = session.keyspace_event_flags().await? else {
            return Ok(Some(Reason::NotificationSettingsUnknown));
        };
        if !covers_all_events(&flags) {
            return Ok(Some(Reason::NotificationsDisabled));
        }
        let subscribed = session
            .subscribe_to_keyspace_events(self.endpoint.database())
            .await?;
        Ok(subscribed.err().map(|error| {
            if is_permission_denied(&Err::<(), _>(error.clone())) {
                let impact = "immediate notification of changes";
                missing_permissions.push(missing_permission(
                    &self.acl_user(),
                    "psubscribe",
                    "allchannels",
                    impact,
                ));
            }
            rejected("PSUBSCRIBE", &error)
        }))
    }

    /// Checks the connection periodically for `duration`. Returns an error when it is lost.
    async fn check_for(
        &self,
        session: &mut FeedSession,
        duration: Duration,
    ) -> Result<(), NodeError> {
        let started = Instant::now();
        while started.elapsed() < duration {
            self.check_once(session).await?;
        }
        Ok(())
    }

    /// Waits a moment for the connection to be lost, then checks it.
    pub(super) async fn check_once(&self, session: &mut FeedSession) -> Result<(), NodeError> {
        match timeout(CHECK_INTERVAL, session.wait_until_lost()).await {
            Ok(()) => Err(NodeError::down(Reason::ConnectionClosed)),
            // Reads switched between node and replica; the feed must come from the server that is
            // read.
            Err(_) if !session.matches_read_source(self) => {
                Err(NodeError::down(Reason::ReplicaChanged))
            }
            Err(_) => session.ping().await,
        }
    }

    /// Records that changes are reported from now on, and requests a full resync for earlier ones.
    pub(super) fn set_level(
        &self,
        level: FeedLevel,
        reason: Reason,
        coverage: FeedCoverage,
        missing_permissions: Vec<MissingPermission>,
    ) {
        let now = self.clock().monotonic();
        let needs_prefixes = matches!(coverage, FeedCoverage::Prefixes(_));
        *self.feed().lock_state() = FeedState {
            level,
            reason: Some(reason),
            coverage,
            complete_since: now,
            missing_permissions,
            needs_prefixes,
        };
        self.feed().record_gap(now);
        self.feed().mark_settled();
    }

    /// Records that no feed is available, for this reason.
    fn set_polling(&self, reason: Reason, missing_permissions: Option<Vec<MissingPermission>>) {
        let mut state = self.feed().lock_state();
        state.level = FeedLevel::Poll;
        state.reason = Some(reason);
        state.coverage = FeedCoverage::Nothing;
        state.needs_prefixes = false;
        if let Some(missing_permissions) = missing_permissions {
            state.missing_permissions = missing_permissions;
        }
        drop(state);
        self.feed().mark_settled();
    }

    pub(in super::super) fn acl_user(&self) -> String {
        self.endpoint.acl_user()
    }
}

/// Whether these flags of `notify-keyspace-events` report every event of a lock's key.
fn covers_all_events(flags: &str) -> bool {
    let has = |flag| flags.contains(flag);
    has('K') && (has('A') || ['g', '$', 'x', 'h', 'z', 'l'].into_iter().all(has))
}

/// The reason if the server rejected this command.
fn rejected(command: &'static str, error: &RedisError) -> Reason {
    Reason::CommandRejected {
        command: command.into(),
        cause: Box::new(NodeError::from_redis(error).reason),
    }
}
