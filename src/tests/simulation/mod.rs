//! The locking that ships, in a world without I/O: a virtual clock, nodes as small as their scripts need them, a network that
//! delays, loses and repeats, programs that stop and die. Everything above a node is the product's own code
//! (`server::locking`, `nodes::Group`, `nodes::health`, `nodes::restart`): it calls a [`network::SimNode`] where it calls a
//! `Node` otherwise (`nodes::lock_node::LockNode`), and waits by a [`clock::ClientClock`]. [`client`] decides when a lock is
//! acquired, renewed, extended, released, also by force. [`differential`] holds the nodes against real ones.
//!
//! **What is checked** in every schedule ([`checker`]):
//! 1. Nobody begins to rely on a lock while another owner does. Relying begins with the decision, and ends when the owner's
//!    own clock says that its validity is over or when it begins to release; that it dies or stops ends nothing. Whoever was
//!    released by force does not count any more.
//! 2. Whoever gets a lock gets a larger fencing token than everybody before.
//! 3. A lease after everybody stopped, nothing is locked on any node. Where nothing went wrong, nothing is at once: also what a
//!    try took that failed is gone.
//! 4. Nothing panics.
//!
//! **What is assumed:**
//! - The clocks of any two machines, over the length of a lease, differ by no more than the drift: 1 % in rate altogether
//!   (half of it each), and nodes' clocks are set forward by at most 2 ms. They may be set back; leases then last longer.
//!   How far clocks are apart does not matter.
//! - A node that does not put every write on its disk comes back with nothing, or with what it had a while ago; whoever
//!   has seen it before knows that it restarted, and leaves it out until the longest lease is over, whatever is done to
//!   wall clocks. A program that starts meanwhile knows by how long the nodes have been running. Only when so many
//!   restarted that no majority is older or keeps every write, it has to start a longest lease later.
//! - Messages arrive at any time, in any order, after their sender has given up, or not at all; but not after the server
//!   they were sent to has restarted, as a connection ends with it. All but releases may arrive twice, though on one
//!   connection nothing does and nothing is sent twice.
//! - A token that is brought along is used by one program at a time, and not again after it was released or its acquire
//!   failed. Its owner may ask for a shorter lease than it has: what it was promised before stays true.
//! - For fencing tokens: nodes remember how far they counted, or the proposer's clock is ahead of what was given before.
//!   An owner that extends after its validity is over does not go by its fencing token any more.
//!
//! An extension with a quorum puts the lock back on nodes that do not have it, restarted ones too.
//!
//! How many nodes are down, cut off or empty does not matter: then less is locked. [`broken`] breaks each assumption, and
//! leaves out each rule, and finds that it was needed.
//!
//! A schedule is a number. `LOCKKEEPER_SEED=7 cargo test --features ssr --test tests simulation -- --nocapture` tells one
//! step by step, with `LOCKKEEPER_BROKEN=NoDrift` one of [`broken`]. `LOCKKEEPER_SCHEDULES=1000000` or
//! `LOCKKEEPER_SOAK_SECONDS=600` tries more, the latter others every time.

mod assumptions;
mod broken;
mod checker;
mod client;
mod clock;
mod counts;
mod dice;
mod differential;
mod explore;
mod mischief;
mod network;
mod node;
mod panics;
mod schedule;
mod world;

use assumptions::Broken;
use counts::Seen;
use explore::{Asked, SCHEDULES, explore, story};
use schedule::Plan;

#[test]
fn nobody_overlaps_fencing_tokens_rise_and_nothing_stays() {
    let asked = Asked::by_environment();
    if let Some(seed) = asked.seed {
        let broken = asked.broken.map(|name| Broken::named(&name));
        let (told, found) = story(seed, Plan::new(seed, broken));
        println!("{told}");
        assert!(found.is_none() || broken.is_some());
        return;
    }
    let limits = asked.limits();
    let explored = explore(&limits, |seed| Plan::new(seed, None));
    let counts = explored.counts;
    println!(
        "from {} on, in {:?}:\n{counts}",
        limits.first, explored.took
    );
    if let Some((seed, _)) = explored.found.first() {
        panic!("{}", story(*seed, Plan::new(*seed, None)).0);
    }
    let schedules = counts.of(Seen::Schedule);
    if schedules < SCHEDULES {
        return;
    }
    for what in Seen::ALL {
        assert!(
            counts.of(*what) >= schedules / 200,
            "{what:?} is rare:\n{counts}"
        );
    }
    assert!(counts.of(Seen::Won) > 4 * schedules, "{counts}");
    let failed = counts.of(Seen::KeptOut) + counts.of(Seen::NoQuorum);
    assert!(counts.of(Seen::Won) > failed / 4, "{counts}");
}

#[test]
fn a_number_always_makes_the_same_schedule() {
    for seed in [1, 2, 3] {
        let tell = || story(seed, Plan::new(seed, None)).0;
        assert_eq!(tell(), tell());
    }
}
