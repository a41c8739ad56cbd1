//! redis-semaphore (npm): a mutex in a string, a semaphore in a sorted set.
//!
//! ```text
//! SET  mutex:report    6a379ae6-…-fe05  NX PX 10000
//! ZADD semaphore:gpu   1795200485556  6a379ae6-…-fe05           when it was taken or refreshed, by the owner's clock
//! ZADD semaphore:gpu   1795200485556  6a379ae6-…-fe05_0  …      several permits of one owner
//! ```
//!
//! Refreshed every 8 s. How long a permit lasts is nowhere to be read: the whole key's TTL is the last one's, so the time
//! between its deadline and the latest score is everyone's. Source: `lib/semaphore`, `lib/mutex`.

use super::recognised::scores;
use super::{Hint, Recognised, SeenOwner, has_ttl, shapes, text};
use crate::domain::{Confidence, Format, Lease};
use crate::server::sighting::{Sighting, Ttl};

/// A score ahead of our clock by more is no time of taking.
const AHEAD_MS: f64 = 5.0 * 60.0 * 1000.0;

/// Recognises both by prefix and shape.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let key = sighting.key.as_bytes();
    if key.starts_with(b"mutex:") {
        let value = text(sighting).filter(|value| has_ttl(sighting) && permit(value).is_some())?;
        let lock = Recognised::by_value(Format::RedisSemaphore, sighting, value, None);
        return Some(lock.with(Confidence::Likely));
    }
    let members = scores(sighting).filter(|_| key.starts_with(b"semaphore:"))?;
    let now = sighting.seen_at.millis() as f64;
    let is_permit =
        |(id, at): &(Vec<u8>, f64)| permit(id).is_some() && *at > 0.0 && *at <= now + AHEAD_MS;
    if !members.iter().all(is_permit) {
        return None;
    }
    let latest = members.iter().map(|(_, at)| *at).fold(0.0, f64::max);
    let oldest = match sighting.ttl {
        // Taken a whole lease before the last one: expired, though nobody has cleared it away yet.
        Ttl::Ms(left) => {
            let lease = (now + left as f64 - latest).max(0.0);
            now - lease
        }
        Ttl::Never => 0.0,
    };
    let mut owners: Vec<SeenOwner> = Vec::new();
    for (id, at) in members
        .iter()
        .filter(|(_, at)| *at >= oldest || *at == latest)
    {
        let mut owner = SeenOwner::new(Format::RedisSemaphore, permit(id)?, None);
        if has_ttl(sighting) {
            // So much sooner than that of the last one as it was refreshed sooner.
            let ends = sighting.seen_at.plus_millis((at - oldest) as i64);
            owner = owner.until(Lease::until(ends, sighting.seen_at));
        }
        match owners.iter_mut().find(|known| known.bytes == owner.bytes) {
            Some(known) => {
                let permits = known.owner.holds.unwrap_or(1);
                known.owner.holds = Some(permits.saturating_add(1));
                let later = owner
                    .until
                    .filter(|until| known.until.is_none_or(|known| known.later(until).is_lt()));
                known.until = later.or(known.until);
            }
            None => owners.push(owner),
        }
    }
    Some(Recognised::of_owners(Format::RedisSemaphore, sighting, owners).shared())
}

/// The owner of a permit: the UUID, with a suffix that its process may have added, without the permit's number.
pub fn permit(id: &[u8]) -> Option<&[u8]> {
    let uuid = id.get(..36).filter(|uuid| shapes::is_uuid4(uuid))?;
    let rest = &id[36..];
    match rest {
        [] => Some(uuid),
        [b'_', number @ ..] if !number.is_empty() && number.iter().all(u8::is_ascii_digit) => {
            Some(uuid)
        }
        [b'-', suffix @ ..] if !suffix.is_empty() => {
            let end = suffix.iter().rposition(|&byte| byte == b'_');
            let number = end.map(|end| &suffix[end + 1..]).unwrap_or_default();
            let is_numbered = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
            let length = if is_numbered {
                id.len() - number.len() - 1
            } else {
                id.len()
            };
            Some(&id[..length])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW_MS, format, string, told, zset};
    use super::*;
    use crate::domain::Mode;
    use crate::server::formats;

    /// Written by redis-semaphore 5.8.0.
    const ONE: &str = "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05";
    const TWO: &str = "7a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05";

    #[test]
    fn a_mutex_is_a_uuid_under_its_prefix() {
        assert_eq!(
            format(&string("mutex:report", ONE, 10_000)),
            Some((Format::RedisSemaphore, Confidence::Likely))
        );
        assert_eq!(
            told(&string("mutex:report", "7", 10_000)).unwrap().0,
            Format::Plain
        );
    }

    #[test]
    fn permits_of_one_owner_are_one_owner() {
        let members = [
            (format!("{ONE}_0"), NOW_MS - 100.0),
            (format!("{ONE}_1"), NOW_MS - 100.0),
            (TWO.to_owned(), NOW_MS - 3_000.0),
        ];
        let members: Vec<(&str, f64)> = members.iter().map(|(id, at)| (id.as_str(), *at)).collect();
        let gpu = zset("semaphore:gpu", &members, 9_900);
        let lock = formats::recognise(&gpu, false).unwrap();
        assert_eq!(
            (lock.format, lock.confidence, lock.mode),
            (Format::RedisSemaphore, Confidence::Sure, Mode::Shared)
        );
        let owners: Vec<_> = lock
            .owners
            .iter()
            .map(|seen| (seen.bytes.expose(), seen.owner.holds))
            .collect();
        assert_eq!(owners, [(ONE.as_bytes(), Some(2)), (TWO.as_bytes(), None)]);
    }

    #[test]
    fn a_permit_older_than_the_whole_lease_is_over() {
        let gpu = zset(
            "semaphore:gpu",
            &[(TWO, NOW_MS - 10_001.0), (ONE, NOW_MS - 100.0)],
            9_900,
        );
        assert_eq!(formats::recognise(&gpu, false).unwrap().owners.len(), 1);
    }

    #[test]
    fn other_members_scores_and_names_are_something_else() {
        for (key, member, score) in [
            ("semaphore:gpu", "user-7", NOW_MS),
            ("semaphore:gpu", ONE, NOW_MS + 900_000.0),
            ("scores:gpu", ONE, NOW_MS),
        ] {
            assert_eq!(told(&zset(key, &[(member, score)], 9_000)), None, "{key}");
        }
        assert_eq!(
            permit(format!("{ONE}-host_7").as_bytes()).map(<[u8]>::len),
            Some(41)
        );
        assert_eq!(permit(format!("{ONE}_x").as_bytes()), None);
    }
}
