//! Searching the stream, the latest act first, page by page and for so long as there is time.

use std::time::Instant;

use super::Ledger;
use crate::domain::AuditPage;
use crate::server::audit::search::{LONGEST, Search, Sieve};
use crate::server::audit::{chain, runs};
use crate::server::shared::Gone;

impl Ledger {
    /// One page of what is looked for.
    pub async fn search(&self, search: &Search, before: Option<u64>) -> Result<AuditPage, Gone> {
        let living = self.living().await?;
        let open = self.queue().open.clone();
        let is_ours = |id: &str| {
            runs::parts(id).is_some_and(|(run, act)| run == self.run && open.contains(&act))
        };
        let is_going_on = |id: &str| {
            let lives = |run: &str| run != self.run && living.contains(run);
            is_ours(id) || runs::parts(id).is_some_and(|(run, _)| lives(run))
        };
        let mut sieve = Sieve::new(search, before.is_none());
        let (mut lowest, stop_at) = (before, Instant::now() + LONGEST);
        let (mut is_cut, mut is_all) = (false, false);
        'pages: loop {
            let lines = self.shared.lines_before(lowest).await?;
            if lines.is_empty() {
                is_all = true;
                break;
            }
            for (number, line) in lines {
                lowest = Some(number);
                if let Some((is_end, id)) = chain::front(&line) {
                    sieve.read(&line, is_end, id, &is_ours, &is_going_on);
                }
                if sieve.is_full() {
                    break 'pages;
                }
            }
            if Instant::now() > stop_at {
                is_cut = true;
                break;
            }
        }
        let cursor = lowest.map(|number| number.to_string());
        Ok(AuditPage {
            acts: sieve.found,
            next_cursor: cursor.filter(|_| !is_all),
            is_cut,
            read_at: self.clock.now(),
        })
    }
}
