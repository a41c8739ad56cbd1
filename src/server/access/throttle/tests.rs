//! Back-off, as one console counts for itself.

use super::failures::{FORGOTTEN, FREE_FOR_ACCOUNT, FREE_FOR_NETWORK, LONGEST_DELAY, LONGEST_WAIT};
use super::*;

const BEGIN: Timestamp = Timestamp::from_millis(1_000_000_000);

/// Nobody has tried yet, and time goes on as the test says.
struct Attempts {
    throttle: Throttle,
    key: hmac::Key,
}

impl Attempts {
    fn none() -> Self {
        Self {
            throttle: Throttle::of(Kept::Here(Memory::default())),
            key: hmac::Key::new(hmac::HMAC_SHA256, b"a key"),
        }
    }

    async fn begin(&self, trier: Trier<'_>, seconds: u64) -> Result<Attempt<'_>, Fault> {
        let now = BEGIN.plus(Duration::from_secs(seconds));
        self.throttle.begin(trier, &self.key, now).await
    }

    /// How many seconds to wait for an attempt; nothing if it may be made.
    async fn wait(&self, trier: Trier<'_>, seconds: u64) -> Option<u64> {
        match self.begin(trier, seconds).await {
            Err(Fault::TooMany { retry_after_ms, .. }) => Some(retry_after_ms / 1000),
            Ok(_) => None,
            Err(other) => panic!("{other}"),
        }
    }

    async fn delay(&self, trier: Trier<'_>) -> Duration {
        self.begin(trier, 0).await.ok().unwrap().delay
    }

    async fn succeed(&self, trier: Trier<'_>, seconds: u64) {
        let attempt = self.begin(trier, seconds).await.ok().unwrap();
        attempt.succeeded(BEGIN).await.unwrap();
    }
}

fn from(account: &str, address: u32) -> Trier<'_> {
    Trier {
        account,
        address: Some(IpAddr::V4(address.into())),
        known_browser: None,
    }
}

#[tokio::test]
async fn an_account_has_some_attempts_from_a_network_and_then_longer_and_longer_pauses() {
    let attempts = Attempts::none();
    let (alice, mut now) = (from("alice", 1), 0);
    for _ in 0..FREE_FOR_ACCOUNT + 1 {
        assert_eq!(attempts.wait(alice, now).await, None);
    }
    for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
        assert_eq!(attempts.wait(alice, now).await, Some(pause), "at {now}");
        now += pause;
        assert_eq!(attempts.wait(alice, now).await, None, "at {now}");
    }
    // Refused attempts do not make it longer, and after a while all is forgotten.
    assert_eq!(attempts.wait(alice, now + 59).await, Some(1));
    now += FORGOTTEN.as_secs() + 1;
    assert_eq!(attempts.wait(alice, now).await, None);
    assert_eq!(attempts.wait(alice, now).await, None);
}

#[tokio::test]
async fn attempts_from_everywhere_hold_an_account_up_and_close_it_to_nobody() {
    let attempts = Attempts::none();
    attempts.succeed(from("alice", 1_000_000), 0).await;
    for n in 0..100 {
        let delay = attempts.delay(from("alice", n)).await;
        match n {
            0..=20 => assert!(delay.is_zero(), "{n}: {delay:?}"),
            21 => assert_eq!(delay, Duration::from_millis(100)),
            99 => assert_eq!(delay, LONGEST_DELAY),
            _ => {}
        }
    }
    let nobodys = [from("alice", 1_000_000), from("bob", 200)];
    for trier in nobodys {
        assert_eq!(attempts.delay(trier).await, Duration::ZERO);
    }
}

#[tokio::test]
async fn a_network_that_tries_many_names_is_slowed_down_whether_they_exist_or_not() {
    let attempts = Attempts::none();
    attempts.succeed(from("known", 7), 0).await;
    for n in 0..=FREE_FOR_NETWORK {
        assert_eq!(attempts.wait(from(&format!("name {n}"), 7), 0).await, None);
    }
    assert_eq!(attempts.wait(from("one more", 7), 0).await, Some(1));
    // Others do not suffer for it, nor does who came from there before.
    for trier in [from("another", 8), from("known", 7), from("known", 8)] {
        assert_eq!(attempts.wait(trier, 0).await, None, "{trier:?}");
    }
}

#[tokio::test]
async fn a_browser_that_is_known_has_attempts_of_its_own() {
    let attempts = Attempts::none();
    for n in 0..30 {
        let _failed = attempts.begin(from("alice", 1), n).await;
    }
    let known = Trier {
        known_browser: Some("a browser"),
        ..from("alice", 1)
    };
    for _ in 0..FREE_FOR_ACCOUNT + 1 {
        assert_eq!(attempts.wait(known, 30).await, None);
    }
    assert_eq!(attempts.wait(known, 30).await, Some(1));
}

#[tokio::test]
async fn a_success_forgives_the_account() {
    let attempts = Attempts::none();
    for n in 0..100 {
        attempts.succeed(from("alice", 1), n).await;
    }
}

#[tokio::test]
async fn so_many_sign_ins_of_a_network_begin_at_a_provider_at_once() {
    let attempts = Attempts::none();
    let begin = |address: u32| {
        let address = Some(IpAddr::V4(address.into()));
        attempts.throttle.begin_at_provider(address).is_ok()
    };
    let begun = (0..200).filter(|_| begin(1)).count();
    assert!((60..200).contains(&begun), "{begun}");
    assert!(begin(2));
}

#[tokio::test]
async fn a_clock_that_went_back_locks_nobody_out_for_longer() {
    let attempts = Attempts::none();
    for _ in 0..FREE_FOR_ACCOUNT + 1 {
        let _failed = attempts.begin(from("alice", 1), 1_000_000).await;
    }
    let pause = attempts.wait(from("alice", 1), 0).await.unwrap();
    assert!(pause <= LONGEST_WAIT.as_secs());
    assert_eq!(attempts.wait(from("alice", 1), pause + 1).await, None);
}
