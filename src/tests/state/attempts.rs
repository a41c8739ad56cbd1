//! Attempts to sign in and paces of clients are counted for both consoles together.

use lockkeeper::server::config::LimitsConfig;

use super::Pair;
use crate::access::{PASSWORD, location, try_to_sign_in};

#[tokio::test]
async fn back_off_is_counted_together_and_a_success_forgives_on_both() {
    let pair = Pair::start().await;
    let balancer = pair.balancer().await;
    let person = balancer.person();
    // Six are free on a console alone: counted by each, a dozen would be.
    let mut guesses = 0;
    loop {
        let answer = try_to_sign_in(&person, "alice", "a guess").await;
        if location(&answer).contains("why=later") {
            break;
        }
        assert!(location(&answer).contains("why=wrong"), "{answer:?}");
        guesses += 1;
        assert!(guesses < 12, "they are counted apart");
    }
    assert!(guesses >= 6, "{guesses}");
    // Nobody else is kept out by it, and a success is held against nobody.
    for _ in 0..10 {
        let answer = try_to_sign_in(&person, "bob", PASSWORD).await;
        assert_eq!(location(&answer), "/nodes");
    }
}

#[tokio::test]
async fn a_client_has_one_pace_for_both_consoles() {
    let pair = Pair::start_with(|config| {
        config.limits = LimitsConfig {
            requests_per_second: Some(3),
            ..LimitsConfig::default()
        };
    })
    .await;
    // All at once: each console alone would let three through.
    let headers = [("authorization", pair.token.as_str())];
    let people = [pair.person(0), pair.person(1)];
    let asking = (0..6).map(|n| people[n % 2].send("GET", "/api/v1/groups", &headers, ""));
    let began = std::time::Instant::now();
    let answers = futures::future::join_all(asking).await;
    let let_in = answers.iter().filter(|answer| answer.status == 200).count();
    // While they were asked, the pace let more of them in.
    let most = 3 + usize::try_from(began.elapsed().as_millis() * 3 / 1000 + 1).unwrap();
    assert!((3..=most).contains(&let_in), "{let_in} of at most {most}");
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(refused.code(), "too-many-requests");
    }
}
