//! Taking a lock on one node, and what all nodes' answers add up to.

use std::time::Duration;

use redis::{RedisResult, Value as Reply};

use super::owners::{found_there, in_the_way};
use super::{End, Token};
use crate::domain::{Answer, Lease, LockKey, Owner, Timestamp, quorum};
use crate::server::clock::Clock;
use crate::server::nodes::line::Line;
use crate::server::nodes::look::look_closely;
use crate::server::nodes::scripts::{EXTEND, Told};
use crate::server::nodes::sighting::{LONGEST_VALUE, Value};
use crate::server::nodes::trouble::Missed;

/// What one node answered to the question for the lock.
#[derive(Clone, Debug, PartialEq)]
pub enum Took {
    /// It is ours there.
    Ours,
    /// Somebody was there first: who and until when, as far as the node let us see.
    Theirs(Option<(Owner, Lease)>),
    /// The key is no lock.
    WrongType(String),
}

/// `SET key token NX PX ttl`, and in the same round trip who is in the way.
pub async fn take(
    mut line: Line,
    clock: &Clock,
    key: &LockKey,
    token: &Token,
    ttl: Duration,
) -> RedisResult<Took> {
    let key_bytes = key.as_bytes();
    let ttl_ms = millis(ttl);
    let mut questions = redis::pipe();
    questions.ignore_errors();
    questions
        .cmd("SET")
        .arg(key_bytes)
        .arg(token.expose())
        .arg("NX")
        .arg("PX")
        .arg(ttl_ms);
    questions
        .cmd("TYPE")
        .arg(key_bytes)
        .cmd("PTTL")
        .arg(key_bytes);
    questions
        .cmd("GETRANGE")
        .arg(key_bytes)
        .arg(0)
        .arg(LONGEST_VALUE);
    let (set, kind, pttl, value): (
        RedisResult<Reply>,
        RedisResult<String>,
        RedisResult<i64>,
        RedisResult<Vec<u8>>,
    ) = questions.query_async(&mut line.connection).await?;
    if set? == Reply::Okay {
        return Ok(Took::Ours);
    }
    let now = clock.now();
    match kind.as_deref() {
        Ok("string") => match (value, pttl) {
            // Ours from an attempt whose answer got lost: that lease began earlier, so it begins again.
            (Ok(value), _) if value == token.expose() => {
                extend_ours(line, key, token, ttl_ms).await
            }
            (Ok(value), Ok(pttl)) => {
                let value = if value.len() > LONGEST_VALUE {
                    Value::TooLarge
                } else {
                    Value::Text(value)
                };
                Ok(Took::Theirs(found_there(key, value, pttl, now)))
            }
            (Err(_), _) | (_, Err(_)) => Ok(Took::Theirs(None)),
        },
        Ok("hash") => {
            let Ok(Some(sighting)) = look_closely(line, clock, key).await else {
                return Ok(Took::Theirs(None));
            };
            match (in_the_way(&sighting), &sighting.value) {
                (Some(theirs), _) => Ok(Took::Theirs(Some(theirs))),
                (None, Value::Hash(_) | Value::TooLarge) => Ok(Took::WrongType("hash".to_owned())),
                // Another type by now.
                (None, Value::Text(_) | Value::Other { .. }) => Ok(Took::Theirs(None)),
            }
        }
        // Gone meanwhile, or not for us to see: in the way it was.
        Ok("none") | Err(_) => Ok(Took::Theirs(None)),
        Ok(other) => Ok(Took::WrongType(other.to_owned())),
    }
}

async fn extend_ours(
    mut line: Line,
    key: &LockKey,
    token: &Token,
    ttl_ms: u64,
) -> RedisResult<Took> {
    let mut script = EXTEND.key(key.as_bytes());
    let told = script
        .arg(token.expose())
        .arg(ttl_ms)
        .invoke_async(&mut line.connection)
        .await?;
    Ok(match told {
        Told::Done => Took::Ours,
        Told::NotThere | Told::OtherOwner { .. } | Told::WrongType { .. } => Took::Theirs(None),
    })
}

/// Whole milliseconds, at least one: Redis refuses a lease of none.
pub fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1)
}

