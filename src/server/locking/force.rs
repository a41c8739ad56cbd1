//! Releasing somebody else's lock: exactly the owner that a person saw, or nothing at all.

use std::collections::HashMap;

use redis::RedisResult;

use super::owners::{Proof, outcome, owners, proof};
use crate::domain::{ActOutcome, Fingerprint, LockKey, NodeAct, Owner};
use crate::server::nodes::Group;
use crate::server::nodes::line::Line;
use crate::server::nodes::look::look_closely;
use crate::server::nodes::scripts::{RELEASE, RELEASE_REDISSON, Told};
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

/// Releases somebody else's lock on every node where its owner is the one with this fingerprint, the way its library expects.
///
/// On each node the owner's bytes are compared and the lock released in one atomic step. Where no node shows that owner,
/// nothing is executed at all.
pub async fn force_release(group: &Group, key: &LockKey, fingerprint: &Fingerprint) -> Forced {
    let limit = group.config.command_timeout;
    let seen: Vec<Result<Option<Sighting>, Missed>> = group
        .on_each(|node| async move {
            let clock = node.clock().clone();
            node.act(limit, |line| async move {
                look_closely(line, &clock, key).await
            })
            .await
        })
        .await;

    // What to compare, per node: the owner is the same, its bytes on a node may still differ (a time stamp in them).
    let proofs: HashMap<&str, Proof> = group
        .config
        .nodes
        .iter()
        .zip(&seen)
        .filter_map(|(node, seen)| {
            Some((
                node.name.as_str(),
                proof_of(seen.as_ref().ok()?.as_ref()?, fingerprint)?,
            ))
        })
        .collect();
    let told: Vec<Option<Result<Told, Missed>>> = group
        .on_each(|node| {
            let proof = proofs.get(node.name()).cloned();
            async move {
                let proof = proof?;
                Some(
                    node.act(limit, |line| async move {
                        release_there(line, key, &proof).await
                    })
                    .await,
                )
            }
        })
        .await;

    let now = group.clock().now();
    let outcomes = seen
        .iter()
        .zip(&told)
        .map(|(seen, told)| match (told, seen) {
            (Some(told), _) => outcome(told, ActOutcome::Released, key, now),
            (None, Ok(None)) => ActOutcome::NotHeld,
            (None, Ok(Some(sighting))) => ActOutcome::OtherOwner {
                owner: owners(sighting).into_iter().next().map(|seen| seen.owner),
            },
            // Nothing but looking was tried there.
            (None, Err(missed)) => ActOutcome::Failed {
                reason: format!("{}; nothing was done there", missed.reason()),
            },
        });
    let names = group.config.nodes.iter().map(|node| node.name.clone());
    let nodes: Vec<NodeAct> = names
        .zip(outcomes)
        .map(|(node, outcome)| NodeAct { node, outcome })
        .collect();
    let owner_now = nodes.iter().find_map(|act| match &act.outcome {
        ActOutcome::OtherOwner { owner } => owner.clone(),
        ActOutcome::Acquired
        | ActOutcome::Extended
        | ActOutcome::Released
        | ActOutcome::NotHeld
        | ActOutcome::Failed { .. } => None,
    });
    Forced { nodes, owner_now }
}

fn proof_of(sighting: &Sighting, fingerprint: &Fingerprint) -> Option<Proof> {
    let owners = owners(sighting);
    let seen = owners
        .iter()
        .find(|seen| seen.owner.fingerprint == *fingerprint)?;
    proof(sighting, seen)
}

async fn release_there(mut line: Line, key: &LockKey, proof: &Proof) -> RedisResult<Told> {
    match proof {
        Proof::Value(value) => {
            RELEASE
                .key(key.as_bytes())
                .arg(value)
                .invoke_async(&mut line.connection)
                .await
        }
        Proof::RedissonField(field) => {
            let mut script = RELEASE_REDISSON.key(key.as_bytes());
            script
                .arg(field)
                .arg(redisson_channel(key))
                .invoke_async(&mut line.connection)
                .await
        }
    }
}

/// The channel that waiters of a Redisson lock listen to: `RedissonObject.prefixName` puts the name into braces, so that
/// both are served by the same node of a cluster, unless the name has braces of its own.
fn redisson_channel(key: &LockKey) -> Vec<u8> {
    let name = key.as_bytes();
    let (open, close): (&[u8], &[u8]) = if name.contains(&b'{') {
        (b"", b"")
    } else {
        (b"{", b"}")
    };
    [b"redisson_lock__channel:", open, name, close].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redissons_channel_carries_the_name_in_braces() {
        assert_eq!(
            redisson_channel(&"order:42".into()),
            b"redisson_lock__channel:{order:42}"
        );
        assert_eq!(
            redisson_channel(&"order:{42}".into()),
            b"redisson_lock__channel:order:{42}"
        );
    }
}
