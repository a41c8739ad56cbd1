//! redis-semaphore (Ruby): tokens that move from a list into a hash.
//!
//! ```text
//! SET   SEMAPHORE:gpu:EXISTS     1
//! RPUSH SEMAPHORE:gpu:AVAILABLE  0 1 2                      what is free; taken with BLPOP
//! HSET  SEMAPHORE:gpu:GRABBED    1  1795200485.556          what is taken, and since when
//! ```
//!
//! The hash is what is shown; a token is a number and names nobody, so that its time is a part of the owner: the next one that
//! has the same token is somebody else. Under a namespace the names begin with that instead.
//! Source: `lib/redis/semaphore.rb`.

use super::recognised::fields;
use super::{Hint, Recognised, SeenOwner, shapes, sidekiq};
use crate::domain::Format;
use crate::server::sighting::Sighting;

/// The owner's bytes: the token and since when it has it.
pub fn owner(token: &[u8], since: &[u8]) -> Vec<u8> {
    [token, b" ", since].concat()
}

/// Recognises a hash of tokens and times, by its prefix or with the mark that stands beside it.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let key = sighting.key.as_bytes();
    key.strip_suffix(b":GRABBED")?;
    let fields = fields(sighting)?;
    let is_token = |(token, since): &(Vec<u8>, Vec<u8>)| {
        token.len() <= 10 && shapes::is_decimal(token) && shapes::is_decimal(since)
    };
    let is_known = key.starts_with(b"SEMAPHORE:") || !sighting.companions.is_empty();
    if !is_known || !fields.iter().all(is_token) {
        return None;
    }
    let owners = fields
        .iter()
        .map(|(token, since)| {
            let label = format!("token {}", shapes::readable(token)?);
            let bytes = owner(token, since);
            Some(SeenOwner::new(
                Format::RedisSemaphoreRb,
                &bytes,
                Some(label),
            ))
        })
        .collect::<Option<_>>()?;
    let mut lock = Recognised::of_owners(Format::RedisSemaphoreRb, sighting, owners).shared();
    lock.claimed_at = fields
        .iter()
        .filter_map(|(_, since)| sidekiq::moment(since))
        .min();
    Some(lock)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{hash, labels, told};
    use super::*;
    use crate::domain::Mode;
    use crate::server::formats;
    use crate::server::sighting::Value;

    #[test]
    fn tokens_that_are_taken_are_owners() {
        let grabbed = hash(
            "SEMAPHORE:gpu:GRABBED",
            &[("0", "1795200485.5"), ("2", "1795200480.25")],
            None,
        );
        let lock = formats::recognise(&grabbed, false).unwrap();
        assert_eq!(
            (lock.format, lock.mode),
            (Format::RedisSemaphoreRb, Mode::Shared)
        );
        assert_eq!(labels(&grabbed), ["token 0", "token 2"]);
        assert_eq!(lock.claimed_at.unwrap().millis(), 1_795_200_480_250);
    }

    #[test]
    fn under_a_namespace_the_mark_beside_it_tells() {
        let grabbed = || hash("shop:gpu:GRABBED", &[("0", "1795200485.5")], None);
        assert_eq!(told(&grabbed()), None);
        let beside = grabbed().beside("shop:gpu:EXISTS", Value::Text(b"1".to_vec()));
        assert_eq!(told(&beside).unwrap().0, Format::RedisSemaphoreRb);
    }

    #[test]
    fn other_hashes_are_something_else() {
        let fields: [&[(&str, &str)]; 3] = [&[("a", "1.5")], &[("0", "now")], &[]];
        for fields in fields {
            assert_eq!(told(&hash("SEMAPHORE:gpu:GRABBED", fields, None)), None);
        }
    }
}
