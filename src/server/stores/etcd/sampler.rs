//! Samples the leases whose renewal is due.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::{MissedTickBehavior, interval};

use super::Shared;
use super::client::LeaseId;
use super::leases::SampleResult;

/// How often due leases are collected.
const INTERVAL: Duration = Duration::from_millis(200);
/// The samples that are requested at the same time.
const CONCURRENCY: usize = 8;

/// Samples leases until the group is stopped.
pub async fn run(shared: Arc<Shared>) {
    let mut tick = interval(INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stop = shared.service.stop.clone();
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        let due = shared.leases.take_due(shared.service.clock.monotonic());
        let sampling = shared.sample_all(due, Origin::Schedule);
        if stop.run_until_cancelled(sampling).await.is_none() {
            return;
        }
    }
}

/// Why leases are sampled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A renewal is due.
    Schedule,
    /// A reading needs the deadline, and shows it.
    Reading,
}

impl Shared {
    /// Samples leases, and requests that the locks of those with news are read.
    pub async fn sample_all(&self, leases: Vec<LeaseId>, origin: Origin) {
        let samples: Vec<_> = leases
            .into_iter()
            .map(|lease| self.sample(lease, origin))
            .collect();
        futures::stream::iter(samples)
            .buffer_unordered(CONCURRENCY)
            .collect::<()>()
            .await;
    }

    /// If no member replies, the lease keeps its last sample.
    async fn sample(&self, lease: LeaseId, origin: Origin) {
        let requested_at = self.service.clock.monotonic();
        let finding = match self.client.time_to_live(lease).await {
            Ok(reply) => self.leases.record(lease, &reply, requested_at),
            Err(error) => {
                tracing::debug!(group = %self.service.config.name, %error, "lease not sampled");
                return;
            }
        };
        let keys = match (finding, origin) {
            (SampleResult::Changed(keys), _) | (SampleResult::First(keys), Origin::Schedule) => {
                keys
            }
            (SampleResult::First(_), Origin::Reading) | (SampleResult::Unchanged, _) => return,
        };
        for key in keys {
            self.service.record_change(&key);
        }
    }
}
