//! Detects the format of a lock from a [`KeyState`]. The detectors are pure functions.
//!
//! There is one file per library or family. The first match decides the format, in this order:
//! 1. `exclude` and `format_override` in the configuration,
//! 2. [`DISTINCTIVE_DETECTORS`], which match names and structures that no other library uses,
//! 3. [`look_alikes`], which reject keys that only look like locks,
//! 4. [`TOKEN_SHAPE_DETECTORS`], which match the shape of a token, and finally lock-like names.
//!
//! The shape of a token is weak evidence: caches, sessions and one-time codes have random values
//! too. Without a lock-like name or a pattern in the configuration, such a key is a likely lock only
//! if it expires soon, else a possible one ([`Confidence::Possible`]), and none if its name says that
//! it is something else.
//!
//! Detectors have no clock: they use the time at which the key was read. A label never contains
//! parts of a token. It is a host, a process or a network card address.
//!
//! `docs/formats.md` describes how each format is detected, decoded, released and tested.

mod bull;
mod by_name;
pub mod companions;
mod detected_lock;
mod discourse;
mod django_redis;
mod huey;
mod laravel;
pub mod legacy_timestamp;
pub mod look_alikes;
mod madelson;
mod msgpack;
mod names;
pub mod node_redlock;
mod phpredis_session;
pub mod plain;
mod prefilter;
mod python_redis_lock;
pub mod raw;
pub mod redis_py;
pub mod redis_semaphore;
pub mod redis_semaphore_rb;
mod redislock;
pub mod redisson;
mod redisson_multi;
pub mod redisson_owner;
mod redisson_permits;
mod redisson_read_write;
mod redlock_py;
pub mod redsync;
pub mod rslock;
mod shapes;
pub mod shedlock;
mod sidekiq;
pub mod suo;
mod symfony;
mod uuids;

use crate::domain::{Confidence, Format};
use crate::server::config::KeyPatterns;
pub use crate::server::stores::detected_lock::{
    DetectedLock, DetectedOwner, OwnerBytes, fingerprint,
};
use crate::server::stores::redis::key_state::{KeyState, RedisValue, Ttl};
pub use companions::{companion_keys, parent_lock, semaphore_for_channel};
use detected_lock::{has_ttl, string_value};
pub use prefilter::{can_be_owner_element, can_start_token};

/// Returns the lock if the key has the format of the detector.
pub type Detector = fn(&KeyState, NameHint) -> Option<DetectedLock>;

/// A detector and the formats that it can return.
pub struct FormatDetector {
    /// The possible results.
    pub formats: &'static [Format],
    /// The detector function.
    pub detect: Detector,
}

const fn detector(formats: &'static [Format], detect: Detector) -> FormatDetector {
    FormatDetector { formats, detect }
}

/// Detectors of distinctive names and structures. They run before [`look_alikes`].
pub const DISTINCTIVE_DETECTORS: [FormatDetector; 15] = [
    detector(&[Format::ShedLock], shedlock::detect),
    detector(
        &[
            Format::Madelson,
            Format::MadelsonReadWrite,
            Format::MadelsonSemaphore,
        ],
        madelson::detect,
    ),
    detector(&[Format::RedissonReadWrite], redisson_read_write::detect),
    detector(
        &[
            Format::Redisson,
            Format::RedissonFair,
            Format::RedissonFenced,
        ],
        redisson::detect,
    ),
    detector(&[Format::RedissonMulti], redisson_multi::detect),
    detector(&[Format::SidekiqUniqueJobs], sidekiq::detect),
    detector(&[Format::Huey], huey::detect),
    detector(&[Format::Suo], suo::detect),
    detector(&[Format::RedisSemaphoreRb], redis_semaphore_rb::detect),
    detector(&[Format::Symfony], symfony::detect),
    detector(&[Format::RedissonPermits], redisson_permits::detect),
    detector(&[Format::RedisSemaphore], redis_semaphore::detect),
    detector(&[Format::Bullmq, Format::Bull], bull::detect),
    detector(&[Format::PhpredisSession], phpredis_session::detect),
    detector(&by_name::FORMATS, by_name::detect),
];

/// Detectors of token shapes, and finally of lock-like names. The order is significant: more
/// specific shapes come first.
pub const TOKEN_SHAPE_DETECTORS: [FormatDetector; 14] = [
    detector(&[Format::DjangoRedis], django_redis::detect),
    detector(&[Format::RedisPy], redis_py::detect),
    detector(&[Format::PythonRedisLock], python_redis_lock::detect),
    detector(&[Format::Redsync], redsync::detect),
    detector(&[Format::Redislock], redislock::detect),
    detector(&[Format::RedlockPy], redlock_py::detect),
    detector(&[Format::Sentry, Format::NodeRedlock], node_redlock::detect),
    detector(&[Format::Rslock], rslock::detect),
    detector(&[Format::Laravel, Format::GoZero], laravel::detect),
    detector(&[Format::Pottery, Format::Quartz], uuids::detect),
    detector(&[Format::Symfony], symfony::detect_string),
    detector(&[Format::Discourse], discourse::detect),
    detector(&[Format::LegacyTimestamp], legacy_timestamp::detect),
    detector(&[Format::Plain], plain::detect),
];

