//! What an owner does with a lock it has: extend it, release it.

use std::time::{Duration, Instant};

use super::owners::{found_there, outcome};
use super::take::{Took, end, millis};
use super::tidy::release_on;
use super::{Attempt, End, Token};
use crate::domain::{ActOutcome, LockKey, NodeAct, Timestamp, quorum};
use crate::server::nodes::Group;
use crate::server::nodes::scripts::{EXTEND, Told};
use crate::server::nodes::trouble::Missed;

/// Sets the lease to `ttl` on every node where the token is the owner's.
pub async fn extend(group: &Group, key: &LockKey, token: &Token, ttl: Duration) -> Attempt {
    let began = Instant::now();
    let limit = group.config.limit_per_node(ttl);
    let told: Vec<Result<Told, Missed>> = group
        .on_each(|node| async move {
            let extend = node.act(limit, |mut line| async move {
                let mut script = EXTEND.key(key.as_bytes());
                script
                    .arg(token.expose())
                    .arg(millis(ttl))
                    .invoke_async(&mut line.connection)
                    .await
            });
            extend.await
        })
        .await;
    let now = group.clock().now();
    let end = end_of_extend(
        &told,
        quorum::validity(ttl, began.elapsed(), group.config.locking.drift),
        key,
        now,
    );
    Attempt {
        nodes: acts(group, &told, ActOutcome::Extended, key),
        end,
    }
}

/// Deletes the lock on every node where the token is the owner's.
pub async fn release(group: &Group, key: &LockKey, token: &Token) -> Vec<NodeAct> {
    let told = group
        .on_each(|node| async move { release_on(&node, key, token).await })
        .await;
    acts(group, &told, ActOutcome::Released, key)
}

fn acts(
    group: &Group,
    told: &[Result<Told, Missed>],
    done: ActOutcome,
    key: &LockKey,
) -> Vec<NodeAct> {
    let now = group.clock().now();
    let names = group.config.nodes.iter().map(|node| node.name.clone());
    names
        .zip(told)
        .map(|(node, told)| NodeAct {
            node,
            outcome: outcome(told, done.clone(), key, now),
        })
        .collect()
}

/// Won on a quorum in time. Otherwise somebody else's if any node says so, not held if too few nodes are left to hold
/// it, and open if the missing nodes decide.
fn end_of_extend(
    told: &[Result<Told, Missed>],
    validity: Option<Duration>,
    key: &LockKey,
    now: Timestamp,
) -> End {
    let took: Vec<Result<Took, Missed>> = told
        .iter()
        .map(|told| match told {
            Ok(Told::Done) => Ok(Took::Ours),
            Ok(Told::NotThere) => Err(Missed::Refused {
                reason: "not there".to_owned(),
            }),
            Ok(Told::OtherOwner { value, pttl }) => {
                Ok(Took::Theirs(found_there(key, value.clone(), *pttl, now)))
            }
            Ok(Told::WrongType { type_name }) => Ok(Took::WrongType(type_name.clone())),
            Err(missed) => Err(missed.clone()),
        })
        .collect();
    let quorum = quorum::majority(told.len());
    let may_still_have_it = told
        .iter()
        .filter(|told| matches!(told, Ok(Told::Done) | Err(_)))
        .count();
    match end(&took, validity, now) {
        End::NoQuorum if may_still_have_it >= quorum => End::NoQuorum,
        End::NoQuorum => {
            // Too few for a quorum of theirs, and yet somebody else is there: the caller has to hear that first.
            let theirs = took.iter().find_map(|took| match took {
                Ok(Took::Theirs(seen)) => Some(seen.clone()),
                Ok(Took::Ours | Took::WrongType(_)) | Err(_) => None,
            });
            match theirs {
                Some(seen) => End::Taken {
                    lease_ms: seen.as_ref().and_then(|(_, lease)| lease.remaining_ms(now)),
                    owner: seen.map(|(owner, _)| owner),
                },
                None => End::NotHeld,
            }
        }
        otherwise => otherwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::nodes::sighting::Value;

    const LEFT: Option<Duration> = Some(Duration::from_secs(9));

    fn ended(told: &[Result<Told, Missed>]) -> End {
        end_of_extend(told, LEFT, &"lock".into(), Timestamp::from_millis(0))
    }

    fn theirs() -> Result<Told, Missed> {
        Ok(Told::OtherOwner {
            value: Value::Text(b"other".to_vec()),
            pttl: 500,
        })
    }

    fn silent() -> Result<Told, Missed> {
        Err(Missed::Unanswered {
            reason: "no answer within 500 ms".to_owned(),
        })
    }

    #[test]
    fn an_extension_needs_a_quorum_of_its_own() {
        assert_eq!(
            ended(&[Ok(Told::Done), Ok(Told::Done), silent()]),
            End::Won(Duration::from_secs(9))
        );
        assert_eq!(ended(&[Ok(Told::Done), silent(), silent()]), End::NoQuorum);
        assert_eq!(
            ended(&[Ok(Told::Done), Ok(Told::NotThere), silent()]),
            End::NoQuorum
        );
    }

    #[test]
    fn what_is_on_too_few_nodes_is_not_held() {
        assert_eq!(ended(&[Ok(Told::NotThere)]), End::NotHeld);
        assert_eq!(
            ended(&[Ok(Told::Done), Ok(Told::NotThere), Ok(Told::NotThere)]),
            End::NotHeld
        );
    }

    #[test]
    fn another_owner_is_told_first() {
        assert!(matches!(
            ended(&[theirs()]),
            End::Taken {
                owner: Some(_),
                lease_ms: Some(500)
            }
        ));
        assert!(matches!(
            ended(&[theirs(), Ok(Told::NotThere), Ok(Told::NotThere)]),
            End::Taken { .. }
        ));
        assert_eq!(
            ended(&[theirs(), Ok(Told::Done), Ok(Told::Done)]),
            End::Won(Duration::from_secs(9))
        );
    }
}
