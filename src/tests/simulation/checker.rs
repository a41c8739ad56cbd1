//! What must hold, checked at every moment at which somebody begins to rely on a lock, and at the end.

use std::sync::Arc;

use lockkeeper::server::locking::Token;
use lockkeeper::server::locking::keep::Kept;

use super::clock::{Clock, Moment};

/// What was found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Two rely on one lock at once.
    Overlap(String),
    /// Who came later has no larger fencing token.
    FenceFell(String),
    /// A key is still there when it should be gone.
    LeftBehind(String),
    /// The code panicked.
    Panicked(String),
}

/// When an owner stops relying on its lock: by its own clock, or because it began to release.
pub enum Ends {
    At(Moment),
    /// It is renewed: by this clock.
    Kept(Arc<Kept>, Clock),
}

impl Ends {
    fn moment(&self) -> Moment {
        match self {
            Self::At(moment) => *moment,
            Self::Kept(kept, clock) => clock.when(kept.now().valid_until()),
        }
    }
}

/// One owner's use of a lock, from the decision on.
struct Hold {
    lock: u8,
    client: usize,
    token: Token,
    fence: Option<u64>,
    /// Its owner had stopped relying on it once: then its fencing token is worth nothing any more.
    has_lapsed: bool,
    /// It was released by force: what its owner thinks counts no more.
    is_condemned: bool,
    ends: Ends,
}

/// A name for a hold.
pub type HoldId = usize;

/// Watches all holds of one schedule.
#[derive(Default)]
pub struct Checker {
    holds: Vec<Hold>,
    /// The largest fencing token given for each lock, and to whom.
    highest: Vec<(u8, u64, HoldId)>,
    /// What was found wrong first.
    pub violation: Option<Violation>,
}

/// What a fencing token is worth.
#[derive(Clone, Copy)]
pub struct Promise {
    /// The largest that the client proposed.
    pub proposed: u64,
    /// A node may have forgotten how far it counted, and so lately that what was given before may be ahead of what a
    /// right clock proposes: then only a proposal that was larger is sure to be given a larger token.
    pub needs_the_clock: bool,
}

impl Checker {
    /// Somebody got a lock and relies on it until `ends`.
    pub fn opened(
        &mut self,
        now: Moment,
        (lock, client, token): (u8, usize, &Token),
        fence: Option<u64>,
        promise: Promise,
        ends: Ends,
    ) -> HoldId {
        let id = self.holds.len();
        self.holds.push(Hold {
            lock,
            client,
            token: token.clone(),
            fence,
            has_lapsed: false,
            is_condemned: false,
            ends,
        });
        self.nobody_else(id, now);
        self.rises(id, promise);
        id
    }

    /// An owner relies on its lock for longer, and on its fencing token too.
    pub fn prolonged(&mut self, now: Moment, id: HoldId, ends: Ends) {
        self.holds[id].ends = ends;
        self.nobody_else(id, now);
        self.is_highest(id, now);
    }

    /// An owner relies on its lock again, after it had stopped.
    pub fn revived(&mut self, now: Moment, id: HoldId, ends: Ends) {
        self.holds[id].has_lapsed = true;
        self.prolonged(now, id, ends);
    }

    /// An owner took its own lock once more and got another fencing token.
    pub fn retaken(
        &mut self,
        now: Moment,
        id: HoldId,
        fence: Option<u64>,
        promise: Promise,
        ends: Moment,
    ) {
        self.holds[id].ends = Ends::At(ends);
        self.holds[id].fence = fence;
        self.holds[id].has_lapsed = false;
        self.nobody_else(id, now);
        self.rises(id, promise);
    }

    /// An owner does not rely on its lock any more.
    pub fn closed(&mut self, now: Moment, id: HoldId) {
        let hold = &mut self.holds[id];
        hold.ends = Ends::At(hold.ends.moment().min(now));
    }

    /// Whether anybody held a lock with this token.
    pub fn was_held_as(&self, token: &[u8]) -> bool {
        self.holds.iter().any(|hold| hold.token.expose() == token)
    }

    /// Somebody releases the latest hold of a lock by force: whose it is.
    pub fn condemn(&mut self, lock: u8) -> Option<Token> {
        let hold = self.holds.iter_mut().rfind(|hold| hold.lock == lock)?;
        hold.is_condemned = true;
        Some(hold.token.clone())
    }

    /// Something is still on a node.
    pub fn left_behind(&mut self, what: String) {
        self.violation.get_or_insert(Violation::LeftBehind(what));
    }

    fn nobody_else(&mut self, id: HoldId, now: Moment) {
        let this = &self.holds[id];
        // What an owner hears when its validity is over lets it rely on nothing.
        if this.is_condemned || this.ends.moment() <= now {
            return;
        }
        let another = self.holds.iter().find(|hold| {
            let is_another = hold.lock == this.lock && hold.token != this.token;
            is_another && !hold.is_condemned && hold.ends.moment() > now
        });
        if let Some(other) = another {
            let what = format!(
                "client {} relies on lock {} from {} on, and client {} until {}",
                this.client,
                this.lock,
                ms(now),
                other.client,
                ms(other.ends.moment())
            );
            self.violation.get_or_insert(Violation::Overlap(what));
        }
    }

    fn rises(&mut self, id: HoldId, promise: Promise) {
        let Some(fence) = self.holds[id].fence else {
            return;
        };
        let lock = self.holds[id].lock;
        let Some(highest) = self.highest.iter_mut().find(|(of, ..)| *of == lock) else {
            self.highest.push((lock, fence, id));
            return;
        };
        if fence > highest.1 {
            *highest = (lock, fence, id);
            return;
        }
        if promise.needs_the_clock && promise.proposed <= highest.1 {
            return;
        }
        let (this, other) = (&self.holds[id], &self.holds[highest.2]);
        let what = format!(
            "client {} got {fence} for lock {lock}, after client {} got {}",
            this.client, other.client, highest.1
        );
        self.violation.get_or_insert(Violation::FenceFell(what));
    }

    fn is_highest(&mut self, id: HoldId, now: Moment) {
        let hold = &self.holds[id];
        let highest = self.highest.iter().find(|(lock, ..)| *lock == hold.lock);
        if let (Some(fence), Some((lock, highest, _))) = (hold.fence, highest)
            && !hold.has_lapsed
            && !hold.is_condemned
            && hold.ends.moment() > now
            && fence < *highest
        {
            let what = format!(
                "client {} relies on lock {lock} again with {fence}, after {highest} was given",
                hold.client
            );
            self.violation.get_or_insert(Violation::FenceFell(what));
        }
    }
}

/// A moment as people read it.
pub fn ms(moment: Moment) -> String {
    format!("{}.{:03} ms", moment / 1000, moment % 1000)
}
