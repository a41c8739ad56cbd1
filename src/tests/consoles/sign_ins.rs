//! Both consoles share the rate limit of failed sign-ins.

use super::ConsoleDeployment;
use crate::access::{PASSWORD, location, try_to_sign_in};

#[tokio::test]
async fn consoles_share_the_back_off_and_successful_sign_ins_do_not_count() {
    let deployment = ConsoleDeployment::start().await;
    let apis = [deployment.api(0), deployment.api(1)];
    // Six attempts are free. If each console counted by itself, twelve would be.
    let mut guesses = 0;
    loop {
        let response = try_to_sign_in(&apis[guesses % 2], "alice", "a guess").await;
        if location(&response).contains("why=later") {
            break;
        }
        assert!(location(&response).contains("why=wrong"), "{response:?}");
        guesses += 1;
        assert!(guesses < 12, "each console counts by itself");
    }
    assert!(guesses >= 6, "{guesses}");
    for n in 0..10 {
        let response = try_to_sign_in(&apis[n % 2], "bob", PASSWORD).await;
        assert_eq!(location(&response), "/nodes");
    }
    // The database does not contain the user names of failed attempts.
    let rows = deployment.rows("sign_in_attempt").await;
    assert!(!rows.is_empty() && rows.iter().all(|row| !row.contains("alice")));
}

#[tokio::test]
async fn concurrent_attempts_do_not_bypass_the_back_off() {
    let deployment = ConsoleDeployment::start().await;
    let guesses = (0..20).map(|n| {
        let api = deployment.api(n % 2);
        async move {
            let response = try_to_sign_in(&api, "alice", "a guess").await;
            location(&response).contains("why=wrong")
        }
    });
    let results = futures::future::join_all(guesses).await;
    let verified = results.into_iter().filter(|is_wrong| *is_wrong).count();
    assert!((1..=8).contains(&verified), "{verified}");
}
