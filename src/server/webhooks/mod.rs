//! Webhooks: tells others of flags that stand and of acts that have ended. Signed, tried again, and in nobody's way.

mod delivery;
mod event;
mod flags;
mod post;
mod sign;
mod standing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use parking_lot::Mutex;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, IntGaugeVec, Opts};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use event::{By, Ended, Event};

use super::clock::Clock;
use super::config::WebhookConfig;
use super::index::Index;
use crate::domain::ActKind;

/// So many events wait for a webhook; then the oldest is dropped. A power of two, as the channel has it.
const QUEUE: usize = 1_024;

/// Everybody who is told. Cheap to clone.
#[derive(Clone)]
pub struct Webhooks {
    each: Arc<[Arc<Webhook>]>,
    outcomes: IntCounterVec,
    waiting: IntGaugeVec,
}

/// One of them.
struct Webhook {
    config: WebhookConfig,
    /// A channel that never lets a sender wait, and drops the oldest event where it is full. One sends at a time, so that each event
    /// that is dropped is counted once.
    queue: Mutex<broadcast::Sender<Event>>,
    /// The event that was received last is still to be delivered.
    is_delivering: AtomicBool,
    outcomes: IntCounterVec,
}

impl Default for Webhooks {
    /// No webhooks.
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Webhooks {
    /// These; nobody is told before [`Webhooks::start`].
    pub fn new(configs: Vec<WebhookConfig>) -> Self {
        let outcomes = Opts::new(
            "lockkeeper_webhook_events_total",
            "Events by what came of them: delivered, given-up, dropped because too many waited; and attempt-failed for each attempt.",
        );
        let waiting = Opts::new(
            "lockkeeper_webhook_events_waiting",
            "Events that are still to be delivered, the one that is being tried included.",
        );
        let outcomes = IntCounterVec::new(outcomes, &["webhook", "outcome"])
            .expect("name and labels are constants");
        let waiting =
            IntGaugeVec::new(waiting, &["webhook"]).expect("name and labels are constants");
        let webhook = |config: WebhookConfig| {
            Arc::new(Webhook {
                queue: Mutex::new(broadcast::Sender::new(QUEUE)),
                is_delivering: AtomicBool::new(false),
                outcomes: outcomes.clone(),
                config,
            })
        };
        Self {
            each: configs.into_iter().map(webhook).collect(),
            outcomes,
            waiting,
        }
    }

    /// Watches for flags and delivers events until `stop` is cancelled. What waits then is not told any more.
    pub fn start(
        &self,
        index: &Index,
        clock: &Clock,
        stop: &CancellationToken,
        tasks: &TaskTracker,
    ) {
        for webhook in self.each.iter() {
            let watching = flags::watch(Arc::clone(webhook), index.clone());
            let queue = webhook.queue.lock().subscribe();
            let telling = delivery::deliver(Arc::clone(webhook), queue, clock.clone());
            let (stop_watching, stop_telling) = (stop.clone(), stop.clone());
            tasks.spawn(async move { stop_watching.run_until_cancelled(watching).await });
            tasks.spawn(async move { stop_telling.run_until_cancelled(telling).await });
        }
    }

    /// Whether anybody wants to hear of such an act.
    pub fn hears_of(&self, act: ActKind, group: &str) -> bool {
        self.each.iter().any(|webhook| webhook.hears_of(act, group))
    }

    /// Tells those who want to hear of such an act. Never waits.
    pub fn tell_of(&self, act: ActKind, group: &str, event: &Event) {
        for webhook in self
            .each
            .iter()
            .filter(|webhook| webhook.hears_of(act, group))
        {
            webhook.tell(event.clone());
        }
    }

    /// Tells those who want to hear where the chain of the audit stands. Never waits.
    pub fn tell_of_audit(&self, event: &Event) {
        for webhook in self.interested_in_audit() {
            webhook.tell(event.clone());
        }
    }

    /// Tells the same when the console stops, when nothing is delivered from the queues any more: one attempt each, of a few seconds.
    pub async fn deliver_last_of_audit(&self, event: &Event) {
        let each = self.interested_in_audit();
        join_all(each.map(|webhook| delivery::deliver_once(webhook, event))).await;
    }

    fn interested_in_audit(&self) -> impl Iterator<Item = &Webhook> {
        let each = self.each.iter().map(AsRef::as_ref);
        each.filter(|webhook: &&Webhook| webhook.config.audit_head)
    }
}

/// What came of their events; how many wait is counted at each scrape.
impl Collector for Webhooks {
    fn desc(&self) -> Vec<&Desc> {
        [self.outcomes.desc(), self.waiting.desc()].concat()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        for webhook in self.each.iter() {
            let waiting = i64::try_from(webhook.waiting()).unwrap_or(i64::MAX);
            let labels = [&*webhook.config.name];
            self.waiting.with_label_values(&labels).set(waiting);
        }
        [self.outcomes.collect(), self.waiting.collect()].concat()
    }
}

impl Webhook {
    fn hears_of(&self, act: ActKind, group: &str) -> bool {
        self.config.acts.contains(&act) && self.is_about(group)
    }

    fn is_about(&self, group: &str) -> bool {
        let groups = self.config.groups.as_ref();
        groups.is_none_or(|groups| groups.iter().any(|name| name == group))
    }

    /// Has it told. Never waits.
    fn tell(&self, event: Event) {
        let queue = self.queue.lock();
        if queue.len() == QUEUE {
            self.count("dropped");
            tracing::warn!(webhook.name = %self.config.name, "too many events wait to be told: the oldest is dropped");
        }
        // Nobody listens once the console stops.
        let _stopped = queue.send(event);
    }

    /// How many events are still to be delivered, the one that is being tried included.
    fn waiting(&self) -> usize {
        let is_delivering = self.is_delivering.load(Ordering::Relaxed);
        self.queue.lock().len() + usize::from(is_delivering)
    }

    fn count(&self, outcome: &str) {
        let labels = [&*self.config.name, outcome];
        self.outcomes.with_label_values(&labels).inc();
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast::error::TryRecvError;

    use super::*;
    use crate::domain::Timestamp;
    use crate::server::config::{WebhookSecret, WebhookUrl};

    #[test]
    fn the_oldest_events_are_dropped_where_too_many_wait_and_each_is_counted_once() {
        let url = WebhookUrl::parse("http://127.0.0.1:1/").unwrap();
        let secret = WebhookSecret::parse("0123456789abcdef").unwrap();
        let webhooks = Webhooks::new(vec![WebhookConfig::new("pager", url, secret)]);
        let webhook = &webhooks.each[0];
        let mut queue = webhook.queue.lock().subscribe();
        let event = |n: usize| Event::new("test", Timestamp::from_millis(0), &n);
        let events: Vec<Event> = (0..QUEUE + 3).map(event).collect();
        for event in &events {
            webhook.tell(event.clone());
        }
        let families = webhooks.collect();
        let dropped = families[0].get_metric()[0].get_counter().get_value();
        let waiting = families[1].get_metric()[0].get_gauge().get_value();
        assert_eq!((dropped, waiting), (3.0, QUEUE as f64));
        assert_eq!(queue.try_recv().unwrap_err(), TryRecvError::Lagged(3));
        assert_eq!(queue.try_recv().unwrap().id(), events[3].id());
        assert_eq!(webhook.waiting(), QUEUE - 1);
    }
}
