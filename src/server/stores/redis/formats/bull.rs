//! `BullMQ` and Bull (npm): the lock of a worker on a job.
//!
//! ```text
//! SET bull:mail:7:lock  6a379ae6-…-fe05:0  PX 30000      BullMQ: the worker's UUID and a count
//! SET bull:mail:7:lock  6a379ae6-…-fe05    NX PX 30000   Bull: the queue object's UUID
//! HGETALL bull:mail:7                                    the job
//! ```
//!
//! The key of the job must exist. Workers renew every 15 s. A release assigns the job to another
//! worker while the first one still runs it. Source: `moveToActive`, `extendLock-2.lua` (`BullMQ`),
//! `lib/commands/takeLock` (Bull).

use super::{DetectedLock, NameHint, has_ttl, shapes, string_value};
use crate::domain::{Format, LockKey};
use crate::server::stores::redis::key_state::{KeyState, RedisValue};

/// Detects the token of a worker if the key of the job exists.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let job = state.key.as_bytes().strip_suffix(b":lock")?;
    let value = string_value(state).filter(|_| has_ttl(state))?;
    let job = state.companion(&LockKey::new(job))?;
    let is_job = match &job.value {
        RedisValue::Hash(_) | RedisValue::TooLarge => true,
        RedisValue::Text(_)
        | RedisValue::Set(_)
        | RedisValue::SortedSet(_)
        | RedisValue::List(_)
        | RedisValue::Other { .. } => false,
    };
    let (worker, count) = value.split_at_checked(36)?;
    if !is_job || !shapes::is_uuid(worker) {
        return None;
    }
    let format = match count {
        [] => Format::Bull,
        [b':', count @ ..] if !count.is_empty() && count.iter().all(u8::is_ascii_digit) => {
            Format::Bullmq
        }
        _ => return None,
    };
    // Eight digits identify the worker. The rest of the token is secret.
    let worker = std::str::from_utf8(&worker[..8]).ok()?;
    Some(DetectedLock::from_value(
        format,
        state,
        value,
        Some(format!("worker {worker}")),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{describe, string};
    use super::*;
    use crate::domain::Confidence;

    const WORKER: &str = "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05";

    fn job(value: &str) -> KeyState {
        let data = RedisValue::Hash(vec![(b"name".to_vec(), b"mail".to_vec())]);
        string("bull:mail:7:lock", value, 30_000).with_companion("bull:mail:7", data)
    }

    #[test]
    fn the_token_of_a_job_has_a_label_with_the_worker() {
        let label = Some("worker 6a379ae6".to_owned());
        assert_eq!(
            describe(&job(&format!("{WORKER}:0"))),
            Some((Format::Bullmq, Confidence::Sure, label.clone()))
        );
        assert_eq!(
            describe(&job(WORKER)),
            Some((Format::Bull, Confidence::Sure, label.clone()))
        );
        let large =
            string("mail:7:lock", WORKER, 30_000).with_companion("mail:7", RedisValue::TooLarge);
        assert_eq!(
            describe(&large),
            Some((Format::Bull, Confidence::Sure, label))
        );
    }

    #[test]
    fn without_a_job_or_with_another_token_it_is_a_plain_lock() {
        for detected in [
            string("bull:mail:7:lock", WORKER, 30_000),
            string("bull:mail:7:lock", WORKER, 30_000)
                .with_companion("bull:mail:7", RedisValue::Text(b"1".to_vec())),
            job("token-of-my-own"),
            job(&format!("{WORKER}:x")),
        ] {
            assert_eq!(
                describe(&detected).unwrap().0,
                Format::Plain,
                "{detected:?}"
            );
        }
    }
}
