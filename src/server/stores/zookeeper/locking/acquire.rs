//! Acquires a lock: creates the node of a contender in a session of its own, and waits for its turn.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::contending::{OwnNode, create_node, predecessor};
use super::{Failure, Zookeeper};
use crate::domain::{Format, NodeOutcome, quorum};
use crate::server::stores::zookeeper::client::{
    ClientError, Connected, ErrorCode, Session, SessionState,
};
use crate::server::stores::zookeeper::contender::Contender;
use crate::server::stores::zookeeper::formats::{self, Queue};
use crate::server::stores::zookeeper::hold_token::{HoldToken, node_prefix};
use crate::server::stores::zookeeper::key_reader::join;
use crate::server::stores::{AcquireOutcome, AcquireResult, HoldRequest};

/// The longest data of a node that the console writes, in bytes.
const MAX_LABEL_BYTES: usize = 200;
/// The pause before a request is repeated whose connection was lost.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

impl Zookeeper {
    /// Acquires the lock, within `wait` if it is held.
    pub(in super::super) async fn acquire_lock(
        &self,
        request: &HoldRequest,
        wait: Duration,
        cancellation: CancellationToken,
    ) -> AcquireOutcome {
        let deadline = self.service.clock.instant() + wait;
        match self.try_acquire(request, deadline, &cancellation).await {
            Ok((hold, validity)) => AcquireOutcome {
                nodes: self.node_result(NodeOutcome::Acquired),
                result: AcquireResult::Acquired(validity),
                completed_at: self.service.clock.instant(),
                fence: self
                    .service
                    .config
                    .locking
                    .fencing
                    .then_some(hold.czxid.cast_unsigned()),
                token: hold.append_to(&request.token),
            },
            Err(failure) => self.failed_acquire(&request.key, failure).await,
        }
    }

    async fn try_acquire(
        &self,
        request: &HoldRequest,
        deadline: Instant,
        cancellation: &CancellationToken,
    ) -> Result<(HoldToken, Duration), Failure> {
        let directory = self.lock_directory(&request.key)?;
        let is_held = self.check_contenders(&directory).await?;
        // An attempt that does not wait leaves no node behind that others would have to wait for.
        if is_held && deadline <= self.service.clock.instant() {
            return Err(Failure::Held);
        }
        let changed = Arc::new(Notify::new());
        let session = self.lock_session(request.ttl, None, Some(Arc::clone(&changed)));
        let label = request.token.label().as_bytes();
        let label = &label[..label.len().min(MAX_LABEL_BYTES)];
        let prefix = node_prefix(&request.token);
        let contending = async {
            let node = create_node(&session, &directory, &prefix, label).await?;
            self.wait_for_turn(&session, &directory, &node, &changed, deadline)
                .await?;
            Ok(node)
        };
        let contending = async {
            tokio::select! {
                biased;
                () = cancellation.cancelled() => Err(Failure::Cancelled),
                () = self.service.closing.cancelled() => Err(Failure::Cancelled),
                result = contending => result,
            }
        };
        let granted = match contending.await {
            Ok(node) => self.grant(&session, &node, request),
            Err(failure) => Err(failure),
        };
        match &granted {
            Ok(_) => session.detach(),
            // Closing the session deletes the node.
            Err(_) => {
                self.service.cleanup_tasks.spawn(session.clone().close());
            }
        }
        granted
    }

    /// The hold of a node whose turn it is, with its validity.
    fn grant(
        &self,
        session: &Session,
        node: &OwnNode,
        request: &HoldRequest,
    ) -> Result<(HoldToken, Duration), Failure> {
        let SessionState::Connected(connected) = session.state() else {
            return Err(Failure::Call(ClientError::ConnectionLost));
        };
        let timeout = connected.session_timeout;
        if timeout < request.ttl {
            return Err(Failure::TtlTooLong(timeout));
        }
        let validity = self.validity(&connected).ok_or(Failure::Lost)?;
        let sequence = Contender::parse(&node.name).ok_or(Failure::Lost)?.sequence;
        let hold = HoldToken {
            credentials: session.credentials(),
            czxid: node.stat.czxid,
            timeout_ms: u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX),
            sequence,
            owner: formats::owner_bytes(&node.path, node.stat.czxid).fingerprint(),
        };
        Ok((hold, validity))
    }

    /// How long the session lasts at least, counted from the last request that has a reply.
    pub(super) fn validity(&self, connected: &Connected) -> Option<Duration> {
        let elapsed = self.service.clock.instant() - connected.confirmed_at;
        let drift = self.service.config.locking.drift;
        quorum::validity(connected.session_timeout, elapsed, drift)
    }

    /// Waits until no contender is before the node, at most until the deadline.
    async fn wait_for_turn(
        &self,
        session: &Session,
        directory: &str,
        node: &OwnNode,
        changed: &Notify,
        deadline: Instant,
    ) -> Result<(), Failure> {
        loop {
            let predecessor = match session.children(directory).await {
                Ok((names, _)) => predecessor(&names, &node.name)?,
                Err(error) => {
                    self.retry_or_fail(error, deadline).await?;
                    continue;
                }
            };
            let Some(predecessor) = predecessor else {
                return Ok(());
            };
            if deadline <= self.service.clock.instant() {
                return Err(Failure::Held);
            }
            match session.watch_existing(&join(directory, &predecessor)).await {
                Ok(()) => {}
                Err(ClientError::Server(ErrorCode::NoNode)) => continue,
                Err(error) => {
                    self.retry_or_fail(error, deadline).await?;
                    continue;
                }
            }
            let waiting = async {
                tokio::select! {
                    () = changed.notified() => {}
                    () = session.wait_until_ended() => {}
                }
            };
            // At the deadline, the queue is read once more.
            let _timed_out = self.service.clock.timeout_at(deadline, waiting).await;
        }
    }

    /// Returns if a request can be repeated: the session may continue on another server.
    async fn retry_or_fail(&self, error: ClientError, deadline: Instant) -> Result<(), Failure> {
        match error {
            ClientError::ConnectionLost
            | ClientError::Timeout(_)
            | ClientError::NotConnected(_)
                if self.service.clock.instant() < deadline =>
            {
                self.service.clock.sleep(RETRY_PAUSE).await;
                Ok(())
            }
            ClientError::SessionExpired => Err(Failure::Lost),
            error => Err(Failure::Call(error)),
        }
    }

    /// Whether the directory has contenders. Fails if they are of a library whose locks those of
    /// Curator do not exclude.
    async fn check_contenders(&self, directory: &str) -> Result<bool, Failure> {
        let names = match self.session.children(directory).await {
            Ok((names, _)) => names,
            Err(ClientError::Server(ErrorCode::NoNode)) => return Ok(false),
            Err(error) => return Err(Failure::Call(error)),
        };
        match Queue::of(&names) {
            None => Ok(false),
            Some(queue) => match queue.format {
                Format::Curator | Format::GoZk => Ok(true),
                format => Err(Failure::WrongType(format!(
                    "{directory} has contenders of {format}, which locks of Curator do not exclude"
                ))),
            },
        }
    }
}
