//! The head of the chain, told to the log and to webhooks from time to time.
//!
//! Whoever can write the storage can write another chain, and cut its end off, but not what a log or a webhook elsewhere has noted of it.
//! `lockkeeper audit verify --head` compares both.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::chain::Head;
use super::{Audit, entry};
use crate::server::storage::StorageError;
use crate::server::webhooks::{Event, Webhooks};

/// How often the head is told.
const EVERY: Duration = Duration::from_hours(1);

impl Audit {
    /// Number and hash of the entry that this program wrote last, as far as it is known without asking the storage.
    pub fn head(&self) -> Option<Head> {
        self.journal()?.head()
    }

    /// Tells the head now, and then every hour for as long as it is polled.
    pub async fn tell_heads(&self, webhooks: &Webhooks) {
        let mut told = None;
        self.tell_head(&mut told, Some(webhooks)).await;
        let mut hours = interval_at(Instant::now() + EVERY, EVERY);
        hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            hours.tick().await;
            self.tell_head(&mut told, Some(webhooks)).await;
        }
    }

    /// Tells the head when the console stops: to the log, for nobody waits for webhooks then.
    pub async fn tell_last_head(&self) {
        self.tell_head(&mut None, None).await;
    }

    /// Tells the head, unless it is the one that was told last, or nothing was written yet.
    async fn tell_head(&self, told: &mut Option<Head>, webhooks: Option<&Webhooks>) {
        let Some(journal) = self.journal() else {
            return;
        };
        let head = async {
            let mut db = journal.storage.read().await?;
            Ok::<_, StorageError>(entry::head(&mut db).await?)
        };
        match head.await {
            Ok(head) if head != Head::START && told.as_ref() != Some(&head) => {
                tracing::info!(
                    audit = %journal.storage.url(),
                    number = head.number,
                    head = head.digits(),
                    "the head of the audit's chain; `lockkeeper audit verify --head` finds whether anything up to it was changed or cut off"
                );
                if let Some(webhooks) = webhooks {
                    let event = Event::audit_head(head.number, head.digits(), journal.clock.now());
                    webhooks.tell_of_audit(&event);
                }
                *told = Some(head);
            }
            Ok(_) => {}
            Err(why) => tracing::warn!("the head of the audit's chain cannot be told: {why}"),
        }
    }
}
