//! What happened at 03:07 (UTC) in the night before: two of five nodes failed, a lock was split, and
//! an owner that no longer worked kept another lock until it was released by force.

use std::time::Duration;

use super::before;
use super::timeline::{DemoLock, PastHold, Timeline};
use crate::domain::{Flag, Format, HoldEndReason, NodeState, Timestamp};
use crate::server::demo::clients::ORDERS;

/// The time of the day in milliseconds.
const TIME_OF_DAY_MS: i64 = (3 * 60 + 7) * 60_000;
const DAY_MS: i64 = 24 * 60 * 60_000;
/// The incident and what followed it took less than this.
const MAX_LENGTH_MS: i64 = 30 * 60_000;

/// The lock of the owner that no longer worked.
pub(super) const LEDGER: DemoLock = DemoLock {
    group: ORDERS,
    key: "lock:ledger:close",
    format: Format::NodeRedlock,
    renewal: Some((Duration::from_secs(30), Duration::from_secs(10))),
};
/// The lock that was split.
pub(super) const MERGE: DemoLock = DemoLock {
    key: "lock:cart:merge",
    ..LEDGER
};
/// The lock of an acquire that reached two nodes.
const RECOUNT: DemoLock = DemoLock {
    key: "lock:stock:recount",
    renewal: None,
    ..LEDGER
};

/// The latest 03:07 before `to` whose incident is over.
pub(super) fn time(to: Timestamp) -> Timestamp {
    let latest = to.millis() - MAX_LENGTH_MS - TIME_OF_DAY_MS;
    Timestamp::from_millis(latest.div_euclid(DAY_MS) * DAY_MS + TIME_OF_DAY_MS)
}

/// Adds the incident at 03:07.
pub(super) fn add(timeline: &mut Timeline, at: Timestamp) {
    let after = |seconds: u64| at.plus(Duration::from_secs(seconds));
    let earlier = |seconds: u64| before(at, Duration::from_secs(seconds));
    let hold = |from, to, end, attempts| PastHold {
        label: None,
        from,
        to,
        end,
        attempts,
    };
    let secs = Duration::from_secs;
    let down = NodeState::Down;
    timeline.add_outage(ORDERS, "c", earlier(170), &[(down, secs(1_050))]);
    let restart = [(down, secs(140)), (NodeState::Loading, secs(20))];
    timeline.add_outage(ORDERS, "d", earlier(20), &restart);

    let (stuck, forced) = (earlier(175 * 60), after(430));
    let stuck = hold(stuck, forced, HoldEndReason::Forced, Some(212));
    timeline.add_hold(&LEDGER, stuck);
    timeline.add_flag(&LEDGER, Flag::Overdue, earlier(120), forced);
    timeline.add_flag(&LEDGER, Flag::Contended, earlier(60), forced);
    let next = hold(after(431), after(1_190), HoldEndReason::Released, None);
    timeline.add_hold(&LEDGER, next);

    let first = hold(earlier(90), after(270), HoldEndReason::Forced, None);
    timeline.add_hold(&MERGE, first);
    let second = hold(after(5), after(520), HoldEndReason::Released, None);
    timeline.add_hold(&MERGE, second);
    timeline.add_flag(&MERGE, Flag::Split, after(5), after(270));
    timeline.add_flag(&RECOUNT, Flag::Fragment, earlier(10), after(50));
}