/// Formats without a distinctive shape. They need a `format_override` in the configuration, or are
/// inferred from several locks (Spring Integration).
pub const OVERRIDE_ONLY: [Format; 6] = [
    Format::Aioredlock,
    Format::Sherlock,
    Format::RedlockNet,
    Format::RedlockRb,
    Format::RedissonSemaphore,
    Format::SpringIntegration,
];

/// Whether the name of a key indicates a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameHint {
    /// The name contains a word like `lock` or `mutex`.
    pub is_lock_like: bool,
    /// The name matches a pattern in the configuration.
    pub matches_explicit_keys: bool,
}

impl NameHint {
    /// Whether the name indicates a lock.
    pub fn is_present(self) -> bool {
        self.is_lock_like || self.matches_explicit_keys
    }

    /// The confidence in a token shape that other keys can also have.
    fn confidence(self, has_ttl: bool) -> Confidence {
        if self.is_present() || has_ttl {
            Confidence::Likely
        } else {
            Confidence::Possible
        }
    }
}

/// Detects a lock without the configuration's overrides and exclusions.
///
/// `matches_explicit_keys`: the key matches a pattern in the configuration, which indicates a lock.
pub fn detect(state: &KeyState, matches_explicit_keys: bool) -> Option<DetectedLock> {
    detect_with_patterns(state, KeyPatterns::without_overrides(matches_explicit_keys))
}

/// Detects a lock, considering the configured patterns.
pub fn detect_with_patterns(state: &KeyState, patterns: KeyPatterns<'_>) -> Option<DetectedLock> {
    let name = state.key.as_bytes();
    if patterns.is_excluded(name) || look_alikes::is_console_key(name) {
        return None;
    }
    if let Some(format_override) = patterns.format_override(name) {
        return detect_overridden(state, format_override.format);
    }
    if look_alikes::is_excluded_name(name) {
        return None;
    }
    let name_hint = NameHint {
        is_lock_like: names::is_lock_like(name),
        matches_explicit_keys: patterns.matches_explicit_keys(name),
    };
    let first_match = |detectors: &[FormatDetector]| {
        detectors
            .iter()
            .find_map(|detector| (detector.detect)(state, name_hint))
    };
    first_match(&DISTINCTIVE_DETECTORS).or_else(|| {
        let is_excluded = string_value(state)
            .is_some_and(|value| look_alikes::is_excluded_value(value, has_ttl(state), name_hint));
        if is_excluded {
            return None;
        }
        let lock = first_match(&TOKEN_SHAPE_DETECTORS)?;
        if name_hint.is_present() || !lock.is_detected_by_shape() {
            return Some(lock);
        }
        if names::indicates_other_data(name) {
            return None;
        }
        // The greater value is the less certain one.
        let confidence = lock.confidence.max(shape_confidence(state));
        Some(lock.with_confidence(confidence))
    })
}

/// The longest lease of a lock that is recognised by the shape of its token alone. Symfony's default
/// is the longest of all libraries. One-time codes and cached values often last longer.
const MAX_LEASE_OF_UNNAMED_LOCK_MS: u64 = 5 * 60 * 1000;

/// The confidence in a key whose name gives no hint: a random value with an expiry can be a lock, and
/// is likely to be one if it expires soon.
fn shape_confidence(state: &KeyState) -> Confidence {
    // `uuid4().hex` is an id more often than a lock.
    let is_uuid = string_value(state).is_some_and(shapes::is_uuid4_hex);
    match state.ttl {
        Ttl::Ms(ms) if ms <= MAX_LEASE_OF_UNNAMED_LOCK_MS && !is_uuid => Confidence::Likely,
        Ttl::Ms(_) | Ttl::Never => Confidence::Possible,
    }
}

/// Whether a past timestamp under this name is an overdue legacy lock. Under other names it is more
/// likely the time of the last run of a job.
pub fn is_overdue_lock(name: &[u8], patterns: KeyPatterns<'_>) -> bool {
    if patterns.is_excluded(name) {
        return false;
    }
    match patterns.format_override(name) {
        Some(format_override) => format_override.format == Format::LegacyTimestamp,
        None => names::is_lock_like(name) && !look_alikes::is_excluded_name(name),
    }
}

/// Detects a key with a configured format: by the detectors of that format, or else as a string
/// whose value identifies the owner.
fn detect_overridden(state: &KeyState, format: Format) -> Option<DetectedLock> {
    let name_hint = NameHint {
        is_lock_like: true,
        matches_explicit_keys: true,
    };
    let found = DISTINCTIVE_DETECTORS
        .iter()
        .chain(&TOKEN_SHAPE_DETECTORS)
        .filter(|detector| detector.formats.contains(&format))
        .find_map(|detector| (detector.detect)(state, name_hint));
    let found = found.or_else(|| match &state.value {
        RedisValue::Text(value) if !value.is_empty() && format.can_be_string() => {
            Some(DetectedLock::from_value(format, state, value, None))
        }
        RedisValue::Text(_)
        | RedisValue::Hash(_)
        | RedisValue::Set(_)
        | RedisValue::SortedSet(_)
        | RedisValue::List(_)
        | RedisValue::TooLarge
        | RedisValue::Other { .. } => None,
    });
    found.map(|found| found.with_format(format))
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests;
