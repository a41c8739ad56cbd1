//! Verifying the chain, in the background: when the console starts and when somebody opens the audit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::journal::Journal;
use super::{Audit, verify};
use crate::domain::{ChainCheck, Checked};

/// How long somebody waits for what is under way.
const PATIENCE: Duration = Duration::from_millis(200);

impl Audit {
    /// What is known of the chain. Asking has it gone through in the background where that was not done lately.
    pub async fn chain_check(&self) -> ChainCheck {
        let Some(journal) = self.journal() else {
            return ChainCheck::NotHere;
        };
        if journal.checking.begin() {
            let going = tokio::spawn(go_through(Arc::clone(journal)));
            // A small audit is through at once. Whatever becomes of a large one is known next time.
            drop(timeout(PATIENCE, going).await);
        }
        journal.checking.known()
    }
}

async fn go_through(journal: Arc<Journal>) {
    let (began, at) = (Instant::now(), journal.clock.now());
    let came_to = match verify(&journal.storage, None).await {
        Ok(verified) if verified.first.is_none() => Some(ChainCheck::NotHere),
        Ok(verified) => {
            let flaws = u32::try_from(verified.findings.len()).unwrap_or(u32::MAX);
            if flaws > 0 {
                tracing::error!(
                    flaws,
                    "the audit is not as it was written: `lockkeeper audit verify` tells more"
                );
            }
            Some(ChainCheck::Done(Checked {
                first: verified.first.unwrap_or(0),
                last: verified.last.unwrap_or(0),
                flaws,
                at,
            }))
        }
        Err(why) => {
            tracing::warn!("the audit cannot be gone through: {why}");
            None
        }
    };
    journal.checking.end(came_to, began.elapsed());
}
