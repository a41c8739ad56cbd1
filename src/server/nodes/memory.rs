//! What was read of a node's keys, so that a lock which nobody touches is not touched by us either.
//!
//! Before Redis 7.2 reading a value resets the key's idle time, by which people tell abandoned locks from contended ones.
//! There a value is read again only when the key gives a sign that it may have changed.

use std::collections::HashMap;
use std::time::Duration;

use super::trip::TouchClock;
use crate::domain::LockKey;
use crate::server::clock::{Moment, Steady};
use crate::server::sighting::{Ttl, Value};

/// How exactly a deadline can be told from `PTTL`, besides the round trip.
const BLUR: Duration = Duration::from_millis(10);

/// Keys nobody asked about for so long are forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// Without a TTL only the idle time tells of a change, and it is silent about what happens within the very second in which
/// we read. Such a key is read again after this time.
const LONGEST_TRUST_WITHOUT_TTL: Duration = Duration::from_secs(30);

/// The values that were last read.
#[derive(Default)]
pub struct Memory {
    keys: HashMap<LockKey, Remembered>,
    swept_at: Option<Steady>,
}

struct Remembered {
    value: Value,
    reading: Reading,
    asked_at: Steady,
    /// Two readings in different seconds found the same, and nobody else touched the key in between. One alone may lie between
    /// two owners that came within one another's blur, or within the same second.
    is_settled: bool,
}

/// What is known of a key without reading its value, or beside it.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The type as `TYPE` names it.
    pub type_name: String,
    /// How long it lives on.
    pub ttl: Ttl,
    /// When, on our clocks.
    pub at: Moment,
    /// How long the round trip took.
    pub took: Duration,
    /// The server second in which it was last touched; for a value that was read, the second of reading.
    pub touched: Option<TouchClock>,
}

impl Reading {
    fn same_deadline(&self, other: &Self) -> bool {
        match (self.ttl, other.ttl) {
            (Ttl::Never, Ttl::Never) => true,
            (Ttl::Ms(mine), Ttl::Ms(theirs)) => {
                let apart = self
                    .at
                    .steady
                    .plus(Duration::from_millis(mine))
                    .millis_since(other.at.steady.plus(Duration::from_millis(theirs)));
                u128::from(apart.unsigned_abs()) <= (self.took + other.took + BLUR).as_millis()
            }
            (Ttl::Ms(_), Ttl::Never) | (Ttl::Never, Ttl::Ms(_)) => false,
        }
    }

    /// Nobody touched the key since `read`, as far as the server's seconds tell.
    fn is_untouched_since(&self, read: &Self) -> bool {
        match (self.touched, read.touched) {
            // One less: the second changed between the clock and the idle time. Anything else is another object.
            (Some(now), Some(then)) => matches!(now.seconds_since(then), -1 | 0),
            (None, _) | (_, None) => false,
        }
    }
}

impl Memory {
    /// The value that was last read, if nothing suggests that it changed.
    pub fn recall(&mut self, key: &LockKey, now: &Reading) -> Option<Value> {
        let known = self.keys.get_mut(key)?;
        known.asked_at = now.at.steady;
        let is_fresh = match now.ttl {
            Ttl::Ms(_) => true,
            Ttl::Never => now.at.steady.since(known.reading.at.steady) < LONGEST_TRUST_WITHOUT_TTL,
        };
        let holds = known.is_settled
            && is_fresh
            && known.reading.type_name == now.type_name
            && known.reading.same_deadline(now)
            && now.is_untouched_since(&known.reading)
            && !is_shared_number(&known.value);
        holds.then(|| known.value.clone())
    }

    /// Remembers a value that was just read. `before` is what the key looked like right before.
    pub fn remember(&mut self, key: &LockKey, value: Value, reading: Reading, before: &Reading) {
        let was_quiet = before
            .touched
            .zip(reading.touched)
            .is_some_and(|(touched, read)| read.seconds_since(touched) >= 2);
        let is_settled = was_quiet
            || self.keys.get(key).is_some_and(|known| {
                let is_later = reading
                    .touched
                    .zip(known.reading.touched)
                    .is_some_and(|(now, then)| now.seconds_since(then) >= 1);
                known.value == value
                    && known.reading.same_deadline(&reading)
                    && before.is_untouched_since(&known.reading)
                    && is_later
            });
        let asked_at = reading.at.steady;
        self.keys.insert(
            key.clone(),
            Remembered {
                value,
                reading,
                asked_at,
                is_settled,
            },
        );
    }

    /// Forgets a key that is gone.
    pub fn forget(&mut self, key: &LockKey) {
        self.keys.remove(key);
    }

    /// Forgets everything: another server may be at the other end.
    pub fn forget_everything(&mut self) {
        self.keys.clear();
    }

