//! Checks the invariants whenever an owner begins to rely on a lock, and at the end of a schedule.

use std::sync::Arc;

use lockkeeper::server::stores::redis::locking::Token;
use lockkeeper::server::stores::redis::locking::renewal::RenewalHandle;

use super::clock::{DriftingClock, SimTime};

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Two owners rely on one lock at the same time.
    Overlap(String),
    /// A later acquire did not get a larger fencing token.
    FenceNotIncreasing(String),
    /// A lock is still on a node when it should be gone.
    LeftoverKey(String),
    /// The code panicked.
    Panic(String),
}

/// When an owner stops relying on its lock: the end of the validity by its own clock, or the start
/// of its release.
pub enum HoldEnd {
    At(SimTime),
    /// The current validity of an auto-renewal, by this clock.
    Renewed(Arc<RenewalHandle>, DriftingClock),
}

impl HoldEnd {
    fn time(&self) -> SimTime {
        match self {
            Self::At(time) => *time,
            Self::Renewed(kept, clock) => clock.time_of(kept.state().valid_until()),
        }
    }
}

/// One hold of a lock, from the decision that it is acquired.
struct CheckedHold {
    lock: u8,
    client: usize,
    token: Token,
    fence: Option<u64>,
    /// The validity ended once, so the owner no longer relies on its fencing token.
    has_lapsed: bool,
    /// The lock was force-released, so the owner no longer counts.
    is_force_released: bool,
    end: HoldEnd,
}

/// The index of a hold.
pub type HoldId = usize;

/// Records and checks all holds of one schedule.
#[derive(Default)]
pub struct Checker {
    holds: Vec<CheckedHold>,
    /// The largest fencing token issued for each lock, and its hold.
    highest_fences: Vec<(u8, u64, HoldId)>,
    /// The first violation.
    pub violation: Option<Violation>,
}

/// What the group guarantees about a fencing token.
#[derive(Clone, Copy)]
pub struct FenceGuarantee {
    /// The largest token that the client has proposed.
    pub max_proposed: u64,
    /// A node may have lost its counter so recently that earlier tokens are ahead of the tokens
    /// that a correct clock proposes. Then only a proposal above the earlier tokens is guaranteed
    /// to result in a larger token.
    pub depends_on_clocks: bool,
}

impl Checker {
    /// An owner acquired a lock and relies on it until `end`.
    pub fn record_acquire(
        &mut self,
        now: SimTime,
        (lock, client, token): (u8, usize, &Token),
        fence: Option<u64>,
        guarantee: FenceGuarantee,
        end: HoldEnd,
    ) -> HoldId {
        let id = self.holds.len();
        self.holds.push(CheckedHold {
            lock,
            client,
            token: token.clone(),
            fence,
            has_lapsed: false,
            is_force_released: false,
            end,
        });
        self.check_exclusive(id, now);
        self.check_fence_increases(id, guarantee);
        id
    }

    /// An owner relies on its lock, and on its fencing token, until a later time.
    pub fn record_extension(&mut self, now: SimTime, id: HoldId, end: HoldEnd) {
        self.holds[id].end = end;
        self.check_exclusive(id, now);
        self.check_fence_is_highest(id, now);
    }

    /// An owner relies on its lock again after the validity had ended.
    pub fn record_late_extension(&mut self, now: SimTime, id: HoldId, end: HoldEnd) {
        self.holds[id].has_lapsed = true;
        self.record_extension(now, id, end);
    }

    /// An owner acquired its own lock again and received a new fencing token.
    pub fn record_reacquire(
        &mut self,
        now: SimTime,
        id: HoldId,
        fence: Option<u64>,
        guarantee: FenceGuarantee,
        end: SimTime,
    ) {
        self.holds[id].end = HoldEnd::At(end);
        self.holds[id].fence = fence;
        self.holds[id].has_lapsed = false;
        self.check_exclusive(id, now);
        self.check_fence_increases(id, guarantee);
    }

    /// An owner no longer relies on its lock.
    pub fn record_release(&mut self, now: SimTime, id: HoldId) {
        let hold = &mut self.holds[id];
        hold.end = HoldEnd::At(hold.end.time().min(now));
    }

    /// Whether a lock was ever held with this token.
    pub fn has_hold_with(&self, token: &[u8]) -> bool {
        self.holds.iter().any(|hold| hold.token.expose() == token)
    }

    /// The latest hold of a lock is force-released. Returns the token of its owner.
    pub fn record_force_release(&mut self, lock: u8) -> Option<Token> {
        let hold = self.holds.iter_mut().rfind(|hold| hold.lock == lock)?;
        hold.is_force_released = true;
        Some(hold.token.clone())
    }

    pub fn report_leftover(&mut self, message: String) {
        self.violation
            .get_or_insert(Violation::LeftoverKey(message));
    }

    fn check_exclusive(&mut self, id: HoldId, now: SimTime) {
        let this = &self.holds[id];
        // A reply after the end of the validity does not let the owner rely on the lock.
        if this.is_force_released || this.end.time() <= now {
            return;
        }
        let other = self.holds.iter().find(|hold| {
            let is_other_owner = hold.lock == this.lock && hold.token != this.token;
            is_other_owner && !hold.is_force_released && hold.end.time() > now
        });
        if let Some(other) = other {
            let message = format!(
                "client {} relies on lock {} from {} on, and client {} until {}",
                this.client,
                this.lock,
                ms(now),
                other.client,
                ms(other.end.time())
            );
            self.violation.get_or_insert(Violation::Overlap(message));
        }
    }

    fn check_fence_increases(&mut self, id: HoldId, guarantee: FenceGuarantee) {
        let Some(fence) = self.holds[id].fence else {
            return;
        };
        let lock = self.holds[id].lock;
        let Some(highest) = self.highest_fences.iter_mut().find(|(of, ..)| *of == lock) else {
            self.highest_fences.push((lock, fence, id));
            return;
        };
        if fence > highest.1 {
            *highest = (lock, fence, id);
            return;
        }
        if guarantee.depends_on_clocks && guarantee.max_proposed <= highest.1 {
            return;
        }
        let (this, other) = (&self.holds[id], &self.holds[highest.2]);
        let message = format!(
            "client {} received token {fence} for lock {lock} after client {} received {}",
            this.client, other.client, highest.1
        );
        self.violation
            .get_or_insert(Violation::FenceNotIncreasing(message));
    }

    fn check_fence_is_highest(&mut self, id: HoldId, now: SimTime) {
        let hold = &self.holds[id];
        let highest = self
            .highest_fences
            .iter()
            .find(|(lock, ..)| *lock == hold.lock);
        if let (Some(fence), Some((lock, highest, _))) = (hold.fence, highest)
            && !hold.has_lapsed
            && !hold.is_force_released
            && hold.end.time() > now
            && fence < *highest
        {
            let message = format!(
                "client {} relies on lock {lock} again with token {fence} after {highest} was issued",
                hold.client
            );
            self.violation
                .get_or_insert(Violation::FenceNotIncreasing(message));
        }
    }
}

/// Formats a time in milliseconds.
pub fn ms(time: SimTime) -> String {
    format!("{}.{:03} ms", time / 1000, time % 1000)
}
