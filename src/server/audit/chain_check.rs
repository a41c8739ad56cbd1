//! Background verification of the hash chain: at startup, and when the audit page is opened.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::journal::Journal;
use super::{AuditLog, verify};
use crate::domain::{ChainCheck, ChainCheckResult};

/// How long a request waits for a running verification.
const CHECK_WAIT: Duration = Duration::from_millis(200);

impl AuditLog {
    /// The result of the last verification. Starts a new one in the background if it is due.
    pub async fn chain_check(&self) -> ChainCheck {
        let Some(journal) = self.journal() else {
            return ChainCheck::Unavailable;
        };
        if journal.check_schedule.try_begin() {
            let running = tokio::spawn(run_check(Arc::clone(journal)));
            // A small log is verified within this time. The result of a large one is available at
            // the next request.
            drop(timeout(CHECK_WAIT, running).await);
        }
        journal.check_schedule.result()
    }
}

async fn run_check(journal: Arc<Journal>) {
    let (began, at) = (Instant::now(), journal.clock.now());
    let check = match verify(&journal.storage, None).await {
        Ok(report) if report.first_seq.is_none() => Some(ChainCheck::Unavailable),
        Ok(report) => {
            let error_count = u32::try_from(report.findings.len()).unwrap_or(u32::MAX);
            if error_count > 0 {
                tracing::error!(
                    error_count,
                    "the audit log was modified; run `lockkeeper audit verify` for details"
                );
            }
            Some(ChainCheck::Done(ChainCheckResult {
                first_seq: report.first_seq.unwrap_or(0),
                last_seq: report.last_seq.unwrap_or(0),
                error_count,
                started_at: at,
            }))
        }
        Err(error) => {
            tracing::warn!("cannot verify the audit log: {error}");
            None
        }
    };
    journal.check_schedule.finish(check, began.elapsed());
}
