//! Reports the head of the chain: hourly to the log and to webhooks, and to Prometheus at each
//! scrape.
//!
//! An attacker with access to the database can rebuild or truncate the chain, but not the heads
//! recorded in a log or by a webhook on another host. `lockkeeper audit verify --head` compares
//! with them.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::AuditLog;
use super::chain::ChainHead;
use crate::server::webhooks::{WebhookEvent, Webhooks};

/// How often the head is reported.
const REPORT_INTERVAL: Duration = Duration::from_hours(1);

impl AuditLog {
    /// The sequence number of the last entry that this process wrote or read: 0 for an empty log,
    /// `None` before the first read.
    pub fn head_sequence(&self) -> Option<u64> {
        Some(self.journal()?.head()?.seq)
    }

    /// Reports the head now and then every hour. Never returns.
    pub async fn report_heads(&self, webhooks: &Webhooks) {
        let mut reported = None;
        let mut hours = interval_at(Instant::now(), REPORT_INTERVAL);
        // After a suspend, one report is enough.
        hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            hours.tick().await;
            if let Some(event) = self.log_head(&mut reported).await {
                webhooks.enqueue_audit_head(&event);
            }
        }
    }

    /// Reports the head at shutdown, with one delivery attempt per webhook.
    pub async fn report_final_head(&self, webhooks: &Webhooks) {
        if let Some(event) = self.log_head(&mut None).await {
            webhooks.deliver_final_audit_head(&event).await;
        }
    }

    /// Logs the head unless it was reported already or the log is empty. Returns the event for
    /// webhooks.
    async fn log_head(&self, reported: &mut Option<ChainHead>) -> Option<WebhookEvent> {
        let journal = self.journal()?;
        let head = match journal.read_head().await {
            Ok(head) => head,
            Err(error) => {
                tracing::warn!("cannot read the head of the audit log: {error}");
                return None;
            }
        };
        // An unchanged head proves nothing new, and would repeat a log line every hour.
        if head == ChainHead::START || reported.as_ref() == Some(&head) {
            return None;
        }
        tracing::info!(
            audit = %journal.storage.url(),
            seq = head.seq,
            head = head.hash_hex(),
            "head of the audit log; `lockkeeper audit verify --head` detects later changes up to it"
        );
        let event = WebhookEvent::audit_head(head.seq, head.hash_hex(), journal.clock.now());
        *reported = Some(head);
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::OperationKind;
    use crate::server::audit::{AuditActor, AuditRequest};
    use crate::server::clock::Clock;
    use crate::server::config::{AuditConfig, StorageConfig};
    use crate::server::storage::Storage;

    #[tokio::test]
    async fn a_head_is_reported_once_until_an_entry_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let config = StorageConfig::sqlite(folder.path().join("lockkeeper.db"));
        let storage = Storage::new(&config, true);
        let audit = AuditLog::new(&AuditConfig::default(), storage, Clock::system());
        let mut reported = None;
        assert!(audit.log_head(&mut reported).await.is_none());
        assert_eq!(audit.head_sequence(), Some(0));
        for number in [2, 4] {
            let by = AuditActor {
                actor: "deploy",
                subject: None,
                auth_method: "token",
                address: None,
                request_id: None,
            };
            drop(
                audit
                    .begin(AuditRequest::new(OperationKind::Acquire, by))
                    .await
                    .unwrap(),
            );
            audit.flush().await;
            let event = audit.log_head(&mut reported).await.unwrap();
            let data = format!("\"seq\":{number},");
            assert!(event.body().contains(&data), "{}", event.body());
            assert!(audit.log_head(&mut reported).await.is_none());
            assert_eq!(audit.head_sequence(), Some(number));
        }
    }
}
