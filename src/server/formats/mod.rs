//! Who wrote this key: pure functions over a [`Sighting`]; they never write.
//!
//! One file per library or family, asked in the order of [`TELLING`] and [`SHAPES`]; the first that knows the key has the word. Names
//! and structures that mean one thing only come first; then what only looks like a lock is refused ([`look_alikes`]); then
//! come the shapes of tokens, and last the names that say no more than "lock". Time is the sighting's own: nobody here has
//! a clock. What an operator pinned or ignores in the configuration goes before all of it.
//!
//! A shape proves little without its surroundings: without a TTL and without a *hint* – a lock-like name, or a pattern that
//! the operator wrote into the configuration – such a key is a possible lock at most ([`Confidence::Possible`]).
//!
//! A label never carries token material: it is a host, a process, a network card, or nothing.
//!
//! `.github/formats.md` is the table of all formats: how each is recognised, decoded, released and tested.

mod bull;
pub mod companions;
mod discourse;
mod django_redis;
mod huey;
mod laravel;
pub mod legacy_timestamp;
pub mod look_alikes;
mod madelson;
mod named;
mod names;
pub mod node_redlock;
mod phpredis_session;
pub mod plain;
mod python_redis_lock;
pub mod raw;
mod recognised;
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

use crate::domain::{Confidence, Format, glob};
use crate::server::config::Naming;
use crate::server::sighting::{Sighting, Value};
pub use companions::{companions_of, parent_of, semaphore_of};
pub use recognised::{OwnerBytes, Recognised, SeenOwner, fingerprint};
use recognised::{has_ttl, text};

/// Looks at a key and says whether it has one library's layout.
pub type Recogniser = fn(&Sighting, Hint) -> Option<Recognised>;

/// One recogniser and the formats that it may find.
pub struct Known {
    /// The formats.
    pub formats: &'static [Format],
    /// How they are found.
    pub recognise: Recogniser,
}

const fn known(formats: &'static [Format], recognise: Recogniser) -> Known {
    Known { formats, recognise }
}

/// Those that need no look at [`look_alikes`] first: a structure or a name that means one thing only.
pub const TELLING: [Known; 14] = [
    known(&[Format::ShedLock], shedlock::recognise),
    known(
        &[
            Format::Madelson,
            Format::MadelsonReadWrite,
            Format::MadelsonSemaphore,
        ],
        madelson::recognise,
    ),
    known(&[Format::RedissonReadWrite], redisson_read_write::recognise),
    known(
        &[
            Format::Redisson,
            Format::RedissonFair,
            Format::RedissonFenced,
        ],
        redisson::recognise,
    ),
    known(&[Format::RedissonMulti], redisson_multi::recognise),
    known(&[Format::SidekiqUniqueJobs], sidekiq::recognise),
    known(&[Format::Huey], huey::recognise),
    known(&[Format::RedisSemaphoreRb], redis_semaphore_rb::recognise),
    known(&[Format::Symfony], symfony::recognise),
    known(&[Format::RedissonPermits], redisson_permits::recognise),
    known(&[Format::RedisSemaphore], redis_semaphore::recognise),
    known(&[Format::Bullmq, Format::Bull], bull::recognise),
    known(&[Format::PhpredisSession], phpredis_session::recognise),
    known(&named::FORMATS, named::recognise),
];

/// Those that go by the shape of a token, and at the end by a name alone.
pub const SHAPES: [Known; 15] = [
    known(&[Format::DjangoRedis], django_redis::recognise),
    known(&[Format::RedisPy], redis_py::recognise),
    known(&[Format::PythonRedisLock], python_redis_lock::recognise),
    known(&[Format::Redsync], redsync::recognise),
    known(&[Format::Redislock], redislock::recognise),
    known(&[Format::RedlockPy], redlock_py::recognise),
    known(
        &[Format::Sentry, Format::NodeRedlock],
        node_redlock::recognise,
    ),
    known(&[Format::Rslock], rslock::recognise),
    known(&[Format::Laravel, Format::GoZero], laravel::recognise),
    known(&[Format::Pottery, Format::Quartz], uuids::recognise),
    known(&[Format::Suo], suo::recognise),
    known(&[Format::Symfony], symfony::recognise_string),
    known(&[Format::Discourse], discourse::recognise),
    known(&[Format::LegacyTimestamp], legacy_timestamp::recognise),
    known(&[Format::Plain], plain::recognise),
];

