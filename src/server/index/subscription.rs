//! A subscription to the index: a snapshot, then all changes or those of one view, as server-sent
//! events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::Index;
use super::event::{ChangeEvent, EventId};
use super::full_snapshot::FullSnapshot;
use super::subscriber_view::SubscriberView;
use crate::domain::{OperationError, VisibleGroups};

/// Interval of ping events. They let clients detect a dead connection and keep proxies from closing
/// an idle stream.
pub const PING_INTERVAL: Duration = Duration::from_secs(2);
/// Bytes handed to a connection at a time. Each connection copies what it sends, so a large
/// snapshot would otherwise be held in memory once per subscriber.
const MAX_CHUNK_BYTES: usize = 64 * 1024;
/// Subscribers are woken one after another with this delay between them: waking thousands at the
/// same moment would block all other tasks until the last of them was served.
const WAKE_STAGGER: Duration = Duration::from_micros(50);
/// Upper bound of a subscriber's wake-up delay.
const MAX_WAKE_STAGGER: Duration = Duration::from_secs(1);
/// Changes within this time are delivered in one batch to subscribers of all changes.
const COALESCE_INTERVAL: Duration = Duration::from_millis(5);

/// What a subscriber receives.
pub enum Topic {
    /// Every change.
    AllChanges {
        /// Limited to these groups.
        visible_groups: VisibleGroups,
        /// The last event that the client received; `None` for a new client.
        last_event_id: Option<EventId>,
    },
    /// Changes of one view.
    View(Arc<SubscriberView>),
}

/// Data to be sent, shared with other subscribers.
enum Outgoing {
    Change(Arc<ChangeEvent>),
    Events(Bytes),
    Snapshot(Arc<FullSnapshot>),
}

/// One subscriber and its position in the stream. It buffers at most one batch; later changes stay
/// in the ring of the stream, or are merged into one delta of the view.
pub struct Subscription {
    index: Index,
    topic: Topic,
    outgoing: VecDeque<Outgoing>,
    has_changes: bool,
    /// The earliest time of the next batch.
    not_before: Instant,
    latest_seq: watch::Receiver<u64>,
    ping: Interval,
    /// The build identifier that pings carry.
    build: &'static str,
    /// The wake-up delay of this subscriber.
    stagger: Duration,
}

impl Subscription {
    /// Starts a subscription with the current state. `rank` is the number of earlier subscribers;
    /// pings carry `build`.
    pub async fn start(
        index: Index,
        topic: Topic,
        rank: u32,
        build: &'static str,
    ) -> Result<Self, OperationError> {
        let mut ping = interval(PING_INTERVAL);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut subscription = Self {
            latest_seq: index.stream().latest(),
            index,
            topic,
            outgoing: VecDeque::new(),
            has_changes: false,
            not_before: Instant::now(),
            ping,
            build,
            stagger: (WAKE_STAGGER * rank).min(MAX_WAKE_STAGGER),
        };
        // Fetched before the first timer fires: the client must receive a snapshot before any ping.
        subscription.fetch_changes().await?;
        Ok(subscription)
    }

    /// The next events or a part of them, at the latest when the next ping is due; `None` when the
    /// index has stopped.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(outgoing) = self.outgoing.pop_front() {
                let mut events = match outgoing {
                    Outgoing::Change(event) => event.frame(),
                    Outgoing::Events(events) => events,
                    Outgoing::Snapshot(full) => full.frame(&self.index).await.ok()?,
                };
                if events.len() > MAX_CHUNK_BYTES {
                    let rest = events.split_off(MAX_CHUNK_BYTES);
                    // The chunks of one event must not be interleaved with other events.
                    self.outgoing.push_front(Outgoing::Events(rest));
                }
                return Some(events);
            }
            tokio::select! {
                biased;
                () = sleep_until(self.not_before), if self.has_changes => self.fetch_changes().await.ok()?,
                changed = self.latest_seq.changed(), if !self.has_changes => {
                    changed.ok()?;
                    self.has_changes = true;
                    self.not_before = self.not_before.max(Instant::now() + self.stagger);
                }
                _ = self.ping.tick() => {
                    let (now, build) = (self.index.now(), self.build);
                    let ping = format!("event: ping\ndata: {{\"now\":\"{now}\",\"build\":\"{build}\"}}\n\n");
                    return Some(ping.into());
                }
            }
        }
    }

    /// Fetches new changes into the outgoing queue.
    async fn fetch_changes(&mut self) -> Result<(), OperationError> {
        let latest_seq = *self.latest_seq.borrow_and_update();
        let stream = self.index.stream();
        match &mut self.topic {
            Topic::AllChanges {
                visible_groups: sight,
                last_event_id: place,
            } => {
                let events_since = place.and_then(|place| stream.changes_since(place, sight));
                let delivered_to = if let Some((delivered_to, events)) = events_since {
                    self.outgoing
                        .extend(events.into_iter().map(Outgoing::Change));
                    delivered_to
                } else {
                    let full = self.index.full_snapshot(sight);
                    let delivered_to = full.id();
                    self.outgoing.push_back(Outgoing::Snapshot(full));
                    delivered_to
                };
                *place = Some(delivered_to);
                self.has_changes = delivered_to.is_before(latest_seq);
                self.not_before = Instant::now() + COALESCE_INTERVAL;
            }
            Topic::View(subscriber) => {
                let snapshot = self.index.view(subscriber.view()).await?;
                let delta = snapshot.delta(subscriber, stream, self.index.now());
                *subscriber = Arc::clone(&delta.subscriber);
                self.not_before = Instant::from(delta.stale_at) + self.stagger;
                // The delta may be a cached one that is older than the newest change.
                self.has_changes = delta.id.is_before(latest_seq);
                self.outgoing.extend(delta.frame().map(Outgoing::Events));
            }
        }
        Ok(())
    }
}
