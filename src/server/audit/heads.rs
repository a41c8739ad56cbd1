//! The head of the chain, told to the log and to webhooks from time to time, and to Prometheus at each scrape.
//!
//! Whoever can write the storage can write another chain, and cut its end off, but not what a log or a webhook elsewhere has noted of it.
//! `lockkeeper audit verify --head` compares both.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::Audit;
use super::chain::Head;
use crate::server::webhooks::{Event, Webhooks};

/// How often the head is told.
const EVERY: Duration = Duration::from_hours(1);

impl Audit {
    /// The sequence number of the last entry, as this program wrote or read it last: 0 before the first, nothing where it was neither.
    pub fn head_sequence(&self) -> Option<u64> {
        Some(self.journal()?.head()?.number)
    }

    /// Tells the head now, and then every hour for as long as it is polled.
    pub async fn tell_heads(&self, webhooks: &Webhooks) {
        let mut told = None;
        let mut hours = interval_at(Instant::now(), EVERY);
        hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            hours.tick().await;
            if let Some(event) = self.report_head(&mut told).await {
                webhooks.tell_of_audit(&event);
            }
        }
    }

    /// Tells the head when the console stops. Each webhook gets one attempt.
    pub async fn tell_last_head(&self, webhooks: &Webhooks) {
        if let Some(event) = self.report_head(&mut None).await {
            webhooks.deliver_last_of_audit(&event).await;
        }
    }

    /// Logs the head, unless it is the one that was reported last, or nothing was written yet; the event for webhooks.
    async fn report_head(&self, reported: &mut Option<Head>) -> Option<Event> {
        let journal = self.journal()?;
        let head = match journal.read_head().await {
            Ok(head) => head,
            Err(why) => {
                tracing::warn!("the head of the audit's chain cannot be told: {why}");
                return None;
            }
        };
        if head == Head::START || reported.as_ref() == Some(&head) {
            return None;
        }
        tracing::info!(
            audit = %journal.storage.url(),
            number = head.number,
            head = head.digits(),
            "the head of the audit's chain; `lockkeeper audit verify --head` finds whether anything up to it was changed or cut off"
        );
        let event = Event::audit_head(head.number, head.digits(), journal.clock.now());
        *reported = Some(head);
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ActKind;
    use crate::server::audit::{Asked, By};
    use crate::server::clock::Clock;
    use crate::server::config::{AuditConfig, StorageConfig};
    use crate::server::storage::Storage;

    #[tokio::test]
    async fn a_head_is_reported_once_until_something_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let config = StorageConfig::file(folder.path().join("lockkeeper.db"));
        let storage = Storage::new(&config, true);
        let audit = Audit::new(&AuditConfig::default(), storage, Clock::real());
        let mut reported = None;
        assert!(audit.report_head(&mut reported).await.is_none());
        assert_eq!(audit.head_sequence(), Some(0));
        for number in [2, 4] {
            let by = By {
                who: "deploy",
                subject: None,
                via: "token",
                address: None,
                request: None,
            };
            drop(audit.begin(Asked::new(ActKind::Acquire, by)).await.unwrap());
            audit.settle().await;
            let event = audit.report_head(&mut reported).await.unwrap();
            let data = format!("\"number\":{number},");
            assert!(event.body().contains(&data), "{}", event.body());
            assert!(audit.report_head(&mut reported).await.is_none());
            assert_eq!(audit.head_sequence(), Some(number));
        }
    }
}
