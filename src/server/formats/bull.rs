//! `BullMQ` and Bull (npm): a worker's hold on a job.
//!
//! ```text
//! SET bull:mail:7:lock  6a379ae6-…-fe05:0  PX 30000      BullMQ: the worker's UUID and a count
//! SET bull:mail:7:lock  6a379ae6-…-fe05    NX PX 30000   Bull: the queue object's UUID
//! HGETALL bull:mail:7                                    the job
//! ```
//!
//! The job beside it makes it one. Renewed every 15 s. Releasing it hands the job to another worker while the first still
//! runs it. Source: `moveToActive`, `extendLock-2.lua` (`BullMQ`), `lib/commands/takeLock` (Bull).

use super::{Hint, Recognised, has_ttl, shapes, text};
use crate::domain::{Format, LockKey};
use crate::server::sighting::{Sighting, Value};

/// Recognises a worker's token beside a job.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let job = sighting.key.as_bytes().strip_suffix(b":lock")?;
    let value = text(sighting).filter(|_| has_ttl(sighting))?;
    let beside = sighting.companion(&LockKey::new(job))?;
    let is_job = match &beside.value {
        Value::Hash(_) | Value::TooLarge => true,
        Value::Text(_)
        | Value::Set(_)
        | Value::SortedSet(_)
        | Value::List(_)
        | Value::Other { .. } => false,
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
    // The first eight digits tell workers apart; the rest is what makes the token one.
    let worker = std::str::from_utf8(&worker[..8]).ok()?;
    Some(Recognised::by_value(
        format,
        sighting,
        value,
        Some(format!("worker {worker}")),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{string, told};
    use super::*;
    use crate::domain::Confidence;

    const WORKER: &str = "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05";

    fn job(value: &str) -> Sighting {
        let data = Value::Hash(vec![(b"name".to_vec(), b"mail".to_vec())]);
        string("bull:mail:7:lock", value, 30_000).beside("bull:mail:7", data)
    }

    #[test]
    fn a_token_beside_a_job_names_the_worker() {
        let label = Some("worker 6a379ae6".to_owned());
        assert_eq!(
            told(&job(&format!("{WORKER}:0"))),
            Some((Format::Bullmq, Confidence::Sure, label.clone()))
        );
        assert_eq!(
            told(&job(WORKER)),
            Some((Format::Bull, Confidence::Sure, label.clone()))
        );
        let large = string("mail:7:lock", WORKER, 30_000).beside("mail:7", Value::TooLarge);
        assert_eq!(told(&large), Some((Format::Bull, Confidence::Sure, label)));
    }

    #[test]
    fn without_a_job_or_with_another_token_it_is_any_lock() {
        for seen in [
            string("bull:mail:7:lock", WORKER, 30_000),
            string("bull:mail:7:lock", WORKER, 30_000)
                .beside("bull:mail:7", Value::Text(b"1".to_vec())),
            job("token-of-my-own"),
            job(&format!("{WORKER}:x")),
        ] {
            assert_eq!(told(&seen).unwrap().0, Format::Plain, "{seen:?}");
        }
    }
}
