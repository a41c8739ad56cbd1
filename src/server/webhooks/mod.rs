//! Webhooks: sends notifications of raised flags and completed operations, with retries, signed
//! or in the formats of Slack and PagerDuty. Delivery never delays operations.

mod delivery;
mod event;
mod flag_debouncer;
mod flag_monitor;
mod http_post;
mod notice;
mod payload;
mod signature;

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

pub use event::{EventActor, OperationEvent, WebhookEvent};
use http_post::DeliveryError;

use super::clock::Clock;
use super::config::WebhookConfig;
use super::index::Index;
use crate::domain::{OperationKind, Timestamp, WebhookAttempt, WebhookView};

/// Events queued per webhook; beyond that, the oldest is dropped. `broadcast::channel` rounds its
/// capacity up to a power of two.
const QUEUE_CAPACITY: usize = 1_024;

/// All configured webhooks. Cheap to clone.
#[derive(Clone)]
pub struct Webhooks {
    webhooks: Arc<[Arc<Webhook>]>,
    outcomes: IntCounterVec,
    queue_length: IntGaugeVec,
}

/// One webhook.
struct Webhook {
    config: WebhookConfig,
    /// A channel that never blocks senders and drops the oldest event when it is full. The mutex
    /// serialises senders, so that each dropped event is counted once.
    queue: Mutex<broadcast::Sender<WebhookEvent>>,
    /// Whether the event received last is still being delivered.
    is_delivering: AtomicBool,
    last_attempt: Mutex<Option<WebhookAttempt>>,
    outcomes: IntCounterVec,
}

impl Default for Webhooks {
    /// No webhooks.
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Webhooks {
    /// Creates the webhooks. Delivery begins with [`Webhooks::start`].
    pub fn new(configs: Vec<WebhookConfig>) -> Self {
        let outcomes = Opts::new(
            "lockkeeper_webhook_events_total",
            "Events by result: delivered, expired (max_age reached), dropped (queue full); and attempt-failed for each failed attempt.",
        );
        let queue_length = Opts::new(
            "lockkeeper_webhook_queue_length",
            "Events waiting for delivery, including the one being sent.",
        );
        let outcomes = IntCounterVec::new(outcomes, &["webhook", "result"])
            .expect("name and labels are valid constants");
        let queue_length = IntGaugeVec::new(queue_length, &["webhook"])
            .expect("name and labels are valid constants");
        let webhook = |config: WebhookConfig| {
            Arc::new(Webhook {
                queue: Mutex::new(broadcast::Sender::new(QUEUE_CAPACITY)),
                is_delivering: AtomicBool::new(false),
                last_attempt: Mutex::new(None),
                outcomes: outcomes.clone(),
                config,
            })
        };
        Self {
            webhooks: configs.into_iter().map(webhook).collect(),
            outcomes,
            queue_length,
        }
    }

    /// Monitors flags and delivers events until `stop` is cancelled. Queued events are discarded
    /// then.
    pub fn start(
        &self,
        index: &Index,
        clock: &Clock,
        stop: &CancellationToken,
        tasks: &TaskTracker,
    ) {
        for webhook in self.webhooks.iter() {
            let watching = flag_monitor::watch(Arc::clone(webhook), index.clone());
            let queue = webhook.queue.lock().subscribe();
            let delivering = delivery::deliver(Arc::clone(webhook), queue, clock.clone());
            let (stop_watching, stop_delivering) = (stop.clone(), stop.clone());
            tasks.spawn(async move { stop_watching.run_until_cancelled(watching).await });
            tasks.spawn(async move { stop_delivering.run_until_cancelled(delivering).await });
        }
    }

    /// Whether any webhook is subscribed to such operations.
    pub fn is_subscribed(&self, operation: OperationKind, group: &str) -> bool {
        self.webhooks
            .iter()
            .any(|webhook| webhook.is_subscribed_to(operation, group))
    }

    /// Queues an event for the webhooks subscribed to such operations. Never blocks.
    pub fn enqueue_operation(&self, operation: OperationKind, group: &str, event: &WebhookEvent) {
        for webhook in self
            .webhooks
            .iter()
            .filter(|webhook| webhook.is_subscribed_to(operation, group))
        {
            webhook.enqueue(event.clone());
        }
    }

    /// Queues an event for the webhooks subscribed to audit heads. Never blocks.
    pub fn enqueue_audit_head(&self, event: &WebhookEvent) {
        for webhook in self.audit_subscribers() {
            webhook.enqueue(event.clone());
        }
    }

    /// Delivers the last audit head during shutdown, when the queues are no longer processed: one
    /// attempt per webhook, of a few seconds.
    pub async fn deliver_final_audit_head(&self, event: &WebhookEvent) {
        let each = self.audit_subscribers();
        join_all(each.map(|webhook| delivery::deliver_once(webhook, event))).await;
    }

    /// The webhooks, in the order of the configuration.
    pub fn views(&self) -> Vec<WebhookView> {
        self.webhooks.iter().map(|webhook| webhook.view()).collect()
    }

    /// Sends a test event, past the queue and in one attempt. `None` if there is no webhook of this
    /// name.
    pub async fn send_test(&self, name: &str, now: Timestamp) -> Option<WebhookAttempt> {
        let mut webhooks = self.webhooks.iter();
        let webhook = webhooks.find(|webhook| webhook.config.name == name)?;
        let event = WebhookEvent::test(name, now);
        Some(delivery::deliver_test(webhook, &event).await)
    }

    fn audit_subscribers(&self) -> impl Iterator<Item = &Webhook> {
        let each = self.webhooks.iter().map(AsRef::as_ref);
        each.filter(|webhook: &&Webhook| webhook.config.audit_head)
    }
}

/// Delivery counters, and the queue lengths as of each scrape.
impl Collector for Webhooks {
    fn desc(&self) -> Vec<&Desc> {
        [self.outcomes.desc(), self.queue_length.desc()].concat()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        for webhook in self.webhooks.iter() {
            let queue_length = i64::try_from(webhook.queued()).unwrap_or(i64::MAX);
            let labels = [&*webhook.config.name];
            self.queue_length
                .with_label_values(&labels)
                .set(queue_length);
        }
        [self.outcomes.collect(), self.queue_length.collect()].concat()
    }
}

impl Webhook {
    fn is_subscribed_to(&self, operation: OperationKind, group: &str) -> bool {
        self.config.operations.contains(&operation) && self.covers_group(group)
    }

