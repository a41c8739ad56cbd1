//! Clearing away in the background, as `server/locking/tidy.rs` does it.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use lockkeeper::server::nodes::scripts::Told;
use lockkeeper::server::nodes::trouble::Missed;

use super::call::Call;
use super::claim::told;
use super::counts::Seen;
use super::me::Me;

/// The first and the longest pause between two tries, in microseconds.
const PAUSES: (u64, u64) = (100_000, 5_000_000);

/// How often a node may say that there is nothing of ours before it is believed: less often than in the product, because
/// only what is left for a lease depends on it, and most of the time would be spent here.
const DENIALS: u32 = 2;

/// Goes on releasing in the background until the node says it is done, or the lease has ended by itself.
pub fn release_later(me: &Me, nodes: BTreeSet<usize>, release: &Rc<Call>, ends: Duration) {
    for node in nodes {
        let release = Rc::clone(release);
        me.saw(Seen::WithdrawnLater);
        me.world().begin(me.client, true, move |me| {
            until_withdrawn(me, node, release, ends)
        });
    }
}

async fn until_withdrawn(me: Me, node: usize, release: Rc<Call>, ends: Duration) {
    let (mut pause, mut denials) = (PAUSES.0, 0);
    let limit = me.plan.command_timeout;
    while denials < DENIALS {
        while !{ me.world().is_up(me.client, node) } {
            me.sleep(PAUSES.0).await;
        }
        me.ask(node, &release, limit);
        match me.hear(Some(ends)).await.map(|(_, answer)| told(answer)) {
            None | Some(Ok(Told::Done) | Err(Missed::Refused { .. })) => return,
            Some(Ok(_)) => denials += 1,
            Some(Err(_)) => {}
        }
        me.sleep(me.between(pause / 2, pause)).await;
        if me.clock() >= ends {
            return;
        }
        pause = (pause * 2).min(PAUSES.1);
    }
}
