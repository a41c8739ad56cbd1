//! The change feed: one recursive watch per root. It reports each change at and below the root with
//! its path until the connection ends. What happens between two connections is not reported, so the
//! watches are set again and all locks are read again.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Zookeeper;
use super::client::{ClientError, ErrorCode, NodeEvent, NodeEventKind, SessionEvent, SessionState};
use super::contender::{Contender, is_kazoo_lease};
use super::errors::call_error;
use super::formats::{CURATOR_LEASES, CURATOR_LOCKS, KAZOO_QUEUE_SUFFIX};
use crate::domain::reason::Reason;
use crate::domain::{FeedLevel, LockKey};
use crate::server::clock::MonotonicTime;
use crate::server::stores::GroupFeedCoverage;

/// The pause before another attempt to set the watches.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The state of the feed.
#[derive(Default)]
pub struct Feed {
    state: Mutex<FeedState>,
    /// Notified when the connection changes.
    connection_changed: Notify,
}

#[derive(Default)]
struct FeedState {
    /// The number of connections and disconnections so far.
    epoch: u64,
    /// Since when every change is reported.
    complete_since: Option<MonotonicTime>,
    /// The server does not implement recursive watches.
    is_unsupported: bool,
}

impl Feed {
    /// Records a new connection or the loss of one: no watch is set any more.
    fn reset(&self) {
        let mut state = self.state.lock();
        state.epoch += 1;
        state.complete_since = None;
        drop(state);
        self.connection_changed.notify_one();
    }

    fn epoch(&self) -> u64 {
        self.state.lock().epoch
    }

    /// Records that the watches are set, unless the connection has changed meanwhile.
    fn complete(&self, epoch: u64, now: MonotonicTime) -> bool {
        let mut state = self.state.lock();
        let is_current = state.epoch == epoch;
        if is_current {
            state.complete_since = Some(now);
        }
        is_current
    }

    /// The keys whose changes are reported.
    pub fn coverage(&self) -> GroupFeedCoverage {
        GroupFeedCoverage::of_service(self.state.lock().complete_since)
    }

    /// Whether every change is reported.
    pub fn is_complete(&self) -> bool {
        self.state.lock().complete_since.is_some()
    }
}

impl Zookeeper {
    /// Processes an event of the session. Called by the task of the session, so it does not wait.
    pub(super) fn handle_event(&self, event: &SessionEvent) {
        match event {
            SessionEvent::Connected | SessionEvent::Disconnected => {
                self.feed.reset();
                self.report_feed();
            }
            SessionEvent::Expired => {}
            SessionEvent::Node(event) => {
                for path in affected_keys(event) {
                    self.service.record_companion_change(&LockKey::from(&*path));
                }
            }
        }
    }

    /// Sets the watches whenever a connection is established, until `stop` is cancelled or the
    /// group is stopped.
    pub(super) fn spawn_feed(self: &Arc<Self>, stop: CancellationToken) {
        let store = Arc::downgrade(self);
        let group_stop = self.service.stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = group_stop.cancelled() => {}
                () = keep_watching(store) => {}
            }
        });
    }

    /// Sets one watch per root. Returns when to try again, if that is needed.
    async fn set_watches(&self) -> Option<Duration> {
        // The next connection is also reported by an event, unless it comes before this loop.
        if !matches!(self.session.state(), SessionState::Connected(_)) {
            return Some(RETRY_INTERVAL);
        }
        let epoch = self.feed.epoch();
        for root in &self.config.roots {
            match self.session.watch_tree(root).await {
                Ok(()) => {}
                Err(ClientError::Server(ErrorCode::Unimplemented)) => {
                    self.feed.state.lock().is_unsupported = true;
                    let reason = Reason::text("recursive watches need ZooKeeper 3.6 or newer");
                    self.service
                        .servers
                        .set_feed(FeedLevel::Poll, Some(&reason));
                    return None;
                }
                Err(error) => {
                    let reason = call_error(&error).reason().clone();
                    self.service
                        .servers
                        .set_feed(FeedLevel::Poll, Some(&reason));
                    return Some(RETRY_INTERVAL);
                }
            }
        }
        if self.feed.complete(epoch, self.service.clock.monotonic()) {
            self.report_feed();
            // Changes before the watches were set were not reported.
            self.service.request_full_resync();
            self.rescan.notify_one();
            return None;
        }
        Some(Duration::ZERO)
    }

    fn report_feed(&self) {
        let (is_complete, is_unsupported) = {
            let state = self.feed.state.lock();
            (state.complete_since.is_some(), state.is_unsupported)
        };
        if is_complete {
            self.service.servers.set_feed(FeedLevel::Watch, None);
        } else if !is_unsupported {
            self.service.servers.set_feed(FeedLevel::Poll, None);
        }
    }
}

async fn keep_watching(store: Weak<Zookeeper>) {
    let mut retry = Some(Duration::ZERO);
    loop {
        let Some(store) = store.upgrade() else {
            return;
        };
        match retry {
            Some(pause) => tokio::select! {
                () = store.feed.connection_changed.notified() => {}
                () = store.service.clock.sleep(pause) => {}
            },
            None => store.feed.connection_changed.notified().await,
        }
        retry = store.set_watches().await;
    }
}

/// The keys of the locks that a change of a node may affect.
fn affected_keys(event: &NodeEvent) -> Vec<String> {
    let path = event.path.as_str();
    let Some((directory, name)) = path.rsplit_once('/') else {
        return Vec::new();
    };
    if directory.is_empty() && name.is_empty() {
        return Vec::new();
    }
    let is_contender = Contender::parse(name).is_some() || is_kazoo_lease(name);
    if !is_contender {
        // The directory itself, a lock without contenders, or something else.
        return match event.kind {
            NodeEventKind::Created | NodeEventKind::Deleted | NodeEventKind::DataChanged => {
                vec![path.to_owned()]
            }
            NodeEventKind::Other => Vec::new(),
        };
    }
    match directory.rsplit_once('/') {
        Some((semaphore, CURATOR_LEASES)) => vec![semaphore.to_owned()],
        Some((semaphore, CURATOR_LOCKS)) => vec![semaphore.to_owned(), directory.to_owned()],
        _ => match directory.strip_suffix(KAZOO_QUEUE_SUFFIX) {
            Some(semaphore) => vec![semaphore.to_owned(), directory.to_owned()],
            None => vec![directory.to_owned()],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_contender_affects_its_directory_and_the_semaphore_it_may_belong_to() {
        const CURATOR: &str = "_c_9facbb75-2934-4067-8a15-201f46511f17";
        const KAZOO: &str = "06e5f14164eb4e07afed0be23349ec04";
        for (path, expected) in [
            (
                format!("/locks/a/{CURATOR}-lock-0000000000"),
                &["/locks/a"][..],
            ),
            (format!("/sem/leases/{CURATOR}-lease-0000000000"), &["/sem"]),
            (
                format!("/sem/locks/{CURATOR}-lock-0000000000"),
                &["/sem", "/sem/locks"],
            ),
            (format!("/sem/{KAZOO}"), &["/sem"]),
            (
                format!("/sem-__lock__/{KAZOO}__lock__0000000000"),
                &["/sem", "/sem-__lock__"],
            ),
            ("/shedlock/report".to_owned(), &["/shedlock/report"]),
            ("/".to_owned(), &[]),
        ] {
            let event = NodeEvent {
                kind: NodeEventKind::Created,
                path: path.clone(),
            };
            assert_eq!(affected_keys(&event), expected, "{path}");
        }
    }
}
