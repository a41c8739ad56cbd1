//! Reads the state of keys in a cluster. Each key is requested from the node that serves its slot,
//! and redirections are followed. A key for which no node replies is unknown, not absent.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::join_all;

use super::super::NodeInspection;
use super::super::inspect::{self, SlotReply};
use super::super::node::Node;
use super::super::node_error::{CallError, NodeError};
use super::Cluster;
use crate::domain::LockKey;
use crate::server::stores::ReadCause;
use crate::server::stores::redis::key_state::KeyState;
use crate::server::stores::redis::nodes::node::Redirect;

/// The maximum number of rounds in which redirections of a key are followed.
const MAX_ROUNDS: usize = 4;

/// The result for one key, and the node that returned it.
struct KeyInspection {
    node: String,
    is_restart_hazard: bool,
    result: Result<Option<KeyState>, CallError>,
}

impl Cluster {
    /// Reads the state of keys from the nodes that serve them. Every key has exactly one result.
    pub(in super::super) async fn inspect(
        &self,
        keys: &[LockKey],
        cause: ReadCause<'_>,
        is_restart_hazard: impl Fn(&Node) -> bool,
    ) -> Vec<NodeInspection> {
        let mut results: Vec<Option<KeyInspection>> = keys.iter().map(|_| None).collect();
        let mut pending: Vec<(usize, Arc<Node>, bool)> = keys
            .iter()
            .enumerate()
            .map(|(key_index, key)| (key_index, self.node_for(key), false))
            .collect();
        for round in 0..MAX_ROUNDS {
            if pending.is_empty() {
                break;
            }
            let is_last = round + 1 == MAX_ROUNDS;
            let requests_by_node = group_by_node(std::mem::take(&mut pending));
            let requests =
                requests_by_node
                    .iter()
                    .map(|((_, with_asking), (node, indexes))| async move {
                        let keys: Vec<LockKey> = indexes
                            .iter()
                            .map(|&key_index| keys[key_index].clone())
                            .collect();
                        inspect::inspect_in_slots(node, &keys, cause, *with_asking).await
                    });
            let all_replies = join_all(requests).await;
            for ((_, (node, indexes)), replies) in requests_by_node.into_iter().zip(all_replies) {
                let from_node = |result| KeyInspection {
                    node: node.name().to_owned(),
                    is_restart_hazard: is_restart_hazard(&node),
                    result,
                };
                match replies {
                    Ok(replies) => {
                        for (key_index, reply) in indexes.into_iter().zip(replies) {
                            match reply {
                                SlotReply::State(state) => {
                                    results[key_index] = Some(from_node(Ok(state)))
                                }
                                SlotReply::Redirected(error) => match node.resolve_redirect(&error)
                                {
                                    Some(redirect) if !is_last => {
                                        pending.push(redirect.next_request(key_index, &node));
                                    }
                                    Some(_) | None => {
                                        let reason = NodeError::from_slot_error(&error).reason;
                                        results[key_index] =
                                            Some(from_node(Err(CallError::Rejected { reason })));
                                    }
                                },
                            }
                        }
                    }
                    Err(error) => {
                        for key_index in indexes {
                            results[key_index] = Some(from_node(Err(error.clone())));
                        }
                    }
                }
            }
        }
        group_by_result(results)
    }
}

impl Redirect {
    fn next_request(self, key_index: usize, node: &Arc<Node>) -> (usize, Arc<Node>, bool) {
        match self {
            Self::Moved(target) => (key_index, target, false),
            Self::Ask(target) => (key_index, target, true),
            Self::TryAgain => (key_index, Arc::clone(node), false),
        }
    }
}

/// Requests grouped by node name and `ASKING`: the node, and the indexes of the keys to request.
type KeysByNode = HashMap<(String, bool), (Arc<Node>, Vec<usize>)>;

fn group_by_node(pending: Vec<(usize, Arc<Node>, bool)>) -> KeysByNode {
    let mut requests_by_node: KeysByNode = HashMap::new();
    for (key_index, node, with_asking) in pending {
        let entry = requests_by_node.entry((node.name().to_owned(), with_asking));
        let (_, indexes) = entry.or_insert_with(|| (node, Vec::new()));
        indexes.push(key_index);
    }
    requests_by_node
}

/// Groups the results by node and error.
fn group_by_result(results: Vec<Option<KeyInspection>>) -> Vec<NodeInspection> {
    let mut groups: HashMap<(String, Option<CallError>), NodeInspection> = HashMap::new();
    for (key_index, inspection) in results.into_iter().enumerate() {
        let Some(inspection) = inspection else {
            continue;
        };
        let error = inspection.result.as_ref().err().cloned();
        let group = groups
            // Keys of one node can have different results during a migration, so the error is part
            // of the group key.
            .entry((inspection.node.clone(), error))
            .or_insert_with(|| NodeInspection {
                node: inspection.node.clone(),
                is_restart_hazard: inspection.is_restart_hazard,
                key_indexes: Some(Vec::new()),
                result: Ok(Vec::new()),
            });
        if let Some(key_indexes) = &mut group.key_indexes {
            key_indexes.push(key_index);
        }
        match inspection.result {
            Ok(state) => {
                if let Ok(result) = &mut group.result {
                    result.push(state);
                }
            }
            Err(error) => group.result = Err(error),
        }
    }
    groups.into_values().collect()
}
