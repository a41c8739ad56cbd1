//! Deterministic simulation of the locking code: virtual clocks, in-memory nodes that run the
//! plain-lock scripts, a network that delays, loses and duplicates messages, and clients that pause
//! and crash. Everything above a node is the product's own code (`stores::redis::locking` and, of
//! `stores::redis::nodes`, `Group`, `health` and `restart`): it calls a [`network::SimNode`] instead
//! of a `Node` (`lock_node::LockNode`) and waits on a [`clock::ClientClock`]. [`client`] decides
//! when a lock is acquired, renewed, extended, released and force-released. [`differential`]
//! compares the simulated nodes with real servers.
//!
//! **Invariants** checked in every schedule ([`checker`]):
//! 1. No two owners rely on a lock at the same time. An owner relies on a lock from the decision
//!    that it is acquired until its own clock reaches the end of the validity or until it starts a
//!    release. A crash or a pause does not end the reliance. An owner whose lock was force-released
//!    no longer counts.
//! 2. Every acquire returns a larger fencing token than all earlier acquires of the same lock.
//! 3. One lease after all clients stopped, no node has a lock. In a schedule without faults no node
//!    has one as soon as all clients have finished: failed acquires are rolled back, too.
//! 4. Nothing panics.
//!
//! **Assumptions:**
//! - Over the length of a lease, the clocks of any two machines differ by at most the drift: 1 % in
//!   rate (each clock is off by at most half of that), and node clocks are stepped forward by at
//!   most 2 ms. Clocks may be stepped back, which only lengthens leases. The absolute difference
//!   between clocks does not matter.
//! - A node that does not fsync every write restarts empty or with an older snapshot. A client that
//!   knew the node before detects the restart and excludes the node until the longest lease is
//!   over, independent of changes of wall clocks. A client that starts meanwhile uses the uptime of
//!   the nodes. Only if so many nodes restarted that no majority is older or fsyncs every write, a
//!   new client must start one longest lease later.
//! - A message arrives at any time, in any order, after its sender has timed out, or never. It does
//!   not arrive after the server has restarted, because the connection ends with the server. All
//!   commands except releases may arrive twice, even though a real connection never duplicates a
//!   command.
//! - A caller-supplied token is used by one client at a time, and not again after it was released
//!   or its acquire failed. Its owner may request a shorter lease than the current one; the earlier
//!   validity still holds.
//! - For fencing tokens: the nodes remember their counters, or the clock of the proposing client is
//!   ahead of all tokens issued before. An owner that extends after its validity has ended no
//!   longer relies on its fencing token.
//!
//! An extend with a quorum restores the lock on nodes that do not have it, including restarted
//! ones.
//!
//! The number of nodes that are down, partitioned or empty is not limited: then fewer locks are
//! acquired. [`broken_assumptions`] breaks each assumption and leaves out each rule, and the
//! checker must find a violation.
//!
//! A schedule is identified by its seed. This prints one step by step:
//! ```text
//! LOCKKEEPER_SEED=7 cargo test --features ssr --test tests simulation -- --nocapture
//! ```
//! `LOCKKEEPER_BROKEN=NoDriftAllowance` also breaks one [`assumptions::BrokenAssumption`].
//! `LOCKKEEPER_SCHEDULES=1000000` or `LOCKKEEPER_SOAK_SECONDS=600` runs more schedules; the latter
//! uses new seeds every time.

mod assumptions;
mod broken_assumptions;
mod checker;
mod client;
mod clock;
mod coverage;
mod differential;
mod explore;
mod faults;
mod network;
mod node;
mod panics;
mod rng;
mod schedule;
mod virtual_time;

use assumptions::BrokenAssumption;
use coverage::Counter;
use explore::{EnvOptions, SCHEDULES, explore, replay};
use schedule::Plan;

#[test]
fn holds_never_overlap_fencing_tokens_increase_and_no_lock_is_left_over() {
    let options = EnvOptions::from_env();
    if let Some(seed) = options.seed {
        let broken = options
            .broken
            .map(|name| BrokenAssumption::from_name(&name));
        let (report, violation) = replay(seed, Plan::new(seed, broken));
        println!("{report}");
        assert!(violation.is_none() || broken.is_some());
        return;
    }
    let limits = options.limits();
    let exploration = explore(&limits, |seed| Plan::new(seed, None));
    let counters = exploration.counters;
    println!(
        "from seed {} on, in {:?}:\n{counters}",
        limits.first_seed, exploration.elapsed
    );
    if let Some((seed, _)) = exploration.violations.first() {
        panic!("{}", replay(*seed, Plan::new(*seed, None)).0);
    }
    let schedules = counters.get(Counter::Schedule);
    if schedules < SCHEDULES {
        return;
    }
    for counter in Counter::ALL {
        assert!(
            counters.get(*counter) >= schedules / 200,
            "{counter:?} is rare:\n{counters}"
        );
    }
    assert!(
        counters.get(Counter::Acquired) > 4 * schedules,
        "{counters}"
    );
    let failed = counters.get(Counter::HeldByOther) + counters.get(Counter::NoQuorum);
    assert!(counters.get(Counter::Acquired) > failed / 4, "{counters}");
}

#[test]
fn a_seed_always_produces_the_same_schedule() {
    for seed in [1, 2, 3] {
        let report = || replay(seed, Plan::new(seed, None)).0;
        assert_eq!(report(), report());
    }
}
