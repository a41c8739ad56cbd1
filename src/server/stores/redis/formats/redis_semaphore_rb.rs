//! redis-semaphore (Ruby): tokens that move from a list into a hash.
//!
//! ```text
//! SET   SEMAPHORE:gpu:EXISTS     1
//! RPUSH SEMAPHORE:gpu:AVAILABLE  0 1 2                      the available tokens, acquired with BLPOP
//! HSET  SEMAPHORE:gpu:GRABBED    1  1795200485.556          the acquired tokens with their times
//! ```
//!
//! The hash is the lock. A token is a number that the next owner reuses, so the time is part of the
//! owner's identity. With a namespace the names have another prefix.
//! Source: `lib/redis/semaphore.rb`.

use super::detected_lock::hash_fields;
use super::{DetectedLock, DetectedOwner, NameHint, shapes, sidekiq};
use crate::domain::Format;
use crate::server::stores::redis::key_state::KeyState;

/// The owner's bytes: the token and its acquire time.
pub fn owner(token: &[u8], since: &[u8]) -> Vec<u8> {
    [token, b" ", since].concat()
}

/// Detects a hash of tokens and times, by its prefix or by its companion key `…:EXISTS`.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let key = state.key.as_bytes();
    key.strip_suffix(b":GRABBED")?;
    let fields = hash_fields(state)?;
    let is_token = |(token, since): &(Vec<u8>, Vec<u8>)| {
        token.len() <= 10 && shapes::is_decimal(token) && shapes::is_decimal(since)
    };
    let is_known = key.starts_with(b"SEMAPHORE:") || !state.companions.is_empty();
    if !is_known || !fields.iter().all(is_token) {
        return None;
    }
    let owners = fields
        .iter()
        .map(|(token, since)| {
            let label = format!("token {}", shapes::readable(token)?);
            let bytes = owner(token, since);
            Some(DetectedOwner::new(
                Format::RedisSemaphoreRb,
                &bytes,
                Some(label),
            ))
        })
        .collect::<Option<_>>()?;
    let mut lock = DetectedLock::from_owners(Format::RedisSemaphoreRb, state, owners).into_shared();
    lock.claimed_at = fields
        .iter()
        .filter_map(|(_, since)| sidekiq::parse_seconds(since))
        .min();
    Some(lock)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{describe, hash, labels};
    use super::*;
    use crate::domain::Mode;
    use crate::server::stores::redis::formats;
    use crate::server::stores::redis::key_state::RedisValue;

    #[test]
    fn acquired_tokens_are_owners() {
        let grabbed = hash(
            "SEMAPHORE:gpu:GRABBED",
            &[("0", "1795200485.5"), ("2", "1795200480.25")],
            None,
        );
        let lock = formats::detect(&grabbed, false).unwrap();
        assert_eq!(
            (lock.format, lock.mode),
            (Format::RedisSemaphoreRb, Mode::Shared)
        );
        assert_eq!(labels(&grabbed), ["token 0", "token 2"]);
        assert_eq!(lock.claimed_at.unwrap().millis(), 1_795_200_480_250);
    }

    #[test]
    fn with_a_namespace_the_companion_key_is_required() {
        let grabbed = || hash("shop:gpu:GRABBED", &[("0", "1795200485.5")], None);
        assert_eq!(describe(&grabbed()), None);
        let with_companion =
            grabbed().with_companion("shop:gpu:EXISTS", RedisValue::Text(b"1".to_vec()));
        assert_eq!(
            describe(&with_companion).unwrap().0,
            Format::RedisSemaphoreRb
        );
    }

    #[test]
    fn other_hashes_are_not_detected() {
        let fields: [&[(&str, &str)]; 3] = [&[("a", "1.5")], &[("0", "now")], &[]];
        for fields in fields {
            assert_eq!(describe(&hash("SEMAPHORE:gpu:GRABBED", fields, None)), None);
        }
    }
}