/// Those whose bytes are anybody's: they are known by a pin in the configuration, or by several locks together.
pub const PINNED_ONLY: [Format; 6] = [
    Format::Aioredlock,
    Format::Sherlock,
    Format::RedlockNet,
    Format::RedlockRb,
    Format::RedissonSemaphore,
    Format::SpringIntegration,
];

/// What the key's name says about it being a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The name has a word like `lock` or `mutex` in it.
    pub lock_like_name: bool,
    /// The name matches a pattern that the operator wrote into the configuration.
    pub named_by_operator: bool,
}

impl Hint {
    /// Whether the name speaks for a lock at all.
    pub fn is_given(self) -> bool {
        self.lock_like_name || self.named_by_operator
    }

    /// How sure a shape is that other things have too.
    fn makes(self, has_ttl: bool) -> Confidence {
        if self.is_given() || has_ttl {
            Confidence::Likely
        } else {
            Confidence::Possible
        }
    }
}

/// Recognises a lock, or says that the key is none.
///
/// `named_by_operator`: the key matched a pattern that the operator wrote into the configuration, which counts as a hint
/// that it is a lock.
pub fn recognise(sighting: &Sighting, named_by_operator: bool) -> Option<Recognised> {
    recognise_named(sighting, Naming::unpinned(named_by_operator))
}

/// Recognises a lock, or says that the key is none, by what the operator said about names and else by what it shows.
pub fn recognise_named(sighting: &Sighting, naming: Naming<'_>) -> Option<Recognised> {
    let name = sighting.key.as_bytes();
    if glob::any_matches(naming.ignore, name) || look_alikes::is_ours(name) {
        return None;
    }
    if let Some(pin) = naming.pin(name) {
        return pinned(sighting, pin.format);
    }
    if look_alikes::is_by_name(name) {
        return None;
    }
    let hint = Hint {
        lock_like_name: names::is_lock_like(name),
        named_by_operator: naming.is_named_by_operator(name),
    };
    let ask = |known: &[Known]| {
        let mut found = known
            .iter()
            .filter_map(|known| (known.recognise)(sighting, hint));
        found.next()
    };
    ask(&TELLING).or_else(|| {
        let refused = text(sighting)
            .is_some_and(|value| look_alikes::is_by_value(value, has_ttl(sighting), hint));
        if refused { None } else { ask(&SHAPES) }
    })
}

/// Whether a moment that is past under this name is a lock that has ended, and not somebody's note of when something ran last:
/// by the name, or because the operator pinned it to that format.
pub fn is_past_moment_a_lock(name: &[u8], naming: Naming<'_>) -> bool {
    if glob::any_matches(naming.ignore, name) {
        return false;
    }
    match naming.pin(name) {
        Some(pin) => pin.format == Format::LegacyTimestamp,
        None => names::is_lock_like(name) && !look_alikes::is_by_name(name),
    }
}

/// A key whose format the operator decided: read as that format reads it, and else as whatever stands in the string.
fn pinned(sighting: &Sighting, format: Format) -> Option<Recognised> {
    let hint = Hint {
        lock_like_name: true,
        named_by_operator: true,
    };
    let found = TELLING
        .iter()
        .chain(&SHAPES)
        .filter(|known| known.formats.contains(&format))
        .find_map(|known| (known.recognise)(sighting, hint));
    let found = found.or_else(|| match &sighting.value {
        Value::Text(value) if !value.is_empty() && format.may_be_a_string() => {
            Some(Recognised::by_value(format, sighting, value, None))
        }
        Value::Text(_)
        | Value::Hash(_)
        | Value::Set(_)
        | Value::SortedSet(_)
        | Value::List(_)
        | Value::TooLarge
        | Value::Other { .. } => None,
    });
    found.map(|found| found.of_format(format))
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod look_alikes_tests;
