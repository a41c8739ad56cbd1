//! Failed attempts to sign in are counted for both consoles together.

use super::Pair;
use crate::access::{PASSWORD, location, try_to_sign_in};

#[tokio::test]
async fn back_off_is_counted_together_and_a_success_is_held_against_nobody() {
    let pair = Pair::start().await;
    let people = [pair.person(0), pair.person(1)];
    // Six are free on a console alone: counted by each, a dozen would be.
    let mut guesses = 0;
    loop {
        let answer = try_to_sign_in(&people[guesses % 2], "alice", "a guess").await;
        if location(&answer).contains("why=later") {
            break;
        }
        assert!(location(&answer).contains("why=wrong"), "{answer:?}");
        guesses += 1;
        assert!(guesses < 12, "they are counted apart");
    }
    assert!(guesses >= 6, "{guesses}");
    for n in 0..10 {
        let answer = try_to_sign_in(&people[n % 2], "bob", PASSWORD).await;
        assert_eq!(location(&answer), "/nodes");
    }
    // Whoever reads the database learns no name that was typed.
    let rows = pair.rows("sign_in_attempt").await;
    assert!(!rows.is_empty() && rows.iter().all(|row| !row.contains("alice")));
}

#[tokio::test]
async fn many_guesses_at_once_are_no_way_around_it() {
    let pair = Pair::start().await;
    let guesses = (0..20).map(|n| {
        let person = pair.person(n % 2);
        async move {
            let answer = try_to_sign_in(&person, "alice", "a guess").await;
            location(&answer).contains("why=wrong")
        }
    });
    let looked_at = futures::future::join_all(guesses).await;
    let looked_at = looked_at.into_iter().filter(|is_wrong| *is_wrong).count();
    assert!((1..=8).contains(&looked_at), "{looked_at}");
}
