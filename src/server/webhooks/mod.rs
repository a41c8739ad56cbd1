//! Webhooks: tells others of flags that stand and of acts that have ended. Signed, tried again, and in nobody's way.

mod delivery;
mod event;
mod flags;
mod post;
mod queue;
mod sign;
mod standing;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use event::{Ended, Event};

use super::clock::Clock;
use super::config::WebhookConfig;
use super::index::Index;
use super::telemetry::{Counts, Page};
use crate::domain::ActKind;
use queue::Queue;

/// Everybody who is told. Cheap to clone.
#[derive(Clone, Default)]
pub struct Webhooks(Arc<[Arc<Webhook>]>);

/// One of them.
struct Webhook {
    config: WebhookConfig,
    queue: Queue,
    /// What came of its events: `delivered`, `given-up`, `dropped`; and `attempt-failed`.
    outcomes: Counts<&'static str>,
}

impl Webhooks {
    /// These; nobody is told before [`Webhooks::start`].
    pub fn new(configs: Vec<WebhookConfig>) -> Self {
        let webhook = |config| {
            Arc::new(Webhook {
                config,
                queue: Queue::default(),
                outcomes: Counts::default(),
            })
        };
        Self(configs.into_iter().map(webhook).collect())
    }

    /// Watches for flags and delivers events until `stop` is cancelled. What waits then is not told any more.
    pub fn start(
        &self,
        index: &Index,
        clock: &Clock,
        stop: &CancellationToken,
        tasks: &TaskTracker,
    ) {
        for webhook in self.0.iter() {
            let watching = flags::watch(Arc::clone(webhook), index.clone());
            let telling = delivery::deliver(Arc::clone(webhook), clock.clone());
            let (stop_watching, stop_telling) = (stop.clone(), stop.clone());
            tasks.spawn(async move { stop_watching.run_until_cancelled(watching).await });
            tasks.spawn(async move { stop_telling.run_until_cancelled(telling).await });
        }
    }

    /// Whether anybody wants to hear of such an act.
    pub fn hears_of(&self, act: ActKind, group: &str) -> bool {
        self.0.iter().any(|webhook| webhook.hears_of(act, group))
    }

    /// Tells those who want to hear of such an act. Never waits.
    pub fn tell_of(&self, act: ActKind, group: &str, event: &Event) {
        for webhook in self.0.iter().filter(|webhook| webhook.hears_of(act, group)) {
            webhook.tell(event.clone());
        }
    }

    /// Tells those who want to hear where the chain of the audit stands. Never waits.
    pub fn tell_of_audit(&self, event: &Event) {
        for webhook in self.0.iter().filter(|webhook| webhook.config.audit_head) {
            webhook.tell(event.clone());
        }
    }

    /// What came of their events, for Prometheus.
    pub fn write(&self, page: &mut Page) {
        let mut waiting = page.gauge(
            "lockkeeper_webhook_events_waiting",
            "Events that are still to be delivered, the one that is being tried included.",
        );
        for webhook in self.0.iter() {
            waiting.add(&[("webhook", &webhook.config.name)], webhook.queue.len());
        }
        let mut events = page.counter(
            "lockkeeper_webhook_events_total",
            "Events by what came of them: delivered, given-up, dropped because too many waited; and attempt-failed for each attempt.",
        );
        for webhook in self.0.iter() {
            for (outcome, n) in webhook.outcomes.each() {
                let labels = [
                    ("webhook", webhook.config.name.as_str()),
                    ("outcome", outcome),
                ];
                events.add(&labels, n);
            }
        }
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

    fn tell(&self, event: Event) {
        if self.queue.push(event).is_some() {
            self.outcomes.add("dropped");
            tracing::warn!(webhook.name = %self.config.name, "too many events wait to be told: the oldest is dropped");
        }
    }
}