    /// Forgets keys nobody asks about any more.
    pub fn sweep(&mut self, now: Steady) {
        if self
            .swept_at
            .is_none_or(|then| now.since(then) >= FORGET_AFTER / 4)
        {
            self.swept_at = Some(now);
            self.keys
                .retain(|_, known| now.since(known.asked_at) < FORGET_AFTER);
        }
    }

    /// How many keys are remembered.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// Redis keeps the numbers below 10,000 once for all keys, so their idle time is everybody's.
fn is_shared_number(value: &Value) -> bool {
    match value {
        Value::Text(bytes) => {
            (1..=4).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_digit)
        }
        Value::Hash(_)
        | Value::Set(_)
        | Value::SortedSet(_)
        | Value::List(_)
        | Value::TooLarge
        | Value::Other { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::domain::Timestamp;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn moment(at_ms: u64) -> Moment {
        let now = Moment {
            wall: NOW,
            steady: Steady::default(),
        };
        now.plus(Duration::from_millis(at_ms))
    }

    /// The key at `at_ms`, `ttl_ms` before its end, last touched in the server's second `touched`.
    fn reading(at_ms: u64, ttl_ms: u64, touched: i64) -> Reading {
        Reading {
            type_name: "string".to_owned(),
            ttl: Ttl::Ms(ttl_ms),
            at: moment(at_ms),
            took: Duration::from_millis(1),
            touched: Some(TouchClock(touched)),
        }
    }

    /// A value read at 0 ms in second 100, 60 s before its end, when it had been quiet for `quiet` seconds.
    fn memory_of(quiet: i64) -> (Memory, LockKey) {
        let (mut memory, key) = (Memory::default(), LockKey::from("k"));
        memory.remember(
            &key,
            Value::Text(b"owner".to_vec()),
            reading(0, 60_000, 100),
            &reading(0, 60_000, 100 - quiet),
        );
        (memory, key)
    }

    #[test]
    fn a_quiet_lock_is_read_once() {
        let (mut memory, key) = memory_of(5);
        assert!(memory.recall(&key, &reading(5_000, 55_000, 100)).is_some());
        assert!(
            memory.recall(&key, &reading(9_000, 51_003, 99)).is_some(),
            "the second changed between two questions"
        );
    }

    #[test]
    fn a_touch_or_a_moved_deadline_or_another_object_is_read_again() {
        let (mut memory, key) = memory_of(5);
        assert!(
            memory.recall(&key, &reading(5_000, 55_000, 101)).is_none(),
            "touched in a later second"
        );
        assert!(
            memory.recall(&key, &reading(5_000, 60_000, 100)).is_none(),
            "renewed"
        );
        assert!(
            memory.recall(&key, &reading(5_000, 55_000, 42)).is_none(),
            "another object"
        );
        assert!(
            memory
                .recall(
                    &key,
                    &Reading {
                        type_name: "hash".into(),
                        ..reading(5_000, 55_000, 100)
                    }
                )
                .is_none()
        );
        assert!(
            memory
                .recall(
                    &key,
                    &Reading {
                        ttl: Ttl::Never,
                        ..reading(5_000, 0, 100)
                    }
                )
                .is_none()
        );
    }

    #[test]
    fn a_lock_that_was_just_taken_is_read_twice() {
        let (mut memory, key) = memory_of(0);
        let second = reading(1_000, 59_000, 100);
        assert!(memory.recall(&key, &second).is_none());
        memory.remember(
            &key,
            Value::Text(b"owner".to_vec()),
            reading(1_000, 59_000, 101),
            &second,
        );
        assert!(memory.recall(&key, &reading(2_000, 58_000, 101)).is_some());
    }

    #[test]
    fn a_lock_that_somebody_touches_every_second_is_read_every_time() {
        let (mut memory, key) = memory_of(0);
        for second in 1..5 {
            let touched = 100 + i64::try_from(second).unwrap();
            let now = reading(1_000 * second, 60_000 - 1_000 * second, touched);
            assert!(memory.recall(&key, &now).is_none());
            memory.remember(&key, Value::Text(b"owner".to_vec()), now.clone(), &now);
            // Right after we read it, in the same second, another owner may have come.
            assert!(memory.recall(&key, &now).is_none(), "{second}");
        }
    }

    #[test]
    fn without_an_idle_time_it_is_always_read() {
        let (mut memory, key) = memory_of(5);
        assert!(
            memory
                .recall(
                    &key,
                    &Reading {
                        touched: None,
                        ..reading(5_000, 55_000, 100)
                    }
                )
                .is_none()
        );
    }

    #[test]
    fn keys_nobody_asks_about_are_forgotten() {
        let (mut memory, _) = memory_of(5);
        memory.sweep(moment(30_000).steady);
        assert_eq!(memory.len(), 1);
        memory.sweep(moment(90_000).steady);
        assert!(memory.is_empty());
    }
}