/// How an attempt ended: won with validity left, kept from us by others, or short of nodes.
pub fn end(took: &[Result<Took, Missed>], validity: Option<Duration>, now: Timestamp) -> End {
    let quorum = quorum::majority(took.len());
    let ours = took.iter().filter(|took| **took == Ok(Took::Ours)).count();
    if let Some(left) = validity.filter(|_| ours >= quorum) {
        return End::Won(left);
    }
    let taken = took
        .iter()
        .filter(|took| matches!(took, Ok(Took::Theirs(_) | Took::WrongType(_))))
        .count();
    // Even with every other node the quorum would be out of reach. Otherwise it failed for want of nodes or of time.
    if taken <= took.len() - quorum {
        return End::NoQuorum;
    }
    match first_owner(took) {
        Some((owner, lease)) => End::Taken {
            owner: Some(owner),
            lease_ms: lease.remaining_ms(now),
        },
        None => match took.iter().find_map(|took| match took {
            Ok(Took::WrongType(type_name)) => Some(type_name.clone()),
            Ok(Took::Ours | Took::Theirs(_)) | Err(_) => None,
        }) {
            Some(type_name) => End::WrongType(type_name),
            None => End::Taken {
                owner: None,
                lease_ms: None,
            },
        },
    }
}

/// The owner on most nodes, and the lease as [`quorum::judge`] sees it.
fn first_owner(took: &[Result<Took, Missed>]) -> Option<(Owner, Lease)> {
    let answers: Vec<Answer> = took
        .iter()
        .map(|took| match took {
            Ok(Took::Theirs(Some((owner, lease)))) => Answer::Holds {
                owner: owner.clone(),
                lease: *lease,
            },
            Ok(Took::Ours | Took::Theirs(None) | Took::WrongType(_)) => Answer::Absent,
            Err(missed) => Answer::Unreachable {
                reason: missed.reason().to_owned(),
            },
        })
        .collect();
    match quorum::judge(&answers.iter().collect::<Vec<_>>()) {
        quorum::Judgement::Seen(seen) => seen
            .owners
            .into_iter()
            .next()
            .map(|owner| (owner, seen.lease)),
        quorum::Judgement::NotObserved | quorum::Judgement::CannotTell => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Fingerprint, Format};

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);
    const LEFT: Option<Duration> = Some(Duration::from_secs(9));

    fn theirs(n: u8) -> Result<Took, Missed> {
        let fingerprint = Fingerprint::parse(&format!("{n:016x}")).unwrap();
        let owner = Owner {
            fingerprint,
            label: None,
            format: Format::Plain,
            holds: None,
        };
        Ok(Took::Theirs(Some((
            owner,
            Lease::until(NOW.plus_millis(500), NOW),
        ))))
    }

    fn silent() -> Result<Took, Missed> {
        Err(Missed::Unanswered {
            reason: "no answer within 500 ms".to_owned(),
        })
    }

    #[test]
    fn a_quorum_with_validity_left_wins() {
        assert_eq!(
            end(&[Ok(Took::Ours), Ok(Took::Ours), silent()], LEFT, NOW),
            End::Won(Duration::from_secs(9))
        );
        assert_eq!(
            end(&[Ok(Took::Ours), Ok(Took::Ours), theirs(1)], LEFT, NOW),
            End::Won(Duration::from_secs(9))
        );
    }

    #[test]
    fn a_quorum_that_came_too_late_is_none() {
        assert_eq!(
            end(&[Ok(Took::Ours), Ok(Took::Ours), Ok(Took::Ours)], None, NOW),
            End::NoQuorum
        );
    }

    #[test]
    fn it_is_taken_only_when_no_other_node_could_have_helped() {
        assert!(matches!(
            end(&[theirs(1), theirs(1), Ok(Took::Ours)], LEFT, NOW),
            End::Taken {
                owner: Some(_),
                lease_ms: Some(500)
            }
        ));
        assert!(matches!(
            end(&[theirs(1), theirs(2), Ok(Took::Ours)], LEFT, NOW),
            End::Taken { .. }
        ));
        assert_eq!(
            end(&[theirs(1), Ok(Took::Ours), silent()], LEFT, NOW),
            End::NoQuorum
        );
        assert_eq!(
            end(&[theirs(1), silent(), silent()], LEFT, NOW),
            End::NoQuorum
        );
        assert!(matches!(end(&[theirs(1)], LEFT, NOW), End::Taken { .. }));
    }

    #[test]
    fn a_key_that_is_no_lock_is_named_unless_somebody_holds_it() {
        assert_eq!(
            end(&[Ok(Took::WrongType("list".to_owned()))], LEFT, NOW),
            End::WrongType("list".to_owned())
        );
        assert_eq!(
            end(&[Ok(Took::Theirs(None))], LEFT, NOW),
            End::Taken {
                owner: None,
                lease_ms: None
            }
        );
    }
}
