//! Releasing somebody else's lock: exactly the owner that a person saw, or nothing at all.

use redis::RedisResult;

use super::layouts::release_from;
use super::owners::{Proof, outcome, proof};
use crate::domain::{ActOutcome, Fingerprint, LockKey, NodeAct, Owner};
use crate::server::clock::Clock;
use crate::server::formats;
use crate::server::nodes::Group;
use crate::server::nodes::line::Line;
use crate::server::nodes::look::look_closely;
use crate::server::nodes::scripts::{RELEASE, Told};
use crate::server::nodes::sighting::Sighting;
use crate::server::nodes::trouble::Missed;

/// What a forced release came to.
#[derive(Clone, Debug)]
pub struct Forced {
    /// What happened on each configured node, in order.
    pub nodes: Vec<NodeAct>,
    /// Another owner that some node shows now.
    pub owner_now: Option<Owner>,
}

/// What a node showed before anything was done.
enum Found {
    /// The owner that was asked for, and how to compare it there.
    ThatOwner(Proof),
    /// Something else: another owner, or nothing that a format claims.
    Another(Option<Owner>),
    /// No such key.
    Nobody,
    /// It could not be seen.
    Unseen(Missed),
}

/// Releases somebody else's lock on every node where its owner is the one with this fingerprint, the way its library expects.
///
/// On each node the owner's bytes are compared and the lock released in one atomic step. Where no node shows that owner,
/// nothing is executed at all.
pub async fn force_release(group: &Group, key: &LockKey, fingerprint: &Fingerprint) -> Forced {
    let limit = group.config.command_timeout;
    let by_operator = group.config.keys_are_explicit;
    let found = group
        .on_each(|node| async move {
            let clock = node.clock().clone();
            let looking = node.act(limit, |line| async move {
                look_closely(line, &clock, key).await
            });
            match looking.await {
                Ok(Some(sighting)) => compare(&sighting, fingerprint, by_operator),
                Ok(None) => Found::Nobody,
                Err(missed) => Found::Unseen(missed),
            }
        })
        .await;

    let acting = group
        .each()
        .iter()
        .zip(found)
        .map(|(node, found)| async move {
            let outcome = match found {
                Found::ThatOwner(proof) => {
                    let releasing = node.act(limit, |line| async move {
                        release_there(line, node.clock(), key, &proof).await
                    });
                    let now = node.clock().now();
                    outcome(&releasing.await, ActOutcome::Released, key, now)
                }
                Found::Another(owner) => ActOutcome::OtherOwner { owner },
                Found::Nobody => ActOutcome::NotHeld,
                Found::Unseen(missed) => ActOutcome::Failed {
                    reason: format!("{}; nothing was done there", missed.reason()),
                },
            };
            NodeAct {
                node: node.name().to_owned(),
                outcome,
            }
        });
    let nodes = futures::future::join_all(acting).await;
    let owner_now = nodes.iter().find_map(|act| match &act.outcome {
        ActOutcome::OtherOwner { owner } => owner.clone(),
        ActOutcome::Acquired
        | ActOutcome::Extended
        | ActOutcome::Released
        | ActOutcome::Holds { .. }
        | ActOutcome::NotHeld
        | ActOutcome::Pending
        | ActOutcome::Failed { .. } => None,
    });
    Forced { nodes, owner_now }
}

/// Only what a format recognises as a lock can be released: its fingerprint is what people saw.
fn compare(sighting: &Sighting, fingerprint: &Fingerprint, by_operator: bool) -> Found {
    let Some(recognised) = formats::recognise(sighting, by_operator) else {
        return Found::Another(None);
    };
    let mut owners = recognised.owners.into_iter();
    let first = owners.clone().next();
    let that_one = owners.find(|seen| seen.owner.fingerprint == *fingerprint);
    match that_one.and_then(|seen| proof(sighting, &seen)) {
        Some(proof) => Found::ThatOwner(proof),
        None => Found::Another(first.map(|seen| seen.owner)),
    }
}

async fn release_there(
    mut line: Line,
    clock: &Clock,
    key: &LockKey,
    proof: &Proof,
) -> RedisResult<Told> {
    match proof {
        Proof::Value(value) => {
            RELEASE
                .key(key.as_bytes())
                .arg(value)
                .invoke_async(&mut line.connection)
                .await
        }
        Proof::RedissonField(field) => release_from(line, clock, key, field).await,
    }
}
