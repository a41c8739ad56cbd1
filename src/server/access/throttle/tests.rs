//! Tests of the back-off with in-memory counters.

use super::failures::{
    FAILURE_TTL, FREE_ATTEMPTS_PER_NETWORK, FREE_ATTEMPTS_PER_PAIR, MAX_BACKOFF, MAX_DELAY,
};
use super::*;

const BEGIN: Timestamp = Timestamp::from_millis(1_000_000_000);

/// A throttle without attempts, and a time set by the test.
struct Attempts {
    throttle: SignInThrottle,
    key: hmac::Key,
}

impl Attempts {
    fn none() -> Self {
        Self {
            throttle: SignInThrottle::with_store(CounterStore::Memory(MemoryCounters::default())),
            key: hmac::Key::new(hmac::HMAC_SHA256, b"a key"),
        }
    }

    async fn begin(
        &self,
        source: AttemptSource<'_>,
        seconds: u64,
    ) -> Result<SignInAttempt<'_>, OperationError> {
        let now = BEGIN.plus(Duration::from_secs(seconds));
        self.throttle.begin_attempt(source, &self.key, now).await
    }

    /// The back-off in seconds, or `None` if the attempt is accepted.
    async fn wait(&self, source: AttemptSource<'_>, seconds: u64) -> Option<u64> {
        match self.begin(source, seconds).await {
            Err(OperationError::TooManyRequests { retry_after_ms, .. }) => {
                Some(retry_after_ms / 1000)
            }
            Ok(_) => None,
            Err(other) => panic!("{other}"),
        }
    }

    async fn delay(&self, source: AttemptSource<'_>) -> Duration {
        self.begin(source, 0).await.ok().unwrap().delay
    }

    async fn succeed(&self, source: AttemptSource<'_>, seconds: u64) {
        let attempt = self.begin(source, seconds).await.ok().unwrap();
        attempt.record_success(BEGIN).await.unwrap();
    }
}

fn from(account: &str, address: u32) -> AttemptSource<'_> {
    AttemptSource {
        account,
        address: Some(IpAddr::V4(address.into())),
        known_browser: None,
    }
}

#[tokio::test]
async fn back_off_doubles_after_the_free_attempts_of_an_account_and_network() {
    let attempts = Attempts::none();
    let (alice, mut now) = (from("alice", 1), 0);
    for _ in 0..FREE_ATTEMPTS_PER_PAIR + 1 {
        assert_eq!(attempts.wait(alice, now).await, None);
    }
    for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
        assert_eq!(attempts.wait(alice, now).await, Some(pause), "at {now}");
        now += pause;
        assert_eq!(attempts.wait(alice, now).await, None, "at {now}");
    }
    // Rejected attempts do not extend the back-off, and counters expire.
    assert_eq!(attempts.wait(alice, now + 59).await, Some(1));
    now += FAILURE_TTL.as_secs() + 1;
    assert_eq!(attempts.wait(alice, now).await, None);
    assert_eq!(attempts.wait(alice, now).await, None);
}

#[tokio::test]
async fn attempts_from_many_networks_delay_an_account_but_do_not_block_it() {
    let attempts = Attempts::none();
    attempts.succeed(from("alice", 1_000_000), 0).await;
    for n in 0..100 {
        let delay = attempts.delay(from("alice", n)).await;
        match n {
            0..=20 => assert!(delay.is_zero(), "{n}: {delay:?}"),
            21 => assert_eq!(delay, Duration::from_millis(100)),
            99 => assert_eq!(delay, MAX_DELAY),
            _ => {}
        }
    }
    let unaffected = [from("alice", 1_000_000), from("bob", 200)];
    for source in unaffected {
        assert_eq!(attempts.delay(source).await, Duration::ZERO);
    }
}

#[tokio::test]
async fn a_network_that_tries_many_names_is_throttled() {
    let attempts = Attempts::none();
    attempts.succeed(from("known", 7), 0).await;
    for n in 0..=FREE_ATTEMPTS_PER_NETWORK {
        assert_eq!(attempts.wait(from(&format!("name {n}"), 7), 0).await, None);
    }
    assert_eq!(attempts.wait(from("one more", 7), 0).await, Some(1));
    // Other networks are not affected, nor are accounts that are known for this network.
    for source in [from("another", 8), from("known", 7), from("known", 8)] {
        assert_eq!(attempts.wait(source, 0).await, None, "{source:?}");
    }
}

#[tokio::test]
async fn a_known_browser_has_its_own_counter() {
    let attempts = Attempts::none();
    for n in 0..30 {
        let _failed = attempts.begin(from("alice", 1), n).await;
    }
    let known = AttemptSource {
        known_browser: Some("a browser"),
        ..from("alice", 1)
    };
    for _ in 0..FREE_ATTEMPTS_PER_PAIR + 1 {
        assert_eq!(attempts.wait(known, 30).await, None);
    }
    assert_eq!(attempts.wait(known, 30).await, Some(1));
}

#[tokio::test]
async fn a_success_resets_the_counters_of_the_account() {
    let attempts = Attempts::none();
    for n in 0..100 {
        attempts.succeed(from("alice", 1), n).await;
    }
}

#[tokio::test]
async fn the_rate_of_provider_sign_ins_is_limited_per_network() {
    let attempts = Attempts::none();
    let begin = |address: u32| {
        let address = Some(IpAddr::V4(address.into()));
        attempts.throttle.check_provider_rate(address).is_ok()
    };
    let accepted = (0..200).filter(|_| begin(1)).count();
    assert!((60..200).contains(&accepted), "{accepted}");
    assert!(begin(2));
}

#[tokio::test]
async fn a_clock_set_back_does_not_extend_the_back_off() {
    let attempts = Attempts::none();
    for _ in 0..FREE_ATTEMPTS_PER_PAIR + 1 {
        let _failed = attempts.begin(from("alice", 1), 1_000_000).await;
    }
    let pause = attempts.wait(from("alice", 1), 0).await.unwrap();
    assert!(pause <= MAX_BACKOFF.as_secs());
    assert_eq!(attempts.wait(from("alice", 1), pause + 1).await, None);
}