    fn covers_group(&self, group: &str) -> bool {
        let groups = self.config.groups.as_ref();
        groups.is_none_or(|groups| groups.iter().any(|name| name == group))
    }

    /// Queues an event. Never blocks.
    fn enqueue(&self, event: WebhookEvent) {
        let queue = self.queue.lock();
        if queue.len() == QUEUE_CAPACITY {
            self.count("dropped");
            tracing::warn!(webhook.name = %self.config.name, "webhook queue full; dropping the oldest event");
        }
        // There is no receiver during shutdown.
        let _stopped = queue.send(event);
    }

    /// The number of undelivered events, including the one being sent.
    fn queued(&self) -> usize {
        let is_delivering = self.is_delivering.load(Ordering::Relaxed);
        self.queue.lock().len() + usize::from(is_delivering)
    }

    fn view(&self) -> WebhookView {
        let config = &self.config;
        WebhookView {
            name: config.name.clone(),
            format: config.format,
            groups: config.groups.clone(),
            flags: config.flags.clone(),
            flag_delay_ms: u64::try_from(config.flag_delay.as_millis()).unwrap_or(u64::MAX),
            operations: config.operations.clone(),
            lost_locks: config.lost_locks,
            queue_length: u64::try_from(self.queued()).unwrap_or(u64::MAX),
            last_attempt: self.last_attempt.lock().clone(),
        }
    }

    /// Records the result of an attempt.
    fn record_attempt(&self, at: Timestamp, result: &Result<(), DeliveryError>) -> WebhookAttempt {
        let error = result.as_ref().err().map(ToString::to_string);
        let attempt = WebhookAttempt { at, error };
        *self.last_attempt.lock() = Some(attempt.clone());
        attempt
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
    use crate::server::config::{WebhookSecret, WebhookUrl};

    #[test]
    fn a_full_queue_drops_the_oldest_events_and_counts_each_once() {
        let url = WebhookUrl::parse("http://127.0.0.1:1/").unwrap();
        let secret = WebhookSecret::parse("0123456789abcdef").unwrap();
        let webhooks = Webhooks::new(vec![WebhookConfig::new("pager", url, secret)]);
        let webhook = &webhooks.webhooks[0];
        let mut queue = webhook.queue.lock().subscribe();
        let event = |n: usize| WebhookEvent::test(&n.to_string(), Timestamp::from_millis(0));
        let events: Vec<WebhookEvent> = (0..QUEUE_CAPACITY + 3).map(event).collect();
        for event in &events {
            webhook.enqueue(event.clone());
        }
        let families = webhooks.collect();
        let dropped = families[0].get_metric()[0].get_counter().get_value();
        let queue_length = families[1].get_metric()[0].get_gauge().get_value();
        assert_eq!((dropped, queue_length), (3.0, QUEUE_CAPACITY as f64));
        assert_eq!(queue.try_recv().unwrap_err(), TryRecvError::Lagged(3));
        assert_eq!(queue.try_recv().unwrap().id(), events[3].id());
        assert_eq!(webhook.queued(), QUEUE_CAPACITY - 1);
    }
}
