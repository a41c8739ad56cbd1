//! sidekiq-unique-jobs (Ruby): a hash of the job ids that hold a digest.
//!
//! ```text
//! HSET uniquejobs:9f86…d015:LOCKED  2f3b…9c01  1795200485.556     job id and start time
//! HSET uniquejobs:9f86…d015:LOCKED  2f3b…9c01  {"worker":"Mail"…  version 9 stores a description instead
//! ```
//!
//! The key without `:LOCKED` and the keys `…:QUEUED`, `…:PRIMED` and `…:INFO` are companion keys;
//! `…:RUN` is the digest of a running job. There is no TTL by default. A job id has 24 hex digits
//! and is the secret value, so there is no label. Source: `lib/sidekiq_unique_jobs/key.rb`,
//! `locksmith.rb`.

use super::detected_lock::hash_fields;
use super::{DetectedLock, DetectedOwner, NameHint, shapes};
use crate::domain::{Confidence, Format, Timestamp};
use crate::server::stores::redis::key_state::KeyState;

const LOCKED: &[u8] = b":LOCKED";
const JOB_ID_LENGTH: usize = 24;

/// Detects a hash of job ids under a name that ends with `:LOCKED`.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let name = state.key.as_bytes().strip_suffix(LOCKED)?;
    let fields = hash_fields(state)?;
    let is_job = |(id, since): &(Vec<u8>, Vec<u8>)| {
        shapes::is_hex(id, JOB_ID_LENGTH) && (shapes::is_decimal(since) || since.starts_with(b"{"))
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
        .map(|(id, _)| DetectedOwner::new(Format::SidekiqUniqueJobs, id, None))
        .collect();
    let mut lock = DetectedLock::from_owners(Format::SidekiqUniqueJobs, state, owners);
    lock.claimed_at = match fields {
        [(_, since)] => parse_seconds(since),
        _ => None,
    };
    if fields.len() > 1 {
        lock = lock.into_shared();
    }
    Some(if has_digest {
        lock
    } else {
        lock.with_confidence(Confidence::Likely)
    })
}

/// Parses seconds since the Unix epoch with an optional fraction. Implausibly large values are
/// rejected.
pub(super) fn parse_seconds(seconds: &[u8]) -> Option<Timestamp> {
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
    use crate::server::stores::redis::formats;

    const KEY: &str = "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED";
    const JOB: &str = "2f3b4c5d6e7f8a9b0c1d2e3f";
    const OTHER: &str = "3f3b4c5d6e7f8a9b0c1d2e3f";

    #[test]
    fn job_ids_are_owners_with_a_start_time() {
        let locked = hash(KEY, &[(JOB, "1795200485.556")], None);
        assert_eq!(
            format(&locked),
            Some((Format::SidekiqUniqueJobs, Confidence::Sure))
        );
        let lock = formats::detect(&locked, false).unwrap();
        assert_eq!(lock.lease, Lease::Never);
        assert_eq!(lock.owners[0].bytes.expose(), JOB.as_bytes());
        assert_eq!(
            lock.claimed_at,
            Some(Timestamp::from_millis(1_795_200_485_556))
        );
        let two = hash(KEY, &[(JOB, "1795200485.5"), (OTHER, "1795200486.5")], None);
        let lock = formats::detect(&two, false).unwrap();
        assert_eq!((lock.mode, lock.owners.len()), (Mode::Shared, 2));
    }

    #[test]
    fn descriptions_of_version_9_and_running_jobs_are_detected() {
        let described = hash(KEY, &[(JOB, "{\"worker\":\"Mail\"}")], 9_000);
        assert!(format(&described).is_some());
        let running = KEY.replace(":LOCKED", ":RUN:LOCKED");
        assert_eq!(
            format(&hash(&running, &[(JOB, "1795200485.5")], None)),
            Some((Format::SidekiqUniqueJobs, Confidence::Sure))
        );
    }

    #[test]
    fn other_fields_and_names_are_not_detected() {
        for (key, field) in [
            ("doors:LOCKED", "front"),
            (KEY, "2f3b"),
            ("uniquejobs:9f86d081884c7d659a2feaa0c55ad015:OPEN", JOB),
        ] {
            assert_eq!(format(&hash(key, &[(field, "1795200485.5")], None)), None);
        }
    }
}
