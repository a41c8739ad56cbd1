//! sidekiq-unique-jobs (Ruby): a hash of job ids that hold a digest.
//!
//! ```text
//! HSET uniquejobs:9f86…d015:LOCKED  2f3b…9c01  1795200485.556     job id, and since when
//! HSET uniquejobs:9f86…d015:LOCKED  2f3b…9c01  {"worker":"Mail"…  version 9 keeps a description instead
//! ```
//!
//! The key without `:LOCKED`, `…:QUEUED`, `…:PRIMED` and `…:INFO` belong to it; `…:RUN` is the digest of a job that runs.
//! There is no TTL unless one is set. A job id is 24 hex digits; a label says nothing of the bytes that are compared, so there
//! is none. Source: `lib/sidekiq_unique_jobs/key.rb`, `locksmith.rb`.

use super::recognised::fields;
use super::{Hint, Recognised, SeenOwner, shapes};
use crate::domain::{Confidence, Format, Timestamp};
use crate::server::sighting::Sighting;

const LOCKED: &[u8] = b":LOCKED";
const ID: usize = 24;

/// Recognises a hash of job ids under a name that ends with `:LOCKED`.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let name = sighting.key.as_bytes().strip_suffix(LOCKED)?;
    let fields = fields(sighting)?;
    let is_job = |(id, since): &(Vec<u8>, Vec<u8>)| {
        shapes::is_hex(id, ID) && (shapes::is_decimal(since) || since.starts_with(b"{"))
    };
    if !fields.iter().all(is_job) {
        return None;
    }
    let digest = name.rsplit(|&byte| byte == b':');
    let has_digest = digest
        .take(2)
        .any(|part| shapes::is_hex(part, 32) || shapes::is_hex(part, 64));
    let owners = fields
        .iter()
        .map(|(id, _)| SeenOwner::new(Format::SidekiqUniqueJobs, id, None))
        .collect();
    let mut lock = Recognised::of_owners(Format::SidekiqUniqueJobs, sighting, owners);
    lock.claimed_at = match fields {
        [(_, since)] => moment(since),
        _ => None,
    };
    if fields.len() > 1 {
        lock = lock.shared();
    }
    Some(if has_digest {
        lock
    } else {
        lock.with(Confidence::Likely)
    })
}

/// Seconds since 1970 with a fraction, in a time that can be.
pub(super) fn moment(seconds: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(seconds)
        .ok()
        .filter(|_| shapes::is_decimal(seconds))?;
    let seconds: f64 = text.parse().ok()?;
    (seconds < 1e11).then(|| Timestamp::from_millis((seconds * 1000.0) as i64))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{format, hash};
    use super::*;
    use crate::domain::{Lease, Mode};
    use crate::server::formats;

    const KEY: &str = "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED";
    const JOB: &str = "2f3b4c5d6e7f8a9b0c1d2e3f";
    const OTHER: &str = "3f3b4c5d6e7f8a9b0c1d2e3f";

    #[test]
    fn job_ids_are_owners_and_their_time_is_known() {
        let locked = hash(KEY, &[(JOB, "1795200485.556")], None);
        assert_eq!(
            format(&locked),
            Some((Format::SidekiqUniqueJobs, Confidence::Sure))
        );
        let lock = formats::recognise(&locked, false).unwrap();
        assert_eq!(lock.lease, Lease::Never);
        assert_eq!(lock.owners[0].bytes.expose(), JOB.as_bytes());
        assert_eq!(
            lock.claimed_at,
            Some(Timestamp::from_millis(1_795_200_485_556))
        );
        let two = hash(KEY, &[(JOB, "1795200485.5"), (OTHER, "1795200486.5")], None);
        let lock = formats::recognise(&two, false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Shared, 2));
    }

    #[test]
    fn version_nine_describes_the_job_and_a_running_one_has_a_digest_too() {
        let described = hash(KEY, &[(JOB, "{\"worker\":\"Mail\"}")], 9_000);
        assert!(format(&described).is_some());
        let running = KEY.replace(":LOCKED", ":RUN:LOCKED");
        assert_eq!(
            format(&hash(&running, &[(JOB, "1795200485.5")], None)),
            Some((Format::SidekiqUniqueJobs, Confidence::Sure))
        );
    }

    #[test]
    fn other_fields_and_names_are_something_else() {
        for (key, field) in [
            ("doors:LOCKED", "front"),
            (KEY, "2f3b"),
            ("uniquejobs:9f86d081884c7d659a2feaa0c55ad015:OPEN", JOB),
        ] {
            assert_eq!(format(&hash(key, &[(field, "1795200485.5")], None)), None);
        }
    }
}
