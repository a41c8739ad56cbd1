//! Pure: what is known of the chain, and when it is due to be verified again: at most a fiftieth of the time.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::domain::ChainCheck;

/// After it took so long, it is done again only after this many times as long.
const REST: u32 = 50;
/// Nor sooner than this.
const SHORTEST_REST: Duration = Duration::from_secs(5);

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
    /// Whether it is to be done now; then nobody else does it.
    pub(super) fn begin(&self) -> bool {
        let mut state = self.0.lock();
        let is_due = state.again_at.is_none_or(|at| Instant::now() >= at);
        let begins = is_due && !state.is_under_way;
        state.is_under_way |= begins;
        begins
    }

    /// It was verified; nothing where the entries could not be read.
    pub(super) fn end(&self, came_to: Option<ChainCheck>, took: Duration) {
        let mut state = self.0.lock();
        // An audit without entries costs nothing to verify, and gets its first ones soon after the start.
        let is_empty = came_to == Some(ChainCheck::NotHere);
        state.is_under_way = false;
        state.known = Some(came_to.unwrap_or(ChainCheck::NotHere));
        state.again_at = (!is_empty).then(|| Instant::now() + SHORTEST_REST.max(took * REST));
    }

    /// What is known by now.
    pub(super) fn known(&self) -> ChainCheck {
        self.0.lock().known.clone().unwrap_or(ChainCheck::UnderWay)
    }
}
