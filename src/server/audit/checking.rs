//! Going through the chain, when the console starts and for whoever looks at the audit: in the background, at most a fiftieth of the
//! time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::journal::Journal;
use super::{Audit, verify};
use crate::domain::{ChainCheck, Checked};

/// After it took so long, it is done again only after this many times as long.
const REST: u32 = 50;
/// Nor sooner than this.
const SHORTEST_REST: Duration = Duration::from_secs(5);
/// How long somebody waits for what is under way.
const PATIENCE: Duration = Duration::from_millis(200);

/// What is known of the chain.
#[derive(Default)]
pub struct Checking(Mutex<State>);

#[derive(Default)]
struct State {
    is_under_way: bool,
    known: Option<ChainCheck>,
    again_at: Option<Instant>,
}

impl Checking {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of it is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is to be done now; then nobody else does it.
    fn begin(&self) -> bool {
        let mut state = self.state();
        let is_due = state.again_at.is_none_or(|at| Instant::now() >= at);
        let begins = is_due && !state.is_under_way;
        state.is_under_way |= begins;
        begins
    }

    fn end(&self, came_to: ChainCheck, took: Duration) {
        let mut state = self.state();
        state.is_under_way = false;
        state.known = Some(came_to);
        // An audit without entries costs nothing to go through, and gets its first ones soon after the start.
        let has_entries = state.known != Some(ChainCheck::NotHere);
        state.again_at = has_entries.then(|| Instant::now() + SHORTEST_REST.max(took * REST));
    }

    fn known(&self) -> ChainCheck {
        self.state().known.clone().unwrap_or(ChainCheck::UnderWay)
    }
}

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
        Ok(verified) if verified.first.is_none() => ChainCheck::NotHere,
        Ok(verified) => {
            let flaws = u32::try_from(verified.findings.len()).unwrap_or(u32::MAX);
            if flaws > 0 {
                tracing::error!(
                    flaws,
                    "the audit is not as it was written: `lockkeeper audit verify` tells more"
                );
            }
            ChainCheck::Done(Checked {
                first: verified.first.unwrap_or(0),
                last: verified.last.unwrap_or(0),
                flaws,
                at,
            })
        }
        Err(why) => {
            tracing::warn!("the audit cannot be gone through: {why}");
            ChainCheck::NotHere
        }
    };
    journal.checking.end(came_to, began.elapsed());
}
