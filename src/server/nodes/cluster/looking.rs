//! Looks at keys of a cluster: each is asked of the node that has it, and of the next one where it is on its way. A key that
//! nobody tells of is not known to be gone.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::join_all;

use super::super::NodeLook;
use super::super::look::{self, Glance};
use super::super::node::Node;
use super::super::trouble::{Missed, Trouble};
use super::Cluster;
use crate::domain::LockKey;
use crate::server::nodes::node::Elsewhere;
use crate::server::sighting::Sighting;

/// So often a key is followed from node to node.
const MOST_ROUNDS: usize = 4;

/// What became of one key, and on which node.
struct Seen {
    node: String,
    is_hazard: bool,
    shown: Result<Option<Sighting>, Missed>,
}

impl Cluster {
    /// Asks the nodes that have them about some keys: one answer for each key, whoever gives it.
    pub(in super::super) async fn look(
        &self,
        keys: &[LockKey],
        is_hazard: impl Fn(&Node) -> bool,
    ) -> Vec<NodeLook> {
        let mut seen: Vec<Option<Seen>> = keys.iter().map(|_| None).collect();
        let mut pending: Vec<(usize, Arc<Node>, bool)> = keys
            .iter()
            .enumerate()
            .map(|(n, key)| (n, self.node_of(key), false))
            .collect();
        for round in 0..MOST_ROUNDS {
            if pending.is_empty() {
                break;
            }
            let is_last = round + 1 == MOST_ROUNDS;
            let parts = by_node(std::mem::take(&mut pending));
            let looks = parts
                .iter()
                .map(|((_, is_asking), (node, places))| async move {
                    let keys: Vec<LockKey> = places.iter().map(|&n| keys[n].clone()).collect();
                    look::look_in_slots(node, &keys, *is_asking).await
                });
            let looks = join_all(looks).await;
            for ((_, (node, places)), glances) in parts.into_iter().zip(looks) {
                let here = |shown| Seen {
                    node: node.name().to_owned(),
                    is_hazard: is_hazard(&node),
                    shown,
                };
                match glances {
                    Ok(glances) => {
                        for (n, glance) in places.into_iter().zip(glances) {
                            match glance {
                                Glance::Shown(sighting) => seen[n] = Some(here(Ok(sighting))),
                                Glance::Elsewhere(error) => match node.elsewhere(&error) {
                                    Some(elsewhere) if !is_last => {
                                        pending.push(elsewhere.of(n, &node));
                                    }
                                    Some(_) | None => {
                                        let reason = Trouble::of_slot(&error).reason;
                                        seen[n] = Some(here(Err(Missed::Refused { reason })));
                                    }
                                },
                            }
                        }
                    }
                    Err(why) => {
                        for n in places {
                            seen[n] = Some(here(Err(why.clone())));
                        }
                    }
                }
            }
        }
        arrange(seen)
    }
}

impl Elsewhere {
    fn of(self, n: usize, asked: &Arc<Node>) -> (usize, Arc<Node>, bool) {
        match self {
            Self::Moved(node) => (n, node, false),
            Self::Ask(node) => (n, node, true),
            Self::Later => (n, Arc::clone(asked), false),
        }
    }
}

/// By name, and whether it is asked with `ASKING`: a node, and the places of the keys it is asked about.
type Parts = HashMap<(String, bool), (Arc<Node>, Vec<usize>)>;

/// The keys that each node is asked about.
fn by_node(pending: Vec<(usize, Arc<Node>, bool)>) -> Parts {
    let mut parts: Parts = HashMap::new();
    for (n, node, is_asking) in pending {
        let part = parts.entry((node.name().to_owned(), is_asking));
        let (_, places) = part.or_insert_with(|| (node, Vec::new()));
        places.push(n);
    }
    parts
}

/// One look per node and outcome, each about the keys that it told of.
fn arrange(seen: Vec<Option<Seen>>) -> Vec<NodeLook> {
    let mut looks: HashMap<(String, Option<Missed>), NodeLook> = HashMap::new();
    for (n, seen) in seen.into_iter().enumerate() {
        let Some(seen) = seen else { continue };
        let why = seen.shown.as_ref().err().cloned();
        let look = looks
            .entry((seen.node.clone(), why))
            .or_insert_with(|| NodeLook {
                node: seen.node.clone(),
                is_hazard: seen.is_hazard,
                about: Some(Vec::new()),
                seen: Ok(Vec::new()),
            });
        if let Some(about) = &mut look.about {
            about.push(n);
        }
        match seen.shown {
            Ok(sighting) => {
                if let Ok(shown) = &mut look.seen {
                    shown.push(sighting);
                }
            }
            Err(why) => look.seen = Err(why),
        }
    }
    looks.into_values().collect()
}
